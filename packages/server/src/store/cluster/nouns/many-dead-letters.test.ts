/** Reads and writes that are frequent look at the same number of rows, however many dead letters there are. */
import { afterAll, beforeAll, expect, test } from "vitest"
import type { LinkId, MatchSeq } from "../../../model/ids.ts"
import { addLink, aMatch, anApp, aPost, app, link, progress, webhook } from "../../contract/fixtures.ts"
import { CountedStore } from "../connection/counted-store.testing.ts"
import { createTestDatabase, type TestDatabase } from "../connection/postgres.testing.ts"

const retriesMax = 1_000
const newest = { direction: "older", limit: 10 } as const

/** A store with a link that has all the retries there may be, and dead letters; and another link with few. */
class Loaded extends CountedStore {
  readonly last: MatchSeq

  private constructor(testDatabase: TestDatabase, last: MatchSeq) {
    super(testDatabase)
    this.last = last
  }

  static async create(deadLetters: number): Promise<Loaded> {
    const loaded = new Loaded(await createTestDatabase(), (deadLetters + retriesMax) as MatchSeq)
    await loaded.fill(async (store) => {
      await store.createApp(anApp(app), [])
      await addLink(store, app, { linkId: link, webhookId: webhook })
      await addLink(store, app, { linkId: "32", webhookId: "2" })
      const seqs = Array.from({ length: loaded.last }, (_, index) => (index + 1) as MatchSeq)
      await store.append(
        seqs.map((seq) => ({ post: aPost(`${seq}`), matches: [aMatch(app, "5")] })),
        1,
      )
      const dead = seqs.map((seq) => ({ seq, failures: 9, outcome: "server_error" as const, deadLetteredAtMs: seq }))
      await store.saveProgress([
        progress(loaded.last, { dead }),
        progress(loaded.last, { linkId: "32" as LinkId, dead: dead.slice(-1), delivered: loaded.last }),
      ])
      await store.redeliver({ kind: "all", webhookId: webhook })
    })
    return loaded
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
])("%s reads as many rows with few as with many dead letters", async (_, work) => {
  const alone = await few.lookedAtBy(work)
  expect(alone).toBeGreaterThan(0)
  expect(await many.lookedAtBy(work)).toBeLessThan(2 * alone + 20)
})
