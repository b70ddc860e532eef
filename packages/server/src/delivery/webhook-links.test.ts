import { createHmac } from "node:crypto"
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders } from "node:http"
import { signature } from "@sluice/api"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { AppId, LinkId, WebhookId } from "../model/ids.ts"
import { systemClock, type Clock } from "../runtime/clock.ts"
import { portOf } from "../runtime/endpoint-cases.testing.ts"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import { createOutbound } from "../runtime/outbound.ts"
import type { Store } from "../store/store.ts"
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

describe("over HTTP", () => {
  test("every match after the link arrives, once, signed, in the fields that were asked for", async () => {
    const arrived: { headers: IncomingHttpHeaders; body: string; url: string | undefined }[] = []
    const server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        arrived.push({ headers: request.headers, body: Buffer.concat(chunks).toString(), url: request.url })
        response.writeHead(204).end()
      })
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    const query = "expansions=author_id&user.fields=username&tweet.fields=lang"
    await harness.post("1", "10")
    await harness.addLink("1", "100", `http://127.0.0.1:${portOf(server)}/hook?a=b`, query)
    const real = createOutbound({ allowPrivate: true })
    const { links, stop } = running.start({ outbound: real })
    await harness.post("1", "11", "12", "13")
    await eventually(() => arrived.length).toBe(3)
    await stop()
    await real.close()
    server.close()

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

describe("what fails", () => {
  test.each([500, 404, 301])(
    "with %i is sent again, the same bytes under the same id, until it is 2xx",
    async (status) => {
      const clock = createManualClock()
      await harness.addLink("1", "100", url)
      await harness.post("1", "1")
      running.start({ clock })
      await eventually(() => outbound.open.length).toBe(1)
      const waits: number[] = []
      for (let attempt = 1; attempt <= 9; attempt++) {
        const beforeMs = clock.nowMs()
        outbound.open[0]?.answer(status)
        while (outbound.open.length === 0) await clock.advance(500)
        waits.push(clock.nowMs() - beforeMs)
      }
      expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
      outbound.open[0]?.answer(200)
      await eventually(() => harness.deliveredUpTo("100")).toBe(1)
      const sent = outbound.received.map(({ request }) => [
        request.headers?.["webhook-id"],
        String(request.body),
      ])
      expect(new Set(sent.map(String)).size).toBe(1)
      const timestamps = outbound.received.map(({ request }) => request.headers?.["webhook-timestamp"])
      expect(new Set(timestamps).size).toBe(10)
      expect(outbound.received).toHaveLength(10)
    },
  )

  test("holds up no other: the cursor goes on, and the position that is shown does not", async () => {
    await harness.addLink("1", "100", url)
    outbound.answerAll(({ postId }) => (postId === "2" ? 500 : 200))
    const { links } = running.start({ retryBaseMs: 50 })
    await harness.post("1", ...numbered(200))
    await eventually(() => new Set(running.receivedIds()).size).toBe(200)
    await eventually(() => harness.progress("100")).toMatchObject({ position: 200, retries: [{ seq: 2 }] })
    const [state] = await links.states()
    expect(state).toMatchObject({ position: 1, head: 200, lag: 199, delivered: 199 })
    expect(state?.oldest_undelivered_at).toBe("2026-01-01T00:00:00.000Z")
    expect(state?.next_attempt_at).toBeDefined()
    outbound.answerAll(() => 200)
    await eventually(() => harness.progress("100")).toEqual({ position: 200, retries: [] })
    expect(running.receivedIds().filter((id) => id !== "2")).toHaveLength(199)
  })

  test("or does not end holds up no other, and is a retry that is due at once", async () => {
    await harness.addLink("1", "100", url)
    outbound.answerAll(({ postId }) => (postId === "3" ? undefined : 200))
    const { links } = running.start({ concurrency: 8 })
    await harness.post("1", ...numbered(1_500))
    await eventually(() => harness.progress("100")).toEqual({
      position: 1_500,
      retries: [{ seq: 3, failures: 0, dueAtMs: 0 }],
    })
    expect(await links.states()).toMatchObject([{ position: 2, in_flight: 1 }])
    outbound.open[0]?.answer(200)
    await eventually(() => harness.progress("100")).toEqual({ position: 1_500, retries: [] })
    expect(outbound.received).toHaveLength(1_500)
  })

  test("stops its link at 1,000 entries, and no more are read into memory", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    outbound.answerAll(({ postId }) => (Number(postId) % 2 === 1 ? 500 : 200))
    running.start({ concurrency: 8, clock, retryBaseMs: 60_000 })
    await harness.post("1", ...numbered(2_500))
    await eventually(() => outbound.received.length).toBe(1_999)
    await breathe()
    expect(outbound.received).toHaveLength(1_999)
    expect((await harness.progress("100"))?.retries).toHaveLength(1_000)
    outbound.answerAll(() => 200)
    await clock.advance(60_000)
    await eventually(() => harness.progress("100")).toEqual({ position: 2_500, retries: [] })
    expect(outbound.received).toHaveLength(3_500)
  })

  test("in order when only one may be sent at a time", async () => {
    await harness.addLink("1", "100", url)
    const failed = new Set<string>()
    outbound.answerAll(({ postId }) => {
      const isFirst = !failed.has(postId)
      failed.add(postId)
      return isFirst && Number(postId) % 3 === 0 ? 503 : 200
    })
    running.start({ concurrency: 1, retryBaseMs: 2 })
    await harness.post("1", ...numbered(20))
    await eventually(() => harness.deliveredUpTo("100")).toBe(20)
    expect(running.receivedIds()).toEqual(
      numbered(20).flatMap((id) => (Number(id) % 3 === 0 ? [id, id] : [id])),
    )
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

  test("of an invalid webhook reads nothing, after a start too", async () => {
    const webhookId = "100" as WebhookId
    await harness.addLink("1", "100", url)
    await harness.store.setWebhookValid(webhookId, { valid: false, reason: "answered late" }, 1)
    await harness.post("1", ...numbered(300))
    const { store, limits } = countingReads()
    running.start({ store })
    await breathe()
    await harness.post("1", "301")
    await breathe()
    expect(limits).toEqual([])
    outbound.answerAll(() => 200)
    await harness.store.setWebhookValid(webhookId, { valid: true }, 2)
    await eventually(() => harness.deliveredUpTo("100")).toBe(301)
    expect(running.receivedIds()).toEqual(numbered(301))
  })

  test("whose webhook turns invalid lets go what it has read, and reads it again", async () => {
    const webhookId = "100" as WebhookId
    await harness.addLink("1", "100", url)
    const { store, places } = countingReads()
    running.start({ store, concurrency: 2 })
    await harness.post("1", ...numbered(50))
    await eventually(() => outbound.open.length).toBe(2)
    await harness.store.setWebhookValid(webhookId, { valid: false, reason: "answered late" }, 1)
    await breathe()
    outbound.answerAll(() => 200)
    await breathe()
    expect(places).toEqual([0, 0])
    await harness.store.setWebhookValid(webhookId, { valid: true }, 2)
    await eventually(() => harness.deliveredUpTo("100")).toBe(50)
    expect(places.slice(0, 3)).toEqual([0, 0, 2])
    expect(running.receivedIds()).toEqual(numbered(50))
  })

  test("to a dead endpoint reads one entry at a time, and after a start tries one", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    outbound.answerAll(() => 503)
    const { stop } = running.start({ clock, concurrency: 4 })
    await harness.post("1", ...numbered(300))
    await eventually(() => events.turns).toEqual(["100 down"])
    await stop()
    const { store, limits } = countingReads()
    running.start({ store, clock, concurrency: 4 })
    await eventually(() => limits.length).toBeGreaterThan(0)
    outbound.answerAll(() => undefined)
    await clock.advance(60_000)
    expect(outbound.open).toHaveLength(1)
    outbound.answerAll(() => 503)
    await clock.advance(60_000)
    expect(new Set(limits)).toEqual(new Set([1]))
    outbound.answerAll(() => 200)
    await clock.advance(60_000)
    await eventually(() => harness.progress("100")).toEqual({ position: 300, retries: [] })
  })

  test("that lets go what it had read, for it gets nothing through, reads it again", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    let isUp = true
    outbound.answerAll(() => (isUp ? 200 : 503))
    running.start({ clock, concurrency: 2 })
    await harness.post("1", ...numbered(250))
    for (let turn = 0; turn < 200 && (await harness.deliveredUpTo("100")) !== 250; turn++) {
      isUp = !isUp
      await clock.advance(700)
    }
    await eventually(() => harness.progress("100")).toEqual({ position: 250, retries: [] })
    expect(new Set(running.receivedIds()).size).toBe(250)
  })

  test("keeps what it knows of its endpoint when its run fails and is begun again", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    let isFailing = false
    const matches: Store["matches"] = (range) =>
      isFailing ? Promise.reject(new Error("disk full")) : harness.store.matches(range)
    outbound.answerAll(() => ({ status: 503, retryAfter: "60" }))
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
    outbound.answerAll(() => 200)
    await clock.advance(1_000)
    await eventually(() => harness.progress("100")).toEqual({ position: 2, retries: [] })
  })

  test("has no more deliveries under way than it may", async () => {
    await harness.addLink("1", "100", url)
    running.start({ concurrency: 3 })
    await harness.post("1", ...numbered(30))
    await eventually(() => outbound.open.length).toBe(3)
    await breathe()
    expect(outbound.received).toHaveLength(3)
    while (outbound.received.length < 30 || outbound.open.length > 0) {
      outbound.open.at(-1)?.answer(200)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(outbound.openMax).toBe(3)
    expect(running.receivedIds().toSorted((a, b) => Number(a) - Number(b))).toEqual(numbered(30))
    await eventually(() => harness.deliveredUpTo("100")).toBe(30)
  })

  test("moves its cursor over what is under way only as a retry", async () => {
    await harness.addLink("1", "100", url)
    running.start({ concurrency: 8 })
    await harness.post("1", ...numbered(5))
    await eventually(() => outbound.open.length).toBe(5)
    const deliver = (id: string): void => outbound.open.find((one) => one.postId === id)?.answer(200)
    const underWay = (seq: number) => ({ seq, failures: 0, dueAtMs: 0 })
    deliver("2")
    deliver("3")
    await eventually(() => harness.progress("100")).toEqual({ position: 3, retries: [underWay(1)] })
    deliver("5")
    await eventually(() => harness.progress("100")).toEqual({
      position: 5,
      retries: [underWay(1), underWay(4)],
    })
    deliver("1")
    await eventually(() => harness.progress("100")).toEqual({ position: 5, retries: [underWay(4)] })
    deliver("4")
    await eventually(() => harness.progress("100")).toEqual({ position: 5, retries: [] })
    expect(outbound.received).toHaveLength(5)
  })

  test("has no more deliveries unsaved than it may have under way", async () => {
    await harness.addLink("1", "100", url)
    const saves = Promise.withResolvers<void>()
    const saveProgress: Store["saveProgress"] = async (progress) => {
      await saves.promise
      await harness.store.saveProgress(progress)
    }
    outbound.answerAll(({ postId }) => (postId === "2" ? 500 : 200))
    running.start({ concurrency: 3, store: withMethods(harness.store, { saveProgress }), retryBaseMs: 1 })
    await harness.post("1", ...numbered(10))
    await eventually(() => outbound.received.length).toBe(3)
    await breathe()
    expect(running.receivedIds()).toEqual(["1", "2", "3"])
    outbound.answerAll(() => 200)
    saves.resolve()
    await eventually(() => harness.progress("100")).toEqual({ position: 10, retries: [] })
    expect(outbound.received).toHaveLength(11)
  })

  test("whose progress cannot be saved tries again, and loses and repeats nothing", async () => {
    await harness.addLink("1", "100", url)
    let failures = 3
    const saveProgress: Store["saveProgress"] = async (progress) => {
      failures -= 1
      if (failures >= 0) throw new Error("disk full")
      await harness.store.saveProgress(progress)
    }
    outbound.answerAll(() => 200)
    const store = withMethods(harness.store, { saveProgress })
    running.start({ concurrency: 2, store, clock: hurried(systemClock) })
    await harness.post("1", ...numbered(10))
    await eventually(() => harness.progress("100")).toEqual({ position: 10, retries: [] })
    expect(running.receivedIds()).toEqual(numbered(10))
    expect(events.failures.map(({ where }) => where)).toEqual(Array(3).fill("progress saves"))
  })

  test("to a dead endpoint tries what failed, one at a time, and sends all when it is back", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    outbound.answerAll(() => 503)
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

    outbound.answerAll(() => undefined)
    const before = outbound.received.length
    await clock.advance(60_000)
    expect(outbound.open).toHaveLength(1)
    outbound.answerAll(() => 200)
    await eventually(() => links.states().then(([state]) => state?.position)).toBe(300)
    expect(outbound.received.length - before).toBe(300)
    expect((await links.states())[0]).not.toHaveProperty("failing_since")
  })

  test("to an endpoint that is back sends at once what failed, whenever that would have been due", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    running.start({ concurrency: 2, clock })
    await harness.post("1", "1", "2")
    await eventually(() => outbound.open.length).toBe(2)
    outbound.open[0]?.fail()
    await clock.advance(900)
    outbound.open[0]?.fail()
    await clock.advance(100)
    expect(outbound.open.map((one) => one.postId)).toEqual(["1"])
    outbound.open[0]?.answer(200)
    await eventually(() => outbound.open.map((one) => one.postId)).toEqual(["2"])
  })

  test("holds no more than 16 MiB of bodies, however many may be under way", async () => {
    await harness.addLink("1", "100", url)
    running.start({ concurrency: 64 })
    for (const id of numbered(20)) await harness.postLarge("1", id, 1_048_576)
    await eventually(() => outbound.open.length).toBe(16)
    await breathe()
    expect(outbound.open).toHaveLength(16)
    outbound.open.at(-1)?.answer(200)
    await eventually(() => outbound.open.length).toBe(16)
    outbound.answerAll(() => 200)
    await eventually(() => harness.deliveredUpTo("100")).toBe(20)
  })

  test("of an invalid webhook sends nothing, and everything held when it is valid again", async () => {
    const webhookId = "100" as WebhookId
    await harness.addLink("1", "100", url)
    running.start({ concurrency: 2, retryBaseMs: 5 })
    await harness.post("1", "1", "2", "3")
    await eventually(() => outbound.open.length).toBe(2)
    await harness.store.setWebhookValid(webhookId, { valid: false, reason: "answered late" }, 1)
    await breathe()
    outbound.open.find((one) => one.postId === "1")?.answer(500)
    outbound.open.find((one) => one.postId === "2")?.answer(200)
    await harness.post("1", "4", "5")
    await breathe()
    expect(running.receivedIds()).toEqual(["1", "2"])
    expect(await harness.deliveredUpTo("100")).toBe(0)
    outbound.answerAll(() => 200)
    await harness.store.setWebhookValid(webhookId, { valid: true }, 2)
    await eventually(() => harness.deliveredUpTo("100")).toBe(5)
    expect(running.receivedIds().toSorted()).toEqual(["1", "1", "2", "3", "4", "5"])
  })

  test("that is made while the server runs is followed, and one that is removed is not", async () => {
    outbound.answerAll(() => 200)
    const { links } = running.start()
    await harness.addLink("1", "100", url)
    await harness.post("1", "1")
    await eventually(() => harness.deliveredUpTo("100")).toBe(1)
    await harness.store.deleteLink(app, "100" as WebhookId)
    await eventually(() => links.states()).toEqual([])
    await breathe()
    await harness.post("1", "2")
    await breathe()
    expect(running.receivedIds()).toEqual(["1"])
  })

  test("is found by looking, too, when no hint comes", async () => {
    const clock = createManualClock()
    const silent = withMethods(harness.store, { onChange: () => () => undefined })
    outbound.answerAll(() => 200)
    running.start({ clock, store: silent })
    await eventually(() => clock.sleepers).toBeGreaterThan(0)
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

  test("sees only the matches of its own app", async () => {
    await harness.addApp("2")
    await harness.addLink("1", "100", "https://one.example.com/")
    await harness.addLink("2", "200", "https://two.example.com/")
    outbound.answerAll(() => 200)
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

  test("signs with the app's new secret after a rotation", async () => {
    await harness.addLink("1", "100", url)
    outbound.answerAll(() => 200)
    running.start()
    const stored = await harness.store.app(app)
    if (stored === undefined) throw new Error("expected an app")
    await harness.store.rotateApp(
      { ...stored, consumerSecretSealed: harnessSecretBox.seal("new secret") },
      [],
    )
    await breathe()
    await harness.post("1", "1")
    await eventually(() => outbound.received.length).toBe(1)
    const { headers, body } = outbound.received[0]?.request ?? {}
    expect(headers?.["x-twitter-webhooks-signature"]).toBe(signature("new secret", String(body)))
  })

  test("whose secrets cannot be opened says so and hurts no other", async () => {
    await harness.addLink("1", "100", "https://good.example.com/")
    const unreadable = { signingKeySealed: Buffer.alloc(40), url: "https://bad.example.com/" }
    const more = { createdAtMs: 0, valid: true, checkedAtMs: 0 }
    const webhookId = "200" as WebhookId
    await harness.store.createWebhook(
      { id: webhookId, appId: app, ...unreadable, ...more },
      { webhooksMax: 9 },
    )
    await harness.store.createLink({ id: "200" as LinkId, appId: app, webhookId, createdAtMs: 0, query: "" })
    outbound.answerAll(() => 200)
    running.start()
    await harness.post("1", "1")
    await eventually(() => harness.deliveredUpTo("100")).toBe(1)
    expect(outbound.received.map(({ request }) => request.url)).toEqual(["https://good.example.com/"])
    expect(events.failures[0]?.where).toBe("webhook link")
  })
})

describe("stopping", () => {
  test("waits for what is under way, starts nothing more, and saves the cursor", async () => {
    await harness.addLink("1", "100", url)
    const { stop } = running.start({ concurrency: 2 })
    await harness.post("1", ...numbered(10))
    await eventually(() => outbound.open.length).toBe(2)
    let isStopped = false
    const stopped = stop().then(() => (isStopped = true))
    await breathe()
    expect(isStopped).toBe(false)
    for (const one of outbound.open.slice()) one.answer(200)
    await stopped
    expect(running.receivedIds()).toEqual(["1", "2"])
    expect(await harness.deliveredUpTo("100")).toBe(2)
    outbound.answerAll(() => 200)
    running.start()
    await eventually(() => harness.deliveredUpTo("100")).toBe(10)
    expect(running.receivedIds()).toEqual(numbered(10))
  })

  test("gives up what does not end, and the next start sends it again under the same id", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    const { stop } = running.start({ clock })
    await harness.post("1", "1", "2")
    await eventually(() => outbound.open.length).toBe(2)
    outbound.open[0]?.answer(200)
    const stopped = stop()
    await breathe()
    await clock.advance(8_000)
    await stopped
    expect(await harness.deliveredUpTo("100")).toBe(1)
    running.start()
    await eventually(() => outbound.received.map((one) => one.eventId)).toEqual([
      "msg_100_1",
      "msg_100_2",
      "msg_100_2",
    ])
  })

  test("does not wait for a store that hangs", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    const saveProgress: Store["saveProgress"] = () => new Promise(() => undefined)
    outbound.answerAll(() => 200)
    const { stop } = running.start({ clock, store: withMethods(harness.store, { saveProgress }) })
    await harness.post("1", "1")
    await eventually(() => outbound.received.length).toBe(1)
    const stopped = stop()
    await breathe()
    await clock.advance(8_000)
    await clock.advance(1_000)
    await clock.advance(1_000)
    await expect(stopped).resolves.toBeUndefined()
  })

  test("does not wait for retries", async () => {
    await harness.addLink("1", "100", url)
    outbound.answerAll(() => 500)
    const { stop } = running.start({ retryBaseMs: 60_000 })
    await harness.post("1", "1")
    await eventually(() => events.outcomes).toEqual(["failed"])
    await stop()
    expect(await harness.progress("100")).toMatchObject({ position: 1, retries: [{ seq: 1, failures: 1 }] })
  })
})

describe("the next start", () => {
  /** Sends "1" to "4", of which "2" fails, and stops. */
  async function stopAfterFailure(clock: Clock): Promise<void> {
    await harness.addLink("1", "100", url)
    outbound.answerAll(({ postId }) => (postId === "2" ? 503 : 200))
    const { stop } = running.start({ clock, retryBaseMs: 10_000 })
    await harness.post("1", "1", "2", "3", "4")
    await eventually(() => events.outcomes.length).toBe(4)
    await stop()
  }

  /** Ids and bytes that were sent of post "2". */
  const sentOfSecond = (): string[] =>
    outbound.received
      .filter(({ postId }) => postId === "2")
      .map(({ eventId, request }) => `${eventId} ${String(request.body)}`)

  test("tries what had failed again when it is due, as the same event, and waits twice as long after that", async () => {
    const clock = createManualClock()
    await stopAfterFailure(clock)
    await clock.advance(4_000)
    const { links } = running.start({ clock, retryBaseMs: 10_000 })
    await eventually(() => links.states()).toMatchObject([{ position: 1, lag: 3 }])
    await eventually(() => links.states().then(([state]) => state?.next_attempt_at)).toBe(
      new Date(clock.nowMs() + 6_000).toISOString(),
    )
    await clock.advance(5_999)
    expect(sentOfSecond()).toHaveLength(1)
    await clock.advance(1)
    await eventually(sentOfSecond).toHaveLength(2)
    outbound.answerAll(() => 200)
    await eventually(() => events.outcomes.length).toBe(5)
    await clock.advance(19_999)
    expect(sentOfSecond()).toHaveLength(2)
    await clock.advance(1)
    await eventually(() => harness.progress("100")).toEqual({ position: 4, retries: [] })
    expect(sentOfSecond()).toHaveLength(3)
    expect(new Set(sentOfSecond()).size).toBe(1)
    expect(running.receivedIds().filter((id) => id !== "2")).toEqual(["1", "3", "4"])
  })

  test.each([
    ["back", -86_400_000, 60_000],
    ["forward", 86_400_000, 0],
  ])("waits no longer than any retry does when the clock has stepped %s", async (_, stepMs, waitMs) => {
    const clock = createManualClock()
    await stopAfterFailure(clock)
    const stepped = createManualClock(clock.nowMs() + stepMs)
    outbound.answerAll(() => 200)
    const { links } = running.start({ clock: stepped })
    await eventually(() => links.states()).toMatchObject([{ delivered: waitMs === 0 ? 1 : 0 }])
    await eventually(() => stepped.sleepers).toBeGreaterThan(2)
    await stepped.advance(waitMs - 1)
    expect(sentOfSecond()).toHaveLength(waitMs === 0 ? 2 : 1)
    await stepped.advance(1)
    await eventually(() => harness.progress("100")).toEqual({ position: 4, retries: [] })
  })

  test("tries each retry at its own time, though another is due at once", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    const { stop } = running.start({ clock, retryBaseMs: 10_000 })
    await harness.post("1", "1", "2")
    await eventually(() => outbound.open.length).toBe(2)
    outbound.open[0]?.answer(503)
    await eventually(() => events.outcomes.length).toBe(1)
    await clock.advance(5_000)
    outbound.open[0]?.answer(503)
    await stop()
    await clock.advance(5_000)
    outbound.answerAll(() => 200)
    running.start({ clock })
    await eventually(() => running.receivedIds()).toEqual(["1", "2", "1"])
    await clock.advance(4_999)
    expect(running.receivedIds()).toEqual(["1", "2", "1"])
    await clock.advance(1)
    await eventually(() => harness.progress("100")).toEqual({ position: 2, retries: [] })
  })

  test("sends what was under way again, at once, and nothing that was delivered around it", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    outbound.answerAll(({ postId }) => (postId === "2" ? undefined : 200))
    const { stop } = running.start({ clock })
    await harness.post("1", "1", "2", "3", "4")
    await eventually(() => outbound.received.length).toBe(4)
    const stopped = stop()
    await breathe()
    await clock.advance(8_000)
    await stopped
    running.start({ clock })
    await eventually(sentOfSecond).toHaveLength(2)
    expect(running.receivedIds()).toEqual(["1", "2", "3", "4", "2"])
    expect(new Set(sentOfSecond()).size).toBe(1)
  })

  test("keeps the order when only one may be sent at a time", async () => {
    const clock = createManualClock()
    await harness.addLink("1", "100", url)
    outbound.answerAll(() => 503)
    const { stop } = running.start({ clock, concurrency: 1 })
    await harness.post("1", "1", "2", "3")
    await eventually(() => events.outcomes.length).toBe(1)
    await stop()
    outbound.answerAll(() => 200)
    running.start({ clock, concurrency: 1 })
    await eventually(() => clock.sleepers).toBeGreaterThan(0)
    await clock.advance(999)
    expect(running.receivedIds()).toEqual(["1"])
    await clock.advance(1)
    await eventually(() => harness.progress("100")).toEqual({ position: 3, retries: [] })
    expect(running.receivedIds()).toEqual(["1", "1", "2", "3"])
  })

  test("shows the position before its oldest retry, also while it does not run", async () => {
    await stopAfterFailure(createManualClock())
    const links = running.create()
    expect(await links.states()).toMatchObject([{ position: 1, head: 4, lag: 3, in_flight: 0 }])
  })
})

test("saves of progress are joined, one at a time", async () => {
  let saves = 0
  let underWay = 0
  const saveProgress: Store["saveProgress"] = async (progress) => {
    underWay += 1
    saves += 1
    expect(underWay).toBe(1)
    await harness.store.saveProgress(progress)
    await new Promise((resolve) => setTimeout(resolve, 5))
    underWay -= 1
  }
  const counting = withMethods(harness.store, { saveProgress })
  for (const id of ["100", "101", "102"]) await harness.addLink("1", id, `https://example.com/${id}`)
  outbound.answerAll(() => 200)
  const { stop } = running.start({ store: counting, concurrency: 32 })
  await harness.post("1", ...numbered(500))
  await eventually(() => outbound.received.length).toBe(1_500)
  await stop()
  expect(saves).toBeLessThan(100)
  for (const id of ["100", "101", "102"]) expect(await harness.deliveredUpTo(id)).toBe(500)
})
