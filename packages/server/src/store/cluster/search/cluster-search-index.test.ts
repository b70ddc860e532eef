import { MessageChannel } from "node:worker_threads"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { TcpProxy } from "../../../../../../test/support/tcp-proxy.testing.ts"
import type { PostId } from "../../../model/ids.ts"
import { addTo, at, idOfDay, searchIndexContract } from "../../contract/search-index-contract.ts"
import type { SearchIndexSettings } from "../../search-index.ts"
import { IndexMoved, StoreUnavailable } from "../../store-faults.ts"
import { ClusterDatabase } from "../connection/database.ts"
import type { ClusterSettings } from "../connection/connections.ts"
import { migrate } from "../connection/migrations.ts"
import { createTestDatabase, createTestSchema, type TestDatabase } from "../connection/postgres.testing.ts"
import { opener } from "../serving/served-store.ts"
import { openClusterSearchIndex } from "./cluster-search-index.ts"

let server: TestDatabase

beforeAll(async () => {
  server = await createTestDatabase()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

async function newStore(): Promise<ClusterSettings> {
  const settings = { url: await createTestSchema(server), poolMax: 3, statementMsMax: 30_000 }
  await using database = new ClusterDatabase(settings, () => undefined)
  await migrate(database, settings)
  return settings
}

const indexSettings: SearchIndexSettings = { termsVersion: 1, partitionPostsMin: 3 }

searchIndexContract(
  "the search index of the PostgreSQL store",
  async () => {
    const settings = await newStore()
    return {
      open: () => openClusterSearchIndex(settings, indexSettings),
      module: `
        import { openClusterSearchIndex } from ${JSON.stringify(import.meta.resolve("./cluster-search-index.ts"))}
        const index = await openClusterSearchIndex(${JSON.stringify(settings)}, ${JSON.stringify(indexSettings)})`,
      [Symbol.asyncDispose]: async () => undefined,
    }
  },
  { runs: 25 },
)

describe("an index that several processes share", () => {
  let settings: ClusterSettings

  beforeEach(async () => {
    settings = await newStore()
  })

  const everything = { kind: "everything" } as const
  const all = { above: -1n, upTo: 9_223_372_036_854_775_807n, direction: "newer", limit: 500 } as const
  const open = (termsVersion = 1) => openClusterSearchIndex(settings, { ...indexSettings, termsVersion })
  const posts = (...ids: (number | bigint)[]) => ids.map((id) => ({ id: String(id) as PostId, terms: ["t:a"] }))

  async function tables(): Promise<readonly string[]> {
    await using database = new ClusterDatabase(settings, () => undefined)
    const rows = await database.rows<{ name: string }>(
      `SELECT tablename::text AS name FROM pg_tables
       WHERE schemaname = current_schema() AND tablename ~ '^search_[0-9]' ORDER BY tablename`,
    )
    return rows.map(({ name }) => name)
  }

  test("of two processes that fill it, the one that is late adds nothing and moves nothing back", async () => {
    await using early = await open()
    await using late = await open()
    await early.add(posts(1), { after: undefined, position: at(1) })
    await early.add(posts(2), { after: at(1), position: at(2) })
    await early.add(posts(3), { after: at(2), position: at(3) })
    // A search of its process reads the position meanwhile.
    expect(await late.position()).toBe(at(3))
    await expect(late.add(posts(4), { after: at(1), position: at(2) })).rejects.toThrow(IndexMoved)
    expect(await early.find(everything, all)).toEqual(["1", "2", "3"])
    expect(await late.position()).toBe(at(3))
    await late.add(posts(3, 4), { after: at(3), position: at(4) })
    await expect(early.add(posts(4), { after: at(3), position: at(4) })).rejects.toThrow(IndexMoved)
    expect(await early.find(everything, all)).toEqual(["1", "2", "3", "4"])
  })

  test("of two additions at the same time one is refused", async () => {
    await using one = await open()
    await using other = await open()
    const outcomes = await Promise.allSettled([
      one.add(posts(1), { after: undefined, position: at(1) }),
      other.add(posts(1, 2), { after: undefined, position: at(2) }),
    ])
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"])
  })

  test("searches go on while partitions are made and dropped", async () => {
    await using filling = await open()
    await using searching = await open()
    const filled = new AbortController()
    async function search(): Promise<void> {
      while (!filled.signal.aborted) {
        expect((await searching.find(everything, all)).length).toBeLessThanOrEqual(40)
        const [count] = await searching.count(everything, [0n, all.upTo])
        expect(count).toBeLessThanOrEqual(40)
      }
    }
    async function fill(): Promise<void> {
      for (let day = 0; day < 20; day += 1) {
        await addTo(filling, posts(idOfDay(day), idOfDay(day) + 1n, idOfDay(day) + 2n, idOfDay(day) + 3n), at(day))
        await filling.removeBelow(idOfDay(day - 8))
      }
      filled.abort()
    }
    await Promise.all([fill(), search(), search()])
    expect(await searching.find(everything, all)).toHaveLength(36)
    expect(await tables()).toHaveLength(9)
  })

  test("a thread opens what it was granted access to, and gives its connections up when the main thread says so", async () => {
    const url = new URL(settings.url)
    await using network = await TcpProxy.to(Number(url.port))
    url.port = String(network.port)
    const { port1, port2 } = new MessageChannel()
    const access = { settings: { ...settings, url: url.href }, sender: "test", port: port2 }
    await using store = await opener.openReadAccess(access)
    await using index = await opener.openSearchIndex(access, indexSettings)
    await addTo(index, posts(1), at(1))
    expect(await tables()).toEqual(["search_1_0"])
    expect(await store.apps()).toEqual([])
    network.set("half-open")
    const failed = [index.find(everything, all), store.apps()].map((read) =>
      expect(read).rejects.toThrow(StoreUnavailable),
    )
    port1.postMessage({ kind: "reconnect" })
    await Promise.all(failed)
    network.set("good")
    expect(await index.find(everything, all)).toEqual(["1"])
    expect(await store.apps()).toEqual([])
    port1.close()
  })

  test("a partition has statistics as soon as it has a thousand posts", async () => {
    await using index = await open()
    await using database = new ClusterDatabase(settings, () => undefined)
    const analysed = () =>
      database.row("SELECT 1 FROM pg_stats WHERE schemaname = current_schema() AND tablename = 'search_1_0'")
    await addTo(index, posts(...Array.from({ length: 999 }, (_, number) => number)), at(1))
    expect(await analysed()).toBeUndefined()
    await addTo(index, posts(999), at(2))
    expect(await analysed()).toBeDefined()
  })

  test("a program with other terms has an index of its own, and drops that of the earlier program", async () => {
    await using earlier = await open(1)
    await addTo(earlier, posts(1, 2, 3, idOfDay(1)), at(1))
    await using later = await open(2)
    expect(await later.position()).toBeUndefined()
    expect(await later.find(everything, all)).toEqual([])
    expect(await tables()).toEqual([])
    await addTo(later, posts(5), at(1))
    expect(await earlier.find(everything, all)).toEqual([])
    expect(await earlier.position()).toBeUndefined()
    expect(await later.find(everything, all)).toEqual(["5"])
    expect(await tables()).toEqual(["search_2_0"])
  })
})
