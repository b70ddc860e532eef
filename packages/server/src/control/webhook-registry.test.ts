import { randomBytes } from "node:crypto"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { signature } from "@sluice/api"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { App } from "../model/app.ts"
import type { AppId, WebhookId } from "../model/ids.ts"
import type { Events } from "../runtime/events.ts"
import { createManualClock, type ManualClock } from "../runtime/manual-clock.testing.ts"
import type { Outbound, OutboundResult } from "../runtime/outbound.ts"
import { systemRandom } from "../runtime/random.ts"
import { createSecretBox } from "../runtime/secret-box.ts"
import { createSnowflakes } from "../runtime/snowflakes.ts"
import { openEmbeddedStore } from "../store/embedded/embedded-store.ts"
import type { Store } from "../store/store.ts"
import { createWebhookRegistry, type WebhookRegistry } from "./webhook-registry.ts"

const secretBox = createSecretBox(randomBytes(32), systemRandom)
const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** What an endpoint answers to a challenge; `right` passes it. */
type Answer = "hanging" | "unsent" | "right" | "wrong" | "redirect" | "tls" | "down" | "silent"

let directory: string
let store: Store
let clock: ManualClock
let registry: WebhookRegistry
let app: App
let other: App
let answer: Answer
/** Every challenge: the URL without its token. */
let challenged: string[]
let told: unknown[]

function resultOf(kind: Answer, url: string): OutboundResult {
  const token = new URL(url).searchParams.get("crc_token") ?? ""
  const body = JSON.stringify({ response_token: signature("consumer secret", token) })
  const answered = (status: number, text = ""): OutboundResult => ({
    kind: "answer",
    status,

    body: text,
  })
  if (kind === "right") return answered(200, body)
  if (kind === "wrong") return answered(200, "{}")
  if (kind === "redirect") return answered(302)
  if (kind === "down") return answered(503)
  if (kind === "unsent") return { kind: "failure", outcome: "local", detail: "EMFILE" }
  if (kind === "tls") return { kind: "failure", outcome: "tls", detail: "CERT_HAS_EXPIRED" }
  return { kind: "failure", outcome: "timeout", detail: "no answer within 10 s" }
}

/** An answer that never comes, so that the request ends when its signal says so. */
function givenUp(signal: AbortSignal | undefined): Promise<OutboundResult> {
  const result: OutboundResult = { kind: "failure", outcome: "timeout", detail: "given up by this server" }
  return new Promise((resolve) => signal?.addEventListener("abort", () => resolve(result)))
}

const outbound: Outbound = {
  send({ url, signal }) {
    challenged.push(url.replace(/[?&]crc_token=.*/, ""))
    if (answer === "hanging") return givenUp(signal)
    return Promise.resolve(resultOf(answer, url))
  },
  close: () => Promise.resolve(),
}

const quiet: Partial<Events> = {
  failed: ({ where }) => void told.push(["failed", where]),
  challengeFinished: ({ outcome, detail }) => void told.push([outcome, detail]),
  webhookTurned: ({ valid }) => void told.push(["turned", valid]),
}

/** No others are told. */
const events = new Proxy(quiet as Events, {
  get(target, name: keyof Events) {
    if (target[name] === undefined) throw new Error(`not expected: ${name}`)
    return target[name]
  },
})

function anApp(id: string): App {
  return {
    id: id as AppId,
    name: `app ${id}`,
    businessUserId: `${id}1`,
    instanceId: `${id}2`,
    consumerKey: `key-${id}`,
    consumerSecretSealed: secretBox.seal("consumer secret"),
    generation: 1,
    createdAtMs: 0,
    revoked: false,
  }
}

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-"))
  store = await openEmbeddedStore({ file: join(directory, "sluice.db") })
  app = anApp("1")
  other = anApp("2")
  await store.createApp(app, [])
  await store.createApp(other, [])
  clock = createManualClock(Date.UTC(2026, 0, 1))
  answer = "right"
  challenged = []
  told = []
  registry = createWebhookRegistry({
    store,
    outbound,
    secretBox,
    snowflakes: createSnowflakes(clock, systemRandom),
    clock,
    random: systemRandom,
    events,
    allowPrivate: false,
    webhooksPerAppMax: 3,
    signingKeyGraceMs: 24 * hourMs,
  })
})

afterEach(async () => {
  await store[Symbol.asyncDispose]()
  await rm(directory, { recursive: true })
})

