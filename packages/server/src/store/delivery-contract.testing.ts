/**
 * What every store must do for deliveries: keep what is owed, what was given up, and what retention took, so that
 * every match of a link is at exactly one place. Called beside `contract.ts`, in the same way.
 */
import fc from "fast-check"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { Attempt } from "../model/attempt.ts"
import type { DeadMatch } from "../model/dead-letter.ts"
import type {
  AppId,
  DeadLetterId,
  LinkId,
  MatchSeq,
  PostId,
  ReplayId,
  RuleId,
  WebhookId,
} from "../model/ids.ts"
import type { LinkProgress, LinkTally, Retry } from "../model/link.ts"
import type { Replay } from "../model/replay.ts"
import { aLink, anApp, aPost, aWebhook, type StoreUnderTest } from "./contract.ts"
import type { Store, StoreChange } from "./store.ts"

const app = "100" as AppId
const other = "200" as AppId
const link = "31" as LinkId
const webhook = "1" as WebhookId
const allOlder = { direction: "older", limit: 1_000 } as const
const seqs = (...values: number[]): MatchSeq[] => values as MatchSeq[]

function progress(position: number, more: Partial<LinkProgress> = {}): LinkProgress {
  return {
    linkId: link,
    position: position as MatchSeq,
    retries: [],
    settled: [],
    dead: [],
    delivered: 0,
    ...more,
  }
}

function aRetry(seq: number, failures = 1, dueAtMs = 5): Retry {
  return { seq: seq as MatchSeq, failures, dueAtMs }
}

function aDeath(seq: number, diedAtMs = 50): DeadMatch {
  return {
    seq: seq as MatchSeq,
    failures: 9,
    outcome: "failed",
    status: 500,
    error: "answered 500.",
    diedAtMs,
  }
}

function anAttempt(seq: number, more: Partial<Attempt> = {}): Attempt {
  return {
    linkId: link,
    seq: seq as MatchSeq,
    atMs: 1_800_000_000_000 + seq,
    durationMs: 1.5,
    outcome: "delivered",
    status: 200,
    bytes: 300,
    ...more,
  }
}

function aReplay(id: string, more: Partial<Replay> = {}): Replay {
  return {
    id: id as ReplayId,
    appId: app,
    webhookId: webhook,
    linkId: link,
    fromMs: 60_000,
    toMs: 120_000,
    position: 0 as MatchSeq,
    endSeq: 4 as MatchSeq,
    delivered: 0,
    failed: 0,
    createdAtMs: 9,
    state: "running",
    ...more,
  }
}

/** What a tally says of matches that the cursor has passed, and how many those are. */
function sides(tally: LinkTally | undefined): readonly [passed: number, accounted: number] {
  if (tally === undefined) throw new Error("no such link")
  const { firstPosition, position, delivered, retries, deadLetters, expired, missed } = tally
  return [position - firstPosition, delivered + retries + deadLetters + expired + missed]
}

