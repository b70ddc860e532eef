import { ConfigError, StoreReplaced, type RunningServer } from "@sluice/server"
import { expect, test } from "vitest"
import { serveInRounds } from "./served-rounds.ts"

/** A process whose servers do what a test says: the starts in turn, and the ends of servers by the test. */
class Process {
  readonly interruption = new AbortController()
  readonly seen: string[] = []
  /** By the order of starts, the error of each that fails. */
  readonly startErrors: (Error | undefined)[] = []
  /** Called when a server closes, and in each pause. */
  onClose = (): void => undefined
  onPause = (): void => undefined
  #fail: (error: Error) => void = () => undefined

  run(): Promise<void> {
    return serveInRounds({
      start: (port) => this.#start(port),
      port: 0,
      ready: async ({ url }) => void this.seen.push(`ready at ${url}`),
      waiting: (reason) => void this.seen.push(`waiting: ${reason}`),
      pause: async () => {
        this.seen.push("pause")
        this.onPause()
      },
      signal: this.interruption.signal,
    })
  }

  async #start(port: number): Promise<RunningServer> {
    this.seen.push(`start on ${port}`)
    const error = this.startErrors.shift()
    if (error !== undefined) throw error
    const { promise: failed, reject } = Promise.withResolvers<never>()
    this.#fail = reject
    const close = async (): Promise<void> => {
      this.seen.push("close")
      this.onClose()
    }
    return { url: "http://127.0.0.1:8080", failed, close } as unknown as RunningServer
  }

  /** The running server fails, once it serves. */
  async fail(error: Error): Promise<void> {
    const starts = this.#startCount
    await expect.poll(() => this.seen.at(-1)).toMatch(/^(ready|start)/)
    this.#fail(error)
    await expect.poll(() => this.seen.filter((line) => line === "close").length).toBe(starts)
  }

  get #startCount(): number {
    return this.seen.filter((line) => line.startsWith("start")).length
  }
}

const replaced = new StoreReplaced("The database was restored.")
const unavailable = new ConfigError("The database cannot be used: no server.", {
  cause: Object.assign(new Error("no server"), { code: "STORE_UNAVAILABLE" }),
})

test("a server whose store was replaced starts again on its port, however long the new store is unavailable", async () => {
  const process = new Process()
  process.startErrors.push(undefined, unavailable, unavailable, replaced)
  const running = process.run()
  await process.fail(replaced)
  await expect.poll(() => process.seen.at(-1)).toBe("start on 8080")
  process.interruption.abort()
  await running
  expect(process.seen).toEqual([
    "start on 0",
    "ready at http://127.0.0.1:8080",
    "close",
    "start on 8080",
    "waiting: The database cannot be used: no server.",
    "pause",
    "start on 8080",
    "pause",
    "start on 8080",
    "waiting: The database was restored.",
    "pause",
    "start on 8080",
    "close",
  ])
})

test("a first start on a store that is unavailable, and a later one that fails otherwise, end the process", async () => {
  const first = new Process()
  first.startErrors.push(unavailable)
  await expect(first.run()).rejects.toBe(unavailable)
  const later = new Process()
  const wrong = new ConfigError("The database has fsync = off.")
  later.startErrors.push(undefined, wrong)
  const running = later.run().catch((error: unknown) => error)
  await later.fail(replaced)
  expect(await running).toBe(wrong)
})

test("a signal while the old server closes, or in a pause, ends the process without another start", async () => {
  const closing = new Process()
  closing.onClose = () => closing.interruption.abort()
  const closed = closing.run()
  await closing.fail(replaced)
  await closed
  expect(closing.seen).toEqual(["start on 0", "ready at http://127.0.0.1:8080", "close"])

  const pausing = new Process()
  pausing.startErrors.push(undefined, unavailable)
  pausing.onPause = () => pausing.interruption.abort()
  const paused = pausing.run()
  await pausing.fail(replaced)
  await paused
  expect(pausing.seen.slice(-3)).toEqual(["start on 8080", expect.stringMatching(/^waiting/), "pause"])
})

test("a signal before the first start is not missed", async () => {
  const process = new Process()
  process.interruption.abort(new Error("Interrupted by SIGTERM."))
  await expect(process.run()).rejects.toThrow("Interrupted by SIGTERM.")
  expect(process.seen).toEqual([])
})