async function created(url = "https://example.com/webhook"): Promise<WebhookId> {
  const webhook = await registry.create(app, url)
  challenged = []
  told = []
  return webhook.id as WebhookId
}

async function isValid(): Promise<boolean | undefined> {
  return (await registry.list(app.id))[0]?.valid
}

function problem(message: string, parameters: Readonly<Record<string, readonly string[]>>): unknown {
  return expect.objectContaining({
    name: "Problem",
    status: 400,
    causes: [{ detail: message, message, parameters }],
  })
}

describe("creating a webhook", () => {
  test("challenges the endpoint, then keeps it with a signing key of its own", async () => {
    const webhook = await registry.create(app, "https://example.com/webhook?a=b")
    expect(webhook).toEqual({
      id: expect.stringMatching(/^[0-9]{1,19}$/),
      url: "https://example.com/webhook?a=b",
      valid: true,
      created_at: "2026-01-01T00:00:00.000Z",
    })
    expect(challenged).toEqual(["https://example.com/webhook?a=b"])
    expect(told).toEqual([["valid", ""]])
    expect(await registry.list(app.id)).toEqual([webhook])
    const stored = await store.webhook(app.id, webhook.id as WebhookId)
    const key = secretBox.open(stored?.signingKeySealed ?? Buffer.alloc(0))
    expect(key).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(Buffer.from(key.slice(6), "base64").length).toBe(32)
  })

  const expected =
    'Expected is status 200 and {"response_token":"sha256=…"} with the base64 of the HMAC-SHA256 of crc_token under the consumer secret.'

  test.each([
    ["wrong", "The endpoint answered with status 200 and JSON without a response_token."],
    ["redirect", "The endpoint answered with status 302; redirects are not followed."],
    ["tls", "The endpoint could not be asked: CERT_HAS_EXPIRED."],
    ["down", "The endpoint answered with status 503."],
    ["silent", "The endpoint could not be asked: no answer within 10 s."],
  ] as const)("keeps nothing when the answer is %s", async (kind, came) => {
    answer = kind
    const url = "https://example.com/webhook"
    const message = `CrcValidationFailed: ${came} ${expected}`
    await expect(registry.create(app, url)).rejects.toEqual(problem(message, { url: [url] }))
    expect(await registry.list(app.id)).toEqual([])
  })

  test("sends nothing to a URL that may not be a webhook's", async () => {
    const message = "UrlValidationFailed: The URL has the host 127.0.0.1, which is a loopback address."
    const url = "https://127.0.0.1/"
    await expect(registry.create(app, url)).rejects.toEqual(problem(message, { url: [url] }))
    expect(challenged).toEqual([])
  })

  test("repeats no more than 200 characters of what it refuses", async () => {
    const url = `https://example.com/${"😀".repeat(100_000)}`
    const refusal: unknown = await registry.create(app, url).catch((error: unknown) => error)
    const message = "UrlValidationFailed: The URL is 100020 characters long; at most 200 are allowed."
    expect(refusal).toEqual(problem(message, { url: [`https://example.com/${"😀".repeat(180)}`] }))
  })

  test.each([
    "https://example.com/webhook",
    "https://EXAMPLE.com/webhook",
    "https://example.com/a/../webhook",
  ])("refuses %s when the app has it already, and lets another app have it", async (url) => {
    await created()
    const message = "DuplicateUrlFailed: The app has a webhook with this URL already."
    await expect(registry.create(app, url)).rejects.toEqual(problem(message, { url: [url] }))
    expect(challenged).toEqual([])
    await expect(registry.create(other, url)).resolves.toMatchObject({ url, valid: true })
  })

  test("refuses one of two equal ones that are created at once", async () => {
    const url = "https://example.com/webhook"
    const outcomes = await Promise.allSettled([registry.create(app, url), registry.create(app, url)])
    expect(outcomes.map((outcome) => outcome.status).toSorted()).toEqual(["fulfilled", "rejected"])
    const message = "DuplicateUrlFailed: The app has a webhook with this URL already."
    expect(outcomes).toContainEqual({ status: "rejected", reason: problem(message, { url: [url] }) })
  })

  test("refuses more than the limit, also when they come at once", async () => {
    const urls = ["a", "b", "c", "d"].map((path) => `https://example.com/${path}`)
    const outcomes = await Promise.allSettled(urls.map((url) => registry.create(app, url)))
    expect(outcomes.filter((outcome) => outcome.status === "fulfilled")).toHaveLength(3)
    const message =
      "WebhookLimitExceeded: The app has 3 webhooks already, which is the limit; delete one first."
    const url = "https://example.com/e"
    challenged = []
    await expect(registry.create(app, url)).rejects.toEqual(problem(message, { url: [url] }))
    expect(challenged).toEqual([])
  })
})