/** The tests that a store passes. */
export function deliveryContract(name: string, make: () => Promise<StoreUnderTest>): void {
  describe(`${name} accounts for deliveries`, () => {
    let under: StoreUnderTest
    let store: Store

    beforeEach(async () => {
      under = await make()
      store = await under.open()
      await store.createApp(anApp("100"), [])
      await store.createApp(anApp("200"), [])
      await store.createWebhook(aWebhook("100", "1"), { webhooksMax: 5 })
      await store.createWebhook(aWebhook("200", "2"), { webhooksMax: 5 })
      await store.createLink(aLink("100", "31", "1"))
      await store.createLink(aLink("200", "32", "2"))
    })

    afterEach(async () => {
      await store[Symbol.asyncDispose]()
      await under[Symbol.asyncDispose]()
    })

    async function reopen(): Promise<void> {
      await store[Symbol.asyncDispose]()
      store = await under.open()
    }

    let lastPost = 0

    /** Appends one post for each of these moments, a match of the apps. */
    async function appendAt(appIds: readonly AppId[], ...timesMs: readonly number[]): Promise<void> {
      for (const atMs of timesMs) {
        lastPost += 1
        const matches = appIds.map((appId) => ({ appId, rules: [{ id: "5" }] }))
        await store.append([{ post: aPost(String(lastPost)), matches }], atMs)
      }
    }

    beforeEach(() => {
      lastPost = 0
    })

    async function linkNow(id: LinkId = link) {
      return (await store.allLinks()).find((found) => found.id === id)
    }

    async function readable(appId: AppId, after = 0): Promise<readonly number[]> {
      const entries = await store.matches({ appId, after: after as MatchSeq, limit: 100, shape: "core" })
      return entries.map(({ seq }) => seq)
    }

    async function retries(linkId: LinkId = link): Promise<readonly Retry[]> {
      const found = await store.retries(linkId, "core")
      return found.map(({ seq, failures, dueAtMs }) => ({ seq, failures, dueAtMs }))
    }

    async function deadSeqs(): Promise<readonly number[]> {
      return (await store.deadLetters({}, allOlder)).map(({ seq }) => seq)
    }

    async function expectAccounted(): Promise<void> {
      const { damage, links } = await under.audit()
      // The counts beside each link are those of its rows, says the audit.
      expect(damage.filter((text) => text.startsWith("links:"))).toEqual([])
      for (const tally of links) {
        const [passed, accounted] = sides(tally)
        expect(accounted).toBe(passed)
      }
    }

    test("a rotated signing key goes on beside the new one, and only its app can rotate it", async () => {
      const key = { signingKeySealed: Uint8Array.of(7, 7), previousUntilMs: 1_900_000_000_000 }
      expect(await store.rotateSigningKey(other, webhook, key)).toBe(false)
      expect(await store.webhook(app, webhook)).not.toHaveProperty("previousKey")
      expect(await store.rotateSigningKey(app, webhook, key)).toBe(true)
      await reopen()
      const previousKey = { keySealed: Uint8Array.of(9), untilMs: 1_900_000_000_000 }
      const rotated = { signingKeySealed: key.signingKeySealed, previousKey }
      expect(await store.webhook(app, webhook)).toEqual({ ...aWebhook("100", "1"), ...rotated })
      expect(await linkNow()).toMatchObject(rotated)
      expect(await store.webhook(other, "2" as WebhookId)).toEqual(aWebhook("200", "2"))
    })

    test("a link is ordered when its app wants it", async () => {
      expect(await linkNow()).toMatchObject({ isOrdered: false, redeliveries: 0 })
      expect(await store.setLinkOrdered(other, webhook, true)).toBe(false)
      expect(await store.setLinkOrdered(app, webhook, true)).toBe(true)
      await reopen()
      expect(await linkNow()).toMatchObject({ isOrdered: true })
      expect(await linkNow("32" as LinkId)).toMatchObject({ isOrdered: false })
      await store.setLinkOrdered(app, webhook, false)
      expect(await linkNow()).toMatchObject({ isOrdered: false })
    })

    test("the heads are those of all logs that are not empty", async () => {
      expect(await store.heads()).toEqual(new Map())
      await appendAt([app], 1, 2)
      await appendAt([app, other], 3)
      expect(await store.heads()).toEqual(
        new Map([
          [app, 3],
          [other, 1],
        ]),
      )
    })

    test("the dead are kept with the cursor that passes them, until they are sent again", async () => {
      await appendAt([app], 10, 20, 30, 40)
      await store.saveProgress([progress(4, { delivered: 2, retries: [aRetry(3)], dead: [aDeath(2)] })])
      const { error: _, status: __, ...bare } = aDeath(3, 60)
      await store.saveProgress([progress(4, { settled: seqs(3), dead: [{ ...bare, outcome: "dns" }] })])
      await reopen()
      const common = { appId: app, webhookId: webhook, linkId: link }
      const [second, first, ...more] = await store.deadLetters({ appId: app }, allOlder)
      expect(first).toEqual({ ...aDeath(2), ...common, id: first?.id, postId: "2", matchedAtMs: 20 })
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
      })
      expect(await store.linkTally("404" as LinkId)).toBeUndefined()
    })

    test("dead letters are listed newest first, by app and by webhook, from any place", async () => {
      await appendAt([app, other], 1, 2, 3)
      const dead = [aDeath(1), aDeath(2), aDeath(3)]
      await store.saveProgress([
        progress(3, { dead }),
        progress(3, { linkId: "32" as LinkId, dead: [aDeath(2)], delivered: 2 }),
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

    test("a match that dies twice is one dead letter, as it died last", async () => {
      await appendAt([app], 1)
      await store.saveProgress([progress(1, { dead: [aDeath(1, 50)] })])
      await store.saveProgress([progress(1, { retries: [aRetry(1)], dead: [aDeath(1, 70)] })])
      expect(await store.deadLetters({}, allOlder)).toMatchObject([{ seq: 1, diedAtMs: 70 }])
      expect(await retries()).toEqual([])
    })

    test("dead letters are sent again by id, by webhook and by time, only the caller's", async () => {
      await appendAt([app, other], 1, 2, 3)
      await store.saveProgress([
        progress(3, { dead: [aDeath(1, 10), aDeath(2, 20), aDeath(3, 30)] }),
        progress(3, { linkId: "32" as LinkId, dead: [aDeath(1, 30)], delivered: 2 }),
      ])
      const all = await store.deadLetters({ appId: app }, allOlder)
      const idOf = (seq: number) => all.find((dead) => dead.seq === seq)?.id as DeadLetterId
      const heard: StoreChange[] = []
      store.onChange((change) => heard.push(change))

      expect(await store.redeliver({ kind: "ids", appId: other, ids: [idOf(1)] })).toBe(0)
      expect(heard).toEqual([])
      expect(
        await store.redeliver({ kind: "ids", appId: app, ids: [idOf(1), idOf(1), "404" as DeadLetterId] }),
      ).toBe(1)
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

    test("the control version changes with every control change, made here or elsewhere, and with nothing else", async () => {
      const versions = [await store.controlVersion()]
      const note = async () => void versions.push(await store.controlVersion())
      await store.setLinkOrdered(app, webhook, true)
      await note()
      await store.addRules(app, [{ id: "9" as RuleId, appId: app, value: "cats" }], {
        rulesMax: 9,
        dryRun: false,
      })
      await note()
      await store.revokeApp(other)
      await note()
      expect(new Set(versions).size).toBe(4)
      await appendAt([app], 1, 2)
      await store.saveProgress([progress(1, { delivered: 1 })])
      await store.addRules(app, [{ id: "10" as RuleId, appId: app, value: "dogs" }], {
        rulesMax: 9,
        dryRun: true,
      })
      await note()
      expect(versions.at(-1)).toBe(versions.at(-2))
      // A cursor that retention moves on has to be told of.
      await store.trimMatches(app, { beforeMs: 3, limit: 10 })
      await note()
      expect(versions.at(-1)).not.toBe(versions.at(-2))
      await reopen()
      expect(await store.controlVersion()).toBe(versions.at(-1))
    })

    test("all links are read, however many they are, those of one app, and that of one webhook", async () => {
      const numbers = Array.from({ length: 1_100 }, (_, index) => String(1_000 + index))
      await Promise.all(numbers.map((id) => store.createWebhook(aWebhook(app, id), { webhooksMax: 10_000 })))
      await Promise.all(numbers.map((id) => store.createLink(aLink(app, id, id))))
      const ids = (await store.allLinks()).map((found) => found.id)
      expect(ids).toEqual([...numbers.toReversed(), "32", "31"])
      expect((await store.allLinks(other)).map((found) => found.id)).toEqual(["32"])
      expect((await store.allLinks(app)).length).toBe(ids.length - 1)
      expect(await store.linkToDeliver("1500" as WebhookId)).toMatchObject({ id: "1500", appId: app })
      expect(await store.linkToDeliver("404" as WebhookId)).toBeUndefined()
      await store.revokeApp(app)
      expect((await store.allLinks()).map((found) => found.id)).toEqual(["32"])
      expect(await store.linkToDeliver("1500" as WebhookId)).toBeUndefined()
    })

    test("as many dead letters are sent again as a link has room for, those that died first", async () => {
      const count = 1_005
      const numbers = Array.from({ length: count }, (_, index) => index + 1)
      await appendAt([app], ...numbers)
      await store.saveProgress([progress(count, { dead: numbers.map((seq) => aDeath(seq, count - seq)) })])
      expect(await store.redeliver({ kind: "all" })).toBe(1_000)
      expect(await deadSeqs()).toEqual([5, 4, 3, 2, 1])
      expect(await store.redeliver({ kind: "all" })).toBe(0)
      await store.saveProgress([progress(count, { settled: [6, 7] as MatchSeq[], delivered: 2 })])
      expect(await store.redeliver({ kind: "all" })).toBe(2)
      expect(await deadSeqs()).toEqual([3, 2, 1])
      await expectAccounted()
    })

    test("no more is sent again than a link's retries may have to send, but for one", async () => {
      const mebibyte = 1_048_576
      const sizes = [17, 6, 6, 6].map((size) => size * mebibyte)
      for (const [index, size] of sizes.entries()) {
        const post = aPost(String(index + 1), "7", { envelope: "x".repeat(size) })
        await store.append([{ post, matches: [{ appId: app, rules: [{ id: "5" }] }] }], index)
      }
      await store.saveProgress([progress(4, { dead: [1, 2, 3, 4].map((seq) => aDeath(seq, seq)) })])
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

    test("a link without room does not keep others from theirs", async () => {
      const numbers = Array.from({ length: 1_005 }, (_, index) => index + 1)
      await appendAt([app, other], ...numbers)
      const dead = numbers.map((seq) => aDeath(seq, seq))
      await store.saveProgress([progress(1_005, { dead })])
      expect(await store.redeliver({ kind: "all" })).toBe(1_000)
      await store.saveProgress([
        progress(1_005, { linkId: "32" as LinkId, delivered: 1_003, dead: dead.slice(-2) }),
      ])
      expect(await store.redeliver({ kind: "all" })).toBe(2)
      expect(await store.redeliver({ kind: "all" })).toBe(0)
      expect(await linkNow()).toMatchObject({ redeliveries: 1 })
      await expectAccounted()
    })

    test("dead letters that were kept for their time go, a few at a time, and are counted", async () => {
      await appendAt([app], 1, 2, 3, 4)
      const dead = [aDeath(1, 10), aDeath(2, 20), aDeath(3, 30), aDeath(4, 40)]
      await store.saveProgress([progress(4, { dead })])
      expect(await store.trimDeadLetters({ beforeMs: 31, limit: 2 })).toBe(2)
      expect(await deadSeqs()).toEqual([4, 3])
      expect(await store.trimDeadLetters({ beforeMs: 31, limit: 2 })).toBe(1)
      expect(await store.trimDeadLetters({ beforeMs: 31, limit: 2 })).toBe(0)
      expect(await store.linkTally(link)).toMatchObject({ deadLetters: 1, expired: 3 })
      await appendAt([app], 5)
      const idBefore = Number((await store.deadLetters({}, allOlder))[0]?.id)
      await store.redeliver({ kind: "all" })
      await store.saveProgress([progress(5, { dead: [aDeath(5)] })])
      expect(Number((await store.deadLetters({}, allOlder))[0]?.id)).toBeGreaterThan(idBefore)
    })

    test("the newest attempts of a link are kept, each link's by itself", async () => {
      const few = { keptPerLink: 3 }
      await store.recordAttempts([anAttempt(1), anAttempt(2)], few)
      const failed = anAttempt(3, { outcome: "rejected", status: 404, error: "answered 404." })
      const { status: _, ...without } = anAttempt(4, { outcome: "timeout", durationMs: 10_000 })
      await store.recordAttempts(
        [
          failed,
          anAttempt(9, { linkId: "32" as LinkId }),
          anAttempt(8, { linkId: "404" as LinkId }),
          without,
        ],
        few,
      )
      await reopen()
      expect(await store.attempts(link, 10)).toEqual([without, failed, anAttempt(2)])
      expect(await store.attempts(link, 1)).toEqual([without])
      expect(await store.attempts("32" as LinkId, 10)).toEqual([anAttempt(9, { linkId: "32" as LinkId })])
      expect(await store.attempts("404" as LinkId, 10)).toEqual([])
      await store.recordAttempts(
        [11, 12, 13, 14, 15].map((seq) => anAttempt(seq)),
        few,
      )
      expect((await store.attempts(link, 10)).map(({ seq }) => seq)).toEqual([15, 14, 13])
      await store.recordAttempts([anAttempt(16)], { keptPerLink: 5 })
      expect((await store.attempts(link, 10))[0]).toEqual(anAttempt(16))
      await store.recordAttempts([anAttempt(17)], { keptPerLink: 1 })
      expect(await store.attempts(link, 10)).toEqual([anAttempt(17)])
    })

    test("one replay of a webhook runs at a time, and the newest of those that ended are kept", async () => {
      expect(await store.createReplay(aReplay("9007199254740993"))).toBe("created")
      expect(await store.createReplay(aReplay("8"))).toBe("conflict")
      expect(await store.createReplay(aReplay("8", { appId: other }))).toBe("no-link")
      expect(await store.createReplay(aReplay("8", { linkId: "404" as LinkId }))).toBe("no-link")
      const elsewhere = { appId: other, webhookId: "2" as WebhookId, linkId: "32" as LinkId }
      expect(await store.createReplay(aReplay("7", elsewhere))).toBe("created")
      const id = "9007199254740993" as ReplayId
      await store.saveReplay({ id, position: 2 as MatchSeq, delivered: 1, failed: 1 })
      await reopen()
      const moved = aReplay(id, { position: 2 as MatchSeq, delivered: 1, failed: 1 })
      expect(await store.replays({ appId: app })).toEqual([moved])
      expect(await store.replays({ state: "running" })).toEqual([moved, aReplay("7", elsewhere)])
      await store.endReplay(id, "incomplete", 77)
      await store.endReplay(id, "complete", 88)
      await store.saveReplay({ id, position: 3 as MatchSeq, delivered: 3, failed: 0 })
      expect(await store.replays({ appId: app })).toEqual([{ ...moved, state: "incomplete", endedAtMs: 77 }])
      expect(await store.createReplay(aReplay("9007199254740994"))).toBe("created")
      expect(await store.replays({ appId: app, state: "running" })).toHaveLength(1)
      expect(await store.replays({ appId: app, state: "incomplete" })).toHaveLength(1)
      expect(await store.replays({ state: "incomplete" })).toHaveLength(1)
      await store.deleteLink(app, webhook)
      expect(await store.replays({ appId: app })).toEqual([])
      expect(await store.replays({})).toHaveLength(1)
    })

    test("the replays of an app end with it", async () => {
      const elsewhere = { appId: other, webhookId: "2" as WebhookId, linkId: "32" as LinkId }
      await store.createReplay(aReplay("7", elsewhere))
      await store.createReplay(aReplay("8"))
      await store.revokeApp(app)
      expect(await store.replays({ appId: app })).toEqual([
        aReplay("8", { state: "incomplete", endedAtMs: expect.any(Number) as unknown as number }),
      ])
      expect(await store.replays({ state: "running" })).toEqual([aReplay("7", elsewhere)])
    })

    test("an app's hundred newest replays are kept, the running one beside them", async () => {
      for (let id = 1; id <= 102; id += 1) {
        await store.createReplay(aReplay(String(id)))
        if (id < 102) await store.endReplay(String(id) as ReplayId, "complete", id)
      }
      const kept = await store.replays({ appId: app })
      expect(kept.map(({ id }) => Number(id))).toEqual(Array.from({ length: 101 }, (_, index) => 102 - index))
    })

    test("everything of a link goes with it", async () => {
      await appendAt([app], 1, 2, 3)
      await store.saveProgress([progress(2, { retries: [aRetry(1)], dead: [aDeath(2)] })])
      await store.recordAttempts([anAttempt(1)], { keptPerLink: 5 })
      await store.createReplay(aReplay("8"))
      await store.trimMatches(app, { beforeMs: 9, limit: 10 })
      expect(await store.gaps(link)).toHaveLength(1)
      await store.deleteWebhook(app, webhook)
      expect(await deadSeqs()).toEqual([])
      expect(await store.gaps(link)).toEqual([])
      expect(await store.attempts(link, 5)).toEqual([])
      expect(await store.linkTally(link)).toBeUndefined()
      expect(await under.audit()).toMatchObject({ damage: [], links: [{ linkId: "32" }] })
    })

    test("what is old enough goes from the log, at most so many at a time, and only from its app's", async () => {
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
      expect((await under.audit()).logs).toEqual([
        { appId: app, head: 5, trimmedTo: 3, entries: 2 },
        { appId: other, head: 4, trimmedTo: 0, entries: 4 },
      ])
    })

    test("a cursor that retention overtakes is moved on, and a marker tells from where to where", async () => {
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

    test("the log of a revoked app is trimmed like any other", async () => {
      await appendAt([app], 10, 20)
      await store.revokeApp(app)
      expect(await store.trimMatches(app, { beforeMs: 99, limit: 10 })).toMatchObject({ trimmed: 2 })
      expect(await store.gaps(link)).toMatchObject([{ from: 1, to: 2 }])
    })

    test("retention spares what a retry or a dead letter needs, for as long as it does", async () => {
      await appendAt([app], 10, 20, 30, 40)
      await store.saveProgress([progress(4, { delivered: 2, retries: [aRetry(1)], dead: [aDeath(3)] })])
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
      await store.saveProgress([progress(4, { settled: seqs(3), dead: [aDeath(3, 60)] })])
      expect(await postsAfterTrim()).toEqual(["3"])
      await store.trimDeadLetters({ beforeMs: 99, limit: 10 })
      expect(await postsAfterTrim()).toEqual([])
    })

    /** Posts that are there when those are gone that no match needs. */
    async function postsAfterTrim(): Promise<readonly PostId[]> {
      await store.trimPosts({ after: undefined, beforeMs: 9_999, limit: 1_000 })
      return (await store.recentPosts(100)).map(({ id }) => id)
    }

    test("a match that two links need stays until the second needs it no more", async () => {
      await store.createWebhook(aWebhook("100", "3"), { webhooksMax: 5 })
      await store.createLink(aLink("100", "33", "3"))
      await appendAt([app], 10)
      const second = { linkId: "33" as LinkId }
      await store.saveProgress([
        progress(1, { retries: [aRetry(1)] }),
        progress(1, { ...second, retries: [aRetry(1)] }),
      ])
      await store.trimMatches(app, { beforeMs: 99, limit: 10 })
      await store.saveProgress([progress(1, { settled: seqs(1), dead: [aDeath(1)] })])
      await store.saveProgress([progress(1, { ...second, settled: seqs(1) })])
      expect(await postsAfterTrim()).toEqual(["1"])
      await store.trimDeadLetters({ beforeMs: 99, limit: 10 })
      expect(await postsAfterTrim()).toEqual([])
    })

    test("what a link that is gone needed goes at the next passes, a few at each step", async () => {
      await store.createWebhook(aWebhook("100", "3"), { webhooksMax: 5 })
      await store.createLink(aLink("100", "33", "3"))
      await appendAt([app], 10, 20, 30, 40, 50, 60)
      await store.saveProgress([
        progress(6, {
          delivered: 1,
          retries: [aRetry(2), aRetry(6)],
          dead: [aDeath(3), aDeath(4), aDeath(5)],
        }),
        progress(6, { linkId: "33" as LinkId, delivered: 5, dead: [aDeath(4)] }),
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
      expect((await under.audit()).damage).toEqual([])
    })

    test("a retry or a death of a match that retention has taken is passed over", async () => {
      await appendAt([app], 10, 20)
      await store.saveProgress([progress(2, { delivered: 2 })])
      await store.trimMatches(app, { beforeMs: 99, limit: 10 })
      await store.saveProgress([progress(2, { retries: [aRetry(1)], dead: [aDeath(2)] })])
      expect(await retries()).toEqual([])
      expect(await deadSeqs()).toEqual([])
    })

    test("what one link needs is still missed by another that had not come by", async () => {
      await store.createWebhook(aWebhook("100", "3"), { webhooksMax: 5 })
      await appendAt([app], 10)
      await store.createLink(aLink("100", "33", "3"))
      await appendAt([app], 20, 30)
      await store.saveProgress([progress(3, { delivered: 2, retries: [aRetry(2)] })])
      await store.trimMatches(app, { beforeMs: 99, limit: 10 })
      expect(await store.gaps("33" as LinkId)).toMatchObject([{ from: 2, to: 3 }])
      expect(await store.linkTally("33" as LinkId)).toMatchObject({ firstPosition: 1, missed: 2 })
      // What the other one had on its way when it was overtaken is told late.
      await store.saveProgress([
        progress(2, { linkId: "33" as LinkId, retries: [aRetry(2)], dead: [aDeath(2)], delivered: 1 }),
      ])
      expect(await retries("33" as LinkId)).toEqual([])
      expect(await deadSeqs()).toEqual([])
      await expectAccounted()
    })

    test("what arrives after retention has marked it missed is not counted twice", async () => {
      await appendAt([app], 10, 20, 30, 40, 50)
      await store.saveProgress([progress(1, { delivered: 1 })])
      await store.trimMatches(app, { beforeMs: 31, limit: 10 })
      const late = progress(4, { delivered: 2, retries: [aRetry(3)], dead: [] })
      await store.saveProgress([late])
      expect(await store.linkTally(link)).toMatchObject({ position: 4, delivered: 2, retries: 0, missed: 2 })
      await store.saveProgress([progress(5, { delivered: 0, retries: [aRetry(5)], settled: seqs(3) })])
      expect(await store.linkTally(link)).toMatchObject({ position: 5, delivered: 2, retries: 1, missed: 2 })
      await store.saveProgress([progress(5, { delivered: 1, settled: seqs(5) })])
      expect(await store.linkTally(link)).toMatchObject({ delivered: 3, retries: 0 })
      await expectAccounted()
    })

    test("a progress that is saved twice changes nothing", async () => {
      await appendAt([app], 10, 20, 30, 40, 50)
      const first = progress(4, { delivered: 2, retries: [aRetry(2)], dead: [aDeath(3)] })
      const second = progress(5, { delivered: 1, settled: seqs(2), dead: [aDeath(2)] })
      for (const saved of [first, first, second, second]) await store.saveProgress([saved])
      expect(await store.linkTally(link)).toMatchObject({ delivered: 3, retries: 0, deadLetters: 2 })
      await store.redeliver({ kind: "all" })
      await store.saveProgress([progress(5, { delivered: 1, settled: seqs(2) })])
      // What is late tells of a match that is delivered by now.
      await store.saveProgress([progress(5, { retries: [aRetry(2)], dead: [aDeath(2)] })])
      expect(await store.linkTally(link)).toMatchObject({ delivered: 4, retries: 1, deadLetters: 0 })
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
      // One of those that are told no more.
      await store.saveProgress([progress(2_004, { retries: [aRetry(2)], dead: [aDeath(4)] })])
      await expectAccounted()
      expect((await under.audit()).damage).toEqual([])
    })

    test("posts go when they are old and no log needs them, and their number stays known", async () => {
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
      expect((await store.recentPosts(10)).map(({ id }) => id)).toEqual(["9007199254740993", "5", "2", "1"])
      await store.saveProgress([progress(2, { delivered: 2 })])
      await store.trimMatches(app, { beforeMs: 99, limit: 10 })
      expect(await store.trimPosts({ after: undefined, beforeMs: 5, limit: 10 })).toEqual({ trimmed: 2 })
      expect((await under.audit()).posts).toEqual({ accepted: 6, trimmed: 4, stored: 2 })
      expect(await store.isUserKnown("7" as never)).toBe(true)
    })

    test("whatever happens in whatever order, every match of every link is at exactly one place", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(anyDeed, { minLength: 5, maxLength: 40 }), async (deeds) => {
          await using fresh = await make()
          expect(await keepBooks(fresh, deeds)).toBe(deeds.length)
        }),
        { numRuns: 15 },
      )
    })
  })
}

/** Something that may happen to a store, at random. */
type Deed =
  | { readonly kind: "append"; readonly posts: number; readonly both: boolean }
  | {
      readonly kind: "deliver"
      readonly link: number
      readonly fates: readonly Fate[]
      readonly overtaken: number
    }
  | { readonly kind: "retry"; readonly link: number; readonly fates: readonly Fate[] }
  | { readonly kind: "redeliver"; readonly link: number }
  | { readonly kind: "trim"; readonly limit: number; readonly keep: number }
  | { readonly kind: "expire"; readonly limit: number }

type Fate = "delivered" | "retry" | "dead"

const fates = fc.array(fc.constantFrom<Fate>("delivered", "retry", "dead"), { minLength: 1, maxLength: 6 })
const anyLink = fc.nat({ max: 2 })
const anyDeed: fc.Arbitrary<Deed> = fc.oneof(
  fc.record({
    kind: fc.constant("append" as const),
    posts: fc.integer({ min: 1, max: 6 }),
    both: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant("deliver" as const),
    link: anyLink,
    fates,
    overtaken: fc.constantFrom(0, 0, 3),
  }),
  fc.record({ kind: fc.constant("retry" as const), link: anyLink, fates }),
  fc.record({ kind: fc.constant("redeliver" as const), link: anyLink }),
  fc.record({
    kind: fc.constant("trim" as const),
    limit: fc.integer({ min: 1, max: 8 }),
    keep: fc.nat({ max: 6 }),
  }),
  fc.record({ kind: fc.constant("expire" as const), limit: fc.integer({ min: 1, max: 3 }) }),
)

/**
 * Does what is asked, keeps books of its own, and compares them with the store's after each deed. Answers how often
 * they agreed.
 */
async function keepBooks(fresh: StoreUnderTest, deeds: readonly Deed[]): Promise<number> {
  await using store = await fresh.open()
  const links = [
    { id: "41" as LinkId, appId: "300" as AppId, webhookId: "11" as WebhookId },
    { id: "42" as LinkId, appId: "300" as AppId, webhookId: "12" as WebhookId },
    { id: "43" as LinkId, appId: "400" as AppId, webhookId: "13" as WebhookId },
  ]
  const arrived = new Map(links.map(({ id }) => [id, new Set<number>()]))
  const expired = new Map(links.map(({ id }) => [id, new Set<number>()]))
  for (const appId of ["300", "400"]) await store.createApp(anApp(appId), [])
  for (const { id, appId, webhookId } of links) {
    await store.createWebhook(aWebhook(appId, webhookId), { webhooksMax: 5 })
    await store.createLink(aLink(appId, id, webhookId))
  }
  let nowMs = 0
  let agreed = 0
  for (const deed of deeds) {
    nowMs += 1
    await doDeed(deed)
    await compare()
    agreed += 1
  }
  return agreed

  async function doDeed(deed: Deed): Promise<void> {
    switch (deed.kind) {
      case "append":
        for (let post = 0; post < deed.posts; post += 1) {
          nowMs += 1
          const matches = (deed.both ? ["300", "400"] : ["300"]).map((appId) => ({
            appId: appId as AppId,
            rules: [{ id: "1" }],
          }))
          await store.append([{ post: aPost(String(nowMs)), matches }], nowMs)
        }
        return
      case "deliver":
        return deliver(deed)
      case "retry":
        return retry(deed)
      case "redeliver":
        await store.redeliver({ kind: "all", webhookId: linkAt(deed.link).webhookId })
        return
      case "trim":
        for (const appId of ["300", "400"]) {
          await store.trimMatches(appId as AppId, { beforeMs: nowMs - deed.keep, limit: deed.limit })
        }
        await store.trimPosts({ after: undefined, beforeMs: nowMs, limit: 1_000 })
        return
      case "expire":
        return expire(deed.limit)
    }
  }

  function linkAt(index: number) {
    const found = links[index]
    if (found === undefined) throw new Error("no such link")
    return found
  }

  async function deliver(deed: Extract<Deed, { kind: "deliver" }>): Promise<void> {
    const { id, appId } = linkAt(deed.link)
    const after = (await store.linkTally(id))?.position ?? (0 as MatchSeq)
    const entries = await store.matches({ appId, after, limit: deed.fates.length, shape: "core" })
    const last = entries.at(-1)
    if (last === undefined) return
    // While they are on their way, retention may come by.
    if (deed.overtaken > 0) await store.trimMatches(appId, { beforeMs: nowMs, limit: deed.overtaken })
    const fated = entries.map((entry, index) => ({ seq: entry.seq, fate: deed.fates[index] ?? "delivered" }))
    const of = (fate: Fate) => fated.filter((one) => one.fate === fate)
    for (const { seq } of of("delivered")) arrived.get(id)?.add(seq)
    await store.saveProgress([
      {
        linkId: id,
        position: last.seq,
        retries: of("retry").map(({ seq }) => aRetry(seq)),
        settled: [],
        dead: of("dead").map(({ seq }) => aDeath(seq, nowMs)),
        delivered: of("delivered").length,
      },
    ])
  }

  async function retry(deed: Extract<Deed, { kind: "retry" }>): Promise<void> {
    const { id } = linkAt(deed.link)
    const position = (await store.linkTally(id))?.position ?? (0 as MatchSeq)
    const due = (await store.retries(id, "core")).slice(0, deed.fates.length)
    const fated = due.map((one, index) => ({ ...one, fate: deed.fates[index] ?? "delivered" }))
    const of = (fate: Fate) => fated.filter((one) => one.fate === fate)
    for (const { seq } of of("delivered")) arrived.get(id)?.add(seq)
    await store.saveProgress([
      {
        linkId: id,
        position,
        retries: of("retry").map(({ seq, failures }) => aRetry(seq, failures + 1)),
        settled: [...of("delivered"), ...of("dead")].map(({ seq }) => seq),
        dead: of("dead").map(({ seq }) => aDeath(seq, nowMs)),
        delivered: of("delivered").length,
      },
    ])
  }

  async function expire(limit: number): Promise<void> {
    const before = await store.deadLetters({}, allOlder)
    await store.trimDeadLetters({ beforeMs: nowMs, limit })
    const left = new Set((await store.deadLetters({}, allOlder)).map(({ id }) => id))
    for (const { id, linkId, seq } of before) if (!left.has(id)) expired.get(linkId)?.add(seq)
  }

  async function compare(): Promise<void> {
    const { damage, logs, links: tallies, posts } = await fresh.audit()
    expect(damage).toEqual([])
    expect(posts.accepted - posts.trimmed).toBe(posts.stored)
    for (const { head, trimmedTo, entries } of logs) expect(entries).toBe(head - trimmedTo)
    for (const tally of tallies) {
      const [passed, accounted] = sides(tally)
      expect(accounted).toBe(passed)
      expect(await placesOf(tally)).toEqual(
        new Map(Array.from({ length: passed }, (_, index) => [tally.firstPosition + index + 1, 1])),
      )
    }
  }

  /** At how many places each match is that the cursor has passed. What arrived although it is marked missed counts once. */
  async function placesOf({ linkId, position }: LinkTally): Promise<ReadonlyMap<number, number>> {
    const [owed, dead, gaps] = await Promise.all([
      store.retries(linkId, "core"),
      store.deadLetters({}, allOlder),
      store.gaps(linkId),
    ])
    for (const { entry } of owed) expect(entry.postJson).toBeDefined()
    const places = new Map<number, number>()
    const note = (seq: number): void => void places.set(seq, (places.get(seq) ?? 0) + 1)
    const missed = (seq: number): boolean => gaps.some(({ from, to }) => from <= seq && seq <= to)
    for (let seq = 1; seq <= position; seq += 1) if (missed(seq)) note(seq)
    for (const { seq } of owed) note(seq)
    for (const one of dead) if (one.linkId === linkId) note(one.seq)
    for (const seq of expired.get(linkId) ?? []) note(seq)
    for (const seq of arrived.get(linkId) ?? []) if (!missed(seq)) note(seq)
    return new Map([...places].toSorted(([a], [b]) => a - b))
  }
}
