import { setImmediate as nextTurn } from "node:timers/promises"
import { MessageChannel } from "node:worker_threads"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { RuleIndex } from "../matching/rule-index.ts"
import type { AppId, RuleId } from "../model/ids.ts"
import { Problem } from "../model/problem.ts"
import type { DurableBatch } from "./intake-messages.ts"
import { systemClock as clock } from "../runtime/clock.ts"
import { systemRandom } from "../runtime/random.ts"
import { createSnowflakes } from "../runtime/snowflakes.ts"
import { anApp, aRule, cap, newestPosts } from "../store/contract/fixtures.ts"
import { openTestedStore } from "../store/tested-store.testing.ts"
import type { Store } from "../store/store.ts"
import type { IngestReport } from "./ingest-report.ts"
import { bodiesMax, intakeThrough, type Intake } from "./intake.ts"
import { partialLineBytesMax, serveIntake } from "./serve-intake.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"

const diskFull = new Error("disk full")
const app = "100" as AppId
const postBytesMax = 262_144

let directory: TemporaryDirectory
let store: Store
let channel: MessageChannel
let intake: Intake
/** Number of times that each of these methods of the store fails from now on. */
let failures: { append: number; ruleChanges: number }
/** Appends wait for the gate; `appends` is the number that have begun. */
let gate: Promise<void> | undefined
let appends: number
/** Memory of the texts that were appended. */
let appendedMemory: ArrayBuffer[]
const failed = vi.fn<(event: { where: string; error: unknown }) => void>()
const postsAccepted = vi.fn<(event: object) => void>()

beforeEach(async () => {
  directory = await temporaryDirectory()
  store = await openTestedStore(directory.path)
  failures = { append: 0, ruleChanges: 0 }
  gate = undefined
  appends = 0
  appendedMemory = []
  failed.mockReset()
  postsAccepted.mockReset()
  const fragile: Store = failing(store)
  channel = new MessageChannel()
  serveIntake(channel.port2, {
    store: fragile,
    rules: await RuleIndex.load(fragile),
    ruleMatchCounts: { note: () => undefined },
    clock,
    snowflakes: createSnowflakes(clock, systemRandom),
    postBytesMax: 262_144,
  })
  intake = intakeThrough([{ intakePort: channel.port1 }], {
    failed,
    postsAccepted,
    deletionsRequested: () => undefined,
    rulesIndexed: () => undefined,
    recordsDamaged: () => undefined,
    rulesSkipped: () => undefined,
  })
})

afterEach(async () => {
  channel.port1.close()
  await store[Symbol.asyncDispose]()
  await directory.remove()
})

/** The store, which fails as often as `failures` says. */
function failing(working: Store): Store {
  return new Proxy(working, {
    get(_, name) {
      const member: unknown = Reflect.get(working, name)
      if (typeof member !== "function") return member
      return (...args: readonly unknown[]): unknown => {
        if ((name === "append" || name === "ruleChanges") && failures[name] > 0) {
          failures[name] -= 1
          return Promise.reject(diskFull)
        }
        if (name !== "append") return Reflect.apply(member, working, args)
        appends += 1
        appendedMemory.push(
          ...(args as Parameters<Store["append"]>)[0].map(({ post }) => post.envelope.buffer as ArrayBuffer),
        )
        return Promise.resolve(gate).then((): unknown => Reflect.apply(member, working, args))
      }
    },
  })
}

function line(id: number): Buffer {
  return Buffer.from(`{"data":{"id":"${id}","text":"post ${id}"}}\n`)
}

async function abortOf(signal: AbortSignal): Promise<unknown> {
  if (!signal.aborted) {
    await new Promise((resolve) => {
      signal.addEventListener("abort", resolve, { once: true })
    })
  }
  return signal.reason
}

async function storedIds(): Promise<readonly string[]> {
  return (await newestPosts(store, 10)).map(({ id }) => id)
}

test("the memory of a chunk is freed when its posts are durable", async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  gate = promise
  const body = intake.open()
  await body.write(Buffer.from('{"data":{"id":"1","text":"a","created_at":"2026-03-14T09:26:53.000Z"}}\n'))
  await expect.poll(() => appendedMemory.map(({ detached }) => detached)).toEqual([false])
  resolve()
  await body.end()
  expect(appendedMemory.map(({ detached }) => detached)).toEqual([true])
  expect(await storedIds()).toEqual(["1"])
})

