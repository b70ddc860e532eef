import { describe, expect, test } from "vitest"
import type { LinkId, MatchSeq, PostId, ReplayId, WebhookId } from "../../model/ids.ts"
import type { BackfillRange } from "../port/replay-store.ts"
import { aBackfill, app, aPost, aReplay, other, webhook } from "./fixtures.ts"
import { type MakeStore, useDeliveries } from "./store-under-test.ts"

function allFound(id: string): BackfillRange {
  return { id: id as ReplayId, after: 0 as MatchSeq, limit: 100, bytesMax: 1_000_000, shape: "core" }
}

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

    test("the matches of a backfill are numbered as they are found, and go when it ends", async () => {
      await store.append(
        ["11", "12", "13"].map((id) => ({ post: aPost(id, "7"), matches: [] })),
        5,
      )
      const changes: string[] = []
      const stopListening = store.onChange(({ kind }) => void changes.push(kind))
      const before = await store.controlVersion()
      const backfill = aBackfill({ searchedId: "10", lastId: "99" })
      expect(await store.createReplay(aReplay("8", { endSeq: 0 as MatchSeq, backfill }))).toBe("created")
      const id = "8" as ReplayId
      const found = (searchedId: string, ...postIds: readonly string[]) =>
        store.addBackfillMatches({
          id,
          matches: postIds.map((postId) => ({ postId: postId as PostId, rules: [{ id: "5", tag: "" }] })),
          searchedId: searchedId as PostId,
          lastId: "99" as PostId,
        })
      expect(await found("12", "11", "12")).toBe(true)
      await reopen()
      expect(await found("20")).toBe(true)
      // The post 14 is not stored.
      expect(await found("99", "13", "14")).toBe(true)
      expect(await store.controlVersion()).toBeGreaterThan(before)
      stopListening()
      const searched = aReplay("8", {
        endSeq: 4 as MatchSeq,
        backfill: aBackfill({ searchedId: "99", lastId: "99" }),
      })
      expect(await store.replays({ state: "running" })).toEqual([searched])
      expect(await store.backfillMatches(allFound("8"))).toMatchObject(
        ["11", "12", "13", "14"].map((postId, index) => ({
          seq: index + 1,
          postId,
          atMs: 9,
          ...(postId === "14" ? { rulesJson: "[]", isDeleted: true } : { rulesJson: '[{"id":"5","tag":""}]' }),
        })),
      )
      const withPosts = await store.backfillMatches({ ...allFound("8"), after: 1 as MatchSeq, limit: 3 })
      expect(withPosts.map(({ seq, postJson }) => [seq, postJson])).toEqual([
        [2, aPost("12", "7").core.toString()],
        [3, aPost("13", "7").core.toString()],
        [4, undefined],
      ])
      expect(await store.backfillMatches({ ...allFound("8"), bytesMax: 1 })).toHaveLength(1)
      expect(await store.backfillMatches(allFound("9"))).toEqual([])
      expect(await store.endReplay(id, "cancelled", 77)).toBe(true)
      expect(await store.endReplay(id, "complete", 78)).toBe(false)
      expect(await store.backfillMatches(allFound("8"))).toEqual([])
      expect(await found("99", "13")).toBe(false)
      expect(await store.backfillMatches(allFound("8"))).toEqual([])
      expect(await store.replays({ appId: app })).toEqual([{ ...searched, state: "cancelled", endedAtMs: 77 }])
    })

    test("the matches of a backfill go with its link, and with its app", async () => {
      const elsewhere = { appId: other, webhookId: "2" as WebhookId, linkId: "32" as LinkId }
      const backfill = aBackfill({ searchedId: "10", lastId: "99" })
      for (const replay of [aReplay("7", { ...elsewhere, backfill }), aReplay("8", { backfill })]) {
        await store.createReplay({ ...replay, endSeq: 0 as MatchSeq })
        await store.addBackfillMatches({
          id: replay.id,
          matches: [{ postId: "1" as PostId, rules: [{ id: "5", tag: "" }] }],
          searchedId: "11" as PostId,
          lastId: "99" as PostId,
        })
        expect(await store.backfillMatches(allFound(replay.id))).toHaveLength(1)
      }
      await store.deleteLink(app, webhook)
      await store.revokeApp(other)
      for (const id of ["7", "8"]) expect(await store.backfillMatches(allFound(id))).toEqual([])
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
