/** A Sluice server as a process of its own, started the way that a user starts it. */
import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))

const program = "packages/sluice/src/sluice.ts"

/** Where compiled sources are kept, as these tests start many servers. Written by those that end by themselves. */
const compileCache = fileURLToPath(new URL("../../node_modules/.cache/sluice-faults", import.meta.url))

/** How a process ended. */
export interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Its standard error, the last part. */
  readonly errors: string
}

/** Most characters of standard error that are kept. */
const errorsMax = 20_000

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

  constructor(data: string) {
    const args = [program, "dev", "--json", "--port", "0", "--data", data]
    this.#child = spawn(process.execPath, args, {
      cwd: root,
      env: { ...environment(), NODE_COMPILE_CACHE: compileCache },
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

  /** Sends a signal. False when it had ended by itself. */
  end(signal: "SIGKILL" | "SIGTERM"): boolean {
    return this.#child.kill(signal)
  }

  /** How it ended, once it has. */
  async ended(): Promise<End> {
    await this.#exited
    const { exitCode: code, signalCode: signal } = this.#child
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