test("a body whose store fails once accepts nothing more, and reports that before its end", async () => {
  failures.append = 1
  const batches: IngestReport[] = []
  const body = intake.open((report) => batches.push(report))
  await body.write(line(1))
  const problem = await abortOf(body.failed)
  expect(problem).toBeInstanceOf(Problem)
  expect(problem).toMatchObject({ status: 503, cause: diskFull })
  await expect(body.write(line(2))).rejects.toBe(problem)
  await expect(body.end()).rejects.toBe(problem)
  expect(batches).toEqual([])
  expect(await storedIds()).toEqual([])
  expect(failed.mock.calls).toEqual([[{ where: "ingest", error: diskFull }]])
})

test("a body that is sent whole takes one message each way, and its report is that of the same body in parts", async () => {
  const sent: string[] = []
  const replies: string[] = []
  channel.port1.on("message", ({ name }: { name: string }) => replies.push(name))
  channel.port2.on("message", ({ name }: { name: string }) => sent.push(name))
  await expect.poll(() => replies).toEqual(["indexed"])
  const batches: IngestReport[] = []
  const report = await intake
    .open((batch) => batches.push(batch))
    .end(Buffer.concat([line(1), Buffer.from("x\n"), line(2)]))
  expect(report).toMatchObject({ accepted: 2, rejectedCount: 1, lines: 3 })
  expect(batches).toEqual([report])
  expect([sent, replies]).toEqual([["end"], ["indexed", "done"]])
  expect(postsAccepted).toHaveBeenCalledOnce()
  const parts = intake.open()
  await parts.write(line(1))
  await parts.write(Buffer.from("x\n"))
  await parts.write(line(2))
  expect(await parts.end()).toEqual({ ...report, accepted: 0, duplicates: 2 })
  expect(await storedIds()).toEqual(["2", "1"])
})

test("a body that is sent whole fails as one in parts does", async () => {
  failures.append = 1
  const body = intake.open()
  await expect(body.end(line(1))).rejects.toMatchObject({ status: 503, cause: diskFull })
  expect(body.failed.aborted).toBe(true)
  expect(await intake.open().end(Buffer.concat([line(1), line(2)]))).toMatchObject({ accepted: 2 })
  expect(await intake.open().end(Buffer.alloc(0))).toMatchObject({ accepted: 0, lines: 0 })
})

/** A body whose first batch is being appended until `release`, with the batches that are reported. */
async function appendingBody() {
  const { promise, resolve: release } = Promise.withResolvers<void>()
  gate = promise
  const batches: IngestReport[] = []
  const body = intake.open((report) => batches.push(report))
  await body.write(line(1))
  await expect.poll(() => appends).toBe(1)
  return { body, batches, release }
}

test("a batch that becomes durable while the body ends is reported before the failure of the last one", async () => {
  const { body, batches, release } = await appendingBody()
  failures.append = 1
  await body.write(line(2))
  const ended = body.end()
  ended.catch(() => undefined)
  // The end is handled before the first batch is durable.
  for (let turn = 0; turn < 10; turn++) await nextTurn()
  release()
  await expect(ended).rejects.toMatchObject({ status: 503, cause: diskFull })
  expect(batches).toMatchObject([{ accepted: 1 }])
  expect(await storedIds()).toEqual(["1"])
})

test("chunks that were in flight when the store failed do not open another body", async () => {
  failures.append = 1
  const body = intake.open()
  // The first full batch fails. The chunks after it were sent before the failure was reported.
  const first = Array.from({ length: 500 }, (_, index) => line(index + 10))
  const writes = [Buffer.concat(first), line(1), line(2).subarray(0, 12), line(2).subarray(12), line(3)]
  await Promise.all(writes.map((chunk) => body.write(chunk)))
  await expect(body.end()).rejects.toMatchObject({ status: 503 })
  const next = intake.open()
  await next.write(line(4))
  expect(await next.end()).toMatchObject({ accepted: 1, lines: 1 })
  expect(await storedIds()).toEqual(["4"])
  expect(failed).toHaveBeenCalledTimes(1)
})

