import { createHmac } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import { text } from "node:stream/consumers"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import type { AppId, LinkId, WebhookId } from "../../model/ids.ts"
import { systemClock } from "../../runtime/clock.ts"
import { createManualClock } from "../../runtime/manual-clock.testing.ts"
import { createOutbound } from "../../runtime/outbound/outbound.ts"
import { signature } from "../../runtime/signatures.ts"
import type { Store } from "../../store/store.ts"
import {
  harnessConsumerSecret,
  harnessSecretBox,
  harnessSigningKey,
  hurried,
  numbered,
  withMethods,
  type LinkHarness,
  type RecordedEvents,
  type ScriptedOutbound,
} from "./link-harness.testing.ts"
import { breathe, eventually, makeRunningLinks, type RunningLinks } from "./running-links.testing.ts"
import { listening } from "../../../../../test/support/listening.testing.ts"

const url = "https://example.com/webhook"
const app = "1" as AppId

let running: RunningLinks
let harness: LinkHarness
let outbound: ScriptedOutbound
let events: RecordedEvents

beforeEach(async () => {
  running = await makeRunningLinks()
  ;({ harness, outbound, events } = running)
})

afterEach(async () => {
  await running[Symbol.asyncDispose]()
})

/** Invalidates the webhook of the only link, and waits until the link has heard of it. */
async function invalidate(webhookId: WebhookId): Promise<void> {
  const reads = vi.spyOn(harness.store, "allLinks")
  await harness.store.invalidateWebhook(webhookId, "responded late")
  await eventually(() => reads.mock.settledResults.at(-1)).toMatchObject({ value: [{ valid: false }] })
  await breathe()
}

/** Pauses the only link, and waits until it has heard of it. */
async function pause(webhookId: WebhookId): Promise<void> {
  const reads = vi.spyOn(harness.store, "allLinks")
  await harness.store.setLinkPaused(app, webhookId, 1_900_000_000_000)
  await eventually(() => reads.mock.settledResults.at(-1)).toMatchObject({ value: [{ pausedAtMs: 1_900_000_000_000 }] })
  await breathe()
}

describe("over HTTP", () => {
  test("every match after the link arrives over HTTP, once, signed, with the requested fields", async () => {
    const arrived: { headers: IncomingHttpHeaders; body: string; url: string | undefined }[] = []
    await using endpoint = await listening((request, response) => {
      void (async () => {
        arrived.push({ headers: request.headers, body: await text(request), url: request.url })
        response.writeHead(204).end()
      })()
    })
    const query = "expansions=author_id&user.fields=username&tweet.fields=lang"
    await harness.post("1", "10")
    await harness.addLink("1", "100", `${endpoint.url}/hook?a=b`, query)
    const real = createOutbound({ allowPrivate: true })
    const { links, stop } = running.start({ outbound: real })
    await harness.post("1", "11", "12", "13")
    await eventually(() => arrived.length).toBe(3)
    await stop()
    await real.close()

    expect(arrived.map((one) => JSON.parse(one.body) as unknown)).toEqual(
      expect.arrayContaining(
        ["11", "12", "13"].map((id) => ({
          data: expect.objectContaining({ id, text: `post ${id}`, lang: "en" }),
          includes: { users: [expect.objectContaining({ id: "7", username: "a" })] },
          matching_rules: [{ id: "5", tag: "t" }],
        })),
      ),
    )
    for (const { headers, body, url: path } of arrived) {
      const { "webhook-id": eventId, "webhook-timestamp": timestamp } = headers
      const signed = createHmac("sha256", harnessSigningKey).update([eventId, timestamp, body].join("."))
      expect(headers).toMatchObject({
        "content-type": "application/json",
        "x-twitter-webhooks-signature": signature(harnessConsumerSecret, body),
        "webhook-signature": `v1,${signed.digest("base64")}`,
      })
      expect(path).toBe("/hook?a=b")
    }
    const eventIds = arrived.map((one) => one.headers["webhook-id"])
    expect(new Set(eventIds)).toEqual(new Set(["msg_100_2", "msg_100_3", "msg_100_4"]))
    expect(await harness.deliveredUpTo("100")).toBe(4)
    expect(await links.states()).toMatchObject([{ position: 4, delivered: 3, failed: 0 }])
  })
})

