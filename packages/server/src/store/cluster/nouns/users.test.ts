/** Users, where several processes write them at the same time, and after an upgrade. */
import { expect, test } from "vitest"
import type { PostId, UserId } from "../../../model/ids.ts"
import { aUserPost } from "../../contract/fixtures.ts"
import { auditOf } from "../serving/audited.testing.ts"
import { openClusterStore } from "../serving/cluster-store.ts"
import { ClusterDatabase } from "../connection/database.ts"
import { createTestDatabase } from "../connection/postgres.testing.ts"

const userIds = ["7", "8", "9"]

test("processes that write the same users at the same time keep the newest of each, with its words", async () => {
  await using testDatabase = await createTestDatabase()
  const settings = { url: testDatabase.url, poolMax: 3, statementMsMax: 30_000 }
  await using first = await openClusterStore(settings, { sender: "first" })
  await using second = await openClusterStore(settings, { sender: "second" })
  const rounds = 30
  await Promise.all(
    [first, second].map(async (store, process) => {
      for (let round = 0; round < rounds; round += 1) {
        const atMs = 2 * round + process
        const users = userIds.map((id) => ({ id, username: `u${id}`, name: `word${atMs} always` }))
        const post = aUserPost(String(1_000 + atMs), atMs, ...(process === 0 ? users : users.toReversed()))
        await store.append([{ post, matches: [] }], 1)
      }
    }),
  )
  const last = 2 * (rounds - 1) + 1
  const found = await first.usersById(userIds as UserId[])
  expect(found.map(({ json = "" }) => (JSON.parse(json) as { name: string }).name)).toEqual(
    userIds.map(() => `word${last} always`),
  )
  const range = { limit: 10, scanMax: 10 }
  expect((await first.usersByWords({ words: [`word${last}`, "always"], ...range })).users).toHaveLength(userIds.length)
  expect((await auditOf(settings)).damage).toEqual([])
})

test("the users of stored posts are to be taken down to the position that is furthest, and then no more", async () => {
  await using testDatabase = await createTestDatabase()
  const settings = { url: testDatabase.url, poolMax: 2, statementMsMax: 30_000 }
  await using store = await openClusterStore(settings, { sender: "test" })
  await using database = new ClusterDatabase(settings, () => undefined)
  await database.run("INSERT INTO user_fill VALUES (90)")
  expect(await store.userFill()).toBe("90")
  const user = { id: "7", username: "Ann", name: "Ann" }
  await store.takeUsers([aUserPost("80", 5, user)], "50" as PostId)
  await store.takeUsers([], "70" as PostId)
  expect(await store.userFill(), "another process was further").toBe("50")
  await store.takeUsers([], undefined)
  expect(await store.userFill()).toBeUndefined()
  expect(await store.usersByName(["ann"])).toMatchObject([{ id: "7" }])
})
