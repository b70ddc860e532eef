import { describe, expect, test } from "vitest"
import type { LinkId, MatchSeq, WebhookId } from "../../model/ids.ts"
import {
  app,
  link,
  webhook,
  large,
  seqs,
  aPost,
  aMatch,
  progress,
  aRetry,
  aDeadMatch,
  anAttempt,
  aReplay,
  addLink,
} from "./fixtures.ts"
import { type MakeStore, useDeliveries } from "./store-under-test.ts"

/** How every store keeps the progress of links: cursors and retries. */
export function progressContract(make: MakeStore): void {
  describe("progress", () => {
    const { store, reopen, audit, appendAt, retries, deadSeqs, expectAccounted } = useDeliveries(make)

    /** Posts of these ids, each a match of the app. */
    async function appendMatches(...ids: readonly string[]): Promise<void> {
      await store.append(
        ids.map((id) => ({ post: aPost(id), matches: [aMatch(app, "5")] })),
        10,
      )
    }

    test("retries are kept with their cursor, oldest first, each with its match, until they are settled", async () => {
      await appendMatches(large[0], "2", large[1], "4")
      await store.saveProgress([progress(3, { retries: [aRetry(3, 0, 0), aRetry(1, 2)] })])
      await reopen()
      expect(await store.retries("31" as LinkId, "envelope")).toEqual([
        {
          ...aRetry(1, 2),
          entry: {
            seq: 1,
            postId: large[0],
            atMs: 10,
            rulesJson: '[{"id":"5","tag":""}]',
            postJson: `{"data":{"id":"${large[0]}"},"whole":true}`,
          },
        },
        { ...aRetry(3, 0, 0), entry: expect.objectContaining({ seq: 3, postId: large[1] }) },
      ])
      const more = progress(4, { retries: [aRetry(3, 5, 7), aRetry(4)], settled: [1 as MatchSeq] })
      await store.saveProgress([more])
      await store.saveProgress([more])
      await reopen()
      expect(await retries()).toEqual([aRetry(3, 5, 7), aRetry(4)])
      await store.saveProgress([progress(4, { settled: [3, 4] as MatchSeq[] })])
      expect(await retries()).toEqual([])
    })

    test("progress of a deleted link is ignored, and its retries are deleted with it", async () => {
      await appendMatches("1", "2")
      await store.saveProgress([
        progress(9, { linkId: "404" as LinkId, retries: [aRetry(1)], settled: [2 as MatchSeq] }),
        progress(2, { retries: [aRetry(1)] }),
      ])
      expect(await retries()).toEqual([aRetry(1)])
      expect(await store.retries("404" as LinkId, "core")).toEqual([])
      await store.deleteWebhook(app, "1" as WebhookId)
      expect(await retries()).toEqual([])
      await store.saveProgress([progress(2, { retries: [aRetry(2)] })])
      await addLink(store, app, { linkId: "31", webhookId: "1" })
      expect(await retries()).toEqual([])
    })

    test("retries of two links on one log are each their own", async () => {
      await addLink(store, app, { linkId: "33", webhookId: "3" })
      await appendMatches("1", "2")
      const second = { linkId: "33" as LinkId, retries: [aRetry(1), aRetry(2)] }
      await store.saveProgress([progress(2, { retries: [aRetry(2, 3)] }), progress(2, second)])
      await store.saveProgress([progress(2, { linkId: "33" as LinkId, settled: [2 as MatchSeq] })])
      expect(await retries()).toEqual([aRetry(2, 3)])
      expect(await store.retries("33" as LinkId, "core")).toMatchObject([aRetry(1)])
    })

    test("a match that is delivered after retention has marked it missed is not counted twice", async () => {
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

    test("progress that is saved twice counts once", async () => {
      await appendAt([app], 10, 20, 30, 40, 50)
      const first = progress(4, { delivered: 2, retries: [aRetry(2)], dead: [aDeadMatch(3)] })
      const second = progress(5, { delivered: 1, settled: seqs(2), dead: [aDeadMatch(2)] })
      for (const saved of [first, first, second, second]) await store.saveProgress([saved])
      expect(await store.linkTally(link)).toMatchObject({ delivered: 3, retries: 0, deadLetters: 2 })
      await store.redeliver({ kind: "all" })
      await store.saveProgress([progress(5, { delivered: 1, settled: seqs(2) })])
      // This progress is late: the match is delivered by now.
      await store.saveProgress([progress(5, { retries: [aRetry(2)], dead: [aDeadMatch(2)] })])
      expect(await store.linkTally(link)).toMatchObject({ delivered: 4, retries: 1, deadLetters: 0 })
      await expectAccounted()
    })

    test("all records of a link are deleted with it", async () => {
      await appendAt([app], 1, 2, 3)
      await store.saveProgress([progress(2, { retries: [aRetry(1)], dead: [aDeadMatch(2)] })])
      await store.recordAttempts([anAttempt(1)], { keptPerLink: 5 })
      await store.createReplay(aReplay("8"))
      await store.trimMatches(app, { beforeMs: 9, limit: 10 })
      expect(await store.gaps(link)).toHaveLength(1)
      await store.deleteWebhook(app, webhook)
      expect(await deadSeqs()).toEqual([])
      expect(await store.gaps(link)).toEqual([])
      expect(await store.attempts(link, 5)).toEqual([])
      expect(await store.linkTally(link)).toBeUndefined()
      expect(await audit()).toMatchObject({ damage: [], links: [{ linkId: "32" }] })
    })
  })
}
