/** The connection is lost at each statement of a write, before PostgreSQL has it and after it has responded. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest"
import { TcpProxy } from "../../../../../../test/support/tcp-proxy.testing.ts"
import {
  addLink,
  aMatch,
  anApp,
  aPost,
  app,
  aRetry,
  aRule,
  cap,
  link,
  liveRules,
  positions,
  progress,
  seqs,
  webhook,
} from "../../contract/fixtures.ts"
import { StoreUnavailable } from "../../store-faults.ts"
import { auditOf } from "../serving/audited.testing.ts"
import { openClusterStore, type ClusterStore } from "../serving/cluster-store.ts"
import type { ClusterSettings } from "./connections.ts"
import { createTestDatabase, createTestSchema, type TestDatabase } from "./postgres.testing.ts"

let server: TestDatabase
let network: TcpProxy
let settings: ClusterSettings
let store: ClusterStore

beforeAll(async () => {
  server = await createTestDatabase()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

beforeEach(async () => {
  const url = new URL(await createTestSchema(server))
  network = await TcpProxy.to(Number(url.port))
  url.port = String(network.port)
  settings = { url: url.href, poolMax: 1, statementMsMax: 30_000 }
  store = await openClusterStore(settings, { sender: "test" })
  await store.createApp(anApp(app), [])
})

afterEach(async () => {
  await store[Symbol.asyncDispose]()
  await network[Symbol.asyncDispose]()
})

/**
 * Calls `write` with the connection lost at each of its statements, one after the other, and then once more, as a caller
 * does who had no result. Returns how often the write was lost.
 */
async function loseEach(
  side: "before" | "after",
  write: (turn: number) => Promise<unknown>,
  check: (turn: number) => Promise<void>,
): Promise<number> {
  for (let turn = 0; ; turn += 1) {
    const hitsBefore = network.hits
    network.cutAtMessage(turn, side)
    const error = await write(turn).then(
      () => undefined,
      (failure: unknown) => failure,
    )
    network.cutAtMessage(Number.POSITIVE_INFINITY, side)
    if (network.hits === hitsBefore) return turn
    // The hint that follows a write is a statement of its own, with which the write is not lost.
    if (error !== undefined) {
      expect(error).toBeInstanceOf(StoreUnavailable)
      await write(turn)
    }
    await check(turn)
  }
}

test.each(["before", "after"] as const)("an append that is lost %s a statement is stored once", async (side) => {
  const idsOf = (turn: number): string[] => [1, 2, 3].map((number) => String(turn * 10 + number))
  let stored: [number, string][] = []
  const lost = await loseEach(
    side,
    (turn) =>
      store.append(
        idsOf(turn).map((id) => ({ post: aPost(id), matches: [aMatch(app, "5")] })),
        1,
      ),
    async (turn) => {
      stored = [...stored, ...idsOf(turn).map((id, index): [number, string] => [stored.length + index + 1, id])]
      expect(await positions(store, app)).toEqual(stored)
    },
  )
  // BEGIN, posts, the log's lock, matches, the count, COMMIT at the least.
  expect(lost).toBeGreaterThanOrEqual(6)
  const { damage, posts } = await auditOf(settings)
  expect(damage).toEqual([])
  expect(posts.accepted).toBe(posts.stored)
})

test.each(["before", "after"] as const)("progress that is lost %s a statement is counted once", async (side) => {
  await addLink(store, app, { linkId: link, webhookId: webhook })
  await store.append(
    Array.from({ length: 60 }, (_, index) => ({ post: aPost(String(index + 1)), matches: [aMatch(app, "5")] })),
    1,
  )
  const lost = await loseEach(
    side,
    // Two matches more: one is delivered, and so is the retry of before; the other is a retry.
    (turn) => {
      const position = 2 * turn + 2
      const settled = turn === 0 ? [] : seqs(position - 2)
      const made = { retries: [aRetry(position)], settled, delivered: turn === 0 ? 1 : 2 }
      return store.saveProgress([progress(position, made)])
    },
    async (turn) => {
      const tally = await store.linkTally(link)
      expect(tally).toMatchObject({ position: 2 * turn + 2, delivered: 2 * turn + 1, retries: 1 })
    },
  )
  expect(lost).toBeGreaterThanOrEqual(6)
  expect((await auditOf(settings)).damage).toEqual([])
})

test.each(["before", "after"] as const)("rules whose addition is lost %s a statement are there once", async (side) => {
  const lost = await loseEach(
    side,
    (turn) => store.addRules(app, [aRule(app, String(turn * 100 + 1), `cat${turn}`)], cap),
    async (turn) => {
      const values = (await liveRules(store)).map(({ value }) => value)
      expect(values.filter((value) => value === `cat${turn}`)).toHaveLength(1)
    },
  )
  expect(lost).toBeGreaterThanOrEqual(6)
})

test("a statement on a connection that a reconnect closes fails at once, and the next one succeeds", async () => {
  const failed = expect(store.database.rows("SELECT pg_sleep(25)")).rejects.toThrow(StoreUnavailable)
  await new Promise((resolve) => setTimeout(resolve, 50))
  store.reconnect()
  await failed
  expect(await store.app(app)).toMatchObject({ id: app })
})

test("a reconnect fails the statement that waits for a connection, and gives up the connection that is being made", async () => {
  await store[Symbol.asyncDispose]()
  store = await openClusterStore({ ...settings, networkMsMax: 20_000 }, { sender: "test" })
  network.set("half-open")
  const beganAtMs = performance.now()
  const [connecting, waiting] = [store.app(app), store.database.rows("SELECT 1")]
  const failed = [connecting, waiting].map((statement) => expect(statement).rejects.toThrow(StoreUnavailable))
  await new Promise((resolve) => setTimeout(resolve, 50))
  network.set("good")
  store.reconnect()
  await Promise.all(failed)
  expect(await store.app(app)).toMatchObject({ id: app })
  expect(performance.now() - beganAtMs).toBeLessThan(10_000)
})
