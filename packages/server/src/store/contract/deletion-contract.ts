import { describe, expect, test } from "vitest"
import type { MatchSeq, PostId, UserId } from "../../model/ids.ts"
import type { AcceptedPost } from "../../model/post.ts"
import { deletionStepMax } from "../ledger/deletions.ts"
import { aDeadMatch, aMatch, anAttempt, aPost, app, aRetry, aUserPost, link, progress, seqs } from "./fixtures.ts"
import { type MakeStore, useDeliveries } from "./store-under-test.ts"

/** An envelope of a post that includes others, each with its text. */
function including(
  id: string,
  author: string,
  shown: Readonly<Record<string, string>>,
  more: Partial<AcceptedPost> = {},
) {
  const tweets = Object.entries(shown).map(([of, text]) => ({ id: of, text }))
  const envelope = JSON.stringify({ data: { id, text: `of ${id}` }, includes: { tweets, users: [{ id: author }] } })
  const post = aPost(id, author, { envelope, includedIds: Object.keys(shown) as PostId[] })
  return { ...post, ...more }
}

const post = (id: string) => ({ kind: "post", id: id as PostId }) as const
const user = (id: string) => ({ kind: "user", id: id as UserId }) as const

/** Every store's behaviour for deletions. */
export function deletionContract(make: MakeStore): void {
  describe("deletions", () => {
    const { store, reopen, audit, appendAt, retries, expectAccounted } = useDeliveries(make)

    const append = (...posts: readonly AcceptedPost[]) =>
      store.append(
        posts.map((each) => ({ post: each, matches: [aMatch(app, "5")] })),
        1,
      )
    const entries = () => store.matches({ appId: app, after: 0 as MatchSeq, limit: 100, bytesMax: 1e6, shape: "core" })

    test("a deleted post is gone, and its match keeps its place in the log without it", async () => {
      await append(aPost("1", "7"), aPost("2", "7"), aPost("3", "7"))
      expect(
        await store.matches({ appId: app, after: 0 as MatchSeq, limit: 9, bytesMax: 1e6, shape: "envelope" }),
      ).toHaveLength(3)
      expect(await store.delete([post("2"), post("9")], 50)).toEqual([{ wasStored: true }, { wasStored: false }])
      await reopen()
      expect(await store.post("2" as PostId)).toBeUndefined()
      expect(await store.matchesOfPost("2" as PostId)).toEqual([])
      const [first, deleted, third] = await entries()
      expect(first).toMatchObject({ seq: 1, postId: "1", postJson: '{"id":"1"}' })
      expect(deleted).toEqual({ seq: 2, postId: "2", atMs: 1, rulesJson: "[]", isDeleted: true })
      expect(third).toMatchObject({ seq: 3, postId: "3", postJson: '{"id":"3"}' })
      expect(await store.match(app, 2 as MatchSeq, "core")).toEqual(deleted)
      const { damage, posts } = await audit()
      expect(damage).toEqual([])
      expect(posts).toEqual({ accepted: 3, trimmed: 1, stored: 2 })
    })

    test("readers that have read a match a moment ago do not get its post once it is deleted", async () => {
      await append(aPost("1", "7"))
      await entries()
      await append(aPost("2", "7"))
      await entries()
      await store.delete([post("2")], 50)
      expect(await entries()).toMatchObject([{ postId: "1" }, { postId: "2", isDeleted: true }])
    })

    test("what is deleted is not stored again, not even by another name", async () => {
      await store.delete([post("2"), user("8")], 50)
      const repost = including("4", "7", { "2": "gone" }, { isRepost: true, repostedId: "2" as PostId })
      const bareRepost = aPost("6", "7", { isRepost: true, repostedId: "2" as PostId })
      expect(await append(aPost("2", "7"), aPost("3", "8"), repost, bareRepost, aPost("5", "7"))).toEqual([
        false,
        false,
        false,
        false,
        true,
      ])
      expect(await entries()).toMatchObject([{ postId: "5" }])
      await reopen()
      expect(await store.deletedPosts(["2", "5", "8"] as PostId[])).toEqual(new Set(["2"]))
      expect(await append(aPost("2", "7"))).toEqual([false])
      await store.forgetDeletions({ beforeMs: 50, limit: 10 })
      expect(await append(aPost("2", "7"))).toEqual([false])
      expect(await store.forgetDeletions({ beforeMs: 51, limit: 10 })).toBe(2)
      expect(await append(aPost("2", "7"))).toEqual([true])
    })

    test("a deleted post is taken out of the posts that include it, and its reposts are deleted", async () => {
      const quote = including("4", "7", { "2": "marker", "3": "stays" })
      const repost = including("5", "7", { "2": "marker" }, { isRepost: true, repostedId: "2" as PostId })
      const quoteOfRepost = including("6", "7", { "5": "RT marker" })
      await append(aPost("2", "7"), quote, repost, quoteOfRepost)
      expect(await store.delete([post("2")], 50)).toEqual([{ wasStored: true }])
      expect(await store.post("5" as PostId)).toBeUndefined()
      const [kept, other] = [await store.post("4" as PostId), await store.post("6" as PostId)]
      expect(JSON.parse(kept?.json ?? "")).toEqual({
        data: { id: "4", text: "of 4" },
        includes: { tweets: [{ id: "3", text: "stays" }], users: [{ id: "7" }] },
      })
      expect(JSON.parse(other?.json ?? "")).toEqual({
        data: { id: "6", text: "of 6" },
        includes: { users: [{ id: "7" }] },
      })
      expect((await audit()).damage).toEqual([])
      const all = await store.deletions({ after: 0, limit: 10 })
      expect(all.map(({ id, authorId }) => [id, authorId])).toEqual([
        ["2", "7"],
        ["5", "7"],
      ])
    })

    test("with one version of a post all are deleted, and a later version is not stored", async () => {
      const version = (id: string, ...history: readonly string[]) => {
        const envelope = JSON.stringify({ data: { id, text: id, author_id: "7", edit_history_tweet_ids: history } })
        return aPost(id, "7", { envelope, chain: history as readonly PostId[] })
      }
      await append(aPost("1", "7"), version("2", "1", "2"), aPost("9", "7"))
      await store.delete([post("2")], 50)
      expect(await append(version("3", "1", "2", "3"), aPost("1", "7"))).toEqual([false, false])
      const left = await Array.fromAsync(store.recentPosts({ limit: 10, bytesMax: 1e6 }))
      expect(left.map(({ id }) => id)).toEqual(["9"])
      expect((await audit()).damage).toEqual([])
    })

    test("what arrives of a deleted user is left out of the posts of others, with reposts of it", async () => {
      await store.delete([user("8")], 50)
      const includes = { tweets: [{ id: "2", text: "marker", author_id: "8" }], users: [{ id: "8" }, { id: "7" }] }
      const showing = (id: string, more: Partial<AcceptedPost> = {}) => {
        const envelope = JSON.stringify({ data: { id, text: "of 7" }, includes })
        const ids = { includedIds: ["2"] as PostId[], userIds: ["7", "8"] as UserId[] }
        return { ...aPost(id, "7", { envelope, ...ids }), ...more }
      }
      const repost = showing("5", { isRepost: true, repostedId: "2" as PostId })
      expect(await append(showing("4"), repost)).toEqual([true, false])
      expect(JSON.parse((await store.post("4" as PostId))?.json ?? "")).toEqual({
        data: { id: "4", text: "of 7" },
        includes: { users: [{ id: "7" }] },
      })
    })

    test("a post that is known only from another's includes can be deleted, and comes with no later one", async () => {
      await append(including("4", "7", { "2": "marker" }))
      expect(await store.delete([post("2")], 50)).toEqual([{ wasStored: true }])
      await append(including("5", "7", { "2": "marker" }))
      for (const id of ["4", "5"]) expect((await store.post(id as PostId))?.json).not.toContain("marker")
      expect(await store.delete([post("2")], 51)).toEqual([{ wasStored: false }])
    })

    test("dead letters of a deleted post are withdrawn, its retries stay for their sender, responses are dropped", async () => {
      await appendAt([app], 10, 20, 30)
      await store.saveProgress([progress(3, { delivered: 1, retries: [aRetry(3)], dead: [aDeadMatch(2)] })])
      const response = { status: 500, headers: [] as const, body: "an echo", bytes: 7 }
      await store.recordAttempts([anAttempt(2, { response }), anAttempt(1, { response })], { keptPerLink: 10 })
      await store.delete([post("2"), post("3")], 50)
      expect(await store.linkTally(link)).toMatchObject({ delivered: 1, retries: 1, deadLetters: 0, withdrawn: 1 })
      expect(await retries()).toHaveLength(1)
      expect(await store.retries(link, "core")).toMatchObject([{ seq: 3, entry: { isDeleted: true } }])
      const attempts = await store.attempts(link, 10)
      expect(attempts.map(({ seq, response: kept }) => [seq, kept?.body])).toEqual([
        [1, "an echo"],
        [2, undefined],
      ])
      await store.recordAttempts([anAttempt(3, { response }), anAttempt(1, { response })], { keptPerLink: 10 })
      expect((await store.attempts(link, 2)).map(({ seq, response: kept }) => [seq, kept?.body])).toEqual([
        [1, "an echo"],
        [3, undefined],
      ])
      await store.saveProgress([progress(3, { settled: seqs(3), withdrawn: 1 })])
      expect(await store.linkTally(link)).toMatchObject({ delivered: 1, retries: 0, deadLetters: 0, withdrawn: 2 })
      await expectAccounted()
    })

    test("responses to attempts at a post that included a deleted one are dropped, also when they come a moment later", async () => {
      await append(aPost("2", "7"), including("4", "7", { "2": "marker" }))
      const response = { status: 200, headers: [] as const, body: "an echo of the marker", bytes: 21 }
      await store.recordAttempts([anAttempt(2, { response, atMs: 40_000 })], { keptPerLink: 10 })
      await store.delete([post("2")], 50_000)
      await store.recordAttempts([anAttempt(2, { response, atMs: 50_500 }), anAttempt(2, { response, atMs: 60_000 })], {
        keptPerLink: 10,
      })
      const kept = (await store.attempts(link, 10)).map(({ atMs, response: of }) => [atMs, of?.body])
      expect(kept).toEqual([
        [60_000, "an echo of the marker"],
        [50_500, undefined],
        [40_000, undefined],
      ])
    })

    test("a post that an earlier version stored is rewritten for all readers, and responses to attempts at it are dropped", async () => {
      const showing = including("4", "7", { "2": "marker" })
      // As an earlier version stored it: it is not known that it shows the post.
      await append({ ...showing, includedIds: [] })
      const response = { status: 200, headers: [] as const, body: "an echo of the marker", bytes: 21 }
      await store.recordAttempts([anAttempt(1, { response })], { keptPerLink: 10 })
      await store.delete([post("2")], 50)
      const read = () => store.matches({ appId: app, after: 0 as MatchSeq, limit: 9, bytesMax: 1e6, shape: "envelope" })
      expect(JSON.stringify(await read())).toContain("marker")
      const announced: string[] = []
      const stopListening = store.onChange(({ kind }) => announced.push(kind))
      await store.takeUsers([showing], undefined)
      stopListening()
      expect(announced).toEqual(["deletions", "matches"])
      expect(JSON.stringify(await read())).not.toContain("marker")
      expect((await store.attempts(link, 10)).map(({ response: kept }) => kept?.body)).toEqual([undefined])
      expect((await audit()).damage).toEqual([])
    })

    test("a cursor counts the deleted matches that it passes as withdrawn, once", async () => {
      await appendAt([app], 10, 20, 30)
      await store.delete([post("2")], 50)
      for (let time = 0; time < 2; time += 1) await store.saveProgress([progress(3, { delivered: 2, withdrawn: 1 })])
      expect(await store.linkTally(link)).toMatchObject({ position: 3, delivered: 2, withdrawn: 1 })
      await expectAccounted()
    })

    test("a deleted user is gone with all posts, a part at a time", async () => {
      const posts = Array.from({ length: 350 }, (_, index) => aPost(String(index + 1), "8"))
      await append(...posts, aPost("999", "7"), aUserPost("1000", 5, { id: "8", username: "eight", name: "Eight" }))
      expect(await store.delete([user("8")], 50)).toEqual([{ wasStored: true }])
      while (!(await store.continueDeletions(50)));
      expect(await store.isUserKnown("8" as UserId)).toBe(false)
      expect(await store.usersById(["8" as UserId])).toEqual([])
      const left = await Array.fromAsync(store.recentPosts({ limit: 1_000, bytesMax: 1e6 }))
      expect(left.map(({ id }) => id)).toEqual(["999"])
      expect((await audit()).damage).toEqual([])
      // The memory of a user forbids the user's object in the posts of others, too.
      await store.append([{ post: aUserPost("1001", 6, { id: "9", username: "nine", name: "Nine" }), matches: [] }], 1)
      const mention = aUserPost(
        "1002",
        7,
        { id: "7", username: "seven", name: "Seven" },
        { id: "8", username: "eight", name: "Eight" },
      )
      await store.append([{ post: mention, matches: [] }], 1)
      expect(await store.usersById(["8", "9"] as UserId[])).toMatchObject([{ id: "9" }])
      const { users } = JSON.parse((await store.post("1002" as PostId))?.json ?? "").includes
      expect(users).toEqual([{ id: "7", username: "seven", name: "Seven" }])
    })

    test("a user whose deletion is requested again while it goes on is gone all the same", async () => {
      const posts = Array.from({ length: 3 * deletionStepMax }, (_, index) => aPost(String(index + 1), "8"))
      await append(...posts, aPost("999", "7"))
      const others = Array.from({ length: 2 * deletionStepMax }, (_, index) => user(String(1_000 + index)))
      await store.delete([user("8")], 50)
      for (const again of [[user("8")], [user("8"), ...others]]) await store.delete(again, 51)
      let steps = 0
      while (!(await store.continueDeletions(52))) expect((steps += 1)).toBeLessThan(20)
      const left = await Array.fromAsync(store.recentPosts({ limit: 1_000, bytesMax: 1e6 }))
      expect(left.map(({ id }) => id)).toEqual(["999"])
      expect((await audit()).damage).toEqual([])
    })

    test("a deleted user is taken out of a post that is rewritten because it includes a deleted one", async () => {
      await append(aPost("2", "8"), including("4", "8", { "2": "marker", "3": "stays" }, { authorId: "7" as UserId }))
      await store.delete([user("8")], 50)
      while (!(await store.continueDeletions(50)));
      expect(JSON.parse((await store.post("4" as PostId))?.json ?? "").includes).toEqual({
        tweets: [{ id: "3", text: "stays" }],
      })
    })

    test("what a post shows is forgotten with it", async () => {
      await append(aPost("2", "7"), including("4", "7", { "2": "marker", "3": "stays" }))
      await store.delete([post("4")], 50)
      await store.delete([post("3"), post("2")], 51)
      expect((await audit()).damage).toEqual([])
      expect(await store.deletions({ after: 0, limit: 10 })).toMatchObject([{ id: "4" }, { id: "3" }, { id: "2" }])
    })

    test("a deletion that is requested again is remembered from then on, as the newest one, with its author", async () => {
      const history = ["1", "2"] as PostId[]
      await append(aPost("1", "7", { chain: ["1"] as PostId[] }), aPost("2", "7", { chain: history }))
      await store.delete([post("2"), user("8")], 50)
      await store.delete([post("9")], 60)
      const before = await store.deletionHead()
      expect(await store.delete([post("2"), user("8")], 90)).toEqual([{ wasStored: false }, { wasStored: false }])
      while (!(await store.continueDeletions(90)));
      await reopen()
      const again = [
        { kind: "post", id: "2", authorId: "7", atMs: 90 },
        { kind: "user", id: "8", atMs: 90 },
      ]
      expect(await store.deletions({ after: before, limit: 10 })).toMatchObject(again)
      expect(await store.deletions({ after: 0, limit: 10 })).toHaveLength(4)
      expect(await store.deletionPositionAt(61)).toBe(before)
      // The other version and the other post.
      expect(await store.forgetDeletions({ beforeMs: 61, limit: 10 })).toBe(2)
      expect(await append(aPost("2", "7", { chain: history }), aPost("3", "8"))).toEqual([false, false])
      expect(await store.forgetDeletions({ beforeMs: 91, limit: 10 })).toBe(2)
      expect((await audit()).damage).toEqual([])
    })

    test("deletions are read in order, and their head stays when they are forgotten", async () => {
      expect(await store.deletionHead()).toBe(0)
      await append(aPost("3", "7"))
      await store.delete([post("3")], 50)
      await store.delete([user("7")], 60)
      await reopen()
      const all = await store.deletions({ after: 0, limit: 10 })
      expect(all).toMatchObject([
        { kind: "post", id: "3", authorId: "7", atMs: 50 },
        { kind: "user", id: "7", atMs: 60 },
      ])
      const [first, second] = all
      expect(await store.deletions({ after: first?.seq ?? 0, limit: 10 })).toEqual([second])
      const head = await store.deletionHead()
      expect(head).toBeGreaterThanOrEqual(second?.seq ?? Number.NaN)
      await store.forgetDeletions({ beforeMs: 100, limit: 10 })
      expect(await store.deletionHead()).toBe(head)
      await store.delete([post("9")], 70)
      expect(await store.deletions({ after: head, limit: 10 })).toMatchObject([{ id: "9" }])
      expect(await store.eraseDeleted()).toBe(true)
    })
  })
}
