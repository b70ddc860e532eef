/** A Sluice server as a process of its own, started the way that a user starts it. */
import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))

const program = "packages/sluice/src/sluice.ts"

/**
 * The promise of a restart, 5 s, which `npm run test:faults` measures on a quiet machine. `npm test`
 * may run on one that is four times as slow, or busy, and finds only what is slow by its nature.
 */
export const readyMsMax = process.env.SLUICE_FAULT_ROUNDS === undefined ? 20_000 : 5_000

/** How a process ended. */
export interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
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
}

/** A `sluice dev --json` on a data directory. Disposing of it kills it. */
export class SluiceProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #startedAtMs = performance.now()
  readonly #exited: Promise<unknown>
  #errors = ""

  /** The line that it prints when it is ready; `undefined` when it ends without one. */
  readonly ready: Promise<string | undefined>
  /** From its start until it was ready, once it is. */
  readyMs = Number.NaN

  constructor(data: string, { env, nodeOptions = [], descriptorsMax }: Circumstances = {}) {
    const args = [...nodeOptions, program, "dev", "--json", "--port", "0", "--data", data]
    const limited = ["-c", `ulimit -n ${descriptorsMax} && exec "$0" "$@"`, process.execPath, ...args]
    const [command, commandArgs] = descriptorsMax === undefined ? [process.execPath, args] : ["bash", limited]
    this.#child = spawn(command, commandArgs, {
      cwd: root,
      env: { ...environment(), ...env },
      stdio: ["ignore", "pipe", "pipe"],
    })
    this.#exited = once(this.#child, "exit")
    this.#child.stderr?.on("data", (chunk: Buffer) => {
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
  end(signal: "SIGKILL" | "SIGTERM"): boolean {
    return this.#child.kill(signal)
  }

  /** How it ended, once it has. */
  async ended(): Promise<End> {
    await this.#exited
    const { exitCode: code, signalCode: signal } = this.#child
    // What it wrote last may come after the news of its end.
    if (!(this.#child.stderr?.closed ?? true)) await once(this.#child.stderr as Readable, "close")
    return { code, signal, errors: this.#errors }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL")
    await this.#exited
  }

  async #firstLine(): Promise<string | undefined> {
    const { stdout } = this.#child
    if (stdout === null) return undefined
    for await (const line of createInterface({ input: stdout })) {
      this.readyMs = performance.now() - this.#startedAtMs
      return line
    }
    return undefined
  }
}

/** The environment without settings of whoever runs the tests. */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("SLUICE_")))
}
