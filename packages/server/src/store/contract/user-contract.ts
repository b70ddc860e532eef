import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { PostId, UserId } from "../../model/ids.ts"
import { userLagMsMax } from "../ledger/user-changes.ts"
import type { FoundUser } from "../port/user-store.ts"
import { aUserPost, large } from "./fixtures.ts"
import { type MakeStore, useStore } from "./store-under-test.ts"

const ids = (...values: string[]): UserId[] => values as UserId[]

/** Every store's behaviour for the users that it keeps. */
export function userContract(make: MakeStore): void {
  describe("users", () => {
    const { store, reopen, audit } = useStore(make)
    let lastPost = 0

    /** Appends a post of the time that includes the users. */
    async function come(createdAtMs: number, ...users: Parameters<typeof aUserPost>[2][]): Promise<void> {
      lastPost += 1
      await store.append([{ post: aUserPost(String(lastPost), createdAtMs, ...users), matches: [] }], 1)
    }

    const anna = { id: "7", username: "AnnA", name: "Anna" }
    const bob = { id: large[1], username: "bob.b", name: "Bob" }

    function objectsOf(found: readonly FoundUser[]): readonly unknown[] {
      return found.map(({ json }) => json && (JSON.parse(json) as unknown))
    }

    test("users who came are read by id and by name, byte for byte; others are not there", async () => {
      await come(5, anna, bob)
      const found = await store.usersById(ids("7", bob.id, "8"))
      expect(found.toSorted((a, b) => a.id.length - b.id.length)).toEqual([
        { id: "7", username: "anna", json: JSON.stringify(anna) },
        { id: bob.id, username: "bob.b", json: JSON.stringify(bob) },
      ])
      expect(await store.usersById([])).toEqual([])
      expect(objectsOf(await store.usersByName(["bob.b", "carl"]))).toEqual([bob])
      expect(objectsOf(await store.usersByName(["AnnA"]))).toEqual([])
    })

    test("the newest object counts, by the time of its post; of two of one time the later arrival", async () => {
      await come(50, { ...anna, name: "first" })
      await come(49, { ...anna, name: "older" })
      expect(objectsOf(await store.usersById(ids("7")))).toEqual([{ ...anna, name: "first" }])
      await come(50, { ...anna, name: "same time" })
      expect(objectsOf(await store.usersById(ids("7")))).toEqual([{ ...anna, name: "same time" }])
      await come(51, { ...anna, name: "newer" })
      expect(objectsOf(await store.usersById(ids("7")))).toEqual([{ ...anna, name: "newer" }])
    })

    test("a post that is stored already brings no users", async () => {
      await store.append([{ post: aUserPost("1", 5, anna), matches: [] }], 1)
      const batch = [aUserPost("1", 6, bob), aUserPost("2", 6, anna), aUserPost("2", 7, bob)]
      await store.append(
        batch.map((post) => ({ post, matches: [] })),
        1,
      )
      expect(await store.usersById(ids(bob.id))).toEqual([])
    })

    test("an unchanged user's time is written when it lags too much, so what is older than that stays out", async () => {
      await come(0, anna)
      await come(userLagMsMax + 1, anna)
      await come(userLagMsMax, { ...anna, name: "late" })
      expect(objectsOf(await store.usersById(ids("7")))).toEqual([anna])
    })

    test("a name that moved to another user is the newer owner's, and only that one's", async () => {
      await come(5, { ...anna, username: "first" })
      await come(7, { ...bob, username: "FIRST" })
      await come(6, { ...anna, id: "9", username: "first" })
      const found = await store.usersByName(["first"])
      expect(found.map(({ id }) => id)).toEqual([bob.id])
      const [byPrefix] = await store.usersByPrefix({ prefix: "fir", limit: 5 })
      expect(byPrefix?.id).toBe(bob.id)
      await come(8, { ...bob, username: "second" })
      expect((await store.usersByName(["first"])).map(({ id }) => id)).toEqual(["9"])
    })

    test("owners of names that begin with a text are read by name, from any name on, whether or not a user has it", async () => {
      const names = ["b", "ba", "bb", "B_c", "c", "a"]
      await come(5, ...names.map((username, index) => ({ id: String(index + 1), username, name: username })))
      const read = async (limit: number, after?: string) =>
        (await store.usersByPrefix({ prefix: "b", limit, after })).map((user) => user.username)
      expect(await read(10)).toEqual(["b", "b_c", "ba", "bb"])
      expect(await read(2)).toEqual(["b", "b_c"])
      expect(await read(2, "b_c")).toEqual(["ba", "bb"])
      expect(await read(2, "bb")).toEqual([])
      await come(6, { id: "4", username: "zed", name: "renamed" })
      expect(await read(2, "b_c")).toEqual(["ba", "bb"])
      expect(await read(2, "b_d")).toEqual(["ba", "bb"])
      expect(await read(1, "b")).toEqual(["ba"])
    })

    test("users are found by the words of their names as these stand now, the greatest id first", async () => {
      await come(5, { ...anna, name: "Anna Lee, cats, naïve", description: "dogs" }, { ...bob, name: "Cats" })
      const read = async (
        words: readonly string[],
        more: { below?: UserId; limit?: number; scanMax?: number } = {},
      ) => {
        const { users, stoppedAt } = await store.usersByWords({ words, limit: 10, scanMax: 10, ...more })
        return [users.map(({ id }) => id), stoppedAt]
      }
      expect(await read(["cats"])).toEqual([[bob.id, "7"], undefined])
      expect(await read(["cats", "naive", "lee"])).toEqual([["7"], undefined])
      expect(await read(["cats"], { limit: 1 })).toEqual([[bob.id], bob.id])
      expect(await read(["cats"], { below: bob.id as UserId })).toEqual([["7"], undefined])
      expect(await read(["cats", "naive"], { scanMax: 1 })).toEqual([[], bob.id])
      await come(6, { ...anna, name: "Anna dogs" })
      expect(await read(["lee"])).toEqual([[], undefined])
      expect(await read(["dogs", "anna"])).toEqual([["7"], undefined])
    })

    test("users of posts that were stored before are taken by the same rule, and outlast a restart", async () => {
      await come(50, anna)
      await store.takeUsers([aUserPost("900", 49, { ...anna, name: "older" }, bob)], undefined)
      await reopen()
      expect(await store.userFill()).toBeUndefined()
      expect(objectsOf(await store.usersById(ids("7")))).toEqual([anna])
      expect(objectsOf(await store.usersByName(["bob.b"]))).toEqual([bob])
      expect((await audit()).damage).toEqual([])
    })

    test("users stay when retention deletes their posts", async () => {
      await come(5, anna)
      await store.trimPosts({ after: undefined, beforeMs: 100, limit: 10 })
      expect(await store.post("1" as PostId)).toBeUndefined()
      expect(objectsOf(await store.usersByName(["anna"]))).toEqual([anna])
    })

    test("whatever the order and the batches, the newest object of each user is kept", async () => {
      const sight = fc.record({ user: fc.integer({ min: 1, max: 4 }), atMs: fc.nat(20), name: fc.nat(3) })
      let round = 0
      await fc.assert(
        fc.asyncProperty(fc.array(fc.array(sight, { maxLength: 6 }), { maxLength: 5 }), async (batches) => {
          round += 1
          const expected = new Map<string, { atMs: number; object: unknown }>()
          for (const batch of batches) {
            const posts = batch.map(({ user, atMs, name }) => {
              const object = { id: `${round}0${user}`, username: `u${round}_${user}`, name: `n${name}` }
              const before = expected.get(object.id)
              // Within the lag the stored time of an unchanged object stays, so of an older one only the name is certain.
              const isKept = before !== undefined && before.atMs > atMs
              const isSame = JSON.stringify(before?.object) === JSON.stringify(object)
              if (!isKept) expected.set(object.id, { atMs: isSame ? (before?.atMs ?? atMs) : atMs, object })
              lastPost += 1
              return aUserPost(String(lastPost), atMs, object)
            })
            // One by one, since a batch knows the times of all its sights.
            for (const post of posts) await store.append([{ post, matches: [] }], 1)
          }
          const found = await store.usersById(ids(...expected.keys()))
          const objects = new Map(found.map(({ id, json = "" }) => [String(id), JSON.parse(json) as unknown]))
          expect(objects).toEqual(new Map(Array.from(expected, ([id, { object }]) => [id, object])))
        }),
        { numRuns: 25 },
      )
    })
  })
}
