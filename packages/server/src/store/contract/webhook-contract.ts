import { describe, expect, test } from "vitest"
import type { WebhookId } from "../../model/ids.ts"
import { app, other, webhook, allOlder, aWebhook, aLink, addLink } from "./fixtures.ts"
import { type MakeStore, useStore } from "./store-under-test.ts"

/** What every store does with webhooks and their signing keys. */
export function webhookContract(make: MakeStore): void {
  describe("webhooks", () => {
    const { store, reopen } = useStore(make)

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

    test("a webhook takes its link with it, and only its app can delete it", async () => {
      await store.createWebhook(aWebhook("100", "1"), { webhooksMax: 5 })
      await store.createLink(aLink("100", "31", "1"))
      expect(await store.deleteWebhook(other, "1" as WebhookId)).toBe(false)
      expect(await store.deleteWebhook(app, "1" as WebhookId)).toBe(true)
      expect(await store.links(app, allOlder)).toEqual([])
    })

    test("a rotated signing key goes on beside the new one, and only its app can rotate it", async () => {
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
