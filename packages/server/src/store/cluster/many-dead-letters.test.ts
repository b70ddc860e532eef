/** Reads and writes that are frequent look at the same number of rows, however many dead letters there are. */
import { afterAll, beforeAll, expect, test } from "vitest"
import type { LinkId, MatchSeq } from "../../model/ids.ts"
import { systemClock } from "../../runtime/clock.ts"
import { addLink, aMatch, anApp, aPost, app, link, progress, webhook } from "../contract/fixtures.ts"
import { openClusterStore } from "./cluster-store.ts"
import { CountingDatabase } from "./counting-database.testing.ts"
import type { ClusterSettings } from "./database.ts"
import { createTestDatabase, type TestDatabase } from "./postgres.testing.ts"
import { createReads } from "./reads.ts"
import { createWrites } from "./writes.ts"

const retriesMax = 1_000
const newest = { direction: "older", limit: 10 } as const

/** A store with a link that has all the retries there may be, and dead letters; and another link with few. */
class Loaded implements AsyncDisposable {
  readonly #testDatabase: TestDatabase
  readonly database: CountingDatabase
  readonly writes: ReturnType<typeof createWrites>
  readonly last: MatchSeq

  private constructor(testDatabase: TestDatabase, settings: ClusterSettings, last: MatchSeq) {
    this.#testDatabase = testDatabase
    this.database = new CountingDatabase(settings, () => undefined)
    this.writes = createWrites(this.database, { clock: systemClock })
    this.last = last
  }

  static async create(deadLetters: number): Promise<Loaded> {
    const testDatabase = await createTestDatabase()
    const settings = { url: testDatabase.url, poolMax: 1, statementMsMax: 60_000 }
    const loaded = new Loaded(testDatabase, settings, (deadLetters + retriesMax) as MatchSeq)
    await using store = await openClusterStore(settings, { sender: "test" })
    await store.createApp(anApp(app), [])
    await addLink(store, app, { linkId: link, webhookId: webhook })
    await addLink(store, app, { linkId: "32", webhookId: "2" })
    const seqs = Array.from({ length: loaded.last }, (_, index) => (index + 1) as MatchSeq)
    await store.append(
      seqs.map((seq) => ({ post: aPost(`${seq}`), matches: [aMatch(app, "5")] })),
      1,
    )
    const dead = seqs.map((seq) => ({ seq, failures: 9, outcome: "server_error" as const, diedAtMs: seq }))
    await store.saveProgress([
      progress(loaded.last, { dead }),
      progress(loaded.last, { linkId: "32" as LinkId, dead: dead.slice(-1), delivered: loaded.last }),
    ])
    await store.redeliver({ kind: "all", webhookId: webhook })
    // What PostgreSQL does by itself a minute later.
    await loaded.database.run("ANALYZE")
    return loaded
  }

  async lookedAtBy(work: (loaded: Loaded) => Promise<unknown>): Promise<number> {
    const before = this.database.lookedAt
    await work(this)
    return this.database.lookedAt - before
  }

  /** Reads in a transaction, so that they are counted. */
  read(read: (reads: ReturnType<typeof createReads>) => Promise<unknown>): Promise<unknown> {
    return this.database.write((transaction) => read(createReads(transaction)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database[Symbol.asyncDispose]()
    await this.#testDatabase[Symbol.asyncDispose]()
  }
}

let few: Loaded
let many: Loaded

beforeAll(async () => {
  few = await Loaded.create(10)
  many = await Loaded.create(10_000)
}, 120_000)

afterAll(async () => {
  await few[Symbol.asyncDispose]()
  await many[Symbol.asyncDispose]()
})

test.each<[what: string, work: (loaded: Loaded) => Promise<unknown>]>([
  ["a save", ({ writes, last }) => writes.saveProgress([progress(last)])],
  ["where the matches of a link went", (loaded) => loaded.read((reads) => reads.linkTally(link))],
  ["the retries of a link", (loaded) => loaded.read((reads) => reads.retries(link, "core"))],
  ["the newest dead letters", (loaded) => loaded.read((reads) => reads.deadLetters({}, newest))],
  ["the newest of an app", (loaded) => loaded.read((reads) => reads.deadLetters({ appId: app }, newest))],
  [
    "the newest of a webhook",
    (loaded) => loaded.read((reads) => reads.deadLetters({ appId: app, webhookId: webhook }, newest)),
  ],
  [
    "redelivery to a webhook without room",
    ({ writes }) => writes.redeliver({ kind: "all", appId: app, webhookId: webhook }),
  ],
])("%s looks at as many rows with few as with many dead letters", async (_, work) => {
  const alone = await few.lookedAtBy(work)
  expect(alone).toBeGreaterThan(0)
  expect(await many.lookedAtBy(work)).toBeLessThan(2 * alone + 20)
})
