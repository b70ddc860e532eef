import { describe, expect, test } from "vitest"
import { turnsOf } from "../../runtime/turns.testing.ts"
import type { ArrivalPosition, ArrivalRange } from "../port/arrival-store.ts"
import { aMatch, aPost, app, large } from "./fixtures.ts"
import { type MakeStore, useStore } from "./store-under-test.ts"

/** Every store's behaviour for posts in the order in which they arrived. */
export function arrivalContract(make: MakeStore): void {
  describe("posts in the order in which they arrived", () => {
    const { store, reopen } = useStore(make)

    async function append(...ids: readonly string[]): Promise<void> {
      await store.append(
        ids.map((id) => ({ post: aPost(id), matches: [] })),
        1,
      )
    }

    /** Resolves when all posts are settled. It takes a moment where others write at the same time. */
    async function settled(): Promise<void> {
      const all = { limit: 5_000, bytesMax: 10_000_000 }
      const newest = async (includeUnsettled: boolean) =>
        (await store.arrivedPosts({ ...all, includeUnsettled })).position
      await expect.poll(async () => (await newest(false)) === (await newest(true))).toBe(true)
    }

    /** Ids of the next posts, and the position after them. */
    async function read(
      range: Partial<ArrivalRange> = {},
    ): Promise<readonly [ids: readonly string[], position: ArrivalPosition | undefined]> {
      await settled()
      const { posts, damaged, position } = await store.arrivedPosts({ limit: 100, bytesMax: 1_000_000, ...range })
      expect(damaged).toEqual([])
      return [posts.map(({ id }) => id), position]
    }

    /** Ids of all posts after a position, read so many at a time. */
    async function follow(limit: number, after?: ArrivalPosition): Promise<readonly string[]> {
      const found: string[] = []
      for (let from = after; ;) {
        const [ids, position] = await read({ limit, after: from })
        if (position === undefined) return found
        found.push(...ids)
        from = position
      }
    }

    test("come batch after batch, and of a batch in its own order, whatever their ids", async () => {
      await append("5", large[1], "3")
      await append("4")
      await append(large[0], "1")
      expect(await follow(100)).toEqual(["5", large[1], "3", "4", large[0], "1"])
      expect(await follow(1)).toEqual(await follow(100))
      const { posts } = await store.arrivedPosts({ limit: 1, bytesMax: 1 })
      expect(posts).toEqual([{ id: "5", json: Buffer.from(aPost("5").envelope).toString() }])
    })

    test("end with the number that is wanted, or with the post that takes them to their bytes or beyond", async () => {
      const posts = ["4", "3", "2", "1"].map((id) => aPost(id, "7", { envelope: "ä".repeat(50) }))
      await store.append(
        posts.map((post) => ({ post, matches: [] })),
        1,
      )
      expect((await read({ limit: 3 }))[0]).toEqual(["4", "3", "2"])
      expect((await read({ bytesMax: 1 }))[0]).toEqual(["4"])
      expect((await read({ bytesMax: 100 }))[0]).toEqual(["4"])
      const [ids, position] = await read({ bytesMax: 101 })
      expect(ids).toEqual(["4", "3"])
      expect((await read({ after: position }))[0]).toEqual(["2", "1"])
    })

    test("have each post once, at the place of its first arrival", async () => {
      await append("2", "1", "2")
      const [, position] = await read()
      const matched = { post: aPost("2"), matches: [aMatch(app, "5")] }
      expect(await store.append([matched, { post: aPost("3"), matches: [] }, matched], 2)).toEqual([false, true, false])
      await append("1")
      expect(await follow(1)).toEqual(["2", "1", "3"])
      expect((await read({ after: position }))[0]).toEqual(["3"])
    })

    test("have no position while there are none, nor after the last", async () => {
      expect(await read()).toEqual([[], undefined])
      expect(await store.arrivalHead()).toBeUndefined()
      await append("2", "1")
      const [, position] = await read()
      expect(await store.arrivalHead()).toBe(position)
      expect(await read({ after: position })).toEqual([[], undefined])
    })

    test("go on after the head, which moves with each post", async () => {
      await append("9")
      await settled()
      const head = await store.arrivalHead()
      await append("8")
      await append("7")
      expect(await follow(1, head)).toEqual(["8", "7"])
      expect(await follow(100, await store.arrivalHead())).toEqual([])
    })

    test("keep their places when the store is opened again, and later ones come after them", async () => {
      await append("2", "3")
      const [, position] = await read({ limit: 1 })
      const head = await store.arrivalHead()
      await reopen()
      await append("1")
      expect(await follow(100)).toEqual(["2", "3", "1"])
      expect(await follow(100, position)).toEqual(["3", "1"])
      expect(await follow(100, head)).toEqual(["1"])
    })

    test("leave out deleted posts, and hide no later ones behind a position from before the deletion", async () => {
      await append("30", "1", "2", "31", "3")
      const [, position] = await read({ limit: 2 })
      const head = await store.arrivalHead()
      await store.trimPosts({ after: undefined, beforeMs: 10, limit: 100 })
      expect(await follow(1)).toEqual(["30", "31"])
      expect(await follow(1, position)).toEqual(["31"])
      await store.trimPosts({ after: undefined, beforeMs: 100, limit: 100 })
      expect(await read()).toEqual([[], undefined])
      await reopen()
      await append("4")
      expect(await follow(1, head)).toEqual(["4"])
      expect(await follow(1, position)).toEqual(["4"])
    })

    test("are all read at once, as soon as they are stored, by a reader that takes unsettled ones too", async () => {
      const all = { limit: 100, bytesMax: 1_000_000, includeUnsettled: true }
      for (const id of ["3", "1", "2"]) {
        await store.append([{ post: aPost(id), matches: [aMatch(app, "5")] }], 1)
        expect((await store.arrivedPosts(all)).posts.at(-1)).toMatchObject({ id })
      }
      expect((await store.arrivedPosts(all)).posts.map(({ id }) => id)).toEqual(["3", "1", "2"])
      expect(await follow(1)).toEqual(["3", "1", "2"])
    })

    test("are read by the thousand, and others have their turns meanwhile", async () => {
      const ids = Array.from({ length: 2_500 }, (_, index) => String(2_500 - index))
      await append(...ids)
      await settled()
      const turns = await turnsOf(() => store.arrivedPosts({ limit: 2_500, bytesMax: 1_000_000 }))
      expect(turns).toBeGreaterThanOrEqual(1)
      expect(await follow(700)).toEqual(ids)
    })

    test("have places that are read without them, both ways, and the same as theirs", async () => {
      await append("5", large[1], "3")
      await append("4")
      await settled()
      const newer = await store.arrivalPlaces({ direction: "newer", limit: 100 })
      expect(newer.map(({ id }) => id)).toEqual(["5", large[1], "3", "4"])
      expect(newer.at(-1)?.position).toBe(await store.arrivalHead())
      expect(await store.arrivalPlaces({ direction: "older", limit: 100 })).toEqual(newer.toReversed())
      const from = newer[1]?.position
      expect(await store.arrivalPlaces({ direction: "newer", from, limit: 1 })).toEqual([newer[2]])
      expect(await store.arrivalPlaces({ direction: "older", from, limit: 5 })).toEqual([newer[0]])
      expect((await read({ after: from }))[0]).toEqual(["3", "4"])
      expect(await store.arrivalPlaces({ direction: "newer", from: newer.at(-1)?.position, limit: 5 })).toEqual([])
    })

    test("are read from no position of another store", async () => {
      await append("1")
      for (const after of ["1.2.3", "now"] as ArrivalPosition[]) {
        await expect(read({ after })).rejects.toThrow(`${after} is not a position of this store.`)
      }
    })
  })
}