describe("a webhook that is not the app's", () => {
  test.each(["validate", "delete"] as const)(
    "is not found by %s, whether it is another's or nobody's",
    async (what) => {
      const id = await created()
      const act = (owner: App, webhookId: WebhookId): Promise<unknown> =>
        what === "validate" ? registry.validate(owner, webhookId) : registry.delete(owner.id, webhookId)
      const refusals = await Promise.all(
        [id, "999" as WebhookId].map((webhookId) => act(other, webhookId).catch((error: unknown) => error)),
      )
      expect(refusals).toEqual(
        [id, "999"].map((webhookId) =>
          expect.objectContaining({ status: 404, detail: `Could not find webhook with id: [${webhookId}].` }),
        ),
      )
      expect(challenged).toEqual([])
      expect(await isValid()).toBe(true)
    },
  )

  test("is not listed", async () => {
    await created()
    expect(await registry.list(other.id)).toEqual([])
  })
})

test("a deleted webhook is gone", async () => {
  const id = await created()
  await registry.delete(app.id, id)
  expect(await registry.list(app.id)).toEqual([])
  await expect(registry.delete(app.id, id)).rejects.toMatchObject({ status: 404 })
})

describe("validating a webhook", () => {
  test.each(["wrong", "redirect", "tls"] as const)(
    "turns it off at once when the answer is %s, and on again",
    async (kind) => {
      const id = await created()
      answer = kind
      expect(await registry.validate(app, id)).toEqual({ valid: false })
      expect(await isValid()).toBe(false)
      expect(told).toEqual([
        ["invalid", expect.any(String)],
        ["turned", false],
      ])
      answer = "right"
      expect(await registry.validate(app, id)).toEqual({ valid: true })
      expect(await isValid()).toBe(true)
      expect(told.slice(2)).toEqual([
        ["valid", ""],
        ["turned", true],
      ])
    },
  )

  test.each(["down", "silent"] as const)(
    "says so when the endpoint is %s, and turns it off only after 28 hours",
    async (kind) => {
      const id = await created()
      answer = kind
      await clock.advance(28 * hourMs)
      expect(await registry.validate(app, id)).toEqual({ valid: false })
      expect(await isValid()).toBe(true)
      await clock.advance(1)
      expect(await registry.validate(app, id)).toEqual({ valid: false })
      expect(await isValid()).toBe(false)
    },
  )

  test("keeps why it is invalid, until it is valid again", async () => {
    const id = await created()
    answer = "redirect"
    await registry.validate(app, id)
    const reason = "answered with status 302; redirects are not followed"
    expect(await store.webhook(app.id, id)).toMatchObject({ valid: false, invalidReason: reason })
    answer = "right"
    await registry.validate(app, id)
    expect(await store.webhook(app.id, id)).not.toHaveProperty("invalidReason")
  })

  test("holds what fails on this machine against nobody, however long it goes on", async () => {
    const id = await created()
    answer = "unsent"
    await clock.advance(100 * hourMs)
    expect(await registry.validate(app, id)).toEqual({ valid: false })
    expect(await isValid()).toBe(true)
  })

  test("leaves an invalid one invalid while its endpoint is down", async () => {
    const id = await created()
    answer = "wrong"
    await registry.validate(app, id)
    answer = "down"
    expect(await registry.validate(app, id)).toEqual({ valid: false })
    expect(await isValid()).toBe(false)
  })
})

