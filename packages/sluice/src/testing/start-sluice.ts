/**
 * A server for the tests of another program: in the same process, with an empty store and a clock of its own.
 *
 *     await using sluice = await startSluice()
 *     const receiver = await sluice.receive({ rules: ["heron"] })
 *     await sluice.post("A heron at the gate")
 *     const { post } = await receiver.next()
 *
 * It depends on no test runner and sets no globals. Servers of one process share nothing.
 */
import { statfsSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { durationMs } from "../process/duration.ts"
import { PostMaker } from "./sent-posts.ts"
import { createTestApp, type TestApp } from "./test-app.ts"

/** Least room in memory for stores. Ours: a container has 64 MiB there by default. */
const roomMin = 512 * 1_048_576

/** Options of a server. */
export interface SluiceOptions {
  /** Settings of the server by their variables, such as `{ SLUICE_SEARCH: "off" }`. Those of the process do not count. */
  readonly settings?: Readonly<Record<string, string>>
}

/** The time of a server. It goes as the machine's does, and a test moves it on. */
export interface TestClock {
  now(): Date
  /**
   * Moves time on by ms, or by a time such as `"90s"`, `"25h"` or `"7d"`, and does what is due on the way: retries, breakers,
   * revalidation, expiry, retention. Resolves when that is done. Throws `TypeError` for anything else.
   */
  advance(duration: number | string): Promise<void>
}

/** A server under test, with its first app. */
export interface TestSluice extends TestApp, AsyncDisposable {
  /** A token of an operator. */
  readonly operatorToken: string
  readonly clock: TestClock
  /** Another app of the same server. */
  newApp(name?: string): Promise<TestApp>
  /** Ends the server and removes its store. */
  close(): Promise<void>
}

/** Starts a server. Throws `ConfigError` for a wrong setting. */
export async function startSluice({ settings = {} }: SluiceOptions = {}): Promise<TestSluice> {
  const { loadConfig, MovableClock, startServer } = await import("@sluice/server")
  await using starting = new AsyncDisposableStack()
  const data = await mkdtemp(join(directoryOfStores(), "sluice-testing-"))
  starting.defer(() => rm(data, { recursive: true, force: true }))
  const env = { SLUICE_LOG_LEVEL: "error", ...settings }
  const config = loadConfig({ posture: "dev", env, flags: { data, port: "0" } })
  const movable = new MovableClock()
  const running = await startServer({ ...config, deliveryThreads: 0 }, { clock: movable })
  starting.defer(() => running.close())
  const operatorToken = await running.apps.createToken("operator")
  const nowMs = (): number => movable.nowMs()
  const posts = new PostMaker(nowMs)
  const resources = starting.move()
  const newApp = async (name = "test"): Promise<TestApp> => {
    const app = await running.apps.create(name)
    return createTestApp({ url: running.url, app, apps: running.apps, operatorToken, posts, nowMs, resources })
  }
  const close = (): Promise<void> => resources.disposeAsync()
  return {
    ...(await newApp()),
    operatorToken,
    clock: { now: () => new Date(nowMs()), advance: async (duration) => movable.advance(advanceMs(duration)) },
    newApp,
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** In memory where there is room: a store of a test need not survive the machine, and its commits are synced. */
function directoryOfStores(): string {
  const memory = "/dev/shm"
  // Elsewhere the directory was chosen.
  if (tmpdir() !== "/tmp" || process.platform !== "linux") return tmpdir()
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize > roomMin ? memory : tmpdir()
}

function advanceMs(duration: number | string): number {
  const ms = typeof duration === "string" ? durationMs(duration) : duration
  if (ms !== undefined && ms >= 0 && ms < Number.POSITIVE_INFINITY) return ms
  throw new TypeError(`advance(${JSON.stringify(duration)}): expected ms, or a time such as "90s", "25h" or "7d".`)
}