describe("failures", () => {
  test.each([500, 404, 301])(
    "a match that fails with %i is sent again, the same bytes under the same id, until a 2xx",
    async (status) => {
      const clock = createManualClock()
      await harness.addLink("1", "100", url)
      await harness.post("1", "1")
      running.start({ clock })
      await eventually(() => outbound.open.length).toBe(1)
      const waits: number[] = []
      for (let attempt = 1; attempt <= 9; attempt++) {
        const beforeMs = clock.nowMs()
        outbound.open[0]?.respond(status)
        while (outbound.open.length === 0) await clock.advance(500)
        waits.push(clock.nowMs() - beforeMs)
      }
      expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
      outbound.open[0]?.respond(200)
      await eventually(() => harness.deliveredUpTo("100")).toBe(1)
      const sent = outbound.received.map(({ request }) => [request.headers?.["webhook-id"], String(request.body)])
      expect(new Set(sent.map(String)).size).toBe(1)
      const timestamps = outbound.received.map(({ request }) => request.headers?.["webhook-timestamp"])
      expect(new Set(timestamps).size).toBe(10)
      expect(outbound.received).toHaveLength(10)
    },
  )

  test("a match that fails blocks no other: the cursor moves on, and the position that is shown does not", async () => {
    await harness.addLink("1", "100", url)
    outbound.respondToAll(({ postId }) => (postId === "2" ? 500 : 200))
    const { links } = running.start({ retryBaseMs: 50 })
    await harness.post("1", ...numbered(200))
    await eventually(() => new Set(running.receivedIds()).size).toBe(200)
    await eventually(() => harness.progress("100")).toMatchObject({ position: 200, retries: [{ seq: 2 }] })
    const [state] = await links.states()
    expect(state).toMatchObject({ position: 1, head: 200, lag: 199, delivered: 199 })
    expect(state?.oldest_undelivered_at).toBe("2026-01-01T00:00:00.000Z")
    expect(state?.next_attempt_at).toBeDefined()
    outbound.respondToAll(() => 200)
    await eventually(() => harness.progress("100")).toEqual({ position: 200, retries: [] })
    expect(running.receivedIds().filter((id) => id !== "2")).toHaveLength(199)
  })

  test("an attempt that does not end blocks no other match, and is stored as a retry that is due at once", async () => {
    await harness.addLink("1", "100", url)
    outbound.respondToAll(({ postId }) => (postId === "3" ? undefined : 200))
    const { links } = running.start({ concurrency: 8 })
    await harness.post("1", ...numbered(1_500))
    await eventually(() => harness.progress("100")).toEqual({
      position: 1_500,
      retries: [{ seq: 3, failures: 0, dueAtMs: 0 }],
    })
    expect(await links.states()).toMatchObject([{ position: 2, in_flight: 1 }])
    outbound.open[0]?.respond(200)
    await eventually(() => harness.progress("100")).toEqual({ position: 1_500, retries: [] })
    expect(outbound.received).toHaveLength(1_500)
  })

  test("a match that fails keeps the order when only one may be sent at a time", async () => {
    await harness.addLink("1", "100", url)
    const failed = new Set<string>()
    outbound.respondToAll(({ postId }) => {
      const isFirst = !failed.has(postId)
      failed.add(postId)
      return isFirst && Number(postId) % 3 === 0 ? 503 : 200
    })
    running.start({ concurrency: 1, retryBaseMs: 2 })
    await harness.post("1", ...numbered(20))
    await eventually(() => harness.deliveredUpTo("100")).toBe(20)
    expect(running.receivedIds()).toEqual(numbered(20).flatMap((id) => (Number(id) % 3 === 0 ? [id, id] : [id])))
  })
})

