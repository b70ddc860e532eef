import { describe, expect, test } from "vitest"
import type { RuleId } from "../../model/ids.ts"
import type { StoreChange } from "../store.ts"
import {
  aMatch,
  anApp,
  aPost,
  app,
  aRule,
  aWebhook,
  cap,
  large,
  newestPosts,
  other,
  progress,
  webhook,
} from "./fixtures.ts"
import { type MakeStore, useDeliveries } from "./store-under-test.ts"

/** How every store announces what it has changed, and keeps the writes of a group apart. */
export function changeContract(make: MakeStore): void {
  describe("changes", () => {
    const { store, reopen, appendAt } = useDeliveries(make)

    test("a change is announced once it can be read, until the listener leaves", async () => {
      const heard: StoreChange[] = []
      const stop = store.onChange((change) => heard.push(change))
      await store.append([{ post: aPost("1"), matches: [aMatch(app, "1")] }], 1)
      expect(heard).toEqual([{ kind: "matches", appIds: [app] }])
      await store.createWebhook(aWebhook("100", "5"), { webhooksMax: 5 })
      expect(heard.at(-1)).toEqual({ kind: "control" })
      stop()
      await store.append([{ post: aPost("2"), matches: [aMatch(app, "1")] }], 1)
      expect(heard).toHaveLength(2)
    })

    test("posts that arrive are announced to those who listen to arrivals, matched or not", async () => {
      const heard = [0, 0]
      const stops = heard.map((_, listener) => store.onArrival(() => ((heard[listener] as number) += 1)))
      await store.append([{ post: aPost("1"), matches: [] }], 1)
      await expect.poll(() => heard).toEqual([1, 1])
      await store.append([{ post: aPost("2"), matches: [aMatch(app, "1")] }], 1)
      await expect.poll(() => heard).toEqual([2, 2])
      stops[0]?.()
      stops[0]?.()
      await store.append([{ post: aPost("3"), matches: [] }], 1)
      await expect.poll(() => heard).toEqual([2, 3])
      stops[1]?.()
      await store.append([{ post: aPost("4"), matches: [] }], 1)
      const again = store.onArrival(() => ((heard[0] as number) += 1))
      await store.append([{ post: aPost("5"), matches: [] }], 1)
      await expect.poll(() => heard).toEqual([3, 3])
      again()
    })

    test("a write that fails does not undo its neighbours", async () => {
      const outcomes = await Promise.allSettled([
        store.append([{ post: aPost("1"), matches: [] }], 1),
        store.createApp(anApp("100"), []),
        store.append([{ post: aPost("2"), matches: [] }], 1),
      ])
      expect(outcomes.map((outcome) => outcome.status)).toEqual(["fulfilled", "rejected", "fulfilled"])
      expect(await newestPosts(store, 5)).toHaveLength(2)
    })

    test("the largest id ever assigned is kept, also when its owner is deleted, and over a restart", async () => {
      expect(await store.lastId()).toBe("2002")
      await store.addRules(app, [aRule("100", large[0], "a")], cap)
      await store.addRules(app, [aRule("100", "5", "c")], cap)
      expect(await store.lastId()).toBe(large[0])
      await store.deleteRules(app, { kind: "all" })
      await reopen()
      expect(await store.lastId()).toBe(large[0])
      await store.createWebhook(aWebhook("100", large[1]), { webhooksMax: 5 })
      expect(await store.lastId()).toBe(large[1])
      expect(await store.damagedRecords()).toEqual([])
    })

    test("the control version changes with every control change, made here or elsewhere, and with nothing else", async () => {
      const versions = [await store.controlVersion()]
      const note = async () => void versions.push(await store.controlVersion())
      await store.setLinkOrdered(app, webhook, true)
      await note()
      await store.setLinkPaused(app, webhook, 7)
      await note()
      await store.addRules(app, [{ id: "9" as RuleId, appId: app, value: "cats" }], {
        rulesMax: 9,
      })
      await note()
      await store.revokeApp(other)
      await note()
      expect(new Set(versions).size).toBe(5)
      await appendAt([app], 1, 2)
      await store.saveProgress([progress(1, { delivered: 1 })])
      await note()
      expect(versions.at(-1)).toBe(versions.at(-2))
      // Delivery has to be notified of a cursor that retention moves.
      await store.trimMatches(app, { beforeMs: 3, limit: 10 })
      await note()
      expect(versions.at(-1)).not.toBe(versions.at(-2))
      await reopen()
      expect(await store.controlVersion()).toBe(versions.at(-1))
    })
  })
}
