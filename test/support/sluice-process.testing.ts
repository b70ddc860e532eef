/** A Sluice server as a separate process, started as a user starts it. */
import { spawn, type ChildProcessByStdio } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import { fileURLToPath } from "node:url"
import { bundleOptions } from "./bundle-options.testing.ts"

const rootUrl = new URL("../../", import.meta.url)

/** The `sluice` program, as arguments of Node. */
export const program: readonly string[] = [
  ...bundleOptions(),
  fileURLToPath(new URL("packages/sluice/src/sluice.ts", rootUrl)),
]

/**
 * The promised time of a restart, 5 s, which `npm run test:faults` measures on a quiet machine. `npm test` may run on
 * one that is four times as slow, or busy, and finds only starts that are slow by their nature.
 */
export const readyMsMax = process.env.SLUICE_FAULT_ROUNDS === undefined ? 20_000 : 5_000

/** The end of a process. */
export interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Its output after the ready line. */
  readonly output: string
  /** The last part of its standard error. */
  readonly errors: string
}

/** Most characters of standard error that it keeps. */
const errorsMax = 20_000

/** Options of a server. */
export interface Circumstances {
  /** Settings, `SLUICE_…`, and the variables of preloaded libraries. */
  readonly env?: Readonly<Record<string, string>>
  /** Options of Node, such as the size of its heap. */
  readonly nodeOptions?: readonly string[]
  /** Most descriptors that the process may have open. */
  readonly descriptorsMax?: number
  /** URL of the PostgreSQL database that replaces the store in its directory. */
  readonly database?: string
  /** The port that it listens on; absent: a free one. */
  readonly port?: string
}

/** The master key of all processes on a database of a test, in hexadecimal. */
export const sharedMasterKey = "5".repeat(64)

/**
 * A `sluice dev --json` on a data directory; with a database the directory holds only the credentials of its app, and
 * processes with the same directory have the same app. Disposing of it kills it.
 */
export class SluiceProcess implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>
  readonly #startedAtMs = performance.now()
  readonly #closed: Promise<unknown>
  readonly #output: string[] = []
  #errors = ""

  /** The line that it prints when it is ready; `undefined` when it ends without one. */
  readonly ready: Promise<string | undefined>
  /** Milliseconds from its start until it was ready; not a number before. */
  readyMs = Number.NaN

  constructor(data: string, { env = {}, nodeOptions = [], descriptorsMax, database, port = "0" }: Circumstances = {}) {
    const place = database === undefined ? ["--data", data] : []
    const args = [...nodeOptions, ...program, "dev", "--json", "--port", port, ...place]
    const limited = ["-c", `ulimit -n ${descriptorsMax} && exec "$0" "$@"`, process.execPath, ...args]
    const [command, commandArgs] = descriptorsMax === undefined ? [process.execPath, args] : ["bash", limited]
    this.#child = spawn(command, commandArgs, {
      // Without a setting, the data directory is below it.
      cwd: database === undefined ? rootUrl : data,
      env: cleanEnvironment({
        ...(database !== undefined && { SLUICE_DATABASE: database, SLUICE_MASTER_KEY: sharedMasterKey }),
        ...env,
      }),
      stdio: ["ignore", "pipe", "pipe"],
    })
    // Its end and the ends of its outputs: its last output may come after the event of its exit.
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

  /** The last part of its standard error so far. */
  get errors(): string {
    return this.#errors
  }

  /** Sends a signal. False when it had ended by itself. */
  end(signal: "SIGINT" | "SIGKILL" | "SIGTERM"): boolean {
    return this.#child.kill(signal)
  }

  /** Stops it, with all its connections open, until `resume`. */
  pause(): void {
    this.#child.kill("SIGSTOP")
  }

  resume(): void {
    this.#child.kill("SIGCONT")
  }

  /** Resolves with its end. */
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
  // The contexts of the user who runs the tests must not count.
  return { ...Object.fromEntries(inherited), XDG_CONFIG_HOME: "/nonexistent", ...env }
}
