import { afterEach, beforeEach, expect, test } from "vitest"
import { ConnectionShares } from "../connection/connection-shares.ts"
import { systemClock as clock } from "../../../runtime/clock.ts"
import { ChallengeLimits } from "../../../control/webhooks/challenge-limits.ts"
import { RateLimited } from "../../../model/problem.ts"
import { anApp, app, other } from "../../contract/fixtures.ts"
import { openClusterStore, type ClusterStore } from "../serving/cluster-store.ts"
import { createTestDatabase, type TestDatabase } from "../connection/postgres.testing.ts"
import { ClusterLimits } from "./shared-limits.ts"

let server: TestDatabase
let stores: readonly ClusterStore[]
let processes: readonly ClusterLimits[]

beforeEach(async () => {
  server = await createTestDatabase()
  const settings = { url: server.url, poolMax: 4, statementMsMax: 30_000 }
  stores = [await openClusterStore(settings, { sender: "one" }), await openClusterStore(settings, { sender: "two" })]
  processes = stores.map(
    (store, at) =>
      new ClusterLimits({
        shares: new ConnectionShares(5),
        database: store.database,
        store,
        clock,
        processNumber: () => at,
        failed: () => undefined,
      }),
  )
  for (const id of [app, other]) await stores[0]?.createApp(anApp(id), [])
})

afterEach(async () => {
  for (const one of [...processes, ...stores]) await one[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

test("uses are counted over all processes, for each app and each kind, and from zero after the window", async () => {
  const limit = { max: 30, windowMs: 900_000 }
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, async (_, at) => processes[at % 2]?.takeUses(app, "challenges", limit)),
  )
  expect(outcomes.filter((outcome) => outcome?.granted === 1)).toHaveLength(30)
  const left = outcomes.map((outcome) => outcome?.left ?? 0).toSorted((a, b) => b - a)
  expect(left.slice(0, 31), "each use shows how many are left after it").toEqual(
    [...Array(30).keys(), 0].toSorted((a, b) => b - a),
  )
  for (const outcome of outcomes) {
    expect(outcome?.endsInMs).toBeGreaterThan(800_000)
    expect(outcome?.endsInMs).toBeLessThanOrEqual(900_000)
  }
  expect(await processes[0]?.takeUses(other, "challenges", limit)).toMatchObject({ granted: 1, left: 29 })
  expect(await processes[0]?.takeUses(app, "others", limit)).toMatchObject({ granted: 1, left: 29 })
  await stores[0]?.database.run("UPDATE app_uses SET ends_at = now()")
  expect(await processes[1]?.takeUses(app, "challenges", limit)).toMatchObject({ granted: 1, left: 29 })
  expect(await processes[0]?.takeUses(app, "challenges", { ...limit, max: 1 })).toMatchObject({ granted: 0, left: 0 })
})

test("many uses that are taken at once are granted as far as the bound goes, and no other process gets more", async () => {
  const limit = { max: 10, windowMs: 900_000 }
  expect(await processes[0]?.takeUses(app, "requests", { ...limit, count: 6 })).toMatchObject({ granted: 6, left: 4 })
  expect(await processes[1]?.takeUses(app, "requests", { ...limit, count: 6 })).toMatchObject({ granted: 4, left: 0 })
  expect(await processes[0]?.takeUses(app, "requests", { ...limit, count: 6 })).toMatchObject({ granted: 0, left: 0 })
})

test("the uses of an app leave a connection to other apps", async () => {
  const [store] = stores
  if (store === undefined) throw new Error("no store")
  const shares = new ConnectionShares(2)
  const [database, failed] = [store.database, () => undefined]
  await using limits = new ClusterLimits({ shares, database, store, clock, processNumber: () => 0, failed })
  const held = Promise.withResolvers<void>()
  const holding = shares.run({ kind: "request", owner: app }, () => held.promise)
  let isCounted = false
  const counting = limits.takeUses(app, "challenges", { max: 30, windowMs: 900_000 }).then(() => (isCounted = true))
  await store.heads()
  expect(isCounted).toBe(false)
  held.resolve()
  await Promise.all([holding, counting])
})

test("an app's challenges are limited over all processes, and a refused one is not in progress", async () => {
  const limits = processes.map((shared) => new ChallengeLimits(clock, 8, shared))
  const ask = async (at: number): Promise<void> => {
    const leave = await limits[at % 2]?.enterEverywhere(app, "https://example.com/")
    leave?.()
  }
  for (let at = 0; at < 8; at += 1) await ask(at)
  for (let at = 0; at < 12; at += 1) {
    const refusal: unknown = await ask(at).catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(RateLimited)
    // Not the second after which there may be room.
    expect((refusal as RateLimited).retryAfterMs).toBeGreaterThan(800_000)
  }
})
