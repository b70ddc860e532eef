/** Runs the real command in a process of its own, for tests. */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import type { SavedCredentials } from "./credentials-file.ts"

const entry = fileURLToPath(new URL("sluice.ts", import.meta.url))

/** How a run ended. */
export interface Run {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Where and with what a command runs; `SLUICE_…` of this process never reaches it. */
export interface Surroundings {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string | Uint8Array
}

/** Starts the command. */
export function start(
  args: readonly string[],
  { cwd, env = {} }: Surroundings = {},
): ChildProcessWithoutNullStreams {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(?:SLUICE_|NO_COLOR$|FORCE_COLOR$)/.test(name),
  )
  return spawn(process.execPath, [entry, ...args], {
    cwd: cwd ?? tmpdir(),
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: "pipe",
  })
}

/** Runs the command to its end. */
export async function run(args: readonly string[], surroundings: Surroundings = {}): Promise<Run> {
  return ended(start(args, surroundings), surroundings.input)
}

/** The rest of a started command's output, and how it ended. */
export async function ended(
  child: ChildProcessWithoutNullStreams,
  input?: string | Uint8Array,
): Promise<Run> {
  child.stdin.on("error", () => undefined).end(input)
  const [stdout, stderr, status] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once("close", resolve)),
  ])
  return { status, stdout, stderr }
}

/** The line that `dev --json` prints. */
interface ReadyLine extends SavedCredentials {
  readonly event: "ready"
}

/** A `sluice dev` that is ready. Killed, if it still runs, when disposed of. */
export interface DevServer extends AsyncDisposable {
  readonly ready: ReadyLine
  readonly child: ChildProcessWithoutNullStreams
  /** What it has printed since the ready line, once it has ended. */
  readonly end: Promise<Run>
}

/** Starts `sluice dev --json` on a free port. */
export async function startDev(data: string, env: Readonly<Record<string, string>> = {}): Promise<DevServer> {
  const child = start(["dev", "--json", "--port", "0", "--data", data], { env })
  const lines = createInterface(child.stdout)
  const stderr = text(child.stderr)
  const later: string[] = []
  const first = await new Promise<string>((resolve, reject) => {
    lines.once("line", (line) => {
      lines.on("line", (next) => later.push(next))
      resolve(line)
    })
    child.once("close", () => void stderr.then((said) => reject(new Error(`sluice dev ended: ${said}`))))
  })
  const end = new Promise<number | null>((resolve) => child.once("close", resolve)).then(async (status) => ({
    status,
    stdout: later.join("\n"),
    stderr: await stderr,
  }))
  return {
    ready: JSON.parse(first) as ReadyLine,
    child,
    end,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL")
      await end
    },
  }
}

/** A directory of its own for a test, gone when disposed of. */
export async function temporaryDirectory(): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), "sluice-test-"))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
