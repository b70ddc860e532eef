import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { MessageChannel } from "node:worker_threads"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { RuleIndex } from "../matching/rule-index.ts"
import type { AppId, RuleId } from "../model/ids.ts"
import { Problem } from "../model/problem.ts"
import { systemClock as clock } from "../runtime/clock.ts"
import { anApp } from "../store/contract.ts"
import { openEmbeddedStore } from "../store/embedded/embedded-store.ts"
import type { Store } from "../store/store.ts"
import type { IngestReport } from "./accept-posts.ts"
import { intakeThrough, type Intake } from "./intake.ts"
import { serveIntake } from "./serve-intake.ts"

const diskFull = new Error("disk full")
const app = "100" as AppId

let directory: string
let store: Store
let channel: MessageChannel
let intake: Intake
/** How often the store is still to fail at each of these. */
let failures: { append: number; ruleChanges: number }
/** What appends wait for, and how many have begun. */
let held: Promise<void> | undefined
let appends: number
const failed = vi.fn<(event: { where: string; error: unknown }) => void>()
const postsAccepted = vi.fn<(event: object) => void>()

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-serve-intake-"))
  store = await openEmbeddedStore({ file: join(directory, "sluice.db") })
  failures = { append: 0, ruleChanges: 0 }
  held = undefined
  appends = 0
  failed.mockReset()
  postsAccepted.mockReset()
  const fragile: Store = failing(store)
  channel = new MessageChannel()
  serveIntake(channel.port2, { store: fragile, rules: await RuleIndex.load(fragile), clock })
  intake = intakeThrough(channel.port1, { failed, postsAccepted, rulesIndexed: () => undefined })
})

afterEach(async () => {
  channel.port1.close()
  await store[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

/** The store, which fails as often as `failures` says. */
function failing(sound: Store): Store {
  return new Proxy(sound, {
    get(_, name) {
      const member: unknown = Reflect.get(sound, name)
      if (typeof member !== "function") return member
      return (...args: readonly unknown[]): unknown => {
        if ((name === "append" || name === "ruleChanges") && failures[name] > 0) {
          failures[name] -= 1
          return Promise.reject(diskFull)
        }
        if (name !== "append") return Reflect.apply(member, sound, args)
        appends += 1
        return Promise.resolve(held).then((): unknown => Reflect.apply(member, sound, args))
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
  return (await store.recentPosts(10)).map(({ id }) => id)
}

test("a body whose store fails once takes nothing more, and says so before its end", async () => {
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

test("what was on its way when the store failed is not taken for a body of its own", async () => {
  failures.append = 1
  const body = intake.open()
  // The failure comes with a first full batch; what follows was sent before anybody knew.
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

test("every durable batch is counted once, that of an aborted body too", async () => {
  const body = intake.open()
  await body.write(Buffer.concat([line(1), Buffer.from("nonsense\n"), line(1)]))
  body.abort()
  const next = intake.open()
  await next.write(line(2))
  await next.end()
  expect(postsAccepted.mock.calls).toEqual([
    [{ accepted: 1, duplicates: 1, rejected: 1, matches: 0 }],
    [{ accepted: 1, duplicates: 0, rejected: 0, matches: 0 }],
  ])
})

test("rules that cannot be read are reported, and no body is blamed for it", async () => {
  await store.createApp(anApp(app), [])
  failures.ruleChanges = 1
  const rule = { id: "1" as RuleId, appId: app, value: "post" }
  await store.addRules(app, [rule], { rulesMax: 10, dryRun: false })
  await vi.waitFor(() => {
    expect(failed.mock.calls).toEqual([[{ where: "rule index", error: diskFull }]])
  })
  const body = intake.open()
  await body.write(line(1))
  expect(await body.end()).toMatchObject({ accepted: 1, matches: 1 })
})

test("when the thread has ended, bodies that are open and those that come later fail, and none waits", async () => {
  const open = intake.open()
  channel.port2.close()
  expect(await abortOf(open.failed)).toMatchObject({ status: 503 })
  await expect(open.end()).rejects.toMatchObject({ status: 503 })
  const later = intake.open()
  await expect(later.write(line(1))).rejects.toMatchObject({ status: 503 })
  await expect(later.end()).rejects.toMatchObject({ status: 503 })
})

test("what a client that is gone left unread is forgotten", async () => {
  const { promise, resolve: release } = Promise.withResolvers<void>()
  held = promise
  const body = intake.open()
  await body.write(line(1))
  await expect.poll(() => appends).toBe(1)
  for (const id of [2, 3, 4]) await body.write(line(id))
  body.abort()
  // Nothing of another body is read before it is seen that this one is gone.
  const next = intake.open()
  await next.write(line(5))
  await expect.poll(() => appends).toBe(2)
  release()
  expect(await next.end()).toMatchObject({ accepted: 1 })
  // By the time that these are stored, what was left would be too.
  for (const id of [6, 7, 8]) {
    const more = intake.open()
    await more.write(line(id))
    await more.end()
  }
  const ids = await storedIds()
  expect(ids).toContain("1")
  expect(ids).not.toContain("3")
  expect(ids).not.toContain("4")
})

test("a batch that is durable is told before what comes after it fails", async () => {
  const { promise, resolve: release } = Promise.withResolvers<void>()
  held = promise
  const batches: IngestReport[] = []
  const body = intake.open((report) => batches.push(report))
  await body.write(line(1))
  await expect.poll(() => appends).toBe(1)
  failures.ruleChanges = 1
  await body.write(line(2))
  await expect.poll(() => failures.ruleChanges).toBe(0)
  expect(body.failed.aborted).toBe(false)
  release()
  await abortOf(body.failed)
  expect(batches).toMatchObject([{ accepted: 1 }])
})