test("a store that fails while a writer waits for room wakes the writer", async () => {
  failures.append = 1
  const body = intake.open()
  const huge = Buffer.concat(Array.from({ length: 200_000 }, () => line(7)))
  await expect(body.write(huge)).rejects.toMatchObject({ status: 503 })
  body.abort()
})

test("every durable batch is counted once, one of an aborted body included", async () => {
  const body = intake.open()
  await body.write(Buffer.concat([line(1), Buffer.from("nonsense\n"), line(1)]))
  await expect.poll(() => appends).toBe(1)
  body.abort()
  const next = intake.open()
  await next.write(line(2))
  await next.end()
  expect(postsAccepted.mock.calls).toEqual([
    [{ accepted: 1, duplicates: 1, rejected: 1, matches: 0 }],
    [{ accepted: 1, duplicates: 0, rejected: 0, matches: 0 }],
  ])
})

test("rules that cannot be read are reported, and no body fails because of them", async () => {
  await store.createApp(anApp(app), [])
  failures.ruleChanges = 1
  const rule = { id: "1" as RuleId, appId: app, value: "post" }
  await store.addRules(app, [rule], { rulesMax: 10 })
  await expect.poll(() => failed.mock.calls).toEqual([[{ where: "rule index", error: diskFull }]])
  const body = intake.open()
  await body.write(line(1))
  expect(await body.end()).toMatchObject({ accepted: 1, matches: 1 })
})

test("when the thread has exited, open bodies and later ones fail, and none waits", async () => {
  const open = intake.open()
  channel.port2.close()
  expect(await abortOf(open.failed)).toMatchObject({ status: 503 })
  await expect(open.end()).rejects.toMatchObject({ status: 503 })
  const later = intake.open()
  await expect(later.write(line(1))).rejects.toMatchObject({ status: 503 })
  await expect(later.end()).rejects.toMatchObject({ status: 503 })
})

test("chunks that are unread when their client disconnects are discarded", async () => {
  const { promise, resolve: release } = Promise.withResolvers<void>()
  gate = promise
  const body = intake.open()
  await body.write(line(1))
  await expect.poll(() => appends).toBe(1)
  for (const id of [2, 3, 4]) await body.write(line(id))
  body.abort()
  // The abort is handled before anything of another body is read.
  const next = intake.open()
  await next.write(line(5))
  await expect.poll(() => appends).toBe(2)
  release()
  expect(await next.end()).toMatchObject({ accepted: 1 })
  // Once these are stored, the discarded posts would be, too.
  for (const id of [6, 7, 8]) {
    const more = intake.open()
    await more.write(line(id))
    await more.end()
  }
  const ids = await storedIds()
  expect(ids).toContain("1")
  expect(ids).not.toContain("4")
})

test("a durable batch is reported before a later failure", async () => {
  const { body, batches, release } = await appendingBody()
  failures.ruleChanges = 1
  await body.write(line(2))
  await expect.poll(() => failures.ruleChanges).toBe(0)
  expect(body.failed.aborted).toBe(false)
  release()
  await abortOf(body.failed)
  expect(batches).toMatchObject([{ accepted: 1 }])
})

/** Writes a whole body. `lines` returns how many of its lines are durable or rejected. */
async function ingestAll(chunk: Buffer): Promise<{ lines(): number; ended: Promise<unknown> }> {
  let lines = 0
  const body = intake.open((report) => {
    lines += report.lines
  })
  await body.write(chunk)
  return { lines: () => lines, ended: body.end() }
}

test.each([
  ["blank", Buffer.alloc(1_000_000, "\n")],
  ["white", Buffer.from(" \r\n".repeat(300_000))],
  ["the same post", Buffer.concat(Array.from({ length: 30_000 }, () => line(7)))],
  [
    "a bad line for each post",
    Buffer.concat(Array.from({ length: 15_000 }, () => Buffer.concat([Buffer.from("{}\n"), line(7)]))),
  ],
])("a body of many small lines lets another in between: %s", async (_, flood) => {
  const first = await ingestAll(flood)
  let hasEnded = false
  first.ended.then(
    () => (hasEnded = true),
    () => undefined,
  )
  const second = intake.open()
  await second.write(line(1))
  expect(await second.end()).toMatchObject({ accepted: 1 })
  // At 1,000 lines a turn, and the second body needs a few turns.
  expect(hasEnded).toBe(false)
  expect(first.lines()).toBeLessThan(20_000)
  await first.ended
})

