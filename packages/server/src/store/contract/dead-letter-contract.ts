import { describe, expect, test } from "vitest"
import type { DeadLetterId, LinkId, MatchSeq, WebhookId } from "../../model/ids.ts"
import type { Store, StoreChange } from "../store.ts"
import { app, other, link, webhook, allOlder, seqs, aPost, progress, aRetry, aDeadMatch } from "./fixtures.ts"
import { type MakeStore, useDeliveries } from "./store-under-test.ts"

/** Every store's behaviour for dead letters. */
export function deadLetterContract(make: MakeStore): void {
  describe("dead letters", () => {
    const { store, reopen, appendAt, linkNow, retries, deadSeqs, expectAccounted } = useDeliveries(make)

    test("dead letters are kept with the cursor that passes them, until they are sent again", async () => {
      await appendAt([app], 10, 20, 30, 40)
      await store.saveProgress([progress(4, { delivered: 2, retries: [aRetry(3)], dead: [aDeadMatch(2)] })])
      const { error: _, status: __, ...bare } = aDeadMatch(3, 60)
      await store.saveProgress([progress(4, { settled: seqs(3), dead: [{ ...bare, outcome: "dns" }] })])
      await reopen()
      const common = { appId: app, webhookId: webhook, linkId: link }
      const [second, first, ...more] = await store.deadLetters({ appId: app }, allOlder)
      expect(first).toEqual({ ...aDeadMatch(2), ...common, id: first?.id, postId: "2", matchedAtMs: 20 })
      expect(second).toEqual({
        ...bare,
        ...common,
        outcome: "dns",
        id: second?.id,
        postId: "3",
        matchedAtMs: 30,
      })
      expect(more).toEqual([])
      expect(await retries()).toEqual([])
      expect(await store.linkTally(link)).toEqual({
        linkId: link,
        appId: app,
        webhookId: webhook,
        firstPosition: 0,
        position: 4,
        delivered: 2,
        retries: 0,
        deadLetters: 2,
        expired: 0,
        missed: 0,
        withdrawn: 0,
      })
      expect(await store.linkTally("404" as LinkId)).toBeUndefined()
    })

    test("dead letters are listed newest first, by app and by webhook, from any place", async () => {
      await appendAt([app, other], 1, 2, 3)
      const dead = [aDeadMatch(1), aDeadMatch(2), aDeadMatch(3)]
      await store.saveProgress([
        progress(3, { dead }),
        progress(3, { linkId: "32" as LinkId, dead: [aDeadMatch(2)], delivered: 2 }),
      ])
      const ids = (await store.deadLetters({}, allOlder)).map(({ id }) => Number(id))
      expect(ids).toEqual(ids.toSorted((a, b) => b - a))
      expect(ids).toHaveLength(4)
      const listed = async (of: Parameters<Store["deadLetters"]>[0], range: object = {}) =>
        (await store.deadLetters(of, { ...allOlder, ...range })).map(({ appId, seq }) => [appId, seq])
      expect(await listed({ appId: app })).toEqual([
        [app, 3],
        [app, 2],
        [app, 1],
      ])
      expect(await listed({ webhookId: "2" as WebhookId })).toEqual([[other, 2]])
      expect(await listed({ appId: app, webhookId: "2" as WebhookId })).toEqual([])
      expect(await listed({ appId: app, webhookId: webhook })).toHaveLength(3)
      const middle = (await store.deadLetters({ appId: app }, allOlder))[1]?.id
      expect(await listed({ appId: app }, { from: middle })).toEqual([[app, 1]])
      expect(await listed({ appId: app }, { from: middle, direction: "newer" })).toEqual([[app, 3]])
      expect(await listed({ appId: app }, { direction: "newer", limit: 2 })).toEqual([
        [app, 2],
        [app, 1],
      ])
    })

    test("a match that is dead-lettered twice is one dead letter, with its last outcome", async () => {
      await appendAt([app], 1)
      await store.saveProgress([progress(1, { dead: [aDeadMatch(1, 50)] })])
      await store.saveProgress([progress(1, { retries: [aRetry(1)], dead: [aDeadMatch(1, 70)] })])
      expect(await store.deadLetters({}, allOlder)).toMatchObject([{ seq: 1, deadLetteredAtMs: 70 }])
      expect(await retries()).toEqual([])
    })

    test("dead letters are sent again by id, by webhook and by time, only the caller's", async () => {
      await appendAt([app, other], 1, 2, 3)
      await store.saveProgress([
        progress(3, { dead: [aDeadMatch(1, 10), aDeadMatch(2, 20), aDeadMatch(3, 30)] }),
        progress(3, { linkId: "32" as LinkId, dead: [aDeadMatch(1, 30)], delivered: 2 }),
      ])
      const all = await store.deadLetters({ appId: app }, allOlder)
      const idOf = (seq: number) => all.find((dead) => dead.seq === seq)?.id as DeadLetterId
      const heard: StoreChange[] = []
      store.onChange((change) => heard.push(change))

      expect(await store.redeliver({ kind: "ids", appId: other, ids: [idOf(1)] })).toBe(0)
      expect(heard).toEqual([])
      expect(await store.redeliver({ kind: "ids", appId: app, ids: [idOf(1), idOf(1), "404" as DeadLetterId] })).toBe(1)
      expect(heard).toEqual([{ kind: "control" }])
      expect(await retries()).toEqual([aRetry(1, 0, 0)])
      expect(await linkNow()).toMatchObject({ redeliveries: 1 })

      expect(await store.redeliver({ kind: "all", appId: other, webhookId: webhook })).toBe(0)
      expect(await store.redeliver({ kind: "all", appId: app, webhookId: webhook, sinceMs: 21 })).toBe(1)
      expect(await retries()).toEqual([aRetry(1, 0, 0), aRetry(3, 0, 0)])
      expect(await store.redeliver({ kind: "all", sinceMs: 20 })).toBe(2)
      await reopen()
      expect(await deadSeqs()).toEqual([])
      expect(await linkNow()).toMatchObject({ redeliveries: 3 })
      expect(await linkNow("32" as LinkId)).toMatchObject({ redeliveries: 1 })
      expect(await retries("32" as LinkId)).toEqual([aRetry(1, 0, 0)])
      await expectAccounted()
    })

    test("as many dead letters are sent again as a link has room for, the oldest first", async () => {
      const count = 1_005
      const numbers = Array.from({ length: count }, (_, index) => index + 1)
      await appendAt([app], ...numbers)
      await store.saveProgress([progress(count, { dead: numbers.map((seq) => aDeadMatch(seq, count - seq)) })])
      expect(await store.redeliver({ kind: "all" })).toBe(1_000)
      expect(await deadSeqs()).toEqual([5, 4, 3, 2, 1])
      expect(await store.redeliver({ kind: "all" })).toBe(0)
      await store.saveProgress([progress(count, { settled: [6, 7] as MatchSeq[], delivered: 2 })])
      expect(await store.redeliver({ kind: "all" })).toBe(2)
      expect(await deadSeqs()).toEqual([3, 2, 1])
      await expectAccounted()
    })

    test("redelivered dead letters stay within the bytes of a link's retries, but one may be larger", async () => {
      const mebibyte = 1_048_576
      const sizes = [17, 6, 6, 6].map((size) => size * mebibyte)
      for (const [index, size] of sizes.entries()) {
        const post = aPost(String(index + 1), "7", { envelope: "x".repeat(size) })
        await store.append([{ post, matches: [{ appId: app, rules: [{ id: "5", tag: "" }] }] }], index)
      }
      await store.saveProgress([progress(4, { dead: [1, 2, 3, 4].map((seq) => aDeadMatch(seq, seq)) })])
      const settle = (seq: number) => store.saveProgress([progress(4, { settled: seqs(seq), delivered: 1 })])
      expect(await store.redeliver({ kind: "all" })).toBe(1)
      expect(await store.redeliver({ kind: "all" })).toBe(0)
      await settle(1)
      expect(await store.redeliver({ kind: "all", webhookId: webhook })).toBe(2)
      const ids = (await store.deadLetters({}, allOlder)).map(({ id }) => id)
      expect(await store.redeliver({ kind: "ids", ids })).toBe(0)
      await settle(2)
      expect(await store.redeliver({ kind: "ids", ids })).toBe(1)
      await expectAccounted()
    })

    test("the oldest dead letter named by id is sent again first, in whatever order they are named", async () => {
      for (const id of ["1", "2"]) {
        const post = aPost(id, "7", { envelope: "x".repeat(9 * 1_048_576) })
        await store.append([{ post, matches: [{ appId: app, rules: [{ id: "5", tag: "" }] }] }], 1)
      }
      await store.saveProgress([progress(2, { dead: [aDeadMatch(1, 1), aDeadMatch(2, 2)] })])
      const ids = (await store.deadLetters({}, allOlder)).map(({ id }) => id)
      expect(await store.redeliver({ kind: "ids", ids })).toBe(1)
      expect(await deadSeqs()).toEqual([2])
    })

    test("a link without room does not block other links", async () => {
      const numbers = Array.from({ length: 1_005 }, (_, index) => index + 1)
      await appendAt([app, other], ...numbers)
      const dead = numbers.map((seq) => aDeadMatch(seq, seq))
      await store.saveProgress([progress(1_005, { dead })])
      expect(await store.redeliver({ kind: "all" })).toBe(1_000)
      await store.saveProgress([progress(1_005, { linkId: "32" as LinkId, delivered: 1_003, dead: dead.slice(-2) })])
      expect(await store.redeliver({ kind: "all" })).toBe(2)
      expect(await store.redeliver({ kind: "all" })).toBe(0)
      expect(await linkNow()).toMatchObject({ redeliveries: 1 })
      await expectAccounted()
    })

    test("dead letters past their retention are deleted, a few at a time, and are counted", async () => {
      await appendAt([app], 1, 2, 3, 4)
      const dead = [aDeadMatch(1, 10), aDeadMatch(2, 20), aDeadMatch(3, 30), aDeadMatch(4, 40)]
      await store.saveProgress([progress(4, { dead })])
      expect(await store.trimDeadLetters({ beforeMs: 31, limit: 2 }), "their matches are still in the log").toBe(0)
      await store.trimMatches(app, { beforeMs: 99, limit: 10 })
      expect(await store.trimDeadLetters({ beforeMs: 31, limit: 2 })).toBe(2)
      expect(await deadSeqs()).toEqual([4, 3])
      expect(await store.trimDeadLetters({ beforeMs: 31, limit: 2 })).toBe(1)
      expect(await store.trimDeadLetters({ beforeMs: 31, limit: 2 })).toBe(0)
      expect(await store.linkTally(link)).toMatchObject({ deadLetters: 1, expired: 3 })
      await appendAt([app], 5)
      const idBefore = Number((await store.deadLetters({}, allOlder))[0]?.id)
      await store.redeliver({ kind: "all" })
      await store.saveProgress([progress(5, { dead: [aDeadMatch(5)] })])
      expect(Number((await store.deadLetters({}, allOlder))[0]?.id)).toBeGreaterThan(idBefore)
    })

    test("any match is sent again, as a retry that is due at once, and counts as nothing else", async () => {
      await appendAt([app, other], 1, 2, 3, 4, 5)
      await store.saveProgress([
        progress(4, { delivered: 2, retries: [aRetry(2, 7)], dead: [aDeadMatch(3)] }),
        progress(4, { linkId: "32" as LinkId, delivered: 4 }),
      ])
      const heard: StoreChange[] = []
      store.onChange((change) => heard.push(change))
      const again = (seq: number, linkId: LinkId = link) => ({ linkId, seq: seq as MatchSeq })
      const nothing = [again(5), again(6), again(0), again(1, "404" as LinkId), again(1, "32" as LinkId)]
      expect(await store.redeliverMatches(nothing, app)).toEqual([
        "waiting",
        "unknown",
        "unknown",
        "unknown",
        "unknown",
      ])
      expect(heard).toEqual([])
      expect(await store.redeliverMatches([again(1), again(2), again(3), again(1)], app)).toEqual(
        Array(4).fill("redelivered"),
      )
      expect(heard).toEqual([{ kind: "control" }])
      await reopen()
      expect(await retries()).toEqual([aRetry(1, 0, 0), aRetry(2, 7, 0), aRetry(3, 0, 0)])
      expect(await deadSeqs()).toEqual([])
      expect(await linkNow()).toMatchObject({ redeliveries: 1 })
      expect(await store.linkTally(link)).toMatchObject({ delivered: 1, retries: 3, deadLetters: 0 })
      await expectAccounted()
      await store.saveProgress([progress(4, { settled: seqs(1, 2, 3), delivered: 3 })])
      expect(await store.linkTally(link)).toMatchObject({ delivered: 4, retries: 0 })
      await expectAccounted()
    })

    test("a match that retention has passed is not sent again, unless it is a retry or a dead letter", async () => {
      await appendAt([app], 1, 2, 3, 4)
      await store.saveProgress([progress(4, { delivered: 2, retries: [aRetry(2)], dead: [aDeadMatch(3)] })])
      await store.trimMatches(app, { beforeMs: 4, limit: 10 })
      const all = [1, 2, 3, 4].map((seq) => ({ linkId: link, seq: seq as MatchSeq }))
      expect(await store.redeliverMatches(all)).toEqual(["gone", "redelivered", "redelivered", "redelivered"])
      await expectAccounted()
    })

    test("as many matches are sent again as a link counts as delivered, also within one request", async () => {
      await appendAt([app], 1, 2)
      // One of the two was delivered, as far as the link counts.
      await store.saveProgress([progress(2, { delivered: 1 })])
      const both = [1, 2].map((seq) => ({ linkId: link, seq: seq as MatchSeq }))
      expect(await store.redeliverMatches(both)).toEqual(["redelivered", "gone"])
      expect(await store.linkTally(link)).toMatchObject({ delivered: 0, retries: 1 })
      expect(await store.redeliverMatches(both)).toEqual(["redelivered", "gone"])
      expect(await store.linkTally(link)).toMatchObject({ delivered: 0, retries: 1 })
    })

    test("no more matches are sent again than a link has room for", async () => {
      const numbers = Array.from({ length: 1_002 }, (_, index) => index + 1)
      await appendAt([app], ...numbers)
      await store.saveProgress([progress(1_002, { delivered: 1_001, dead: [aDeadMatch(7)] })])
      const all = numbers.map((seq) => ({ linkId: link, seq: seq as MatchSeq }))
      const outcomes = await store.redeliverMatches(all)
      expect(outcomes.slice(0, 1_000)).toEqual(Array(1_000).fill("redelivered"))
      expect(outcomes.slice(1_000)).toEqual(["no-room", "no-room"])
      await expectAccounted()
    })

    test("all retries of a webhook are made due at once, only the caller's", async () => {
      await appendAt([app], 1, 2, 3)
      await store.saveProgress([progress(3, { delivered: 1, retries: [aRetry(1, 3), aRetry(2, 0, 0)] })])
      expect(await store.hastenRetries(webhook, other)).toBe(0)
      expect(await store.hastenRetries("404" as WebhookId)).toBe(0)
      expect(await linkNow()).toMatchObject({ redeliveries: 0 })
      expect(await store.hastenRetries(webhook, app)).toBe(1)
      expect(await retries()).toEqual([aRetry(1, 3, 0), aRetry(2, 0, 0)])
      expect(await linkNow()).toMatchObject({ redeliveries: 1 })
    })
  })
}