describe("the signing key", () => {
  test("is another one after a rotation; the one before signs too until its grace is over", async () => {
    const id = await created()
    const first = await registry.signingKey(app.id, id)
    expect(first).toEqual({ signing_key: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) as string })
    const rotated = await registry.rotateSigningKey(app.id, id)
    const untilMs = clock.nowMs() + 24 * hourMs
    expect(rotated).toEqual({
      signing_key: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) as string,
      previous_valid_until: new Date(untilMs).toISOString(),
    })
    expect(rotated.signing_key).not.toBe(first.signing_key)
    expect(await registry.signingKey(app.id, id)).toEqual(rotated)
    const stored = await store.webhook(app.id, id)
    expect(secretBox.open(stored?.previousKey?.keySealed ?? Buffer.alloc(0))).toBe(first.signing_key)
    expect(stored?.previousKey?.untilMs).toBe(untilMs)
    await clock.advance(24 * hourMs - 1)
    expect(await registry.signingKey(app.id, id)).toHaveProperty("previous_valid_until")
    await clock.advance(1)
    expect(await registry.signingKey(app.id, id)).toEqual({ signing_key: rotated.signing_key })
  })

  test("of a webhook that is not the app's is not found, and not rotated", async () => {
    const id = await created()
    const before = await registry.signingKey(app.id, id)
    for (const webhookId of [id, "999" as WebhookId]) {
      const gone = { status: 404, detail: `Could not find webhook with id: [${webhookId}].` }
      await expect(registry.signingKey(other.id, webhookId)).rejects.toMatchObject(gone)
      await expect(registry.rotateSigningKey(other.id, webhookId)).rejects.toMatchObject(gone)
    }
    expect(await registry.signingKey(app.id, id)).toEqual(before)
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
    ended = registry.runSchedule(stop.signal)
  }

  /** Moves on in steps, because each look at the store takes real time. */
  async function pass(ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += 30 * minuteMs) {
      await clock.advance(30 * minuteMs)
      await expect.poll(() => clock.sleepers, { interval: 1 }).toBe(1)
    }
  }

  test("challenges a webhook when its last success is older than 24 hours, every 30 minutes", async () => {
    await created()
    start()
    await pass(24 * hourMs)
    expect(challenged).toEqual([])
    await pass(30 * minuteMs)
    expect(challenged).toEqual(["https://example.com/webhook"])
    await pass(24 * hourMs)
    expect(challenged).toHaveLength(1)
    await pass(30 * minuteMs)
    expect(challenged).toHaveLength(2)
    expect(await isValid()).toBe(true)
  })

  test.each(["wrong", "redirect", "tls"] as const)(
    "turns it off at once when the answer is %s, and leaves it alone then",
    async (kind) => {
      const id = await created()
      answer = kind
      start()
      await pass(25 * hourMs)
      expect(challenged).toHaveLength(1)
      expect(await isValid()).toBe(false)
      await pass(72 * hourMs)
      expect(challenged).toHaveLength(1)
      answer = "right"
      expect(await registry.validate(app, id)).toEqual({ valid: true })
      expect(await isValid()).toBe(true)
    },
  )

  test("turns it off after 28 hours without a success, not before", async () => {
    await created()
    answer = "down"
    start()
    await pass(28 * hourMs)
    expect(challenged).toHaveLength(8)
    expect(await isValid()).toBe(true)
    await pass(30 * minuteMs)
    expect(await isValid()).toBe(false)
    expect(told.at(-1)).toEqual(["turned", false])
  })

  test("forgets failures when the endpoint is back in time", async () => {
    await created()
    answer = "silent"
    start()
    await pass(27 * hourMs)
    answer = "right"
    await pass(hourMs)
    answer = "silent"
    await pass(27 * hourMs)
    expect(await isValid()).toBe(true)
  })

  test("challenges every webhook that is due, and one that cannot be checked keeps no other from it", async () => {
    const unreadable: App = { ...anApp("3"), consumerSecretSealed: Buffer.alloc(40) }
    await store.createApp(unreadable, [])
    const ids = [await created("https://example.com/a"), await created("https://example.com/b")]
    const template = await store.webhook(app.id, ids[0] ?? ("" as WebhookId))
    if (template === undefined) throw new Error("expected a webhook")
    const webhook = { ...template, id: "77" as WebhookId, appId: unreadable.id, url: "https://example.com/c" }
    await store.createWebhook(webhook, { webhooksMax: 9 })
    start()
    await pass(25 * hourMs)
    expect(new Set(challenged)).toEqual(new Set(["https://example.com/a", "https://example.com/b"]))
    expect(told).toContainEqual(["failed", "challenge schedule"])
  })

  test("ends at once when it is stopped, and holds that against nobody", async () => {
    await created()
    answer = "hanging"
    await clock.advance(30 * hourMs)
    start()
    await expect.poll(() => challenged.length).toBe(1)
    stop.abort()
    await ended
    expect(await isValid()).toBe(true)
  })

  test("leaves the webhooks of a revoked app alone", async () => {
    await created()
    await store.revokeApp(app.id)
    start()
    await pass(30 * hourMs)
    expect(challenged).toEqual([])
  })
})
