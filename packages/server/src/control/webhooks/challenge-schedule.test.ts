import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { App } from "../../model/app.ts"
import type { WebhookId } from "../../model/ids.ts"
import { anApp, hourMs, makeRegistryHarness, type RegistryHarness } from "./registry-harness.testing.ts"

let at: RegistryHarness

beforeEach(async () => {
  at = await makeRegistryHarness()
})

afterEach(() => at[Symbol.asyncDispose]())

describe("validating a webhook", () => {
  test.each(["wrong", "redirect", "tls"] as const)(
    "a validation invalidates the webhook at once when the response is %s, and validates it again",
    async (kind) => {
      const id = await at.created()
      at.response = kind
      expect(await at.registry.validate(at.app, id)).toBe(false)
      expect(await at.isValid()).toBe(false)
      expect(at.reported).toEqual([
        ["invalid", expect.any(String)],
        ["turned", false],
      ])
      at.response = "right"
      expect(await at.registry.validate(at.app, id)).toBe(true)
      expect(await at.isValid()).toBe(true)
      expect(at.reported.slice(2)).toEqual([
        ["valid", ""],
        ["turned", true],
      ])
    },
  )

  test.each(["down", "silent"] as const)(
    "a validation of an endpoint that is %s fails, and invalidates the webhook only after 28 hours",
    async (kind) => {
      const id = await at.created()
      at.response = kind
      await at.clock.advance(28 * hourMs)
      expect(await at.registry.validate(at.app, id)).toBe(false)
      expect(await at.isValid()).toBe(true)
      await at.clock.advance(1)
      expect(await at.registry.validate(at.app, id)).toBe(false)
      expect(await at.isValid()).toBe(false)
    },
  )

  test("the reason is kept while the webhook is invalid", async () => {
    const id = await at.created()
    at.response = "redirect"
    await at.registry.validate(at.app, id)
    const reason = "responded with status 302; redirects are not followed"
    expect(await at.store.webhook(at.app.id, id)).toMatchObject({ valid: false, invalidReason: reason })
    at.response = "right"
    await at.registry.validate(at.app, id)
    expect(await at.store.webhook(at.app.id, id)).not.toHaveProperty("invalidReason")
  })

  test("a failure on this machine invalidates no webhook, however long it lasts", async () => {
    const id = await at.created()
    at.response = "unsent"
    await at.clock.advance(100 * hourMs)
    expect(await at.registry.validate(at.app, id)).toBe(false)
    expect(await at.isValid()).toBe(true)
  })

  test("an invalid webhook stays invalid while its endpoint is down", async () => {
    const id = await at.created()
    at.response = "wrong"
    await at.registry.validate(at.app, id)
    at.response = "down"
    expect(await at.registry.validate(at.app, id)).toBe(false)
    expect(await at.isValid()).toBe(false)
  })
})