test("the rest of a body is not read after 10,000 rejected lines, and posts accepted before are durable", async () => {
  const body = intake.open()
  const junk = Buffer.from("x\n".repeat(200_000))
  await Promise.all([Buffer.concat([line(1), line(2)]), junk, line(3)].map((chunk) => body.write(chunk))).catch(
    () => undefined,
  )
  const reason = await abortOf(body.failed)
  expect(reason).toMatchObject({ report: { accepted: 2, rejectedCount: 10_000, lines: 10_002 } })
  await expect(body.end()).rejects.toBe(reason)
  expect(await storedIds()).toEqual(["2", "1"])
  expect(failed).not.toHaveBeenCalled()
  body.abort()
})

test("a body with as many posts as rejected lines is read to its end", async () => {
  const body = intake.open()
  const pair = Buffer.concat([line(7), Buffer.from("x\n")])
  await body.write(Buffer.concat(Array.from({ length: 11_000 }, () => pair)))
  expect(await body.end()).toMatchObject({ accepted: 1, duplicates: 10_999, rejectedCount: 11_000 })
})

test("small chunks are joined while many others are unread, and sent at once otherwise", async () => {
  const sent = vi.spyOn(channel.port1, "postMessage")
  const body = intake.open()
  const bytes = Buffer.concat(Array.from({ length: 4_000 }, (_, index) => line(index + 1)))
  for (const byte of bytes) await body.write(Buffer.of(byte))
  // Nothing is read until this function returns to the event loop.
  expect(sent.mock.calls.length).toBeLessThan(512 + bytes.length / 16_384 + 1)
  expect(await body.end()).toMatchObject({ accepted: 4_000 })
  const endless = intake.open()
  await endless.write(line(5_000))
  await expect.poll(storedIds).toContain("5000")
  await endless.write(line(5_001))
  await expect.poll(storedIds).toContain("5001")
  await endless.end()
})

test("a writer waits while the memory of its chunks is at the bound, until some are stored", async () => {
  const { promise, resolve: release } = Promise.withResolvers<void>()
  gate = promise
  const body = intake.open()
  const long = Buffer.from(`{"data":{"id":"7","text":"${"x".repeat(10_000)}"}}\n`)
  const chunk = Buffer.concat(Array.from({ length: 20 }, () => long))
  let written = 0
  const writing = (async () => {
    for (let count = 0; count < 30; count++) {
      await body.write(Buffer.from(chunk))
      written += chunk.length
    }
  })()
  await expect.poll(() => appends).toBe(1)
  // Chunks that are read and not stored take memory, too.
  await expect.poll(() => written).toBeGreaterThan(4_000_000 - 2 * chunk.length)
  for (let turn = 0; turn < 20; turn++) await nextTurn()
  expect(written).toBeLessThan(4 * 1024 * 1024)
  release()
  await writing
  expect(await body.end()).toMatchObject({ accepted: 1, lines: 600 })
})

test("when partial lines take too much memory, the body with the largest one fails, and no other", async () => {
  const honest = intake.open()
  await honest.write(line(1).subarray(0, 10))
  const count = partialLineBytesMax / postBytesMax
  const bodies = Array.from({ length: count }, () => intake.open())
  for (const body of bodies) await body.write(Buffer.alloc(postBytesMax, "x"))
  const signals = bodies.map(({ failed: signal }) => signal)
  await expect.poll(() => signals.filter(({ aborted }) => aborted)).toHaveLength(1)
  expect(signals.find(({ aborted }) => aborted)?.reason).toMatchObject({ status: 503 })
  await honest.write(line(1).subarray(10))
  expect(await honest.end()).toMatchObject({ accepted: 1 })
  for (const body of bodies) body.abort()
  expect(failed).not.toHaveBeenCalled()
})

