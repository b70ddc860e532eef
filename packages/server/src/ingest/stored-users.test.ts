import { DatabaseSync } from "node:sqlite"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import type { PostId, UserId } from "../model/ids.ts"
import { systemClock } from "../runtime/clock.ts"
import { aPost, aUserPost } from "../store/contract/fixtures.ts"
import { openEmbeddedStore } from "../store/embedded/serving/embedded-store.ts"
import { soleLeases } from "../store/leases.ts"
import type { Store } from "../store/store.ts"
import { takeStoredUsers } from "./stored-users.ts"

let directory: Awaited<ReturnType<typeof temporaryDirectory>>
let file: string
const reported: unknown[] = []
const events = {
  failed: (event: unknown) => void reported.push(event),
  storedUsersBegun: (event: unknown) => void reported.push(event),
  storedUsersTaken: (event: unknown) => void reported.push(event),
}

beforeEach(async () => {
  directory = await temporaryDirectory()
  file = join(directory.path, "sluice.db")
  reported.length = 0
})

afterEach(() => directory.remove())

const postCount = 120

/** A store of which the version before has kept the posts and not the users. */
async function storeOfVersionBefore(): Promise<void> {
  await using store = await openEmbeddedStore({ file })
  const posts = Array.from({ length: postCount }, (_, index) => {
    const user = { id: String(1 + (index % 40)), username: `User_${index % 40}`, name: `at ${index}` }
    return aUserPost(String(1_000 + index), Date.UTC(2026, 0, 1) + index, user)
  })
  const asIngested = posts.map((post) => ({
    ...post,
    envelope: Buffer.from(
      Buffer.from(post.envelope)
        .toString()
        .replace(/"id":"(\d+)"/, (id) => `${id},"text":"a","created_at":"${new Date(post.createdAtMs).toISOString()}"`),
    ),
    users: [],
  }))
  await store.append(
    asIngested.map((post) => ({ post, matches: [] })),
    1,
  )
  using db = new DatabaseSync(file)
  db.exec("INSERT INTO user_fill SELECT max(id) FROM posts")
}

async function take(store: Store, signal = new AbortController().signal): Promise<void> {
  const deps = { store, leases: soleLeases, clock: systemClock, events }
  await takeStoredUsers(deps, signal)
}

test("users of stored posts are taken once, newest first, and a restart goes on", async () => {
  await storeOfVersionBefore()
  {
    await using store = await openEmbeddedStore({ file })
    const stopping = new AbortController()
    const takeUsers: Store["takeUsers"] = async (posts, upTo) => {
      await store.takeUsers(posts, upTo)
      stopping.abort()
    }
    await take({ ...store, takeUsers }, stopping.signal)
    expect(await store.userFill()).toBe(String(1_000 + postCount - 50 - 1))
  }
  await using store = await openEmbeddedStore({ file })
  await take(store)
  expect(await store.userFill()).toBeUndefined()
  const users = await store.usersById(Array.from({ length: 41 }, (_, index) => String(index + 1) as UserId))
  const names = users.map(({ json = "" }) => (JSON.parse(json) as { name: string }).name)
  expect(new Set(names)).toEqual(new Set(Array.from({ length: 40 }, (_, index) => `at ${postCount - 40 + index}`)))
  expect(reported).toEqual([
    { upTo: String(1_000 + postCount - 1) },
    { upTo: String(1_000 + postCount - 50 - 1) },
    { posts: postCount - 50 },
  ])
  await take(store)
  expect(reported).toHaveLength(3)
})

test("a step that fails is reported and tried again", async () => {
  await storeOfVersionBefore()
  await using store = await openEmbeddedStore({ file })
  let calls = 0
  const takeUsers: Store["takeUsers"] = async (posts, upTo) => {
    calls += 1
    if (calls === 1) throw new Error("no room")
    await store.takeUsers(posts, upTo)
  }
  const clock = { ...systemClock, sleep: async () => undefined }
  await takeStoredUsers(
    { store: { ...store, takeUsers }, leases: soleLeases, clock, events },
    new AbortController().signal,
  )
  expect(await store.userFill()).toBeUndefined()
  expect(reported).toContainEqual({ where: "users of stored posts", error: new Error("no room") })
})

test("the versions of edited posts that were stored before are found with the users", async () => {
  {
    await using store = await openEmbeddedStore({ file })
    const posts = [
      ["1", "1"],
      ["5", "1,3,5"],
      ["7", "7"],
    ].map(([id = "", history = ""]) => {
      const data = { id, text: "a", author_id: "9", edit_history_tweet_ids: history.split(",") }
      return aPost(id, "9", { envelope: JSON.stringify({ data }) })
    })
    await store.append(
      posts.map((post) => ({ post, matches: [] })),
      1,
    )
    using db = new DatabaseSync(file)
    // As the upgrade leaves it.
    db.exec("DELETE FROM edit_versions; INSERT INTO user_fill SELECT max(id) FROM posts")
  }
  await using store = await openEmbeddedStore({ file })
  const ids = ["1", "3", "5", "7"] as PostId[]
  expect([...(await store.supersededOf(ids))]).toEqual([])
  await take(store)
  expect([...(await store.supersededOf(ids))]).toEqual(["1", "3"])
  expect((await store.chainsOf(ids)).get("1" as PostId)).toEqual(["1", "3", "5"])
  expect(reported).toEqual([{ upTo: "7" }, { posts: 3 }])
})
