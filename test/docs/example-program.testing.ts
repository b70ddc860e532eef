/** Programs of `examples/`, each run as its reader runs it. */
import { spawn, spawnSync, type ChildProcessByStdio } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import { fileURLToPath } from "node:url"

const directory = new URL("../../examples/", import.meta.url)

/** The languages of the examples, as commands. */
export type Language = "node" | "php" | "python3"

/** Whether a program is there. Without it its tests are skipped, and in CI it must be there. */
export function isInstalled(program: string, debianPackage: string): boolean {
  if (spawnSync(program, ["--version"]).status === 0) return true
  const why = `there is no ${program}: install ${debianPackage}`
  if (process.env["CI"] !== undefined) throw new Error(why)
  process.stderr.write(`skipping tests: ${why}\n`)
  return false
}

/** One that runs. Disposing of it kills it. */
export class ExampleProgram implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>
  readonly #exited: Promise<unknown>
  /** The lines that it has printed so far. */
  readonly lines: string[] = []
  /** Its standard error so far. */
  errors = ""

  /** Starts an example, with these variables; its arguments follow its file, which may stand among the options. */
  constructor(language: Language, args: readonly string[], env: Readonly<Record<string, string>>) {
    const command = language === "node" ? process.execPath : language
    const places = args.map((one) => (/\.(?:php|py|ts)$/.test(one) ? fileURLToPath(new URL(one, directory)) : one))
    this.#child = spawn(command, places, {
      env: { ...process.env, NO_PROXY: "*", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    })
    this.#exited = once(this.#child, "close")
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.lines.push(line))
    this.#child.stderr.setEncoding("utf8").on("data", (chunk: string) => (this.errors += chunk))
  }

  /** The address that it says that it listens on. */
  get url(): string | undefined {
    return /http:\/\/127\.0\.0\.1:[1-9]\d*/.exec(`${this.lines.join("\n")}\n${this.errors}`)?.[0]
  }

  /** The lines of JSON among what it has printed, as values. */
  get printed(): readonly unknown[] {
    return this.lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as unknown)
  }

  /** Sends a signal, and waits for its end. Its exit code; `null` when the signal ended it. */
  async stop(signal: "SIGINT" | "SIGKILL" | "SIGTERM"): Promise<number | null> {
    this.#child.kill(signal)
    await this.#exited
    return this.#child.exitCode
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.stop("SIGKILL")
  }
}