test("the number of open bodies is bounded, and one that ends makes room for another", () => {
  const bodies = Array.from({ length: bodiesMax }, () => intake.open())
  expect(() => intake.open()).toThrow("1000 bodies of posts are open")
  bodies[0]?.abort()
  intake.open().abort()
  for (const body of bodies) body.abort()
})

test("a thread that ends fails its own bodies, and no other, and leaves the report to its owner", async () => {
  using ports = new DisposableStack()
  const ended = ports.adopt(new MessageChannel(), (one) => one.port1.close())
  const nothing = (): void => undefined
  const events = {
    failed,
    postsAccepted,
    deletionsRequested: () => undefined,
    rulesIndexed: nothing,
    recordsDamaged: nothing,
    rulesSkipped: nothing,
  }
  const shared = intakeThrough([{ intakePort: ended.port1 }, { intakePort: channel.port1 }], events)
  const [lost, other] = [shared.open(), shared.open()]
  ended.port2.close()
  await expect(lost.end()).rejects.toMatchObject({ status: 503 })
  expect(failed).not.toHaveBeenCalled()
  await other.write(Buffer.from('{"data":{"id":"7","text":"a cat"}}\n'))
  expect(await other.end()).toMatchObject({ accepted: 1 })
})

test("the counts in a report of the index are not older than the batch that was reported before it", async () => {
  await store.createApp(anApp(app), [])
  await store.addRules(app, [aRule(app, "1", "cat")], cap)
  const released = Promise.withResolvers<undefined>()
  // Damaged records are read while a batch is matched and reported.
  const slow = new Proxy(store, {
    get: (working, name) =>
      name === "damagedRecords"
        ? async (): Promise<readonly string[]> => (await released.promise) ?? []
        : (Reflect.get(working, name) as unknown),
  })
  using ports = new DisposableStack()
  const { port1, port2 } = ports.adopt(new MessageChannel(), (one) => one.port1.close())
  const ruleMatchCounts = { note: () => undefined }
  const snowflakes = createSnowflakes(clock, systemRandom)
  const rules = await RuleIndex.load(store)
  serveIntake(port2, { store: slow, rules, ruleMatchCounts, clock, snowflakes, postBytesMax })
  const counted: number[] = []
  const watching = intakeThrough([{ intakePort: port1 }], {
    failed,
    postsAccepted,
    deletionsRequested: () => undefined,
    rulesIndexed: ({ candidates }) => void counted.push(candidates),
    recordsDamaged: () => undefined,
    rulesSkipped: () => undefined,
  })
  const body = watching.open(() => undefined)
  await body.write(Buffer.from('{"data":{"id":"7","text":"a cat"}}\n'))
  await body.end()
  await expect.poll(() => counted.length).toBe(1)
  released.resolve(undefined)
  await expect.poll(() => counted.length).toBe(2)
  expect(counted[0]).toBeGreaterThan(0)
  expect(counted[1]).toBe(counted[0])
})

test("the counts of the index never decrease from report to report, whichever body is reported", async () => {
  await store.createApp(anApp(app), [])
  await store.addRules(app, [aRule(app, "1", "cat")], cap)
  const counted: number[] = []
  channel.port1.on("message", ({ name, args }: { name: string; args: readonly unknown[] }) => {
    const batch = (name === "batch" || name === "done" ? args[1] : undefined) as DurableBatch | undefined
    if (batch !== undefined) counted.push(batch.index.candidates)
  })
  const cat = (id: number): Buffer => Buffer.from(`{"data":{"id":"${id}","text":"a cat"}}\n`)
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  gate = first.promise
  const slow = intake.open()
  await slow.write(cat(1))
  await expect.poll(() => appends).toBe(1)
  await slow.write(cat(2))
  const ended = slow.end()
  for (let turn = 0; turn < 10; turn++) await nextTurn()
  gate = second.promise
  first.resolve()
  await expect.poll(() => appends).toBe(2)
  gate = undefined
  expect(await intake.open().end(cat(3))).toMatchObject({ matches: 1 })
  second.resolve()
  expect(await ended).toMatchObject({ matches: 2 })
  expect(counted).toEqual([3, 3, 3])
})
