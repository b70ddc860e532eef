import { describe, expect, test } from "vitest"
import type { AppId, UserId, WebhookId } from "../../model/ids.ts"
import { aLink, anApp, app, aRule, aToken, aWebhook, bytes, cap, large, liveRules } from "./fixtures.ts"
import { type MakeStore, useStore } from "./store-under-test.ts"

/** Every store's behaviour for apps and their tokens. */
export function appContract(make: MakeStore): void {
  describe("apps", () => {
    const { store, reopen } = useStore(make)

    test("apps and tokens are read as they were stored, also after a restart", async () => {
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

    test("a token of a user has an app and a user, can be deleted, and ends with the app's credentials", async () => {
      const token = { hash: bytes(8), kind: "user", appId: app, userId: large[1] as UserId, createdAtMs: 1 } as const
      await store.createToken(token)
      expect(await store.token(bytes(8))).toEqual(token)
      expect(await store.tokens()).toContainEqual(token)
      await store.replaceSecrets({ apps: [{ id: app, consumerSecretSealed: bytes(5), tokens: [] }], webhooks: [] })
      expect(await store.token(bytes(8)), "it is not derived of the key").toEqual(token)
      expect(await store.deleteToken(bytes(8))).toBe(true)
      await store.createToken(token)
      await store.rotateApp({ ...anApp("100"), consumerKey: "new", generation: 2 }, [])
      expect(await store.token(bytes(8))).toBeUndefined()
    })

    test("a token keeps its name, and its last use, which an earlier one does not change", async () => {
      const token = { hash: bytes(8), kind: "ingest", createdAtMs: 1, name: "CI of the zoo" } as const
      await store.createToken(token)
      expect(await store.token(bytes(8))).toEqual(token)
      const use = (value: number, lastUsedAtMs: number) => ({ hash: bytes(value), lastUsedAtMs })
      await store.noteTokenUses([use(8, 70), use(1, 60), use(7, 50)])
      await store.noteTokenUses([use(8, 69)])
      await store.noteTokenUses([])
      await reopen()
      expect(await store.token(bytes(8))).toEqual({ ...token, lastUsedAtMs: 70 })
      expect(await store.token(bytes(1))).toEqual({ ...aToken("100", 1), lastUsedAtMs: 60 })
      expect(await store.token(bytes(7)), "no token").toBeUndefined()
      expect(await store.tokens()).toContainEqual({ ...token, lastUsedAtMs: 70 })
    })

    test("tokens are listed newest first, and one without an app can be deleted, once", async () => {
      await store.createToken({ hash: bytes(8), kind: "operator", createdAtMs: 9_000_000_000_000 })
      await store.createToken({ hash: bytes(9), kind: "ingest", createdAtMs: 9_000_000_000_001 })
      const kinds = (await store.tokens()).map(({ kind }) => kind)
      expect(kinds.slice(0, 2)).toEqual(["ingest", "operator"])
      expect(kinds.filter((kind) => kind === "app").length).toBeGreaterThan(0)
      expect(await store.deleteToken(bytes(8))).toBe(true)
      expect(await store.deleteToken(bytes(8))).toBe(false)
      expect(await store.deleteToken(bytes(1)), "an app's").toBe(false)
      expect(await store.token(bytes(8))).toBeUndefined()
      expect(await store.token(bytes(1))).toBeDefined()
    })

    test("rotation replaces an app's tokens and credentials", async () => {
      const rotated = { ...anApp("100"), consumerKey: "new", generation: 2 }
      expect(await store.rotateApp(rotated, [aToken("100", 4)])).toBe(true)
      expect(await store.token(bytes(1))).toBeUndefined()
      expect(await store.token(bytes(4))).toBeDefined()
      expect(await store.app(app)).toEqual(rotated)
      expect(await store.rotateApp({ ...anApp("300"), generation: 2 }, [])).toBe(false)
      // Another one has come first.
      expect(await store.rotateApp({ ...anApp("100"), generation: 2 }, [aToken("100", 5)])).toBe(false)
      expect(await store.token(bytes(5))).toBeUndefined()
      expect(await store.app(app)).toEqual(rotated)
    })

    test("secrets that are sealed again replace the old ones, and nothing else changes", async () => {
      const signing = { signingKeySealed: bytes(7, 7), previousUntilMs: 1_900_000_000_000 }
      for (const id of ["11", "12"]) await store.createWebhook(aWebhook("100", id), { webhooksMax: 5 })
      await store.rotateSigningKey(app, "12" as WebhookId, signing)
      await store.createToken({ hash: bytes(8), kind: "operator", createdAtMs: 1 })
      await store.replaceSecrets({
        apps: [{ id: app, consumerSecretSealed: bytes(5, 5), tokens: [aToken("100", 4)] }],
        webhooks: [
          { id: "11" as WebhookId, signingKeySealed: bytes(6) },
          { id: "12" as WebhookId, signingKeySealed: bytes(6, 1), previousKeySealed: bytes(6, 2) },
        ],
      })
      await reopen()
      expect(await store.app(app)).toEqual({ ...anApp("100"), consumerSecretSealed: bytes(5, 5) })
      expect(await Promise.all([1, 4, 2, 8].map((one) => store.token(bytes(one))))).toEqual([
        undefined,
        aToken("100", 4),
        aToken("200", 2),
        { hash: bytes(8), kind: "operator", createdAtMs: 1 },
      ])
      expect(await store.webhook(app, "11" as WebhookId)).toEqual({
        ...aWebhook("100", "11"),
        signingKeySealed: bytes(6),
      })
      expect(await store.webhook(app, "12" as WebhookId)).toEqual({
        ...aWebhook("100", "12"),
        signingKeySealed: bytes(6, 1),
        previousKey: { keySealed: bytes(6, 2), untilMs: signing.previousUntilMs },
      })
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
