/** The oracle as a separate process. */
import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import { fileURLToPath } from "node:url"

const program = fileURLToPath(new URL("../oracle/oracle.ts", import.meta.url))

/** The oracle's final report. */
export interface Verdict {
  readonly clean: boolean
  readonly fault_count: number
  readonly faults: readonly string[]
  readonly acknowledged: number
  readonly matching: number
  readonly dead_letters: number
  readonly links: readonly { readonly events: number; readonly repeats: number; readonly refused: number }[]
  readonly lives: readonly {
    readonly acknowledged: number
    readonly bodiesCut: number
    readonly received: number
    readonly deliveriesCut: number
    readonly repeats: number
  }[]
}

/** A line of the oracle's standard output. */
type Line =
  | { readonly event: "feeding" | "acknowledged" | "held" }
  | { readonly event: "working"; readonly life: number }
  | ({ readonly event: "verdict" } & Verdict)

/** A running oracle. Disposing of it kills it. */
export class OracleProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>
  readonly #waiting = new Set<{
    readonly wants: Line["event"]
    readonly resolve: (line: Line) => void
    readonly reject: (error: Error) => void
  }>()
  #errors = ""
  #lives = 0

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
    void this.#read(stdout)
  }

  /** Passes on a ready server, by that server's own line. */
  serve(readyLine: string): void {
    this.#lives += 1
    this.#child.stdin?.write(`${readyLine}\n`)
  }

  /** Resolves when the oracle has made its rules and links, and feeds. To be called before it does. */
  async feeding(): Promise<void> {
    await this.#line("feeding")
  }

  /** Resolves when the next body is acknowledged. */
  async acknowledgement(): Promise<void> {
    await this.#line("acknowledged")
  }

  /** Resolves when a delivery is in flight: from now on the oracle responds to no delivery of this life. */
  async deliveryHeld(): Promise<void> {
    const held = this.#line("held")
    this.#child.stdin?.write(`${JSON.stringify({ event: "hold" })}\n`)
    await held
  }

  /**
   * Resolves when posts were acknowledged and deliveries came in the life of the current server. To be called at once.
   */
  async working(): Promise<void> {
    const life = this.#lives
    for (;;) if ((await this.#line("working")).life === life) return
  }

  /** Lets the oracle finish after this many ends of the server; returns its verdict and its exit code. */
  async verdict(ends: number): Promise<{ verdict: Verdict; code: number | null }> {
    this.#child.stdin?.write(`${JSON.stringify({ event: "finish", ends })}\n`)
    const verdict = await this.#line("verdict")
    await this.#exited
    return { verdict, code: this.#child.exitCode }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL")
    await this.#exited
  }

  #line<Event extends Line["event"]>(wants: Event): Promise<Line & { event: Event }> {
    return new Promise((resolve, reject) => {
      this.#waiting.add({ wants, resolve: resolve as (line: Line) => void, reject })
    })
  }

  async #read(stdout: Readable): Promise<void> {
    for await (const text of createInterface({ input: stdout })) {
      const line = JSON.parse(text) as Line
      for (const waiter of this.#waiting) {
        if (waiter.wants !== line.event) continue
        this.#waiting.delete(waiter)
        waiter.resolve(line)
      }
    }
    await this.#exited
    for (const { wants, reject } of this.#waiting) {
      reject(new Error(`The oracle ended before it said "${wants}": ${this.#errors}`))
    }
  }
}
