/** The oracle as a process of its own. */
import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const program = fileURLToPath(new URL("../oracle/oracle.ts", import.meta.url))

/** What the oracle says at the end. */
export interface Verdict {
  readonly clean: boolean
  readonly fault_count: number
  readonly faults: readonly string[]
  readonly acknowledged: number
  readonly matching: number
  readonly links: readonly { readonly events: number; readonly repeats: number; readonly refused: number }[]
  readonly lives: readonly {
    readonly acknowledged: number
    readonly bodiesCut: number
    readonly received: number
    readonly deliveriesCut: number
    readonly repeats: number
  }[]
}

/** An oracle that runs. Disposing of it kills it. */
export class OracleProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>
  readonly #lines: AsyncIterator<string>
  #errors = ""

  constructor(args: readonly string[]) {
    this.#child = spawn(process.execPath, [program, ...args], { stdio: ["pipe", "pipe", "pipe"] })
    this.#exited = once(this.#child, "exit")
    const { stdin, stdout, stderr } = this.#child
    if (stdin === null || stdout === null || stderr === null) throw new Error("spawned without pipes")
    stderr.on("data", (chunk: Buffer) => {
      this.#errors += chunk.toString()
    })
    // An oracle that has failed reads no more; its errors say why.
    stdin.on("error", () => undefined)
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]()
  }

  /** Tells it of a server that is ready, by that server's own line. */
  serve(readyLine: string): void {
    this.#child.stdin?.write(`${readyLine}\n`)
  }

  /** Until it has made its rules and links, and feeds. */
  async feeding(): Promise<void> {
    await this.#line("feeding")
  }

  /** Lets it finish, after the server was ended this often: what it says, and its exit code. */
  async verdict(ends: number): Promise<{ verdict: Verdict; code: number | null }> {
    this.#child.stdin?.write(`${JSON.stringify({ event: "finish", ends })}\n`)
    const verdict = (await this.#line("verdict")) as unknown as Verdict
    await this.#exited
    return { verdict, code: this.#child.exitCode }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL")
    await this.#exited
  }

  async #line(event: string): Promise<Record<string, unknown>> {
    const { value, done } = await this.#lines.next()
    if (done === true) throw new Error(`The oracle ended without saying ${event}: ${this.#errors}`)
    const line = JSON.parse(value) as Record<string, unknown>
    if (line.event !== event) throw new Error(`The oracle said ${value} and not ${event}`)
    return line
  }
}