describe("the schedule", () => {
  let stop: AbortController
  let ended: Promise<void>

  beforeEach(() => {
    stop = new AbortController()
  })

  afterEach(async () => {
    stop.abort()
    await ended
  })

  function start(): void {
    ended = at.registry.runSchedule(stop.signal)
  }

  /** Advances in steps, because each read of the store takes real time. */
  async function pass(ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += hourMs / 2) {
      await at.clock.advance(hourMs / 2)
      await expect.poll(() => at.clock.sleepers, { interval: 1 }).toBe(1)
    }
  }

  test("the schedule challenges a webhook every 30 minutes once its last success is older than 24 hours", async () => {
    await at.created()
    start()
    await pass(24 * hourMs)
    expect(at.challenged).toEqual([])
    await pass(hourMs / 2)
    expect(at.challenged).toEqual(["https://example.com/webhook"])
    await pass(24 * hourMs)
    expect(at.challenged).toHaveLength(1)
    await pass(hourMs / 2)
    expect(at.challenged).toHaveLength(2)
    expect(await at.isValid()).toBe(true)
  })

  test.each(["wrong", "redirect", "tls"] as const)(
    "the schedule invalidates a webhook at once when the response is %s, and challenges it no more",
    async (kind) => {
      const id = await at.created()
      at.response = kind
      start()
      await pass(25 * hourMs)
      expect(at.challenged).toHaveLength(1)
      expect(await at.isValid()).toBe(false)
      await pass(72 * hourMs)
      expect(at.challenged).toHaveLength(1)
      at.response = "right"
      expect(await at.registry.validate(at.app, id)).toBe(true)
      expect(await at.isValid()).toBe(true)
    },
  )

  test("the schedule invalidates a webhook after 28 hours without a success, not before", async () => {
    await at.created()
    at.response = "down"
    start()
    await pass(28 * hourMs)
    expect(at.challenged).toHaveLength(8)
    expect(await at.isValid()).toBe(true)
    await pass(hourMs / 2)
    expect(await at.isValid()).toBe(false)
    expect(at.reported.at(-1)).toEqual(["turned", false])
  })

  test("a start two days later, or a clock that is two days ahead, costs no webhook before its challenges fail for four hours", async () => {
    await at.created()
    at.response = "down"
    await at.clock.advance(48 * hourMs)
    start()
    await pass(3.5 * hourMs)
    expect(at.challenged.length).toBeGreaterThan(5)
    expect(await at.isValid()).toBe(true)
    await pass(hourMs)
    expect(await at.isValid()).toBe(false)
  })

  test("a challenge that an app has asked for, and that failed, is not the beginning of failures", async () => {
    const id = await at.created()
    at.response = "down"
    await at.registry.validate(at.app, id)
    await at.clock.advance(48 * hourMs)
    start()
    await pass(hourMs)
    expect(at.challenged.length).toBeGreaterThan(2)
    expect(await at.isValid()).toBe(true)
  })

  test("a webhook that a clock ahead of its time has challenged is challenged again", async () => {
    const id = await at.created()
    const template = await at.store.webhook(at.app.id, id)
    if (template === undefined) throw new Error("expected a webhook")
    const ahead = { ...template, id: "99" as WebhookId, url: "https://ahead.example.com/" }
    const checkedAtMs = at.clock.nowMs() + 365 * 24 * hourMs
    await at.store.createWebhook({ ...ahead, checkedAtMs }, { webhooksMax: 9 })
    start()
    await pass(hourMs)
    expect(at.challenged).toEqual([ahead.url])
  })

  test("a success in time makes up for earlier failures", async () => {
    await at.created()
    at.response = "silent"
    start()
    await pass(27 * hourMs)
    at.response = "right"
    await pass(hourMs)
    at.response = "silent"
    await pass(27 * hourMs)
    expect(await at.isValid()).toBe(true)
  })

  test("the schedule challenges four webhooks of a host at a time, and other hosts at the same time", async () => {
    const template = await at.store.webhook(at.app.id, await at.created("https://other.example.com/"))
    if (template === undefined) throw new Error("expected a webhook")
    for (let index = 0; index < 20; index += 1) {
      const webhook = {
        ...template,
        id: String(100 + index) as WebhookId,
        url: `https://slow.example.com/${index}`,
      }
      await at.store.createWebhook(webhook, { webhooksMax: 99 })
    }
    at.response = "hanging"
    await at.clock.advance(25 * hourMs)
    start()
    await expect.poll(() => at.challenged.length).toBe(5)
    expect(at.challenged.filter((url) => url.startsWith("https://slow.example.com/"))).toHaveLength(4)
  })

  test("the schedule challenges every webhook that is due, though one of them cannot be checked", async () => {
    const unreadable: App = { ...anApp("3"), consumerSecretSealed: Buffer.alloc(40) }
    await at.store.createApp(unreadable, [])
    const ids = [await at.created("https://example.com/a"), await at.created("https://example.com/b")]
    const template = await at.store.webhook(at.app.id, ids[0] ?? ("" as WebhookId))
    if (template === undefined) throw new Error("expected a webhook")
    const webhook = { ...template, id: "77" as WebhookId, appId: unreadable.id, url: "https://example.com/c" }
    await at.store.createWebhook(webhook, { webhooksMax: 9 })
    start()
    await pass(25 * hourMs)
    expect(new Set(at.challenged)).toEqual(new Set(["https://example.com/a", "https://example.com/b"]))
    expect(at.reported).toContainEqual(["failed", "challenge schedule"])
  })

  test("the schedule ends at once when it is stopped, and invalidates nothing", async () => {
    await at.created()
    at.response = "hanging"
    await at.clock.advance(30 * hourMs)
    start()
    await expect.poll(() => at.challenged.length).toBe(1)
    stop.abort()
    await ended
    expect(await at.isValid()).toBe(true)
  })

  test("the schedule does not challenge the webhooks of a revoked app", async () => {
    await at.created()
    await at.store.revokeApp(at.app.id)
    start()
    await pass(30 * hourMs)
    expect(at.challenged).toEqual([])
  })
})
