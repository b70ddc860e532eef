import { describe, expect, test } from "vitest"
import type { LinkId, WebhookId } from "../../model/ids.ts"
import { app, other, webhook, large, allOlder, aWebhook, aLink, aPost, aMatch, progress, addLink } from "./fixtures.ts"
import { type MakeStore, useStore, useDeliveries } from "./store-under-test.ts"

/** Every store's behaviour for links, except for their deliveries. */
export function linkContract(make: MakeStore): void {
  describe("links", () => {
    const { store, reopen } = useStore(make)

    test("links are listed newest first, once per webhook, within their app", async () => {
      for (const id of ["1", "2"]) await store.createWebhook(aWebhook("100", id), { webhooksMax: 5 })
      expect(await store.createLink(aLink("100", "31", "1", "expansions=author_id"))).toBe("created")
      expect(await store.createLink(aLink("100", large[0], "2"))).toBe("created")
      expect(await store.createLink(aLink("100", "33", "2"))).toBe("exists")
      expect(await store.createLink(aLink("200", "34", "2"))).toBe("no-webhook")
      await reopen()
      expect(await store.links(app, allOlder)).toEqual([
        aLink("100", large[0], "2"),
        aLink("100", "31", "1", "expansions=author_id"),
      ])
      expect(await store.links(app, { ...allOlder, from: large[0] as LinkId })).toHaveLength(1)
      expect(await store.links(other, allOlder)).toEqual([])
      expect(await store.link(app, "2" as WebhookId)).toEqual(aLink("100", large[0], "2"))
      expect(await store.deleteLink(other, "2" as WebhookId)).toBe(false)
      expect(await store.deleteLink(app, "2" as WebhookId)).toBe(true)
      expect(await store.deleteLink(app, "2" as WebhookId)).toBe(false)
    })

    test("a link starts at the newest match, and its cursor moves forward only, durably", async () => {
      await store.append([{ post: aPost("1"), matches: [aMatch(app, "5")] }], 10)
      await addLink(store, app, { linkId: "31", webhookId: "1" })
      const position = async () => (await store.allLinks())[0]?.position
      expect(await position()).toBe(1)
      await store.saveProgress([progress(5)])
      await store.saveProgress([progress(3)])
      await reopen()
      expect(await position()).toBe(5)
    })
  })

  describe("links of two apps", () => {
    const { store, reopen, linkNow } = useDeliveries(make)

    test("a link is in strict order when its app requests that", async () => {
      expect(await linkNow()).toMatchObject({ isOrdered: false, redeliveries: 0 })
      expect(await store.setLinkOrdered(other, webhook, true)).toBe(false)
      expect(await store.setLinkOrdered(app, webhook, true)).toBe(true)
      await reopen()
      expect(await linkNow()).toMatchObject({ isOrdered: true })
      expect(await linkNow("32" as LinkId)).toMatchObject({ isOrdered: false })
      await store.setLinkOrdered(app, webhook, false)
      expect(await linkNow()).toMatchObject({ isOrdered: false })
    })

    test("a link is paused since its first pause, durably, until it is resumed", async () => {
      expect(await linkNow()).not.toHaveProperty("pausedAtMs")
      expect(await store.setLinkPaused(other, webhook, 7)).toBe(false)
      expect(await store.setLinkPaused(app, webhook, 7)).toBe(true)
      expect(await store.setLinkPaused(app, webhook, 9)).toBe(true)
      await store.setLinkOrdered(app, webhook, true)
      await reopen()
      expect(await linkNow()).toMatchObject({ pausedAtMs: 7, isOrdered: true })
      expect(await store.linkToDeliver(webhook)).toMatchObject({ pausedAtMs: 7 })
      expect(await linkNow("32" as LinkId)).not.toHaveProperty("pausedAtMs")
      expect(await store.setLinkPaused(app, webhook, undefined)).toBe(true)
      await reopen()
      expect(await linkNow()).not.toHaveProperty("pausedAtMs")
      await store.setLinkPaused(app, webhook, 11)
      expect(await linkNow()).toMatchObject({ pausedAtMs: 11 })
      expect(await store.damagedRecords()).toEqual([])
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
  })
}
