import { describe, expect, test } from "vitest"
import { asId, type AppId, type WebhookId } from "../model/ids.ts"
import { Problem } from "../model/problem.ts"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import { createSnowflakes } from "../runtime/snowflakes.ts"
import { systemRandom } from "../runtime/random.ts"
import type { Outbound, OutboundResult } from "../runtime/outbound/outbound.ts"
import { parseTrouble, type TroubleRequest } from "./trouble.ts"
import { troubledOutbound } from "./troubled-outbound.ts"
import { Troubles, troublesPerAppMax } from "./troubles.ts"

const webhook = { appId: asId<AppId>("1"), webhookId: asId<WebhookId>("10") }
const otherWebhook = { ...webhook, webhookId: asId<WebhookId>("11") }
const foreign = { appId: asId<AppId>("2"), webhookId: asId<WebhookId>("20") }

/** Troubles on a clock and a chance of the test's own. */
function started(fractions: readonly number[] = [], { meetsDeliveries = true } = {}) {
  const clock = createManualClock()
  const drawn = [...fractions]
  const random = { ...systemRandom, fraction: () => drawn.shift() ?? 0 }
  const snowflakes = createSnowflakes(clock, systemRandom)
  const troubles = new Troubles({ clock, random, snowflakes, meetsDeliveries })
  return { clock, troubles }
}

const parsed = (body: Parameters<typeof parseTrouble>[0]): TroubleRequest => parseTrouble(body, 1_000)

describe("a trouble", () => {
  test("is applied as often as requested, oldest first, and is removed then", () => {
    const { troubles } = started()
    troubles.add(webhook.appId, parsed({ kind: "responses", response: "503", next: 2 }))
    troubles.add(webhook.appId, parsed({ kind: "responses", response: "429", retry_after_seconds: 7 }))
    const taken = Array.from({ length: 4 }, () => troubles.takeResponse(webhook))
    expect(taken).toEqual([
      { kind: "status", status: 503 },
      { kind: "status", status: 503 },
      { kind: "status", status: 429, retryAfterS: 7 },
      undefined,
    ])
    expect(troubles.list(webhook.appId)).toEqual([])
  })

  test("shows its remaining uses, and how often it was applied", () => {
    const { troubles } = started()
    troubles.add(webhook.appId, parsed({ kind: "repeats", next: 3 }))
    expect(troubles.takeRepeat(webhook)).toBe(true)
    expect(troubles.list(webhook.appId)).toMatchObject([{ applied: 1, extent: { kind: "next", count: 2 } }])
  })

  test("of a webhook leaves the others alone, and one of an app the other apps", () => {
    const { troubles } = started()
    troubles.add(webhook.appId, parsed({ kind: "challenges", webhook_id: webhook.webhookId }))
    troubles.add(webhook.appId, parsed({ kind: "page_tokens" }))
    expect(troubles.takeChallenge(otherWebhook)).toBeUndefined()
    expect(troubles.takeChallenge(foreign)).toBeUndefined()
    expect(troubles.takeExpiry(foreign.appId, 0)).toBe(false)
    expect(troubles.list(foreign.appId)).toEqual([])
    expect(troubles.takeChallenge(webhook)).toEqual({ kind: "wrong-token" })
  })

  test("that can never apply is refused", () => {
    const { troubles } = started([], { meetsDeliveries: false })
    const refusal = (body: Parameters<typeof parseTrouble>[0]) => () => troubles.add(webhook.appId, parsed(body))
    expect(refusal({ kind: "responses", response: "503" })).toThrow(/SLUICE_DELIVERY_THREADS=0/)
    expect(refusal({ kind: "repeats" })).toThrow(Problem)
    troubles.add(webhook.appId, parsed({ kind: "challenges" }))
    expect(troubles.takeChallenge(webhook)).toEqual({ kind: "wrong-token" })
  })

  test("in percent applies by chance each time, and stays", () => {
    const { troubles } = started([0.09, 0.1, 0.99, 0])
    troubles.add(webhook.appId, parsed({ kind: "responses", response: "cut", percent: 10 }))
    const taken = Array.from({ length: 4 }, () => troubles.takeResponse(webhook) !== undefined)
    expect(taken).toEqual([true, false, false, true])
    expect(troubles.list(webhook.appId)).toMatchObject([{ applied: 2 }])
  })

  test("of page tokens applies to those issued so far, or to the next ones that are read", () => {
    const { troubles } = started()
    troubles.add(webhook.appId, parsed({ kind: "page_tokens" }))
    expect([999, 1_000, 1_001].map((atMs) => troubles.takeExpiry(webhook.appId, atMs))).toEqual([true, true, false])
    troubles.clear(webhook.appId)
    troubles.add(webhook.appId, parsed({ kind: "page_tokens", next: 1 }))
    expect([2_000, 2_000].map((atMs) => troubles.takeExpiry(webhook.appId, atMs))).toEqual([true, false])
  })

  test("of an app is one of at most twenty, and can be cleared", () => {
    const { troubles } = started()
    const repeat = parsed({ kind: "repeats" })
    const added = Array.from({ length: troublesPerAppMax }, () => troubles.add(webhook.appId, repeat))
    expect(() => troubles.add(webhook.appId, repeat)).toThrow(expect.objectContaining({ status: 409 }))
    troubles.add(foreign.appId, repeat)
    troubles.remove(webhook.appId, added[0]!.id)
    expect(() => troubles.remove(webhook.appId, added[0]!.id)).toThrow(expect.objectContaining({ status: 404 }))
    expect(() => troubles.remove(foreign.appId, added[1]!.id)).toThrow(expect.objectContaining({ status: 404 }))
    expect(troubles.clear(webhook.appId)).toBe(troublesPerAppMax - 1)
    expect(troubles.list(foreign.appId)).toHaveLength(1)
  })
})

