import { pino } from "pino"
import { Registry } from "prom-client"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { AppId, MatchSeq, RuleId } from "../model/ids.ts"
import { systemClock } from "../runtime/clock.ts"
import { FairRounds } from "../runtime/fair-rounds.ts"
import { createEvents } from "../runtime/events/recorded-events.ts"
import { anApp, newestPosts } from "../store/contract/fixtures.ts"
import type { ServedStore } from "../store/engine.ts"
import { testedEngine } from "../store/tested-store.testing.ts"
import type { Store } from "../store/store.ts"
import { loadIntakeThread, type IntakeThread } from "./intake-thread.ts"
import { intakeThrough, type Intake } from "./intake.ts"
import type { IngestReport } from "./ingest-report.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"

let directory: TemporaryDirectory
let served: ServedStore
let thread: IntakeThread
let store: Store
let intake: Intake
let registry: Registry
const app = "100" as AppId
const other = "200" as AppId

beforeEach(async () => {
  directory = await temporaryDirectory()
  await start()
  await store.createApp(anApp(app), [])
  await store.createApp(anApp(other), [])
})

afterEach(async () => {
  await stop()
  await directory.remove()
})

async function start(): Promise<void> {
  const engine = await testedEngine(directory.path)
  const rounds = new FairRounds(systemClock)
  const settings = { cacheBytes: 67_108_864, crashPoint: undefined, warn: () => undefined, rounds }
  served = await engine.serve({ ...settings, report: expect.unreachable })
  store = served.store
  thread = loadIntakeThread()
  await thread.start({
    storeAccess: served.grantAccess(),
    postBytesMax: 262_144,
    ruleStepsPerAppMax: 10_000_000,
  })
  registry = new Registry()
  intake = intakeThrough([thread], createEvents(pino({ level: "silent" }), registry))
}

async function stop(): Promise<void> {
  await thread[Symbol.asyncDispose]()
  await served[Symbol.asyncDispose]()
}

function line(id: number, text: string, more = ""): string {
  return `{"data":{"id":"${id}","text":"${text}","created_at":"2026-03-14T09:26:53.000Z"${more}}}\n`
}

async function ingest(...chunks: readonly string[]): Promise<IngestReport> {
  const body = intake.open()
  for (const chunk of chunks) await body.write(Buffer.from(chunk))
  return body.end()
}

async function addRule(appId: AppId, id: string, value: string, tag?: string): Promise<void> {
  const rule = { id: id as RuleId, appId, value, ...(tag !== undefined && { tag }) }
  await store.addRules(appId, [rule], { rulesMax: 100 })
}

async function matchesOf(appId: AppId): Promise<readonly (readonly [string, string])[]> {
  const entries = await store.matches({
    appId,
    after: 0 as MatchSeq,
    limit: 10_000,
    bytesMax: 1_000_000,
    shape: "core",
  })
  return entries.map((entry) => [entry.postId, entry.rulesJson])
}

test("posts are stored with their matches, for every app by itself", async () => {
  await addRule(app, "2", "cat", "pets")
  await addRule(app, "10", "cat lang:en")
  await addRule(other, "3", "dog")
  const report = await ingest(line(1, "a cat", ',"lang":"en"') + line(2, "a dog"), line(3, "a bird"))
  expect(report).toEqual({ accepted: 3, duplicates: 0, rejected: [], rejectedCount: 0, lines: 3, matches: 2 })
  expect(await matchesOf(app)).toEqual([["1", '[{"id":"2","tag":"pets"},{"id":"10","tag":""}]']])
  expect(await matchesOf(other)).toEqual([["2", '[{"id":"3","tag":""}]']])
})

test("an added rule applies to the next post, and a deleted rule does not", async () => {
  for (let round = 0; round < 20; round++) {
    await addRule(app, String(round + 1), `word${round}`)
    await ingest(line(round * 2 + 1, `word${round}`))
    await store.deleteRules(app, { kind: "all" })
    await ingest(line(round * 2 + 2, `word${round}`))
  }
  expect((await matchesOf(app)).map(([id]) => Number(id))).toEqual(Array.from({ length: 20 }, (_, i) => i * 2 + 1))
})