describe("a link", () => {
  /** A store that tells how many entries each read of the log asked for, and after which. */
  function countingReads(): { store: Store; limits: number[]; places: number[] } {
    const limits: number[] = []
    const places: number[] = []
    const matches: Store["matches"] = (range) => {
      limits.push(range.limit)
      places.push(range.after)
      return harness.store.matches(range)
    }
    return { store: withMethods(harness.store, { matches }), limits, places }
  }

  test("a link of an invalid webhook reads nothing, also after a start", async () => {
    const webhookId = "100" as WebhookId
    await harness.addLink("1", "100", url)
    await harness.store.invalidateWebhook(webhookId, "responded late")
    await harness.post("1", ...numbered(300))
    const { store, limits } = countingReads()
    running.start({ store })
    await breathe()
    await harness.post("1", "301")
    await breathe()
    expect(limits).toEqual([])
    outbound.respondToAll(() => 200)
    await harness.store.markWebhookValid(webhookId, 2)
    await eventually(() => harness.deliveredUpTo("100")).toBe(301)
    expect(running.receivedIds()).toEqual(numbered(301))
  })

  test("a link whose webhook is invalidated drops the entries it has read, and reads them again", async () => {
    const webhookId = "100" as WebhookId
    await harness.addLink("1", "100", url)
    const { store, places } = countingReads()
    running.start({ store, concurrency: 2 })
    await eventually(() => places).toEqual([0])
    await harness.post("1", ...numbered(100))
    await eventually(() => outbound.open.length).toBe(2)
    expect(places).toEqual([0, 0])
    await invalidate(webhookId)
    outbound.respondToAll(() => 200)
    await eventually(() => harness.deliveredUpTo("100")).toBe(2)
    await harness.store.markWebhookValid(webhookId, 2)
    await eventually(() => harness.deliveredUpTo("100")).toBe(100)
    expect(places.slice(0, 3)).toEqual([0, 0, 2])
    expect(running.receivedIds()).toEqual(numbered(100))
  })

  test("a link reads the next entries while half of the last ones are not sent", async () => {
    await harness.addLink("1", "100", url)
    const { store, places } = countingReads()
    running.start({ store, concurrency: 2 })
    await harness.post("1", ...numbered(150))
    await eventually(() => outbound.open.length).toBe(2)
    while (outbound.received.length < 45) {
      outbound.open[0]?.respond(200)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(Math.max(...places)).toBe(0)
    while (outbound.received.length < 51) {
      outbound.open[0]?.respond(200)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await eventually(() => Math.max(...places)).toBe(100)
    expect(outbound.received.length).toBeLessThan(55)
    outbound.respondToAll(() => 200)
    await eventually(() => harness.deliveredUpTo("100")).toBe(150)
    expect(running.receivedIds()).toEqual(numbered(150))
  })

  test("a link to a dead endpoint reads one entry at a time, and tries one after a start", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    outbound.respondToAll(() => 503)
    const { stop } = running.start({ clock, concurrency: 4 })
    await harness.post("1", ...numbered(300))
    await eventually(() => events.turns).toEqual(["100 down"])
    await stop()
    const { store, limits } = countingReads()
    running.start({ store, clock, concurrency: 4 })
    await eventually(() => limits.length).toBeGreaterThan(0)
    outbound.respondToAll(() => undefined)
    await clock.advance(60_000)
    expect(outbound.open).toHaveLength(1)
    outbound.respondToAll(() => 503)
    await clock.advance(60_000)
    expect(new Set(limits)).toEqual(new Set([1]))
    outbound.respondToAll(() => 200)
    await clock.advance(60_000)
    await eventually(() => harness.progress("100")).toEqual({ position: 300, retries: [] })
  })

  test("a link that drops entries it has read, because nothing is delivered, reads them again", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    let isUp = true
    outbound.respondToAll(() => (isUp ? 200 : 503))
    running.start({ clock, concurrency: 2 })
    await harness.post("1", ...numbered(250))
    for (let turn = 0; turn < 200 && (await harness.deliveredUpTo("100")) !== 250; turn++) {
      isUp = !isUp
      await clock.advance(700)
    }
    await eventually(() => harness.progress("100")).toEqual({ position: 250, retries: [] })
    expect(new Set(running.receivedIds()).size).toBe(250)
  })

  test("a link keeps the state of its endpoint when its run fails and is restarted", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    let isFailing = false
    const matches: Store["matches"] = (range) =>
      isFailing ? Promise.reject(new Error("disk full")) : harness.store.matches(range)
    outbound.respondToAll(() => ({ status: 503, retryAfter: "60" }))
    running.start({ clock, concurrency: 2, store: withMethods(harness.store, { matches }) })
    await harness.post("1", "1")
    await eventually(() => events.outcomes.length).toBe(1)
    await breathe()
    isFailing = true
    await harness.post("1", "2")
    await eventually(() => events.failures.length).toBe(1)
    isFailing = false
    await clock.advance(59_000)
    expect(running.receivedIds()).toEqual(["1"])
    outbound.respondToAll(() => 200)
    await clock.advance(1_000)
    await eventually(() => harness.progress("100")).toEqual({ position: 2, retries: [] })
  })

  test("a link whose progress cannot be saved retries the save, and loses and repeats nothing", async () => {
    await harness.addLink("1", "100", url)
    let failures = 3
    const saveProgress: Store["saveProgress"] = async (progress) => {
      failures -= 1
      if (failures >= 0) throw new Error("disk full")
      return harness.store.saveProgress(progress)
    }
    outbound.respondToAll(() => 200)
    const store = withMethods(harness.store, { saveProgress })
    running.start({ concurrency: 2, store, clock: hurried(systemClock) })
    await harness.post("1", ...numbered(10))
    await eventually(() => harness.progress("100")).toEqual({ position: 10, retries: [] })
    expect(running.receivedIds()).toEqual(numbered(10))
    expect(events.failures.map(({ where }) => where)).toEqual(Array(3).fill("progress saves"))
  })

  test("a link to a dead endpoint tries failed matches one at a time, and sends everything when it is up", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    outbound.respondToAll(() => 503)
    const { links } = running.start({ concurrency: 4, clock })
    await harness.post("1", ...numbered(300))
    await eventually(() => outbound.received.length).toBe(4)
    await clock.advance(600_000)
    const tried = new Set(running.receivedIds())
    expect(tried.size).toBeLessThanOrEqual(40)
    // Ten minutes at a minute between two tries, and the first few that came faster.
    expect(outbound.received.length).toBeLessThan(tried.size * 20)
    expect(await links.states()).toMatchObject([{ position: 0, lag: 300, delivered: 0 }])
    expect((await links.states())[0]?.failing_since).toBeDefined()

    outbound.respondToAll(() => undefined)
    const before = outbound.received.length
    await clock.advance(60_000)
    expect(outbound.open).toHaveLength(1)
    outbound.respondToAll(() => 200)
    await eventually(() => links.states().then(([state]) => state?.position)).toBe(300)
    expect(outbound.received.length - before).toBe(300)
    expect((await links.states())[0]).not.toHaveProperty("failing_since")
  })

  test("a link to an endpoint that is up again sends failed matches at once, before they are due", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    running.start({ concurrency: 2, clock })
    await harness.post("1", "1", "2")
    await eventually(() => outbound.open.length).toBe(2)
    outbound.open[0]?.fail()
    await clock.advance(900)
    outbound.open[0]?.fail()
    // The link probes its endpoint a second later at most, with what is due first.
    await clock.advance(1_000)
    await eventually(() => outbound.open.map((one) => one.postId)).toEqual(["1"])
    outbound.open[0]?.respond(200)
    await eventually(() => outbound.open.map((one) => one.postId)).toEqual(["2"])
    expect(running.receivedIds()).toEqual(["1", "2", "1", "2"])
  })

  test("a link of an invalid webhook sends nothing, and everything pending when the webhook is valid again", async () => {
    const webhookId = "100" as WebhookId
    await harness.addLink("1", "100", url)
    running.start({ concurrency: 2, retryBaseMs: 5 })
    await harness.post("1", "1", "2", "3")
    await eventually(() => outbound.open.length).toBe(2)
    await invalidate(webhookId)
    outbound.open.find((one) => one.postId === "1")?.respond(500)
    outbound.open.find((one) => one.postId === "2")?.respond(200)
    await harness.post("1", "4", "5")
    await breathe()
    expect(running.receivedIds()).toEqual(["1", "2"])
    expect(await harness.deliveredUpTo("100")).toBe(0)
    outbound.respondToAll(() => 200)
    await harness.store.markWebhookValid(webhookId, 2)
    await eventually(() => harness.deliveredUpTo("100")).toBe(5)
    expect(running.receivedIds().toSorted()).toEqual(["1", "1", "2", "3", "4", "5"])
  })

  test("a paused link ends what is in flight, sends nothing else, and delivers everything when it is resumed", async () => {
    const webhookId = "100" as WebhookId
    await harness.addLink("1", "100", url)
    const { links } = running.start({ concurrency: 2, retryBaseMs: 5 })
    await harness.post("1", "1", "2", "3")
    await eventually(() => outbound.open.length).toBe(2)
    await pause(webhookId)
    outbound.open.find((one) => one.postId === "1")?.respond(200)
    outbound.open.find((one) => one.postId === "2")?.respond(500)
    await eventually(() => harness.deliveredUpTo("100")).toBe(1)
    await harness.post("1", "4", "5")
    await breathe()
    expect(running.receivedIds()).toEqual(["1", "2"])
    const [paused] = await links.states()
    expect(paused).toMatchObject({ paused: true, down: false, undelivered: 4, in_flight: 0, position: 1 })
    expect(paused).not.toHaveProperty("failing_since")
    expect(paused).not.toHaveProperty("next_attempt_at")
    outbound.respondToAll(() => 200)
    await harness.store.setLinkPaused(app, webhookId, undefined)
    await eventually(() => harness.deliveredUpTo("100")).toBe(5)
    expect(running.receivedIds().toSorted()).toEqual(["1", "2", "2", "3", "4", "5"])
    expect(events.turns).toEqual([])
  })

  test("a link whose endpoint is down is not probed while it is paused, and begins with one delivery when resumed", async () => {
    const webhookId = "100" as WebhookId
    await harness.addLink("1", "100", url)
    outbound.respondToAll(() => 503)
    const { links } = running.start({ concurrency: 4, retryBaseMs: 5 })
    await harness.post("1", ...numbered(20))
    await eventually(() => events.turns).toEqual(["100 down"])
    await pause(webhookId)
    await eventually(() => links.states()).toMatchObject([{ in_flight: 0 }])
    const sent = outbound.received.length
    await harness.post("1", "21")
    await breathe()
    expect(outbound.received.length).toBe(sent)
    expect(await links.states()).toMatchObject([{ paused: true, down: false, position: 0, head: 21 }])
    outbound.respondToAll(() => undefined)
    await harness.store.setLinkPaused(app, webhookId, undefined)
    await eventually(() => outbound.open.length).toBe(1)
    await breathe()
    expect(outbound.open.length).toBe(1)
    outbound.open[0]?.respond(200)
    outbound.respondToAll(() => 200)
    for (const one of outbound.open) one.respond(200)
    await eventually(() => harness.deliveredUpTo("100")).toBe(21)
    expect(events.turns).toEqual(["100 down", "100 up"])
    expect(events.deadLettered).toEqual([])
  })

  test("a paused link reads and sends nothing after a start, and goes on from its position", async () => {
    const webhookId = "100" as WebhookId
    await harness.addLink("1", "100", url)
    await harness.store.setLinkPaused(app, webhookId, 5)
    await harness.post("1", ...numbered(30))
    outbound.respondToAll(() => 200)
    running.start()
    await breathe()
    expect(running.receivedIds()).toEqual([])
    await harness.store.setLinkPaused(app, webhookId, undefined)
    await eventually(() => harness.deliveredUpTo("100")).toBe(30)
    expect(running.receivedIds().toSorted()).toEqual(numbered(30).toSorted())
  })

  test("a link that is created while the server runs delivers, and one that is deleted does not", async () => {
    outbound.respondToAll(() => 200)
    const { links } = running.start()
    await harness.addLink("1", "100", url)
    await harness.post("1", "1")
    await eventually(() => harness.deliveredUpTo("100")).toBe(1)
    await harness.store.deleteLink(app, "100" as WebhookId)
    await eventually(() => links.states()).toEqual([])
    // From when the link has heard of it on.
    let post = 1
    const isDelivered = async (): Promise<boolean> => {
      post += 1
      await harness.post("1", String(post))
      await breathe()
      return running.receivedIds().includes(String(post))
    }
    await expect.poll(isDelivered).toBe(false)
    expect(await isDelivered()).toBe(false)
  })

  test("a link whose hint is lost is found by polling", async () => {
    const clock = createManualClock()
    const silent = withMethods(harness.store, { onChange: () => () => undefined })
    outbound.respondToAll(() => 200)
    running.start({ clock, store: silent })
    await eventually(() => clock.sleepers).toBeGreaterThan(0)
    await breathe()
    await harness.addLink("1", "100", url)
    await harness.post("1", "1")
    await breathe()
    expect(running.receivedIds()).toEqual([])
    await clock.advance(10_000)
    await eventually(() => running.receivedIds()).toEqual(["1"])
    await harness.post("1", "2")
    await clock.advance(10_000)
    await eventually(() => running.receivedIds()).toEqual(["1", "2"])
  })

  test("a link delivers only the matches of its own app", async () => {
    await harness.addApp("2")
    await harness.addLink("1", "100", "https://one.example.com/")
    await harness.addLink("2", "200", "https://two.example.com/")
    outbound.respondToAll(() => 200)
    const { links } = running.start()
    await harness.post("1", "1")
    await harness.post("2", "2")
    await eventually(() => outbound.received.length).toBe(2)
    expect(new Map(outbound.received.map(({ request, postId }) => [request.url, postId]))).toEqual(
      new Map([
        ["https://one.example.com/", "1"],
        ["https://two.example.com/", "2"],
      ]),
    )
    expect((await links.states(app)).map((state) => state.webhook_id)).toEqual(["100"])
    expect((await links.states()).map((state) => state.webhook_id)).toEqual(["200", "100"])
  })

  test("a link signs with the app's new secret after a rotation", async () => {
    await harness.addLink("1", "100", url)
    outbound.respondToAll(() => 200)
    running.start()
    const stored = await harness.store.app(app)
    if (stored === undefined) throw new Error("expected an app")
    await harness.store.rotateApp(
      { ...stored, generation: stored.generation + 1, consumerSecretSealed: harnessSecretBox.seal("new secret") },
      [],
    )
    // A match that is sent before the link has heard of the rotation is signed as before it.
    let posts = 0
    await expect
      .poll(async () => {
        posts += 1
        await harness.post("1", String(posts))
        await eventually(() => outbound.received.length).toBe(posts)
        const { headers, body } = outbound.received[posts - 1]?.request ?? {}
        return headers?.["x-twitter-webhooks-signature"] === signature("new secret", String(body))
      })
      .toBe(true)
  })

  test("a link whose secrets cannot be opened is reported, and affects no other", async () => {
    await harness.addLink("1", "100", "https://good.example.com/")
    const unreadable = { signingKeySealed: Buffer.alloc(40), url: "https://bad.example.com/" }
    const more = { createdAtMs: 0, valid: true, checkedAtMs: 0 }
    const webhookId = "200" as WebhookId
    await harness.store.createWebhook({ id: webhookId, appId: app, ...unreadable, ...more }, { webhooksMax: 9 })
    await harness.store.createLink({ id: "200" as LinkId, appId: app, webhookId, createdAtMs: 0, query: "" })
    outbound.respondToAll(() => 200)
    running.start()
    await harness.post("1", "1")
    await eventually(() => harness.deliveredUpTo("100")).toBe(1)
    expect(outbound.received.map(({ request }) => request.url)).toEqual(["https://good.example.com/"])
    expect(events.failures[0]?.where).toBe("webhook link")
  })
})
