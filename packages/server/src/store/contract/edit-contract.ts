import { describe, expect, test } from "vitest"
import { idEnds } from "../id-bounds.ts"
import type { PostId, UserId } from "../../model/ids.ts"
import type { UserPostsRange } from "../port/post-store.ts"
import { aPost, large } from "./fixtures.ts"
import { type MakeStore, useStore } from "./store-under-test.ts"

const ids = (...values: string[]): PostId[] => values as PostId[]

/** Every store's behaviour for the versions of edited posts. */
export function editContract(make: MakeStore): void {
  describe("edits", () => {
    const { store, reopen } = useStore(make)

    /** Appends posts of user 7, each with the ids that its history names. */
    async function come(...posts: readonly (readonly [id: string, ...chain: string[]])[]): Promise<void> {
      const batch = posts.map(([id, ...chain]) => aPost(id, "7", chain.length > 0 ? { chain: ids(...chain) } : {}))
      await store.append(
        batch.map((post) => ({ post, matches: [] })),
        1,
      )
    }

    const chains = async (...asked: string[]): Promise<object> =>
      Object.fromEntries(await store.chainsOf(ids(...asked)))
    const superseded = async (...asked: string[]): Promise<string[]> =>
      [...(await store.supersededOf(ids(...asked)))].toSorted()
    const within = async (above: bigint, upTo: bigint, limit = 100): Promise<readonly string[]> =>
      store.supersededWithin({ above, upTo, limit })

    async function timeline(more: Partial<UserPostsRange> = {}): Promise<readonly string[]> {
      const range = { userId: "7" as UserId, direction: "older", limit: 100, scanMax: 100, bytesMax: 1e6 } as const
      const kinds = { shape: "core", excludeReplies: false, excludeReposts: false } as const
      return (await store.userPosts({ ...range, ...kinds, ...more })).posts.map(({ id }) => id)
    }

    test("posts of one version have no chain and supersede nothing", async () => {
      await come(["1"], ["2"])
      expect(await chains("1", "2", "3")).toEqual({})
      expect(await superseded("1", "2", "3")).toEqual([])
      expect(await within(idEnds.below, idEnds.above)).toEqual([])
      expect(await chains()).toEqual({})
      expect(await superseded()).toEqual([])
    })

    test.each([
      ["in order", [["1"], ["3", "1", "3"], ["5", "1", "3", "5"]]],
      ["the newest first", [["5", "1", "3", "5"], ["3", "1", "3"], ["1"]]],
      ["the middle one last", [["5", "1", "3", "5"], ["1"], ["3", "1", "3"]]],
    ] as const)("versions that come %s are one chain, and its newest alone is on the timeline", async (_, versions) => {
      await come(["2"], ["4"])
      for (const version of versions) await come(version)
      const chain = ["1", "3", "5"]
      expect(await chains("1", "2", "3", "5")).toEqual({ 1: chain, 3: chain, 5: chain })
      await reopen()
      expect(await chains("1", "2", "3", "5")).toEqual({ 1: chain, 3: chain, 5: chain })
      expect(await superseded("1", "2", "3", "4", "5")).toEqual(["1", "3"])
      expect(await within(idEnds.below, idEnds.above)).toEqual(["1", "3"])
      expect([await within(1n, 3n), await within(0n, 2n), await within(3n, 5n), await within(0n, 5n, 1)]).toEqual([
        ["3"],
        ["1"],
        [],
        ["1"],
      ])
      expect(await timeline()).toEqual(["5", "4", "2"])
      expect(await timeline({ direction: "newer", limit: 2 })).toEqual(["4", "2"])
    })

    test("a version counts as newest until a newer one is stored, however many are named", async () => {
      await come(["1", "1", "3", "5"])
      expect(await chains("1", "5")).toEqual({ 1: ["1", "3", "5"], 5: ["1", "3", "5"] })
      expect(await superseded("1", "3", "5")).toEqual([])
      expect(await timeline()).toEqual(["1"])
      await come(["3", "1", "3"])
      expect(await superseded("1", "3", "5")).toEqual(["1"])
      expect(await timeline()).toEqual(["3"])
    })

    test("a batch may bring a whole chain, and ids may be of any size", async () => {
      await come([large[0], large[0], large[1]], [large[1], large[0], large[1]])
      expect(await chains(large[0])).toEqual({ [large[0]]: [large[0], large[1]] })
      expect(await superseded(...large)).toEqual([large[0]])
      expect(await within(idEnds.below, idEnds.above)).toEqual([large[0]])
      expect(await timeline()).toEqual([large[1]])
    })

    test("a post that is stored already brings no chain", async () => {
      await come(["1"])
      await come(["1", "1", "2"])
      expect(await chains("1")).toEqual({})
    })

    test("a scan counts superseded posts, and goes on after them", async () => {
      await come(["1"], ["2"], ["3", "2", "3"])
      const range = { userId: "7" as UserId, direction: "older", limit: 100, scanMax: 2, bytesMax: 1e6 } as const
      const kinds = { shape: "envelope", excludeReplies: false, excludeReposts: false } as const
      expect(await store.userPosts({ ...range, ...kinds })).toMatchObject({ posts: [{ id: "3" }], stoppedAt: "2" })
    })

    test("a chain is kept while one of its versions is, and goes with the last", async () => {
      await come(["1"], ["2", "1", "2"], ["30", "20", "30"], ["20"])
      await store.trimPosts({ after: undefined, beforeMs: 2, limit: 100 })
      expect(await chains("1", "2")).toEqual({ 1: ["1", "2"], 2: ["1", "2"] })
      expect(await superseded("1", "2")).toEqual(["1"])
      expect(await within(idEnds.below, idEnds.above)).toEqual(["20"])
      await store.trimPosts({ after: undefined, beforeMs: 3, limit: 100 })
      expect(await chains("1", "2", "20")).toEqual({ 20: ["20", "30"] })
    })

    test("a chain goes when one of its versions is deleted, and all with it", async () => {
      await come(["1"], ["2", "1", "2"], ["30", "20", "30"], ["20"])
      const remove = (...gone: string[]) =>
        store.delete(
          ids(...gone).map((id) => ({ kind: "post", id })),
          50,
        )
      await remove("1")
      expect(await chains("1", "2", "20", "30")).toEqual({ 20: ["20", "30"], 30: ["20", "30"] })
      await remove("30")
      expect(await chains("1", "2", "20", "30")).toEqual({})
      expect(await timeline()).toEqual([])
    })

    test("posts of before that are taken again bring their chains", async () => {
      await come(["1"], ["2"])
      await store.takeUsers([aPost("2", "7", { chain: ids("1", "2") })], undefined)
      expect(await chains("1")).toEqual({ 1: ["1", "2"] })
      expect(await timeline()).toEqual(["2"])
    })
  })
}
