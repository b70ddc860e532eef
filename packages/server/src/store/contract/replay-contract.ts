import { describe, expect, test } from "vitest"
import type { LinkId, MatchSeq, ReplayId, WebhookId } from "../../model/ids.ts"
import { app, other, webhook, aReplay } from "./fixtures.ts"
import { type MakeStore, useDeliveries } from "./store-under-test.ts"

/** Every store's behaviour for replays. */
export function replayContract(make: MakeStore): void {
  describe("replays", () => {
    const { store, reopen } = useDeliveries(make)

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

    test("an app's hundred newest replays are kept, in addition to the running one", async () => {
      for (let id = 1; id <= 102; id += 1) {
        await store.createReplay(aReplay(String(id)))
        if (id < 102) await store.endReplay(String(id) as ReplayId, "complete", id)
      }
      const kept = await store.replays({ appId: app })
      expect(kept.map(({ id }) => Number(id))).toEqual(Array.from({ length: 101 }, (_, index) => 102 - index))
    })
  })
}
