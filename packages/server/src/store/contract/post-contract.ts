import { describe, expect, test } from "vitest"
import type { PostId, UserId } from "../../model/ids.ts"
import { turnsOf } from "../../runtime/turns.testing.ts"
import type { PostsByIdRange, PostsRange, UserPostsRange } from "../port/post-store.ts"
import { aMatch, aPost, app, large, newestPosts, other, positions } from "./fixtures.ts"
import { type MakeStore, useStore } from "./store-under-test.ts"

/** Every store's behaviour for posts, users and timelines. */
export function postContract(make: MakeStore): void {
  describe("posts", () => {
    const { store } = useStore(make)

    function scan(range: Partial<UserPostsRange>) {
      return store.userPosts({
        userId: "7" as UserId,
        direction: "older",
        limit: 10,
        excludeReplies: false,
        excludeReposts: false,
        scanMax: 100,
        bytesMax: 1_000_000,
        shape: "core",
        ...range,
      })
    }

    async function idsOf(range: Partial<UserPostsRange>): Promise<readonly string[]> {
      return (await scan(range)).posts.map((post) => post.id)
    }

    test("a post that is stored already is left unchanged, and is not logged again", async () => {
      const first = aPost("1", "7")
      const second = { ...first, core: Buffer.from("changed") }
      expect(await store.append([{ post: first, matches: [aMatch(app, "1")] }], 1)).toEqual([true])
      const batch = [second, aPost("2", "7"), aPost("2", "7")].map((post) => ({
        post,
        matches: [aMatch(app, "1")],
      }))
      expect(await store.append(batch, 2)).toEqual([false, true, false])
      expect(await positions(store, app)).toEqual([
        [1, "1"],
        [2, "2"],
      ])
      expect((await scan({})).posts.at(-1)).toEqual({ id: "1", json: '{"id":"1"}' })
    })

    test("a user's posts are read newest first from any place, either way", async () => {
      const posts = ["1", "9", "10", "11", large[0]].map((id) => aPost(id, "7"))
      await store.append(
        [...posts, aPost("5", "8"), aPost("6")].map((post) => ({ post, matches: [] })),
        1,
      )
      expect(await idsOf({})).toEqual([large[0], "11", "10", "9", "1"])
      expect(await scan({ limit: 2 })).toMatchObject({ stoppedAt: "11" })
      expect(await scan({ limit: 5 })).not.toHaveProperty("stoppedAt")
      expect(await idsOf({ limit: 2, from: "11" as PostId })).toEqual(["10", "9"])
      expect(await idsOf({ limit: 2, direction: "newer", from: "1" as PostId })).toEqual(["10", "9"])
      expect(await scan({ limit: 2, direction: "newer", from: "1" as PostId })).toMatchObject({
        stoppedAt: "10",
      })
      expect(await idsOf({ sinceId: "9" as PostId, untilId: large[0] as PostId })).toEqual(["11", "10"])
      expect(await scan({ shape: "envelope", limit: 1 })).toMatchObject({
        posts: [{ id: large[0], json: `{"data":{"id":"${large[0]}"},"whole":true}` }],
      })
    })

    test("a post with the greatest possible id is on its author's pages", async () => {
      const greatest = aPost("9223372036854775807", "7")
      await store.append([{ post: greatest, matches: [] }], 1)
      expect(await idsOf({})).toEqual([greatest.id])
      expect(await idsOf({ direction: "newer", from: "1" as PostId })).toEqual([greatest.id])
      expect(await idsOf({ untilId: greatest.id })).toEqual([])
    })

    test("a filter selects the right posts and stops at its budget", async () => {
      const posts = ["1", "2", "3", "4", "5", "6"].map((id) =>
        aPost(id, "7", { isReply: Number(id) % 2 === 0, isRepost: id === "5" }),
      )
      await store.append(
        posts.map((post) => ({ post, matches: [] })),
        1,
      )
      expect(await idsOf({ excludeReplies: true })).toEqual(["5", "3", "1"])
      expect(await idsOf({ excludeReplies: true, excludeReposts: true })).toEqual(["3", "1"])
      expect(await idsOf({ startMs: 2, endMs: 5 })).toEqual(["4", "3", "2"])
      const short = await scan({ excludeReplies: true, excludeReposts: true, scanMax: 2 })
      expect(short).toEqual({ posts: [], stoppedAt: "5", damaged: [] })
      const last = await scan({ excludeReplies: true, excludeReposts: true, scanMax: 6 })
      expect(last).not.toHaveProperty("stoppedAt")
      const full = await scan({ excludeReplies: true, limit: 2 })
      expect(full).toMatchObject({ posts: [{ id: "5" }, { id: "3" }], stoppedAt: "3" })
    })

    test("a scan ends with the post that reaches its bytes, or exceeds them, and resumes from there", async () => {
      const posts = ["1", "2", "3", "4", "5"].map((id) => aPost(id, "7", { core: "ä".repeat(50), isReply: id === "4" }))
      await store.append(
        posts.map((post) => ({ post, matches: [] })),
        1,
      )
      expect(await scan({ bytesMax: 100 })).toMatchObject({ posts: [{ id: "5" }], stoppedAt: "5" })
      expect(await scan({ bytesMax: 101 })).toMatchObject({
        posts: [{ id: "5" }, { id: "4" }],
        stoppedAt: "4",
      })
      expect(await scan({ bytesMax: 500 })).not.toHaveProperty("stoppedAt")
      // A post that the filter leaves out costs no bytes.
      expect(await scan({ bytesMax: 101, excludeReplies: true })).toMatchObject({
        posts: [{ id: "5" }, { id: "3" }],
        stoppedAt: "3",
      })
      const newer = { direction: "newer", from: "1" as PostId, bytesMax: 150 } as const
      expect(await scan(newer)).toMatchObject({ posts: [{ id: "3" }, { id: "2" }], stoppedAt: "3" })
    })

    test("a scan of thousands gives others their turns, and finds the same", async () => {
      const count = 2_500
      const posts = Array.from({ length: count }, (_, index) => aPost(String(index + 1), "7", { isReply: index > 0 }))
      await store.append(
        posts.map((post) => ({ post, matches: [] })),
        1,
      )
      const wide = { limit: count, scanMax: count }
      expect(await idsOf(wide)).toEqual(posts.map(({ id }) => id).toReversed())
      expect(await idsOf({ ...wide, direction: "newer" })).toHaveLength(count)
      const turns = await turnsOf(async () => {
        const found = await scan({ ...wide, excludeReplies: true })
        expect(found).toEqual({ posts: [{ id: "1", json: '{"id":"1"}' }], damaged: [] })
      })
      expect(turns).toBeGreaterThanOrEqual(4)
      expect(await scan({ excludeReplies: true, scanMax: 1_200 })).toMatchObject({
        posts: [],
        stoppedAt: "1301",
      })
    })

    test("a span of time is found at once when ids hold their times", async () => {
      const startMs = Date.UTC(2026, 0, 1)
      const idAt = (atMs: number): string => (BigInt(atMs - 1_288_834_974_657) << 22n).toString()
      const posts = Array.from({ length: 100 }, (_, index) => {
        const createdAtMs = startMs + index * 60_000
        return aPost(idAt(createdAtMs), "7", { createdAtMs })
      })
      const old = aPost("20", "7", { createdAtMs: Date.UTC(2006, 2, 21) })
      await store.append(
        [old, ...posts].map((post) => ({ post, matches: [] })),
        1,
      )
      const span = { startMs: startMs + 600_000, endMs: startMs + 720_000, scanMax: 3 }
      const found = { posts: [{ id: posts[11]?.id }, { id: posts[10]?.id }] }
      expect(await scan(span)).toMatchObject(found)
      expect(await scan(span)).not.toHaveProperty("stoppedAt")
      expect(await scan({ ...span, direction: "newer" })).toMatchObject(found)
      expect(await idsOf({ endMs: startMs, scanMax: 3 })).toEqual(["20"])
      // No id holds a time as late as this.
      const lateMs = Date.UTC(2090, 0, 1)
      for (const direction of ["older", "newer"] as const)
        expect(await scan({ startMs: lateMs, endMs: lateMs + 1, direction })).toMatchObject({ posts: [] })
    })

    test("a span of time finds every post of its time when ids hold none", async () => {
      const posts = [5, 1, 4, 2, 3].map((minute, index) =>
        aPost(`190000000000000000${index}`, "7", { createdAtMs: minute * 60_000 }),
      )
      await store.append(
        posts.map((post) => ({ post, matches: [] })),
        1,
      )
      expect(await idsOf({ startMs: 120_000, endMs: 300_000 })).toEqual([posts[4]?.id, posts[3]?.id, posts[2]?.id])
    })

    test("users are known by their posts and by what their posts show", async () => {
      const post = aPost("1", "7", { userIds: ["7", "8"] as UserId[] })
      await store.append([{ post, matches: [] }], 1)
      const known = await Promise.all(["7", "8", "9"].map((id) => store.isUserKnown(id as UserId)))
      expect(known).toEqual([true, true, false])
    })

    test("recent posts are the newest by id", async () => {
      await store.append(
        ["9", "10", "8"].map((id) => ({ post: aPost(id), matches: [] })),
        1,
      )
      expect((await newestPosts(store, 2)).map((post) => post.id)).toEqual(["10", "9"])
    })

    test("recent posts end with the one that reaches their bytes, or exceeds them", async () => {
      const posts = ["1", "2", "3", "4"].map((id) => aPost(id, "7", { envelope: "ä".repeat(50) }))
      await store.append(
        posts.map((post) => ({ post, matches: [] })),
        1,
      )
      const read = async (bytesMax: number, limit = 4) => {
        const found = await Array.fromAsync(store.recentPosts({ limit, bytesMax }))
        return found.map(({ id }) => id)
      }
      expect(await read(1)).toEqual(["4"])
      expect(await read(100)).toEqual(["4"])
      expect(await read(101)).toEqual(["4", "3"])
      expect(await read(1_000)).toEqual(["4", "3", "2", "1"])
      expect(await read(1_000, 3)).toEqual(["4", "3", "2"])
    })

    test("posts are paged by id, either way, and a read of many bytes returns where it stopped", async () => {
      const posts = ["9", "10", "8", "11"].map((id) => aPost(id, "7", { envelope: "x".repeat(50) }))
      await store.append(
        posts.map((post) => ({ post, matches: [] })),
        1,
      )
      const read = async (range: Partial<PostsRange>) => {
        const found = await store.posts({ direction: "older", limit: 10, bytesMax: 1_000, ...range })
        return [found.posts.map(({ id }) => id).join(" "), found.stoppedAt]
      }
      expect(await read({})).toEqual(["11 10 9 8", undefined])
      expect(await read({ limit: 2 })).toEqual(["11 10", undefined])
      expect(await read({ from: "10" as PostId })).toEqual(["9 8", undefined])
      expect(await read({ direction: "newer", from: "8" as PostId, limit: 2 })).toEqual(["10 9", undefined])
      expect(await read({ bytesMax: 100 })).toEqual(["11 10", "10"])
      expect(await read({ direction: "newer", bytesMax: 1 })).toEqual(["8", "8"])
      expect(await read({ bytesMax: 200 })).toEqual(["11 10 9 8", undefined])
    })

    test("posts are read by their ids in the order of these, and a read of many bytes says where it stopped", async () => {
      const ids = ["9", "10", large[1], "11"] as PostId[]
      const posts = ids.map((id) => aPost(id, "7", { envelope: "ä".repeat(25), core: `c${id}` }))
      await store.append(
        posts.map((post) => ({ post, matches: [] })),
        1,
      )
      const read = async (range: Partial<PostsByIdRange>) => {
        const found = await store.postsById({ ids, bytesMax: 1_000, shape: "envelope", ...range })
        expect(found.damaged).toEqual([])
        return [found.posts.map(({ id }) => id).join(" "), found.stoppedAt]
      }
      expect(await read({})).toEqual([ids.join(" "), undefined])
      expect(await read({ ids: ["11", "404", "9", "10"] as PostId[] })).toEqual(["11 9 10", undefined])
      expect(await read({ ids: ["404"] as PostId[] })).toEqual(["", undefined])
      expect(await read({ bytesMax: 1 })).toEqual(["9", "9"])
      expect(await read({ bytesMax: 100 })).toEqual(["9 10", "10"])
      expect(await read({ bytesMax: 101 })).toEqual([`9 10 ${large[1]}`, large[1]])
      expect(await read({ bytesMax: 150 })).toEqual([`9 10 ${large[1]}`, large[1]])
      expect(await read({ bytesMax: 200 })).toEqual([ids.join(" "), undefined])
      // Ids after the last that are not stored do not count as more.
      expect(await read({ ids: ["9", "404"] as PostId[], bytesMax: 1 })).toEqual(["9", undefined])
      const { posts: cores } = await store.postsById({ ids: ids.slice(0, 1), bytesMax: 1, shape: "core" })
      expect(cores).toEqual([{ id: "9", json: "c9" }])
    })

    test("a post is read by its id, with its matches in the logs of all apps or of one", async () => {
      const matches = [aMatch(app, "1", "2"), { ...aMatch(other, "3"), omitted: 4 }]
      await store.append([{ post: aPost(large[0], "7"), matches }], 5)
      const id = large[0] as PostId
      expect(await store.post(id)).toEqual({ id, json: Buffer.from(aPost(large[0], "7").envelope).toString() })
      expect(await store.post("404" as PostId)).toBeUndefined()
      const own = { appId: app, seq: 1, atMs: 5, rulesJson: '[{"id":"1","tag":""},{"id":"2","tag":""}]' }
      const theirs = { appId: other, seq: 1, atMs: 5, rulesJson: '[{"id":"3","tag":""}]', rulesOmitted: 4 }
      expect(await store.matchesOfPost(id)).toEqual([own, theirs])
      expect(await store.matchesOfPost(id, app)).toEqual([own])
      expect(await store.matchesOfPost("404" as PostId)).toEqual([])
    })
  })
}