test("several threads share the bodies, know the same rules, and are counted together", async () => {
  await using second = loadIntakeThread()
  await using third = loadIntakeThread()
  const both = [second, third]
  const settings = { postBytesMax: 262_144, ruleStepsPerAppMax: 10_000_000 }
  await Promise.all(both.map((one) => one.start({ ...settings, storeAccess: served.grantAccess() })))
  const ended = new Map<IntakeThread, number>()
  for (const one of both) {
    one.intakePort.on("message", ({ name }: { name: string }) => {
      if (name === "done") ended.set(one, (ended.get(one) ?? 0) + 1)
    })
  }
  const shared = intakeThrough(both, createEvents(pino({ level: "silent" }), (registry = new Registry())))
  for (let round = 0; round < 5; round++) {
    await addRule(app, String(round + 1), `word${round}`)
    const bodies = both.map(() => shared.open())
    await Promise.all(
      bodies.map(async (body, index) => {
        for (const half of [0, 1]) await body.write(Buffer.from(line(round * 4 + index * 2 + half + 1, `word${round}`)))
        expect(await body.end()).toMatchObject({ accepted: 2, matches: 2 })
      }),
    )
  }
  expect(both.map((one) => ended.get(one))).toEqual([5, 5])
  const posts = (await matchesOf(app)).map(([id]) => Number(id))
  expect(posts.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
  // Within a body the order is that of its lines.
  for (let first = 1; first < 20; first += 2) expect(posts.indexOf(first)).toBeLessThan(posts.indexOf(first + 1))
  const candidates = registry.getSingleMetric("sluice_rule_candidates_total")
  expect((await candidates?.get())?.values.map(({ value }) => value)).toEqual([20])
})

test("ingesting the same posts again accepts nothing and logs nothing", async () => {
  await addRule(app, "1", "cat")
  const body = line(1, "cat") + line(2, "cat") + line(1, "cat again")
  expect(await ingest(body)).toMatchObject({ accepted: 2, duplicates: 1, matches: 2 })
  expect(await ingest(body)).toMatchObject({ accepted: 0, duplicates: 3, matches: 0 })
  expect(await matchesOf(app)).toHaveLength(2)
})

test("rejected lines are reported by number, and the rest is stored", async () => {
  const report = await ingest(`${line(1, "a")}\nnot json\n${line(2, "b")}{"data":{"id":3}}\n{"data":{"id":"4"`)
  expect(report).toMatchObject({ accepted: 2, duplicates: 0, rejectedCount: 3, lines: 5 })
  expect(report.rejected.map((rejected) => [rejected.line, rejected.title])).toEqual([
    [3, "Invalid JSON"],
    [5, "Invalid Post"],
    [6, "Invalid JSON"],
  ])
})

test("the first hundred rejections are reported, and all are counted", async () => {
  const report = await ingest("x\n".repeat(250))
  expect(report).toMatchObject({ rejectedCount: 250, lines: 250 })
  expect(report.rejected.map((rejected) => rejected.line)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1))
})

test("an endless body is acknowledged batch by batch", async () => {
  const batches: IngestReport[] = []
  const heard = Promise.withResolvers<void>()
  const body = intake.open((report) => {
    batches.push(report)
    heard.resolve()
  })
  await body.write(Buffer.from(line(1, "a")))
  await heard.promise
  expect(batches).toMatchObject([{ accepted: 1 }])
  expect(await newestPosts(store, 5)).toHaveLength(1)
  expect(await body.end()).toMatchObject({ accepted: 1, lines: 1 })
})

test("bodies that are ingested at the same time do not mix", async () => {
  const reports = await Promise.all(
    Array.from({ length: 8 }, (_, body) =>
      ingest(...Array.from({ length: 50 }).map((__, index) => line(body * 100 + index, `post ${index}`))),
    ),
  )
  expect(reports.map((report) => report.accepted)).toEqual(Array.from({ length: 8 }, () => 50))
})

test("an aborted body keeps the posts that were read, and the thread continues", async () => {
  const body = intake.open()
  await body.write(Buffer.from(line(1, "a") + line(2, "cut off").slice(0, 20)))
  body.abort()
  expect(await ingest(line(3, "c"))).toMatchObject({ accepted: 1 })
})

test("a stopped body keeps its complete lines, and reports them", async () => {
  const body = intake.open()
  await body.write(Buffer.from(line(1, "a") + line(2, "b") + line(3, "cut off").slice(0, 20)))
  expect(await body.stop()).toMatchObject({ accepted: 2, rejectedCount: 0, lines: 2 })
  expect(await ingest(line(3, "c"))).toMatchObject({ accepted: 1, lines: 1 })
})

test("a writer waits while a window of bytes is unread", async () => {
  const body = intake.open()
  const chunk = Buffer.from(line(1, "x".repeat(1000)).repeat(1000))
  let inFlight = 0
  let most = 0
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      inFlight += 1
      most = Math.max(most, inFlight)
      await body.write(Buffer.from(chunk))
      inFlight -= 1
    }),
  )
  expect(await body.end()).toMatchObject({ accepted: 1, lines: 20_000 })
  expect(most).toBeGreaterThan(1)
})

test("the metrics count rules, scanned rules and candidates, for endless bodies too", async () => {
  await addRule(app, "1", "cat")
  await addRule(app, "2", "dog")
  await addRule(app, "3", "followers_count:1000")
  const metric = async (name: string): Promise<number | undefined> =>
    (await registry.getSingleMetric(name)?.get())?.values[0]?.value
  await ingest(line(1, "a bird"))
  expect(await metric("sluice_rules")).toBe(3)
  expect(await metric("sluice_rules_scanned")).toBe(1)
  // The scanned rule is compared with every post, the others with posts that have their word.
  expect(await metric("sluice_rule_candidates_total")).toBe(1)
  const body = intake.open()
  await body.write(Buffer.from(line(2, "a cat")))
  await expect.poll(() => metric("sluice_rule_candidates_total")).toBe(3)
  await body.end()
})

test("after a restart of the thread everything is there, rules included", async () => {
  await addRule(app, "1", "cat")
  await ingest(line(1, "cat"))
  await stop()
  await start()
  await ingest(line(2, "cat"))
  expect((await matchesOf(app)).map(([id]) => id)).toEqual(["1", "2"])
})
