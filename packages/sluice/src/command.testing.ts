/**
 * Runs the command, for tests: here, which takes milliseconds, or in a process of its own, where a test is about
 * signals, pipes or the process itself.
 */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process"
import { tmpdir } from "node:os"
import { PassThrough, Readable } from "node:stream"
import { text } from "node:stream/consumers"
import { cleanEnvironment, program, SluiceProcess } from "../../../test/support/sluice-process.testing.ts"
import type { DevCredentials } from "./own-server/dev-credentials.ts"
import { readEnvironment } from "./environment.ts"
import { runProgram } from "./program.ts"

/** How a run ended. */
export interface Run {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The directory, input and environment of a command; `SLUICE_…` of this process never reaches it. */
export interface Surroundings {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string | Uint8Array
}

/** Starts the command in a process of its own. */
export function start(args: readonly string[], { cwd, env = {} }: Surroundings = {}): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [...program, ...args], {
    cwd: cwd ?? tmpdir(),
    env: cleanEnvironment(env),
    stdio: "pipe",
  })
}

/** Runs the command to its end in a process of its own. */
export async function runProcess(args: readonly string[], surroundings: Surroundings = {}): Promise<Run> {
  return ended(start(args, surroundings), surroundings.input)
}

let lastRun: Promise<unknown> = Promise.resolve()

/**
 * Runs the command to its end here, with streams of its own; `terminal` makes its outputs terminals. One after the
 * other, since they share the process's working directory.
 */
export function run(
  args: readonly string[],
  surroundings: Surroundings & { readonly terminal?: { readonly columns: number } } = {},
): Promise<Run> {
  const thisRun = lastRun.then(async () => {
    const { cwd, env = {}, input, terminal } = surroundings
    const streams = {
      stdin: Readable.from(input === undefined ? [] : [Buffer.from(input)]),
      stdout: Object.assign(new PassThrough(), { isTTY: terminal !== undefined, ...terminal }),
      stderr: Object.assign(new PassThrough(), { isTTY: terminal !== undefined, ...terminal }),
    }
    const before = process.cwd()
    process.chdir(cwd ?? tmpdir())
    const environment = readEnvironment(cleanEnvironment(env))
    const [stdout, stderr, status] = await Promise.all([
      text(streams.stdout),
      text(streams.stderr),
      runProgram(args, { ...streams, environment }).finally(() => {
        process.chdir(before)
        streams.stdout.end()
        streams.stderr.end()
      }),
    ])
    return { status, stdout, stderr }
  })
  lastRun = thisRun.catch(() => undefined)
  return thisRun
}

/** The rest of a started command's output, and how it ended. */
export async function ended(child: ChildProcessWithoutNullStreams, input?: string | Uint8Array): Promise<Run> {
  child.stdin.on("error", () => undefined).end(input)
  const [stdout, stderr, status] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once("close", resolve)),
  ])
  return { status, stdout, stderr }
}

/** The line that `dev --json` prints. */
interface ReadyLine extends DevCredentials {
  readonly event: "ready"
  /** A link to the console, which signs in once. */
  readonly console_url: string
}

/** A `sluice dev` that is ready. Killed, if it still runs, when disposed of. */
export interface DevServer extends AsyncDisposable {
  readonly ready: ReadyLine
  readonly process: SluiceProcess
}

/** Starts `sluice dev --json`, by default on a free port. */
export async function startDev(
  data: string,
  env: Readonly<Record<string, string>> = {},
  port?: string,
): Promise<DevServer> {
  const started = new SluiceProcess(data, { env, ...(port !== undefined && { port }) })
  return {
    ready: JSON.parse(await started.mustBeReady()) as ReadyLine,
    process: started,
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  }
}
