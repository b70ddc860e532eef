import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { App } from "../../model/app.ts"
import { presentWebhook } from "../../http/present/deliveries.ts"
import type { WebhookId } from "../../model/ids.ts"
import { RateLimited } from "../../model/problem.ts"
import { isOnPostgres } from "../../store/tested-store.testing.ts"
import { hourMs, makeRegistryHarness, secretBox, type RegistryHarness } from "./registry-harness.testing.ts"

let at: RegistryHarness

beforeEach(async () => {
  at = await makeRegistryHarness()
})

afterEach(() => at[Symbol.asyncDispose]())

function problem(message: string, parameters: Readonly<Record<string, readonly string[]>>): unknown {
  return expect.objectContaining({
    name: "Problem",
    status: 400,
    causes: [{ detail: message, message, parameters }],
  })
}

describe("creating a webhook", () => {
  test("a new webhook is challenged, then kept with a signing key of its own", async () => {
    const webhook = await at.registry.create(at.app, "https://example.com/webhook?a=b")
    expect(presentWebhook(webhook)).toEqual({
      id: expect.stringMatching(/^[0-9]{1,19}$/),
      url: "https://example.com/webhook?a=b",
      valid: true,
      created_at: "2026-01-01T00:00:00.000Z",
    })
    expect(at.challenged).toEqual(["https://example.com/webhook?a=b"])
    expect(at.reported).toEqual([["valid", ""]])
    expect((await at.registry.list(at.app.id)).map(presentWebhook)).toEqual([presentWebhook(webhook)])
    const stored = await at.store.webhook(at.app.id, webhook.id)
    const key = secretBox.open(stored?.signingKeySealed ?? Buffer.alloc(0))
    expect(key).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(Buffer.from(key.slice(6), "base64").length).toBe(32)
  })

  const expected =
    'Expected is status 200 and {"response_token":"sha256=…"} with the base64 of the HMAC-SHA256 of crc_token under the consumer secret or the client secret.'

  test.each([
    [
      "wrong",
      "URL returned bad response during CRC with error: Invalid `response_token`. " +
        "The endpoint responded with status 200 and JSON without a response_token.",
    ],
    ["redirect", "The endpoint responded with status 302; redirects are not followed."],
    ["tls", "The endpoint could not be asked: CERT_HAS_EXPIRED."],
    ["down", "The endpoint responded with status 503."],
    ["silent", "The endpoint could not be asked: no response within 10 s."],
  ] as const)("a new webhook is not kept when its endpoint's response is %s", async (kind, came) => {
    at.response = kind
    const url = "https://example.com/webhook"
    const message = `CrcValidationFailed: ${came} ${expected}`
    await expect(at.registry.create(at.app, url)).rejects.toEqual(problem(message, { url: [url] }))
    expect(await at.registry.list(at.app.id)).toEqual([])
  })

  test("nothing is sent to a URL that may not be a webhook's", async () => {
    const message =
      "UrlValidationFailed: The URL has the host 127.0.0.1, which is a loopback address. " +
      "An operator can allow this destination with SLUICE_WEBHOOK_ALLOW."
    const url = "https://127.0.0.1/"
    await expect(at.registry.create(at.app, url)).rejects.toEqual(problem(message, { url: [url] }))
    expect(at.challenged).toEqual([])
  })

  test("a refusal repeats no more than 200 characters of the URL", async () => {
    const url = `https://example.com/${"😀".repeat(100_000)}`
    const refusal: unknown = await at.registry.create(at.app, url).catch((error: unknown) => error)
    const message = "UrlValidationFailed: The URL is 100020 characters long; at most 200 are allowed."
    expect(refusal).toEqual(problem(message, { url: [`https://example.com/${"😀".repeat(179)}…`] }))
  })

  test.each(["https://example.com/webhook", "https://EXAMPLE.com/webhook", "https://example.com/a/../webhook"])(
    "%s is refused when the app has it already, and another app may have it",
    async (url) => {
      await at.created()
      const message = "DuplicateUrlFailed: The app has a webhook with this URL already."
      await expect(at.registry.create(at.app, url)).rejects.toEqual(problem(message, { url: [url] }))
      expect(at.challenged).toEqual([])
      await expect(at.registry.create(at.other, url)).resolves.toMatchObject({ url, valid: true })
    },
  )

  test("one of two equal webhooks that are created at once is refused", async () => {
    const url = "https://example.com/webhook"
    const outcomes = await Promise.allSettled([at.registry.create(at.app, url), at.registry.create(at.app, url)])
    expect(outcomes.map((outcome) => outcome.status).toSorted()).toEqual(["fulfilled", "rejected"])
    const message = "DuplicateUrlFailed: The app has a webhook with this URL already."
    expect(outcomes).toContainEqual({ status: "rejected", reason: problem(message, { url: [url] }) })
  })

  test("webhooks beyond the limit are refused, also when they are created at once", async () => {
    const urls = ["a", "b", "c", "d"].map((path) => `https://example.com/${path}`)
    const outcomes = await Promise.allSettled(urls.map((url) => at.registry.create(at.app, url)))
    expect(outcomes.filter((outcome) => outcome.status === "fulfilled")).toHaveLength(3)
    const message = "WebhookLimitExceeded: The app has 3 webhooks already, which is the limit; delete one first."
    const url = "https://example.com/e"
    at.challenged = []
    await expect(at.registry.create(at.app, url)).rejects.toEqual(problem(message, { url: [url] }))
    expect(at.challenged).toEqual([])
  })
})

