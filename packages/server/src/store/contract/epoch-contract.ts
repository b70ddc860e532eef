import { describe, expect, test } from "vitest"
import { eventIdOf, epochAt, matchOfEventId } from "../../model/event-id.ts"
import type { LinkId, WebhookId } from "../../model/ids.ts"
import type { LinkMatch } from "../../model/redelivery.ts"
import type { NewEpoch } from "../epochs.ts"
import { aDeadMatch, addLink, allOlder, anApp, anAttempt, app, link, other, progress, seqs } from "./fixtures.ts"
import { type MakeStore, useDeliveries } from "./store-under-test.ts"

/** An epoch of the given digit, begun when ids are far behind the clock. */
function epochOf(digit: string, more: Partial<NewEpoch> = {}): NewEpoch {
  return { epoch: digit.repeat(12), atMs: 1_800_000_000_000, numbersSkipped: 1_000_000, idMsSkipped: 5, ...more }
}

/** Every store's behaviour for the epochs of match logs. */
export function epochContract(make: MakeStore): void {
  describe("epochs", () => {
    const { store, reopen, appendAt, linkNow, audit } = useDeliveries(make)

    /** The event ids of `link` for its first matches, as its deliveries have them. */
    async function eventIds(count: number): Promise<readonly string[]> {
      const epochs = (await linkNow())?.epochs
      return seqs(...Array.from({ length: count }, (_, index) => index + 1)).map((seq) => {
        const epoch = epochAt(epochs, seq)
        return eventIdOf({ linkId: link, seq, ...(epoch !== undefined && { epoch }) })
      })
    }

    test("a log without a new epoch has the ids that it always had", async () => {
      await appendAt([app], 10, 20)
      expect(await linkNow()).not.toHaveProperty("epochs")
      expect(await eventIds(2)).toEqual(["msg_31_1", "msg_31_2"])
    })

    test("matches keep the epoch that they were appended in, and later ones have the new one, durably", async () => {
      await appendAt([app], 10, 20)
      await store.beginEpoch(epochOf("a"))
      await appendAt([app, other], 30)
      await store.beginEpoch(epochOf("b"))
      await appendAt([app], 40)
      await reopen()
      expect(await eventIds(4)).toEqual(["msg_31_1", "msg_31_2", "msg_31_aaaaaaaaaaaa_3", "msg_31_bbbbbbbbbbbb_4"])
      // The log of the other app was empty when the first of them began.
      const others = (await store.linkToDeliver("2" as WebhookId))?.epochs
      expect(seqs(1, 2).map((seq) => epochAt(others, seq))).toEqual(["a".repeat(12), "b".repeat(12)])
      const [page] = await store.linkPage({ appId: app }, allOlder)
      expect(page?.epochs?.toSorted((a, b) => a.fromSeq - b.fromSeq)).toEqual([
        { fromSeq: 3, epoch: "a".repeat(12) },
        { fromSeq: 4, epoch: "b".repeat(12) },
      ])
      expect((await audit()).damage).toEqual([])
    })

    test("an epoch in which nothing was appended is replaced by the next one", async () => {
      await appendAt([app], 10)
      await store.beginEpoch(epochOf("a"))
      await store.beginEpoch(epochOf("b"))
      expect((await linkNow())?.epochs).toEqual([{ fromSeq: 2, epoch: "b".repeat(12) }])
    })

    test("an app that is created in a later epoch has ids of the first form, since its links are new", async () => {
      await store.beginEpoch(epochOf("a"))
      await store.createApp(anApp("300"), [])
      await addLink(store, "300", { linkId: "33", webhookId: "3" })
      expect(await linkNow("33" as LinkId)).not.toHaveProperty("epochs")
    })

    test("attempts and dead letters name the match by its epoch, and get numbers never assigned before", async () => {
      await appendAt([app], 10)
      await store.recordAttempts([anAttempt(1)], { keptPerLink: 100 })
      await store.saveProgress([progress(1, { dead: [aDeadMatch(1)] })])
      await store.beginEpoch(epochOf("a"))
      await appendAt([app], 20)
      await store.recordAttempts([anAttempt(2)], { keptPerLink: 100 })
      await store.saveProgress([progress(2, { dead: [aDeadMatch(2)] })])
      await reopen()
      const attempts = await store.attempts(link, 10)
      expect(attempts.map(eventIdOf)).toEqual(["msg_31_aaaaaaaaaaaa_2", "msg_31_1"])
      expect(attempts.map(({ id }) => id)).toEqual(["1000002", "1"])
      const letters = await store.deadLetters({}, allOlder)
      expect(letters.map(eventIdOf)).toEqual(["msg_31_aaaaaaaaaaaa_2", "msg_31_1"])
      expect(letters.map(({ id }) => id)).toEqual(["1000002", "1"])
      for (const { id } of attempts) expect(await store.attempt(link, id)).toMatchObject({ id })
      expect((await audit()).damage).toEqual([])
    })

    test("the first dead letter of a later epoch has a number that was never assigned", async () => {
      await appendAt([app], 10)
      await store.beginEpoch(epochOf("a"))
      await store.saveProgress([progress(1, { dead: [aDeadMatch(1)] })])
      expect((await store.deadLetters({}, allOlder)).map(({ id }) => id)).toEqual(["1000001"])
    })

    test("a redelivery by an id that another copy assigned is of an unknown match", async () => {
      await appendAt([app], 10)
      await store.beginEpoch(epochOf("a"))
      await appendAt([app], 20, 30)
      await store.saveProgress([progress(2, { delivered: 2 })])
      const ids = ["msg_31_1", "msg_31_aaaaaaaaaaaa_1", "msg_31_2", "msg_31_bbbbbbbbbbbb_2", "msg_31_3"]
      const again = (eventId: string) => store.redeliverMatches([matchOfEventId(eventId) as LinkMatch])
      const outcomes = (await Promise.all(ids.map(again))).flat()
      expect(outcomes).toEqual(["redelivered", "unknown", "unknown", "unknown", "unknown"])
      expect(await again("msg_31_aaaaaaaaaaaa_2")).toEqual(["redelivered"])
      expect(await again("msg_31_aaaaaaaaaaaa_3")).toEqual(["waiting"])
    })

    test("ids continue from the clock, and skip a range when the clock is behind the assigned ones", async () => {
      const last = BigInt(await store.lastId())
      await store.beginEpoch(epochOf("a"))
      expect(BigInt(await store.lastId())).toBe(last)
      await store.beginEpoch(epochOf("b", { atMs: 0, idMsSkipped: 7 }))
      await reopen()
      expect(BigInt(await store.lastId())).toBe(((last >> 22n) + 7n) << 22n)
    })
  })
}
