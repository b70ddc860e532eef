/** A Sluice server as a process of its own, started the way that a user starts it. */
import { spawn, type ChildProcessByStdio } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import { fileURLToPath } from "node:url"

const rootUrl = new URL("../../", import.meta.url)

/** The `sluice` program. */
export const program: string = fileURLToPath(new URL("packages/sluice/src/sluice.ts", rootUrl))

/**
 * The promise of a restart, 5 s, which `npm run test:faults` measures on a quiet machine. `npm test`
 * may run on one that is four times as slow, or busy, and finds only what is slow by its nature.
 */
export const readyMsMax = process.env.SLUICE_FAULT_ROUNDS === undefined ? 20_000 : 5_000

/** How a process ended. */
export interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** What it printed after the ready line, all of it. */
  readonly output: string
  /** Its standard error, the last part. */
  readonly errors: string
}

/** Most characters of standard error that are kept. */
const errorsMax = 20_000

/** What is out of the ordinary about a server. */
export interface Circumstances {
  /** Settings, `SLUICE_…`, and what preloaded libraries ask for. */
  readonly env?: Readonly<Record<string, string>>
  /** Options of Node, such as the size of its heap. */
  readonly nodeOptions?: readonly string[]
  /** Most descriptors that the process may have open. */
  readonly descriptorsMax?: number
  /** URL of the PostgreSQL database that it works on, in place of a store in its directory. */
  readonly database?: string
  /** The port it listens on; absent: a free one. */
  readonly port?: string
}

/** The master key of all processes on a database of a test, in hexadecimal. */
export const sharedMasterKey = "5".repeat(64)

/**
 * A `sluice dev --json` on a data directory; with a database only the credentials of its app are in there, and processes
 * that are started with the same directory have the same app. Disposing of it kills it.
 */
export class SluiceProcess implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>
  readonly #startedAtMs = performance.now()
  readonly #closed: Promise<unknown>
  readonly #output: string[] = []
  #errors = ""

  /** The line that it prints when it is ready; `undefined` when it ends without one. */
  readonly ready: Promise<string | undefined>
  /** From its start until it was ready, once it is. */
  readyMs = Number.NaN

  constructor(data: string, { env = {}, nodeOptions = [], descriptorsMax, database, port = "0" }: Circumstances = {}) {
    const place = database === undefined ? ["--data", data] : []
    const args = [...nodeOptions, program, "dev", "--json", "--port", port, ...place]
    const limited = ["-c", `ulimit -n ${descriptorsMax} && exec "$0" "$@"`, process.execPath, ...args]
    const [command, commandArgs] = descriptorsMax === undefined ? [process.execPath, args] : ["bash", limited]
    this.#child = spawn(command, commandArgs, {
      // Without a setting the data directory is beneath it.
      cwd: database === undefined ? rootUrl : data,
      env: cleanEnvironment({
        ...(database !== undefined && { SLUICE_DATABASE: database, SLUICE_MASTER_KEY: sharedMasterKey }),
        ...env,
      }),
      stdio: ["ignore", "pipe", "pipe"],
    })
    // Its end, with the ends of its outputs: what it wrote last may come after the news of its exit.
    this.#closed = once(this.#child, "close")
    this.#child.stderr.on("data", (chunk: Buffer) => {
      this.#errors = (this.#errors + chunk.toString()).slice(-errorsMax)
    })
    this.ready = this.#firstLine()
  }

  /** The ready line, of a server that must start. */
  async mustBeReady(): Promise<string> {
    const line = await this.ready
    if (line === undefined) throw new Error(`The server did not start: ${(await this.ended()).errors}`)
    return line
  }

  get pid(): number {
    const { pid } = this.#child
    if (pid === undefined) throw new Error("The server was not started.")
    return pid
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Its standard error so far, the last part. */
  get errors(): string {
    return this.#errors
  }

  /** Sends a signal. False when it had ended by itself. */
  end(signal: "SIGINT" | "SIGKILL" | "SIGTERM"): boolean {
    return this.#child.kill(signal)
  }

  /** Stops it where it is, with all its connections open, until `resume`. */
  pause(): void {
    this.#child.kill("SIGSTOP")
  }

  resume(): void {
    this.#child.kill("SIGCONT")
  }

  /** How it ended, once it has. */
  async ended(): Promise<End> {
    await this.#closed
    const { exitCode: code, signalCode: signal } = this.#child
    return { code, signal, output: this.#output.join("\n"), errors: this.#errors }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL")
    await this.#closed
  }

  #firstLine(): Promise<string | undefined> {
    const lines = createInterface({ input: this.#child.stdout })
    return new Promise((resolve) => {
      lines.once("close", () => resolve(undefined))
      lines.once("line", (line) => {
        this.readyMs = performance.now() - this.#startedAtMs
        lines.on("line", (later) => this.#output.push(later))
        resolve(line)
      })
    })
  }
}

/** The environment of a `sluice` process: this one's, without the settings of the person who runs the tests. */
export function cleanEnvironment(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(?:SLUICE_|NO_COLOR$|FORCE_COLOR$)/.test(name))
  return { ...Object.fromEntries(inherited), ...env }
}