/** Fewer on PostgreSQL, where a read that waits 10 s for a connection ends in 503. */
const eachAtOnce = isOnPostgres ? 150 : 1_500

test("only a few of very many challenges that are requested at once are sent, and the rest get 429", async () => {
  const id = await at.created()
  at.response = "hanging"
  const urlAt = (count: number): string => `https://${count}.example.com/`
  const asked = [
    ...Array.from({ length: eachAtOnce }, (_, index) => at.registry.create(at.app, urlAt(index))),
    ...Array.from({ length: eachAtOnce }, () => at.registry.validate(at.app, id)),
  ]
  // Those that go out never end here.
  const refusals: unknown[] = []
  for (const one of asked) one.catch((error: unknown) => refusals.push(error))
  await expect.poll(() => refusals.length).toBe(2 * eachAtOnce - 5)
  expect(refusals.every((error) => error instanceof RateLimited)).toBe(true)
  expect(at.challenged).toHaveLength(5)
})

describe("a webhook that is not the app's", () => {
  test.each(["validate", "delete"] as const)(
    "%s finds no webhook of another app, and none that does not exist",
    async (what) => {
      const id = await at.created()
      const act = (owner: App, webhookId: WebhookId): Promise<unknown> =>
        what === "validate" ? at.registry.validate(owner, webhookId) : at.registry.delete(owner.id, webhookId)
      const refusals = await Promise.all(
        [id, "999" as WebhookId].map((webhookId) => act(at.other, webhookId).catch((error: unknown) => error)),
      )
      expect(refusals).toEqual(
        [id, "999"].map((webhookId) =>
          expect.objectContaining({ status: 404, detail: `Could not find webhook with id: [${webhookId}].` }),
        ),
      )
      expect(at.challenged).toEqual([])
      expect(await at.isValid()).toBe(true)
    },
  )

  test("a webhook is not listed for another app", async () => {
    await at.created()
    expect(await at.registry.list(at.other.id)).toEqual([])
  })
})

test("a deleted webhook is gone", async () => {
  const id = await at.created()
  await at.registry.delete(at.app.id, id)
  expect(await at.registry.list(at.app.id)).toEqual([])
  await expect(at.registry.delete(at.app.id, id)).rejects.toMatchObject({ status: 404 })
})

describe("the signing key", () => {
  test("a rotation makes a new signing key, and the previous one signs too until its grace period is over", async () => {
    const id = await at.created()
    const first = await at.registry.signingKey(at.app.id, id)
    expect(first).toEqual({ signingKey: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) as string })
    const rotated = await at.registry.rotateSigningKey(at.app.id, id)
    const untilMs = at.clock.nowMs() + 24 * hourMs
    expect(rotated).toEqual({
      signingKey: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) as string,
      previousUntilMs: untilMs,
    })
    expect(rotated.signingKey).not.toBe(first.signingKey)
    expect(await at.registry.signingKey(at.app.id, id)).toEqual(rotated)
    const stored = await at.store.webhook(at.app.id, id)
    expect(secretBox.open(stored?.previousKey?.keySealed ?? Buffer.alloc(0))).toBe(first.signingKey)
    expect(stored?.previousKey?.untilMs).toBe(untilMs)
    await at.clock.advance(24 * hourMs - 1)
    expect(await at.registry.signingKey(at.app.id, id)).toHaveProperty("previousUntilMs")
    await at.clock.advance(1)
    expect(await at.registry.signingKey(at.app.id, id)).toEqual({ signingKey: rotated.signingKey })
  })

  test("the signing key of another app's webhook is not found, and not rotated", async () => {
    const id = await at.created()
    const before = await at.registry.signingKey(at.app.id, id)
    for (const webhookId of [id, "999" as WebhookId]) {
      const gone = { status: 404, detail: `Could not find webhook with id: [${webhookId}].` }
      await expect(at.registry.signingKey(at.other.id, webhookId)).rejects.toMatchObject(gone)
      await expect(at.registry.rotateSigningKey(at.other.id, webhookId)).rejects.toMatchObject(gone)
    }
    expect(await at.registry.signingKey(at.app.id, id)).toEqual(before)
  })
})
