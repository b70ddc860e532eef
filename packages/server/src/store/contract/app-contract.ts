import { describe, expect, test } from "vitest"
import type { AppId } from "../../model/ids.ts"
import { aLink, anApp, app, aRule, aToken, aWebhook, bytes, cap, liveRules } from "./fixtures.ts"
import { type MakeStore, useStore } from "./store-under-test.ts"

/** What every store does with apps and their tokens. */
export function appContract(make: MakeStore): void {
  describe("apps", () => {
    const { store, reopen } = useStore(make)

    test("apps and tokens come back as they were put in, also after a restart", async () => {
      await reopen()
      expect((await store.apps()).map((found) => found.id)).toEqual(["200", "100"])
      expect(await store.app(app)).toEqual(anApp("100"))
      expect(await store.appByConsumerKey("key-200")).toEqual(anApp("200"))
      expect(await store.token(bytes(1))).toEqual(aToken("100", 1))
      expect(await store.token(bytes(3))).toBeUndefined()
      expect(await store.app("300" as AppId)).toBeUndefined()
    })

    test("a token of no app has no app", async () => {
      await store.createToken({ hash: bytes(8), kind: "operator", createdAtMs: 1 })
      expect(await store.token(bytes(8))).toEqual({ hash: bytes(8), kind: "operator", createdAtMs: 1 })
    })

    test("rotation replaces an app's tokens and credentials", async () => {
      const rotated = { ...anApp("100"), consumerKey: "new", generation: 2 }
      expect(await store.rotateApp(rotated, [aToken("100", 4)])).toBe(true)
      expect(await store.token(bytes(1))).toBeUndefined()
      expect(await store.token(bytes(4))).toBeDefined()
      expect(await store.app(app)).toEqual(rotated)
      expect(await store.rotateApp({ ...anApp("300") }, [])).toBe(false)
    })

    test("a revoked app has no tokens, no live rules and no links to deliver", async () => {
      await store.addRules(app, [aRule("100", "1", "cat")], cap)
      await store.createWebhook(aWebhook("100", "11"), { webhooksMax: 5 })
      await store.createLink(aLink("100", "21", "11"))
      const before = (await store.allRules()).seq
      expect(await store.revokeApp(app)).toBe(true)
      expect(await store.revokeApp(app)).toBe(false)
      expect(await store.token(bytes(1))).toBeUndefined()
      expect(await liveRules(store)).toEqual([])
      expect(await store.ruleChanges(before, 10)).toMatchObject([{ kind: "removed", ruleId: "1" }])
      expect(await store.allLinks()).toEqual([])
      expect((await store.app(app))?.revoked).toBe(true)
    })
  })
}