test.each([
  [{ kind: "responses" }, "response", "is missing"],
  [{ kind: "responses", response: "wrong_token" }, "response", "one of 429, 500, 503, slow, cut"],
  [{ kind: "challenges", response: "slow" }, "response", "one of wrong_token, 500, 503, cut"],
  [{ kind: "page_tokens", percent: 5 }, "percent", "is not for page_tokens; known are next"],
  [{ kind: "repeats", response: "cut" }, "response", "is not for repeats"],
  [{ kind: "responses", response: "500", next: 1, percent: 5 }, "percent", "cannot be combined with `next`"],
  [{ kind: "responses", response: "500", latency_ms: 5 }, "latency_ms", "is for slow responses"],
  [{ kind: "responses", response: "500", retry_after_seconds: 5 }, "retry_after_seconds", "is for 429 and 503"],
])("%j is refused with the reason", (body, parameter, words) => {
  const refusal = (): unknown => {
    try {
      return parsed(body)
    } catch (error) {
      return error
    }
  }
  const problem = refusal()
  expect(problem).toBeInstanceOf(Problem)
  const { causes } = problem as Problem
  expect(causes).toMatchObject([{ parameters: { [parameter]: [] }, message: expect.stringContaining(words) as string }])
})

describe("an outbound request that meets trouble", () => {
  const request = { method: "POST", url: "http://a/", body: "{}", deadlineMs: 10_000 } as const
  const good: OutboundResult = { kind: "response", status: 204, body: "" }

  function sending(results: readonly OutboundResult[] = []) {
    const { clock, troubles } = started()
    const left = [...results]
    const sent: unknown[] = []
    const outbound: Outbound = {
      async send(one) {
        sent.push(one)
        return left.shift() ?? good
      },
      close: async () => undefined,
    }
    const closing = new AbortController()
    const troubled = troubledOutbound(outbound, troubles, { clock, closing: closing.signal })
    return { clock, troubles, sent, closing, ...troubled }
  }

  test("with a status is not sent, and has its Retry-After", async () => {
    const { troubles, sent, deliveriesTo } = sending()
    troubles.add(webhook.appId, parsed({ kind: "responses", response: "429", retry_after_seconds: 3 }))
    expect(await deliveriesTo(webhook).send(request)).toEqual({
      kind: "response",
      status: 429,
      body: "",
      retryAfter: "3",
    })
    expect(sent).toEqual([])
    expect(await deliveriesTo(webhook).send(request)).toEqual(good)
  })

  test("with a cut is received, and its response is lost", async () => {
    const { troubles, sent, deliveriesTo } = sending()
    troubles.add(webhook.appId, parsed({ kind: "responses", response: "cut" }))
    expect(await deliveriesTo(webhook).send(request)).toMatchObject({ kind: "failure", outcome: "connect" })
    expect(sent).toEqual([request])
  })

  test("with a delay has its response late or a timeout, and at once when the server closes", async () => {
    const { clock, troubles, closing, deliveriesTo } = sending()
    const slow = async (latency_ms: number): Promise<{ afterMs: number; result: OutboundResult }> => {
      troubles.add(webhook.appId, parsed({ kind: "responses", response: "slow", latency_ms }))
      const startedMs = clock.monotonicMs()
      const result = await deliveriesTo(webhook).send(request)
      return { afterMs: clock.monotonicMs() - startedMs, result }
    }
    const late = slow(2_000)
    await expect.poll(() => clock.sleepers, { interval: 1 }).toBe(1)
    await clock.advance(2_000)
    expect(await late).toEqual({ afterMs: 2_000, result: good })
    const tooLate = slow(10_000)
    await expect.poll(() => clock.sleepers, { interval: 1 }).toBe(1)
    await clock.advance(10_000)
    expect((await tooLate).result).toMatchObject({ kind: "failure", outcome: "timeout" })
    const closed = slow(10_000)
    await expect.poll(() => clock.sleepers, { interval: 1 }).toBe(1)
    closing.abort()
    expect(await closed).toEqual({ afterMs: 0, result: good })
  })

  test("is repeated only when it was received", async () => {
    const { troubles, sent, deliveriesTo } = sending([{ kind: "response", status: 500, body: "" }])
    troubles.add(webhook.appId, parsed({ kind: "repeats" }))
    await deliveriesTo(webhook).send(request)
    expect(sent).toHaveLength(1)
    expect(await deliveriesTo(webhook).send(request)).toEqual(good)
    expect(sent).toEqual([request, request, request])
    await deliveriesTo(webhook).send(request)
    expect(sent).toHaveLength(4)
  })
})
