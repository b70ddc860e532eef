import { describe, expect, test } from "vitest"
import type { AppId, LinkId, WebhookId } from "../../model/ids.ts"
import { app, other, webhook, allOlder, aReplay, aWebhook, aLink, addLink } from "./fixtures.ts"
import { AppRevoked } from "../store-faults.ts"
import { type MakeStore, useStore } from "./store-under-test.ts"

/** Every store's behaviour for webhooks and their signing keys. */
export function webhookContract(make: MakeStore): void {
  describe("webhooks", () => {
    const { store, reopen } = useStore(make)

    test("a revoked app gets no webhook, no link and no replay, which no one would end", async () => {
      const cap = { webhooksMax: 9 }
      for (const id of ["1", "2"]) await store.createWebhook(aWebhook("100", id, `https://a.example/${id}`), cap)
      await store.createLink(aLink("100", "11", "1"))
      await store.revokeApp(app)
      const refused = [
        store.createWebhook(aWebhook("100", "3", "https://a.example/3"), cap),
        store.createLink(aLink("100", "12", "2")),
        store.createReplay(aReplay("21", { webhookId: "1" as WebhookId, linkId: "11" as LinkId })),
      ]
      for (const result of await Promise.allSettled(refused)) {
        expect(result).toMatchObject({ status: "rejected", reason: expect.any(AppRevoked) as unknown })
      }
      expect(await store.replays({ state: "running" })).toEqual([])
    })

    test("a webhook's URL is unique within its app, and their number is bounded", async () => {
      const two = { webhooksMax: 2 }
      expect(await store.createWebhook(aWebhook("100", "1", "https://a.example/"), two)).toBe("created")
      expect(await store.createWebhook(aWebhook("100", "2", "https://a.example/"), two)).toBe("duplicate")
      expect(await store.createWebhook(aWebhook("200", "3", "https://a.example/"), two)).toBe("created")
      expect(await store.createWebhook(aWebhook("100", "4"), two)).toBe("created")
      expect(await store.createWebhook(aWebhook("100", "5"), two)).toBe("over-limit")
      expect((await store.webhooks(app)).map(({ id }) => id)).toEqual(["4", "1"])
      expect(await store.webhook(app, "3" as WebhookId)).toBeUndefined()
      expect(await store.webhook(app, "4" as WebhookId)).toEqual(aWebhook("100", "4"))
      expect(await store.allWebhooks()).toHaveLength(3)
    })

    test("webhooks and links are read in pages, of one app or of all apps that are not revoked", async () => {
      const five = { webhooksMax: 5 }
      await store.createWebhook(aWebhook("100", "1", "https://a.example/One"), five)
      await store.createWebhook(aWebhook("200", "2", "https://b.example/one"), five)
      await store.createWebhook(aWebhook("100", "3", "https://c.example/two"), five)
      for (const [appId, id] of [
        ["100", "1"],
        ["200", "2"],
        ["100", "3"],
      ] as const)
        await store.createLink(aLink(appId, `3${id}`, id))
      const webhooks = async (of: { appId?: AppId; urlPart?: string }, range: object = {}) =>
        (await store.webhookPage(of, { ...allOlder, ...range })).map(({ id }) => id)
      expect(await webhooks({})).toEqual(["3", "2", "1"])
      expect(await webhooks({ appId: app })).toEqual(["3", "1"])
      expect(await webhooks({ urlPart: "ONE" })).toEqual(["2", "1"])
      expect(await webhooks({ urlPart: "%" })).toEqual([])
      expect(await webhooks({ appId: app }, { from: "3", limit: 1 })).toEqual(["1"])
      expect(await webhooks({}, { from: "1", direction: "newer", limit: 1 })).toEqual(["2"])
      const links = async (of: { appId?: AppId }, range: object = {}) =>
        (await store.linkPage(of, { ...allOlder, ...range })).map(({ id }) => id)
      expect(await links({})).toEqual(["33", "32", "31"])
      expect(await links({ appId: app }, { from: "33" })).toEqual(["31"])
      expect(await links({}, { from: "31", direction: "newer", limit: 1 })).toEqual(["32"])
      expect((await store.linkPage({}, allOlder))[0]).toEqual(await store.linkToDeliver("3" as WebhookId))
      await store.revokeApp(other)
      expect(await webhooks({})).toEqual(["3", "1"])
      expect(await links({})).toEqual(["33", "31"])
    })

    test("an app names and describes its webhooks: absent texts stay, empty ones are removed", async () => {
      const named = { ...aWebhook("100", "1"), name: "Zoo", description: "Posts of the zoo" }
      expect(await store.createWebhook(named, { webhooksMax: 5 })).toBe("created")
      await reopen()
      const id = "1" as WebhookId
      expect(await store.webhook(app, id)).toEqual(named)
      expect(await store.describeWebhook(app, id, { name: "Ménagerie" })).toBe(true)
      expect(await store.webhook(app, id)).toEqual({ ...named, name: "Ménagerie" })
      expect(await store.describeWebhook(app, id, { name: "", description: "Other" })).toBe(true)
      expect(await store.webhook(app, id)).toEqual({ ...aWebhook("100", "1"), description: "Other" })
      expect(await store.describeWebhook(other, id, { name: "Mine" }), "of another app").toBe(false)
      expect(await store.describeWebhook(app, "2" as WebhookId, { name: "None" })).toBe(false)
      expect(await store.webhook(app, id)).toEqual({ ...aWebhook("100", "1"), description: "Other" })
    })

    test("a challenge's success moves the time of the last success, a failure does not", async () => {
      await store.createWebhook(aWebhook("100", "1"), { webhooksMax: 5 })
      const id = "1" as WebhookId
      expect(await store.invalidateWebhook(id, "said no.")).toBe(true)
      expect(await store.webhook(app, id)).toMatchObject({
        valid: false,
        invalidReason: "said no.",
        checkedAtMs: 7,
      })
      await store.markWebhookValid(id, 60)
      expect(await store.webhook(app, id)).toEqual({ ...aWebhook("100", "1"), checkedAtMs: 60 })
      expect(await store.markWebhookValid("404" as WebhookId, 1)).toBe(false)
    })

    test("a webhook's deletion deletes its link, and only its app can delete it", async () => {
      await store.createWebhook(aWebhook("100", "1"), { webhooksMax: 5 })
      await store.createLink(aLink("100", "31", "1"))
      expect(await store.deleteWebhook(other, "1" as WebhookId)).toBe(false)
      expect(await store.deleteWebhook(app, "1" as WebhookId)).toBe(true)
      expect(await store.links(app, allOlder)).toEqual([])
    })

    test("a rotated signing key stays valid next to the new one, and only its app can rotate it", async () => {
      const key = { signingKeySealed: Uint8Array.of(7, 7), previousUntilMs: 1_900_000_000_000 }
      await addLink(store, app, { linkId: "31", webhookId: "1" })
      await addLink(store, other, { linkId: "32", webhookId: "2" })
      expect(await store.rotateSigningKey(other, webhook, key)).toBe(false)
      expect(await store.webhook(app, webhook)).not.toHaveProperty("previousKey")
      expect(await store.rotateSigningKey(app, webhook, key)).toBe(true)
      await reopen()
      const previousKey = { keySealed: Uint8Array.of(9), untilMs: 1_900_000_000_000 }
      const rotated = { signingKeySealed: key.signingKeySealed, previousKey }
      expect(await store.webhook(app, webhook)).toEqual({ ...aWebhook("100", "1"), ...rotated })
      expect(await store.linkToDeliver(webhook)).toMatchObject(rotated)
      expect(await store.webhook(other, "2" as WebhookId)).toEqual(aWebhook("200", "2"))
    })
  })
}
