import { expect, test, vi } from "vitest"
import type { AppId, PostId } from "../../model/ids.ts"
import type { BackfillPart } from "../../model/replay.ts"
import { createManualClock } from "../../runtime/manual-clock.testing.ts"
import { createRuleTestQueue } from "./rule-test-queue.ts"
import type { RuleTestThread } from "./rule-test-thread.ts"
import type { RuleTest } from "./test-rule.ts"

const nothing: RuleTest = { tested: 0, matched: 0, matches: [], unmatched: [], cost: 1, warnings: [] }
const storeAccess = () => ({ module: "", data: undefined, ports: [] })
const left = new AbortController().signal

const aPart = (app: string, lastId: string): BackfillPart => ({
  appId: app as AppId,
  rules: [],
  after: "0" as PostId,
  lastId: lastId as PostId,
  limit: 1,
})

/** Tests whose thread does nothing until the test lets it. */
function testsWithThread() {
  const running: { value: string; end(error?: Error): void }[] = []
  const tried: string[] = []
  const clock = createManualClock()
  const threads: { closed: boolean }[] = []
  const failed = vi.fn<(event: { where: string; error: unknown }) => void>()
  const start = async (): Promise<RuleTestThread> => {
    const thread = { closed: false }
    threads.push(thread)
    return {
      testRule({ value }, signal) {
        tried.push(value)
        const { promise, resolve, reject } = Promise.withResolvers<RuleTest>()
        running.push({ value, end: (error) => (error ? reject(error) : resolve(nothing)) })
        signal.addEventListener("abort", () => reject(signal.reason as Error))
        return promise
      },
      findInPast: async ({ appId, lastId }) => {
        tried.push(`past ${appId} ${lastId}`)
        return { matches: [], searchedId: lastId }
      },
      async close() {
        thread.closed = true
      },
    }
  }
  const tests = createRuleTestQueue({ storeAccess, clock, events: { failed }, ruleOptions: {}, start })
  const run = (app: string, value: string, signal: AbortSignal = left): Promise<RuleTest> =>
    tests.run(app as AppId, { body: { value, posts: [] }, lengthMax: 9 }, signal)
  const next = async (): Promise<(typeof running)[number]> => {
    await expect.poll(() => running.length).toBeGreaterThan(0)
    const [one] = running.splice(0, 1)
    if (one === undefined) throw new Error("nothing runs")
    return one
  }
  return { tests, run, next, running, tried, threads, clock, failed }
}

test("one test runs at a time, apps take turns, and a second one of an app is refused", async () => {
  const { run, next, running, tried } = testsWithThread()
  const first = run("1", "cat")
  const others = ["2", "3", "4"].map((app) => run(app, `dog${app}`))
  await expect(run("1", "bird")).rejects.toMatchObject({ status: 429 })
  ;(await next()).end()
  expect(await first).toBe(nothing)
  const again = run("1", "bird")
  for (let at = 0; at < 4; at++) {
    const one = await next()
    expect(running).toEqual([])
    one.end()
  }
  await Promise.all([...others, again])
  expect(tried).toEqual(["cat", "dog2", "dog3", "dog4", "bird"])
})

test("the backfills of an app have one turn together, and hold up no test and no backfill of another app", async () => {
  const { tests, run, next, tried } = testsWithThread()
  const first = run("1", "cat")
  await expect.poll(() => tried).toEqual(["cat"])
  const parts = [aPart("2", "1"), aPart("2", "2"), aPart("2", "3"), aPart("3", "1")]
  const found = parts.map((part) => tests.findInPast(part, left))
  const others = [run("2", "dog"), run("3", "bird")]
  for (let at = 0; at < 3; at++) (await next()).end()
  await Promise.all([first, ...found, ...others])
  expect(tried).toEqual(["cat", "past 2 1", "past 3 1", "dog", "bird", "past 2 2", "past 2 3"])
})

test("a rule that does not parse, or is longer than it may be, is refused without a thread", async () => {
  const { run, threads } = testsWithThread()
  await expect(run("1", "cat OR dog")).rejects.toMatchObject({ status: 400 })
  await expect(run("1", "cat (")).rejects.toMatchObject({ status: 400, title: "UnprocessableEntity" })
  expect(threads).toEqual([])
})

test("a test whose client has left ends, or never begins, and makes room for the next", async () => {
  const { run, next, tried, failed } = testsWithThread()
  const [running, waiting] = [new AbortController(), new AbortController()]
  const first = run("1", "cat", running.signal)
  const second = run("2", "dog", waiting.signal)
  const third = run("3", "bird")
  await expect.poll(() => tried).toEqual(["cat"])
  waiting.abort(new Error("left"))
  running.abort(new Error("left"))
  await expect(first).rejects.toThrow("left")
  await expect(second).rejects.toThrow("left")
  await next()
  ;(await next()).end()
  expect(await third).toBe(nothing)
  expect(tried).toEqual(["cat", "bird"])
  expect(failed).not.toHaveBeenCalled()
})

test("a thread that fails ends one test, and the next test has another thread", async () => {
  const { run, next, threads, failed } = testsWithThread()
  const first = run("1", "cat")
  ;(await next()).end(new Error("out of memory"))
  await expect(first).rejects.toMatchObject({ status: 503 })
  expect(failed).toHaveBeenCalledTimes(1)
  const second = run("1", "cat")
  ;(await next()).end()
  expect(await second).toBe(nothing)
  expect(threads).toEqual([{ closed: true }, { closed: false }])
})

test("the thread begins with the first test, and ends when none has come for a minute", async () => {
  const { run, next, threads, clock } = testsWithThread()
  expect(threads).toEqual([])
  for (const ms of [0, 59_000, 59_000]) {
    await clock.advance(ms)
    const result = run("1", "cat")
    ;(await next()).end()
    await result
  }
  expect(threads).toEqual([{ closed: false }])
  await expect.poll(() => clock.sleepers).toBe(1)
  await clock.advance(60_000)
  await expect.poll(() => threads).toEqual([{ closed: true }])
})
