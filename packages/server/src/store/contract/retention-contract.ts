import { describe, expect, test } from "vitest"
import type { AppId, LinkId, PostId, WebhookId } from "../../model/ids.ts"
import {
  app,
  other,
  link,
  webhook,
  allOlder,
  seqs,
  aWebhook,
  aLink,
  aPost,
  progress,
  aRetry,
  aDeadMatch,
  addLink,
  newestPosts,
} from "./fixtures.ts"
import { type MakeStore, useDeliveries } from "./store-under-test.ts"

/** How every store forgets what is old. */
export function retentionContract(make: MakeStore): void {
  describe("retention", () => {
    const { store, reopen, audit, appendAt, linkNow, readable, retries, deadSeqs, expectAccounted } =
      useDeliveries(make)

    test("old matches are deleted from the log, at most so many at a time, and only from its app's", async () => {
      await appendAt([app, other], 10, 20, 30, 40)
      await store.saveProgress([progress(4, { delivered: 4 })])
      expect(await store.trimMatches(app, { beforeMs: 31, limit: 2 })).toEqual({
        trimmed: 2,
        isDone: false,
        gaps: [],
      })
      expect(await readable(app)).toEqual([3, 4])
      expect(await store.trimmed(app)).toEqual({ to: 2, untilMs: 20 })
      expect(await store.trimmed(other)).toBeUndefined()
      await store.trimMatches(app, { beforeMs: 31, limit: 2 })
      const last = await store.trimMatches(app, { beforeMs: 31, limit: 2 })
      expect(last).toEqual({ trimmed: 0, isDone: true, gaps: [] })
      await reopen()
      expect(await readable(app)).toEqual([4])
      expect(await readable(app, 1)).toEqual([4])
      expect(await store.trimmed(app)).toEqual({ to: 3, untilMs: 30 })
      expect(await readable(other)).toEqual([1, 2, 3, 4])
      expect(await store.head(app)).toBe(4)
      expect(await store.gaps(link)).toEqual([])
      const times = [0, 30, 31, 40, 41]
      expect(await Promise.all(times.map((atMs) => store.positionAt(app, atMs)))).toEqual([3, 3, 3, 3, 4])
      await appendAt([app], 50)
      expect(await readable(app)).toEqual([4, 5])
      expect(await store.trimMatches("300" as AppId, { beforeMs: 99, limit: 5 })).toMatchObject({
        isDone: true,
      })
      expect((await audit()).logs).toEqual([
        { appId: app, head: 5, trimmedTo: 3, entries: 2 },
        { appId: other, head: 4, trimmedTo: 0, entries: 4 },
      ])
    })

    test("a cursor that retention overtakes is moved on, and a gap marker has the range", async () => {
      await appendAt([app, other], 10, 20, 30, 40, 50, 60)
      await store.saveProgress([progress(1, { delivered: 1 })])
      const first = await store.trimMatches(app, { beforeMs: 21, limit: 10 })
      const marker = { linkId: link, webhookId: webhook, from: 2, to: 2, atMs: expect.any(Number) }
      expect(first.gaps).toEqual([marker])
      const second = await store.trimMatches(app, { beforeMs: 41, limit: 10 })
      expect(second.gaps).toEqual([{ ...marker, from: 3, to: 4 }])
      await reopen()
      expect(await linkNow()).toMatchObject({ position: 4 })
      expect(await store.gaps(link)).toEqual([{ from: 2, to: 4, atMs: expect.any(Number) }])
      await store.saveProgress([progress(5, { delivered: 1 })])
      await store.trimMatches(app, { beforeMs: 61, limit: 10 })
      expect(await store.gaps(link)).toMatchObject([
        { from: 2, to: 4 },
        { from: 6, to: 6 },
      ])
      expect(await store.linkTally(link)).toMatchObject({ position: 6, delivered: 2, missed: 4 })
      expect(await store.gaps("32" as LinkId)).toEqual([])
      expect(await linkNow("32" as LinkId)).toMatchObject({ position: 0 })
      await expectAccounted()
    })

    test("an undelivered match of a link stays until it is older than its own retention", async () => {
      await appendAt([app, other], 10, 20, 30, 40, 50)
      await store.saveProgress([progress(2, { delivered: 2 })])
      const trim = (owedBeforeMs: number, limit = 10) => store.trimMatches(app, { beforeMs: 41, owedBeforeMs, limit })
      expect(await trim(5, 1)).toEqual({ trimmed: 1, isDone: false, gaps: [] })
      expect(await trim(5)).toEqual({ trimmed: 1, isDone: true, gaps: [] })
      expect(await readable(app)).toEqual([3, 4, 5])
      const marker = { linkId: link, webhookId: webhook, from: 3, to: 3, atMs: expect.any(Number) }
      expect(await trim(31)).toEqual({ trimmed: 1, isDone: true, gaps: [marker] })
      await store.saveProgress([progress(5, { delivered: 2 })])
      expect(await trim(31)).toEqual({ trimmed: 1, isDone: true, gaps: [] })
      expect(await readable(app)).toEqual([5])
      expect(await linkNow()).toMatchObject({ position: 5 })
      await expectAccounted()
    })

    test("a revoked app's links keep nothing", async () => {
      await appendAt([app], 10, 20)
      await store.revokeApp(app)
      expect(await store.trimMatches(app, { beforeMs: 99, owedBeforeMs: 5, limit: 10 })).toMatchObject({ trimmed: 2 })
    })

    test("the log of a revoked app is trimmed like any other", async () => {
      await appendAt([app], 10, 20)
      await store.revokeApp(app)
      expect(await store.trimMatches(app, { beforeMs: 99, limit: 10 })).toMatchObject({ trimmed: 2 })
      expect(await store.gaps(link)).toMatchObject([{ from: 1, to: 2 }])
    })

    test("retention spares a match while a retry or a dead letter needs it", async () => {
      await appendAt([app], 10, 20, 30, 40)
      await store.saveProgress([progress(4, { delivered: 2, retries: [aRetry(1)], dead: [aDeadMatch(3)] })])
      expect(await store.trimMatches(app, { beforeMs: 99, limit: 10 })).toEqual({
        trimmed: 2,
        isDone: true,
        gaps: [],
      })
      await store.trimPosts({ after: undefined, beforeMs: 99, limit: 10 })
      expect(await store.retries(link, "core")).toMatchObject([{ entry: { seq: 1, postJson: '{"id":"1"}' } }])
      expect(await store.deadLetters({}, allOlder)).toMatchObject([{ seq: 3, postId: "3", matchedAtMs: 30 }])
      expect(await readable(app)).toEqual([])
      expect(await store.positionAt(app, 0)).toBe(4)
      await store.redeliver({ kind: "all" })
      expect(await store.retries(link, "core")).toMatchObject([
        { entry: { seq: 1, postJson: '{"id":"1"}' } },
        { entry: { seq: 3, postJson: '{"id":"3"}' } },
      ])
      await store.saveProgress([progress(4, { settled: seqs(1) })])
      expect(await postsAfterTrim()).toEqual(["3"])
      await store.saveProgress([progress(4, { settled: seqs(3), dead: [aDeadMatch(3, 60)] })])
      expect(await postsAfterTrim()).toEqual(["3"])
      await store.trimDeadLetters({ beforeMs: 99, limit: 10 })
      expect(await postsAfterTrim()).toEqual([])
    })

    /** Posts that are there when those are gone that no match needs. */
    async function postsAfterTrim(): Promise<readonly PostId[]> {
      await store.trimPosts({ after: undefined, beforeMs: 9_999, limit: 1_000 })
      return (await newestPosts(store, 100)).map(({ id }) => id)
    }

    test("a match that two links need stays until the second no longer needs it", async () => {
      await addLink(store, app, { linkId: "33", webhookId: "3" })
      await appendAt([app], 10)
      const second = { linkId: "33" as LinkId }
      await store.saveProgress([
        progress(1, { retries: [aRetry(1)] }),
        progress(1, { ...second, retries: [aRetry(1)] }),
      ])
      await store.trimMatches(app, { beforeMs: 99, limit: 10 })
      await store.saveProgress([progress(1, { settled: seqs(1), dead: [aDeadMatch(1)] })])
      await store.saveProgress([progress(1, { ...second, settled: seqs(1) })])
      expect(await postsAfterTrim()).toEqual(["1"])
      await store.trimDeadLetters({ beforeMs: 99, limit: 10 })
      expect(await postsAfterTrim()).toEqual([])
    })

    test("matches that a deleted link needed are deleted at the next passes, a few at each step", async () => {
      await addLink(store, app, { linkId: "33", webhookId: "3" })
      await appendAt([app], 10, 20, 30, 40, 50, 60)
      await store.saveProgress([
        progress(6, {
          delivered: 1,
          retries: [aRetry(2), aRetry(6)],
          dead: [aDeadMatch(3), aDeadMatch(4), aDeadMatch(5)],
        }),
        progress(6, { linkId: "33" as LinkId, delivered: 5, dead: [aDeadMatch(4)] }),
      ])
      await store.trimMatches(app, { beforeMs: 51, limit: 10 })
      await store.deleteWebhook(app, webhook)
      const step = async () => {
        const { trimmed, isDone } = await store.trimMatches(app, { beforeMs: 51, limit: 2 })
        return [trimmed, isDone]
      }
      expect([await step(), await step(), await step()]).toEqual([
        [2, false],
        [1, false],
        [0, true],
      ])
      expect(await step()).toEqual([0, true])
      expect(await postsAfterTrim()).toEqual(["6", "4"])
      expect(await store.trimMatches(app, { beforeMs: 99, limit: 10 })).toMatchObject({ trimmed: 1 })
      await store.deleteLink(app, "3" as WebhookId)
      expect(await store.trimMatches(app, { beforeMs: 99, limit: 10 })).toMatchObject({
        trimmed: 1,
        isDone: true,
      })
      expect(await postsAfterTrim()).toEqual([])
      expect((await audit()).damage).toEqual([])
    })

    test("a retry or a dead letter of a match that retention has deleted is ignored", async () => {
      await appendAt([app], 10, 20)
      await store.saveProgress([progress(2, { delivered: 2 })])
      await store.trimMatches(app, { beforeMs: 99, limit: 10 })
      await store.saveProgress([progress(2, { retries: [aRetry(1)], dead: [aDeadMatch(2)] })])
      expect(await retries()).toEqual([])
      expect(await deadSeqs()).toEqual([])
    })

    test("a match that one link needs is still missed by another that had not reached it", async () => {
      await store.createWebhook(aWebhook("100", "3"), { webhooksMax: 5 })
      await appendAt([app], 10)
      await store.createLink(aLink("100", "33", "3"))
      await appendAt([app], 20, 30)
      await store.saveProgress([progress(3, { delivered: 2, retries: [aRetry(2)] })])
      await store.trimMatches(app, { beforeMs: 99, limit: 10 })
      expect(await store.gaps("33" as LinkId)).toMatchObject([{ from: 2, to: 3 }])
      expect(await store.linkTally("33" as LinkId)).toMatchObject({ firstPosition: 1, missed: 2 })
      // The other one reports late what it had in flight when it was overtaken.
      await store.saveProgress([
        progress(2, { linkId: "33" as LinkId, retries: [aRetry(2)], dead: [aDeadMatch(2)], delivered: 1 }),
      ])
      expect(await retries("33" as LinkId)).toEqual([])
      expect(await deadSeqs()).toEqual([])
      await expectAccounted()
    })

    test("the newest thousand gap markers of a link are kept, and those before are still counted", async () => {
      const gapCount = 1_002
      for (let gap = 1; gap <= gapCount; gap += 1) {
        await appendAt([app], gap, gap)
        await store.saveProgress([progress(2 * gap - 1, { delivered: 1 })])
        await store.trimMatches(app, { beforeMs: gap + 1, limit: 10 })
      }
      const gaps = await store.gaps(link)
      expect(gaps).toHaveLength(1_000)
      expect([gaps[0], gaps.at(-1)]).toMatchObject([
        { from: 6, to: 6 },
        { from: 2_004, to: 2_004 },
      ])
      expect(await store.linkTally(link)).toMatchObject({ delivered: gapCount, missed: gapCount })
      // These matches' gap marker is no longer kept.
      await store.saveProgress([progress(2_004, { retries: [aRetry(2)], dead: [aDeadMatch(4)] })])
      await expectAccounted()
      expect((await audit()).damage).toEqual([])
    })

    test("the known time is the last one saved, and undefined in a new store", async () => {
      expect(await store.knownTime()).toBeUndefined()
      await store.saveKnownTime({ believedMs: 1_780_000_000_000, clockMs: 1_780_000_000_001, steadyMs: 5 })
      const later = { believedMs: 1_780_000_060_000, clockMs: 1_780_172_800_000, steadyMs: 60_000 }
      await store.saveKnownTime(later)
      await reopen()
      expect(await store.knownTime()).toEqual(later)
      expect((await audit()).damage).toEqual([])
    })

    test("posts are deleted when they are old and no log needs them, and their number stays known", async () => {
      await appendAt([app], 10, 20)
      await store.append(
        ["3", "4", "5", "9007199254740993"].map((id) => ({ post: aPost(id, "7"), matches: [] })),
        30,
      )
      await store.append([{ post: aPost("3"), matches: [] }], 31)
      expect(await store.trimPosts({ after: undefined, beforeMs: 5, limit: 4 })).toEqual({
        trimmed: 2,
        next: "4",
      })
      const end = await store.trimPosts({ after: "4" as PostId, beforeMs: 5, limit: 4 })
      expect(end).toEqual({ trimmed: 0 })
      expect((await newestPosts(store, 10)).map(({ id }) => id)).toEqual(["9007199254740993", "5", "2", "1"])
      await store.saveProgress([progress(2, { delivered: 2 })])
      await store.trimMatches(app, { beforeMs: 99, limit: 10 })
      expect(await store.trimPosts({ after: undefined, beforeMs: 5, limit: 10 })).toEqual({ trimmed: 2 })
      expect((await audit()).posts).toEqual({ accepted: 6, trimmed: 4, stored: 2 })
      expect(await store.isUserKnown("7" as never)).toBe(true)
    })
  })
}
