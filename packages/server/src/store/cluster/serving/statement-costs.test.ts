/** The rows that the hot statements scan do not grow with the stored rows, nor with idle links. */
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, expect, test } from "vitest"
import type { MatchSeq, PostId, UserId } from "../../../model/ids.ts"
import { systemClock } from "../../../runtime/clock.ts"
import { addLink, aMatch, anApp, aPost, app, aRetry, link, progress, webhook } from "../../contract/fixtures.ts"
import { createTestDatabase, type TestDatabase } from "../connection/postgres.testing.ts"
import { CountedStore } from "../connection/counted-store.testing.ts"
import { ClusterLeases } from "./leases.ts"

const author = "9" as UserId

/** A store with so many posts, each a match of the app, and so many links. */
class Sized extends CountedStore {
  readonly posts: number
  #nextPost: number

  private constructor(testDatabase: TestDatabase, posts: number) {
    super(testDatabase)
    this.posts = posts
    this.#nextPost = posts + 1
  }

  static async create({ posts, links }: { posts: number; links: number }): Promise<Sized> {
    const sized = new Sized(await createTestDatabase(), posts)
    await sized.fill(async (store) => {
      await store.createApp(anApp(app), [])
      await addLink(store, app, { linkId: link, webhookId: webhook })
      for (let index = 1; index < links; index += 1) {
        await addLink(store, app, { linkId: String(1_000 + index), webhookId: String(1_000 + index) })
      }
      const ids = Array.from({ length: posts }, (_, index) => String(index + 1))
      await store.append(
        ids.map((id) => ({ post: aPost(id, author), matches: [aMatch(app, "5")] })),
        1,
      )
      await store.saveProgress([progress(2, { delivered: 1, retries: [aRetry(1)] })])
    })
    return sized
  }

  nextPost(): PostId {
    this.#nextPost += 1
    return String(this.#nextPost) as PostId
  }
}

let small: Sized
let manyPosts: Sized
let manyLinks: Sized

beforeAll(async () => {
  small = await Sized.create({ posts: 200, links: 2 })
  manyPosts = await Sized.create({ posts: 4_000, links: 2 })
  manyLinks = await Sized.create({ posts: 200, links: 200 })
})

afterAll(async () => {
  for (const sized of [small, manyPosts, manyLinks]) await sized[Symbol.asyncDispose]()
})

const oneUsersPosts = {
  userId: author,
  direction: "older",
  limit: 10,
  scanMax: 10,
  bytesMax: 1_000_000,
  shape: "core",
  excludeReplies: false,
  excludeReposts: false,
} as const

const ten = { limit: 10, bytesMax: 1_000_000 }

const hot: readonly (readonly [name: string, work: (sized: Sized) => Promise<unknown>])[] = [
  [
    "an append",
    (sized) => sized.writes.append([{ post: aPost(sized.nextPost(), author), matches: [aMatch(app, "5")] }], 1),
  ],
  ["a read of the log's end", (sized) => sized.read((reads) => reads.matches(rangeAfter(sized.posts - 10)))],
  ["a read of the log's beginning", (sized) => sized.read((reads) => reads.matches(rangeAfter(0)))],
  ["the head of a log", (sized) => sized.read((reads) => reads.head(app))],
  [
    "posts by their ids",
    (sized) => sized.read((reads) => reads.postsById({ ids: ["7", "99"] as PostId[], bytesMax: 1_000, shape: "core" })),
  ],
  ["a page of a user's posts", (sized) => sized.read((reads) => reads.userPosts(oneUsersPosts))],
  [
    "a read after the newest post that arrived",
    (sized) => sized.read(async (reads) => reads.arrivedPosts({ ...ten, after: await reads.arrivalHead() })),
  ],
  ["a read of the first posts that arrived", (sized) => sized.read((reads) => reads.arrivedPosts(ten))],
  ["a post", (sized) => sized.read((reads) => reads.post("7" as PostId))],
  ["a save of deliveries", ({ writes }) => writes.saveProgress([progress(5, { delivered: 5 })])],
  ["a save of a retry", ({ writes }) => writes.saveProgress([progress(5, { retries: [aRetry(1)] })])],
  [
    "an attempt",
    ({ writes }) =>
      writes.recordAttempts(
        [{ linkId: link, seq: 1 as MatchSeq, atMs: 1, durationMs: 1, outcome: "delivered", bytes: 1 }],
        {
          keptPerLink: 10,
        },
      ),
  ],
  ["the retries of a link", (sized) => sized.read((reads) => reads.retries(link, "core"))],
  ["the link of a webhook", (sized) => sized.read((reads) => reads.linkToDeliver(webhook))],
  ["a link's tally", (sized) => sized.read((reads) => reads.linkTally(link))],
  ["a webhook", (sized) => sized.read((reads) => reads.webhook(app, webhook))],
  ["the control version", (sized) => sized.read((reads) => reads.controlVersion())],
]

function rangeAfter(after: number) {
  return { appId: app, after: after as MatchSeq, limit: 10, bytesMax: 1_000_000, shape: "core" } as const
}

test.each(hot)("%s reads as many rows with few posts and links as with many", async (_, work) => {
  // Once before: plans are made, and rows that are made once are there.
  for (const sized of [small, manyPosts, manyLinks]) await work(sized)
  const few = await small.lookedAtBy(work)
  expect(few).toBeGreaterThan(0)
  expect(await manyPosts.lookedAtBy(work), "with 4,000 posts").toBeLessThanOrEqual(few + 3)
  expect(await manyLinks.lookedAtBy(work), "with 200 links").toBeLessThanOrEqual(few + 3)
})

test("a renewal of leases reads as many rows with few links as with many, once they are spread", async () => {
  const lookedAt: number[] = []
  for (const { database, writes } of [small, manyLinks]) {
    const changes = { onChange: () => () => undefined }
    const failed = (error: unknown): never => expect.unreachable(String(error))
    await using leases = await ClusterLeases.begin({ database, store: changes, clock: systemClock, failed })
    // The first ones still find that this process has joined.
    const renewals: number[] = []
    for (const _ of [1, 2, 3, 4]) renewals.push(await renewed(database))
    lookedAt.push(Math.min(...renewals))
    expect(leases.ofLink(link)).toBeGreaterThan(0)
    await writes.setLinkOrdered(app, webhook, true)
  }
  const [few = 0, many = 0] = lookedAt
  expect(few).toBeGreaterThan(0)
  expect(many).toBeLessThanOrEqual(few + 3)
})

/** How long nothing is added when a renewal has ended. */
const settledMs = 200

/** How many rows the next renewal looks at. */
async function renewed(database: CountedStore["database"]): Promise<number> {
  const before = database.lookedAt
  await expect.poll(() => database.lookedAt).toBeGreaterThan(before)
  // It is several statements, and they have ended when nothing is added any more; the next one is a second away or more.
  let lookedAt: number
  do {
    lookedAt = database.lookedAt
    await sleep(settledMs)
  } while (database.lookedAt !== lookedAt)
  return lookedAt - before
}
