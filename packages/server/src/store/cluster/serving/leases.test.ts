import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest"
import { asId, type AppId, type LinkId, type WebhookId } from "../../../model/ids.ts"
import { systemClock } from "../../../runtime/clock.ts"
import { aLink, anApp, aWebhook, progress } from "../../contract/fixtures.ts"
import { openClusterStore, type ClusterStore } from "./cluster-store.ts"
import type { ClusterSettings } from "../connection/connections.ts"
import { ClusterDatabase } from "../connection/database.ts"
import { ClusterLeases } from "./leases.ts"
import { createTestDatabase, createTestSchema, type TestDatabase } from "../connection/postgres.testing.ts"

let server: TestDatabase
let settings: ClusterSettings
let store: ClusterStore
let resources: AsyncDisposableStack

beforeAll(async () => {
  server = await createTestDatabase()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

beforeEach(async () => {
  resources = new AsyncDisposableStack()
  settings = { url: await createTestSchema(server), poolMax: 4, statementMsMax: 30_000 }
  store = resources.use(await openClusterStore(settings, { sender: "test" }))
  await store.createApp(anApp("100"), [])
})

afterEach(async () => {
  await resources.disposeAsync()
})

async function addLinks(first: number, count: number): Promise<void> {
  for (let number = first; number < first + count; number += 1) {
    await store.createWebhook(aWebhook("100", String(number)), { webhooksMax: 10_000 })
    await store.createLink(aLink("100", String(number + 100_000), String(number)))
  }
}

/** A process, with all links stopped as soon as it may not drive them. */
class Process {
  readonly leases: ClusterLeases
  readonly database: ClusterDatabase
  /** Links that it reports as stopped. */
  reports: readonly LinkId[] = allLinks

  private constructor(leases: ClusterLeases, database: ClusterDatabase) {
    this.leases = leases
    this.database = database
  }

  static async begin(clock = systemClock): Promise<Process> {
    const database = resources.use(new ClusterDatabase({ ...settings, poolMax: 1 }, () => undefined))
    const leases = await ClusterLeases.begin({ database, store, clock, failed: () => undefined })
    resources.use(leases)
    const process = new Process(leases, database)
    leases.onChange(() => leases.stopped(process.reports))
    return process
  }

  /** Links that it drives, with the number of the lease. */
  get links(): ReadonlyMap<LinkId, number> {
    const held = allLinks.map((id) => [id, this.leases.ofLink(id)] as const)
    return new Map(held.filter((entry): entry is readonly [LinkId, number] => entry[1] !== undefined))
  }
}

const allLinks = Array.from({ length: 40 }, (_, index): LinkId => asId(String(100_001 + index)))

function countsOf(processes: readonly Process[]): readonly number[] {
  return processes.map(({ links }) => links.size)
}

test("links are spread evenly, each to one process, and again when processes or links come or go", async () => {
  await addLinks(1, 10)
  const first = await Process.begin()
  expect(countsOf([first])).toEqual([10])
  const second = await Process.begin()
  await expect.poll(() => countsOf([first, second])).toEqual([5, 5])
  const third = await Process.begin()
  await expect.poll(() => countsOf([first, second, third])).toEqual([4, 3, 3])
  expect(new Set([first, second, third].flatMap(({ links }) => [...links.keys()])).size).toBe(10)
  await addLinks(11, 2)
  await expect.poll(() => countsOf([first, second, third])).toEqual([4, 4, 4])
  await second.leases[Symbol.asyncDispose]()
  await expect.poll(() => countsOf([first, third])).toEqual([6, 6])
})

test("a link that is deleted before it has stopped does not keep a process from giving others back", async () => {
  await addLinks(1, 7)
  const first = await Process.begin()
  // The runner has not begun the newest links yet, so it does not stop them.
  first.reports = allLinks.slice(0, 4)
  const second = await Process.begin()
  await expect.poll(() => countsOf([first, second]), { message: "three are to be stopped" }).toEqual([4, 0])
  await store.deleteLink(asId<AppId>("100"), asId<WebhookId>("7"))
  // It knows nothing of one that is gone.
  first.reports = allLinks.slice(0, 6)
  await expect.poll(() => countsOf([first, second]), { timeout: 10_000 }).toEqual([3, 3])
  const third = await Process.begin()
  await expect.poll(() => countsOf([first, second, third]), { timeout: 10_000 }).toEqual([2, 2, 2])
}, 40_000)

test("links of a revoked app do not keep a process from giving others back", async () => {
  await addLinks(1, 6)
  await store.createApp(anApp("200"), [])
  for (const number of [11, 12, 13]) {
    await store.createWebhook(aWebhook("200", String(number)), { webhooksMax: 10_000 })
    await store.createLink(aLink("200", String(number + 100_000), String(number)))
  }
  const ofFirstApp = allLinks.slice(0, 6)
  const countOf = ({ links }: Process): number => ofFirstApp.filter((id) => links.has(id)).length
  const first = await Process.begin()
  expect(first.links.size).toBe(9)
  await store.revokeApp(anApp("200").id)
  // As a runner of links does, which knows only those of apps that are not revoked.
  first.reports = ofFirstApp
  const second = await Process.begin()
  await expect.poll(() => [first, second].map(countOf)).toEqual([3, 3])
})

test("the links of a process that has died move within 10 s, and it cannot save its progress on them", async () => {
  await addLinks(1, 4)
  // Its clock stands still from then on, as that of a process that is stopped: it renews nothing.
  const stopped = new AbortController()
  const clock = {
    ...systemClock,
    sleep: async (ms: number, signal?: AbortSignal) => {
      await systemClock.sleep(ms, signal)
      if (stopped.signal.aborted) await new Promise((resolve) => signal?.addEventListener("abort", resolve))
    },
  }
  const dying = await Process.begin(clock)
  const living = await Process.begin()
  await expect.poll(() => countsOf([dying, living])).toEqual([2, 2])
  const [kept, keptLease] = [...dying.links][0] ?? []
  if (kept === undefined || keptLease === undefined) throw new Error("the process has no link")
  const made = progress(0, { linkId: kept })
  expect(await store.saveProgress([{ ...made, lease: keptLease }])).toEqual([])
  stopped.abort()
  const diedMs = performance.now()
  await expect.poll(() => living.links.size).toBe(4)
  expect(performance.now() - diedMs).toBeLessThan(10_000)
  // It has stopped by its own clock before.
  expect(dying.links.size).toBe(0)
  expect(await store.saveProgress([{ ...made, lease: keptLease }])).toEqual([{ linkId: kept, lease: keptLease }])
  expect(living.links.get(kept)).toBeGreaterThan(keptLease)
})

test("a process that died before PostgreSQL's clock was set back by an hour keeps its links no longer than any other", async () => {
  await addLinks(1, 4)
  const survivor = await Process.begin()
  await survivor.database.run("INSERT INTO processes (alive_until) VALUES (clock_timestamp() + interval '1 hour')")
  const dead = await survivor.database.row<{ number: number }>("SELECT max(number) AS number FROM processes")
  await survivor.database.run("UPDATE links SET process = $1, lease = 999", dead?.number ?? 0)
  await survivor.database.run("UPDATE lease_moves SET moves = moves + 1")
  const heldByDead = async () =>
    (await survivor.database.row<{ count: number }>("SELECT count(*) FROM links WHERE lease = 999"))?.count
  expect(await heldByDead()).toBe(4)
  await expect.poll(heldByDead, { timeout: 15_000 }).toBe(0)
  await expect.poll(() => countsOf([survivor]), { timeout: 15_000 }).toEqual([4])
})

test("a late process that no other has expired keeps its links, under the same leases", async () => {
  await addLinks(1, 2)
  let passedMs = 0
  let renewing = Promise.resolve()
  const clock = {
    ...systemClock,
    monotonicMs: () => systemClock.monotonicMs() + passedMs,
    sleep: async (ms: number, signal?: AbortSignal) => {
      await systemClock.sleep(ms, signal)
      await renewing
    },
  }
  const process = await Process.begin(clock)
  const before = process.links
  expect(before.size).toBe(2)
  const { promise, resolve } = Promise.withResolvers<void>()
  renewing = promise
  passedMs = 60_000
  await process.database.run("UPDATE processes SET alive_until = clock_timestamp() - interval '1 second'")
  expect(process.links.size).toBe(0)
  resolve()
  await expect.poll(() => process.links).toEqual(before)
  const saves = Array.from(before, ([linkId, lease]) => ({ ...progress(0, { linkId }), lease }))
  expect(await store.saveProgress(saves)).toEqual([])
})

test("a link that was lost and leased again is kept, whatever is reported about the earlier lease", async () => {
  await addLinks(1, 1)
  const process = await Process.begin()
  const [id, before] = [...process.links][0] ?? []
  if (id === undefined || before === undefined) throw new Error("the process has no link")
  await process.database.run("UPDATE links SET process = NULL, lease = NULL")
  process.leases.lost([{ linkId: id, lease: before }])
  await expect.poll(() => process.links.get(id)).toBeGreaterThan(before)
  const now = process.links.get(id)
  const late = await store.saveProgress([{ ...progress(0, { linkId: id }), lease: before }])
  process.leases.lost(late)
  expect(late).toEqual([{ linkId: id, lease: before }])
  expect(process.links.get(id)).toBe(now)
})

test("one process has each periodic task, and another one after it has left", async () => {
  const [first, second] = [await Process.begin(), await Process.begin()]
  const holders = () => [first, second].map(({ leases }) => leases.has("retention"))
  expect(holders()).toEqual([true, false])
  expect(first.leases.has("challenges")).toBe(true)
  await first.leases[Symbol.asyncDispose]()
  await expect.poll(() => second.leases.has("retention") && second.leases.has("challenges")).toBe(true)
})
