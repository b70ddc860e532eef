import { createHmac } from "node:crypto"
import { expect, test } from "vitest"
import type { LinkId, PostId } from "../../model/ids.ts"
import { signature } from "../../runtime/signatures.ts"
import { harnessConsumerSecret, harnessSigningKey, numbered, withMethods } from "../links/link-harness.testing.ts"
import { createWebhookLinks } from "../links/webhook-links.ts"
import { replayHarness } from "./replay-harness.testing.ts"

const harness = replayHarness()

test("a replay sends its window again, under the ids of the first delivery, and then its completion", async () => {
  await harness.linkWithPosts(50)
  harness.outbound.respondToAll(() => 200)
  harness.start()
  await harness.create("9", 10, 40)
  await harness.until(harness.isEnded("9"))
  await harness.until(() => harness.completions().length === 1)
  expect(harness.sentSeqs().toSorted((a, b) => a - b)).toEqual(numbered(40).slice(10).map(Number))
  expect(await harness.replay("9")).toMatchObject({
    state: "complete",
    position: 40,
    delivered: 30,
    failed: 0,
    endedAtMs: expect.any(Number) as number,
  })
  expect(harness.ended).toEqual([{ state: "complete", delivered: 30, failed: 0 }])
  expect((await harness.links.progress("100"))?.position, "the link's own cursor").toBe(0)

  const { request } = harness.completions()[0] ?? {}
  const body = String(request?.body)
  const headers = request?.headers ?? {}
  expect(JSON.parse(body)).toEqual({
    replay_job_status: {
      webhook_id: "100",
      job_state: "Complete",
      job_state_description: "Job completed successfully",
      job_id: "9",
    },
  })
  const { "webhook-id": eventId, "webhook-timestamp": atS } = headers
  expect(eventId).toBe("replay_9")
  const signed = createHmac("sha256", harnessSigningKey).update(`${eventId}.${atS}.${body}`).digest("base64")
  expect(headers).toMatchObject({
    "content-type": "application/json",
    "x-twitter-webhooks-signature": signature(harnessConsumerSecret, body),
    "webhook-signature": `v1,${signed}`,
  })
})

test("a replay has at most eight matches in flight, and saves no position beyond the finished head", async () => {
  await harness.linkWithPosts(30)
  harness.start()
  await harness.create("9", 0, 30)
  await harness.until(() => harness.outbound.open.length === 8)
  await harness.clock.advance(10_000)
  expect(harness.outbound.open).toHaveLength(8)
  // All but the first: the head cannot move.
  for (const one of harness.outbound.open.slice(1)) one.respond(200)
  await harness.clock.advance(1_000)
  expect(harness.outbound.received).toHaveLength(8)
  expect(await harness.replay("9")).toMatchObject({ position: 0, delivered: 0 })
  harness.outbound.open[0]?.respond(200)
  await harness.until(async () => (await harness.replay("9"))?.position === 8)
  expect(harness.outbound.openMax).toBe(8)
  harness.outbound.respondToAll(() => 200)
  await harness.until(harness.isEnded("9"))
  expect(harness.sentSeqs()).toHaveLength(30)
})

test("a replay tries a match five times, with growing delays; a poison match makes it incomplete and stops no other", async () => {
  await harness.linkWithPosts(20)
  const sentAt: number[] = []
  harness.outbound.respondToAll(({ eventId }) => {
    if (eventId !== "msg_100_7") return 200
    sentAt.push(harness.clock.monotonicMs())
    return 500
  })
  harness.start()
  await harness.create("9", 0, 20)
  await harness.until(harness.isEnded("9"), 100)
  expect(await harness.replay("9")).toMatchObject({
    state: "incomplete",
    position: 20,
    delivered: 19,
    failed: 1,
  })
  expect(harness.sentSeqs().filter((seq) => seq === 7)).toHaveLength(5)
  const waits = sentAt.slice(1).map((atMs, index) => atMs - (sentAt[index] ?? 0))
  for (const [index, waitMs] of waits.entries()) {
    expect(waitMs).toBeGreaterThanOrEqual(500 * 2 ** index)
    expect(waitMs).toBeLessThanOrEqual(1_000 * 2 ** index + 200)
  }
  await harness.until(() => harness.completions().length === 1)
  expect(JSON.parse(String(harness.completions()[0]?.request.body))).toMatchObject({
    replay_job_status: {
      job_state: "Incomplete",
      job_state_description: "Job failed to deliver all events, please retry your replay job",
    },
  })
})

test("a replay waits as long as Retry-After requests, at most half a minute", async () => {
  await harness.linkWithPosts(1)
  harness.outbound.respondToAll(() => ({ status: 503, retryAfter: "86400" }))
  harness.start()
  await harness.create("9", 0, 1)
  await harness.until(() => harness.outbound.received.length === 1)
  await harness.clock.advance(29_000)
  expect(harness.outbound.received).toHaveLength(1)
  harness.outbound.respondToAll(() => 200)
  await harness.clock.advance(1_500)
  await harness.until(harness.isEnded("9"))
  expect(harness.sentSeqs()).toEqual([1, 1])
})

test("a 429 with Retry-After pauses the whole replay, and not only its match", async () => {
  await harness.linkWithPosts(20)
  harness.outbound.respondToAll(({ eventId }) => (eventId === "msg_100_1" ? { status: 429, retryAfter: "20" } : 200))
  harness.start(harness.links.store, { deliveriesPerLinkPerSecondMax: 1 })
  await harness.create("9", 0, 20)
  await harness.until(() => harness.outbound.received.length === 1)
  await harness.clock.advance(19_000)
  expect(harness.sentSeqs()).toEqual([1])
  harness.outbound.respondToAll(() => 200)
  await harness.until(harness.isEnded("9"))
  expect(await harness.replay("9")).toMatchObject({ state: "complete", delivered: 20 })
})

test("the end of a replay is sent when the pause that the endpoint asked for is over", async () => {
  await harness.linkWithPosts(1)
  harness.outbound.respondToAll(() => ({ status: 429, retryAfter: "20" }))
  harness.start()
  await harness.create("9", 0, 1)
  await harness.until(() => harness.sentSeqs().length === 5)
  await harness.clock.advance(19_000)
  expect(harness.completions()).toEqual([])
  harness.outbound.respondToAll(() => 200)
  await harness.until(() => harness.completions().length === 1)
  expect(await harness.replay("9")).toMatchObject({ state: "incomplete", failed: 1 })
})

test("a replay ends early when the endpoint accepts nothing, and reports its end as soon as it can", async () => {
  await harness.linkWithPosts(1_000)
  harness.outbound.respondToAll(() => ({ failure: "connect" }))
  harness.start()
  await harness.create("9", 0, 1_000)
  await harness.until(harness.isEnded("9"))
  expect(await harness.replay("9")).toMatchObject({
    state: "incomplete",
    position: 1_000,
    delivered: 0,
    failed: 1_000,
  })
  expect(new Set(harness.sentSeqs()).size).toBeLessThan(16)
  await harness.until(() => harness.completions().length === 3)
  harness.outbound.respondToAll(() => 200)
  await harness.until(() => harness.completions().length === 4)
  await harness.clock.advance(100_000)
  expect(harness.completions(), "sent until it was delivered").toHaveLength(4)
})

test("damaged matches do not end a replay early, since they are not the endpoint's fault", async () => {
  await harness.linkWithPosts(60)
  harness.outbound.respondToAll(() => 200)
  harness.start(harness.damagedWhere((seq) => seq > 10 && seq <= 30))
  await harness.create("9", 0, 60)
  await harness.until(harness.isEnded("9"))
  expect(await harness.replay("9")).toMatchObject({
    state: "incomplete",
    position: 60,
    delivered: 40,
    failed: 20,
  })
})

test("a replay ends early when the endpoint accepts nothing, with damaged matches in between", async () => {
  await harness.linkWithPosts(200)
  harness.outbound.respondToAll(() => 500)
  harness.start(harness.damagedWhere((seq) => seq % 4 === 0))
  await harness.create("9", 0, 200)
  await harness.until(harness.isEnded("9"))
  expect(await harness.replay("9")).toMatchObject({ state: "incomplete", delivered: 0, failed: 200 })
  expect(new Set(harness.sentSeqs()).size).toBeLessThan(16)
})

test("a replay does not count attempts that fail on this machine", async () => {
  await harness.linkWithPosts(1)
  harness.outbound.respondToAll(() => ({ failure: "local_error" }))
  harness.start()
  await harness.create("9", 0, 1)
  await harness.until(() => harness.outbound.received.length > 20)
  expect(await harness.isEnded("9")()).toBe(false)
  harness.outbound.respondToAll(() => 200)
  await harness.until(harness.isEnded("9"))
  expect(await harness.replay("9")).toMatchObject({ state: "complete", delivered: 1 })
})

test("a replay counts matches that retention deleted, within and at its end, and damaged ones, as failed", async () => {
  await harness.linkWithPosts(30)
  harness.outbound.respondToAll(() => 200)
  const holed = withMethods(harness.links.store, {
    matches: async (range) => {
      const entries = await harness.links.store.matches(range)
      return entries
        .filter(({ seq }) => seq !== 5 && seq !== 6 && seq <= 28)
        .map((entry) => {
          if (entry.seq !== 9) return entry
          const { postJson: _, ...damaged } = entry
          return damaged
        })
    },
  })
  harness.start(holed)
  await harness.create("9", 0, 30)
  await harness.until(harness.isEnded("9"))
  // 5 and 6 within, 29 and 30 at the end, 9 damaged.
  expect(await harness.replay("9")).toMatchObject({
    state: "incomplete",
    position: 30,
    delivered: 25,
    failed: 5,
  })
  expect(harness.sentSeqs()).not.toContain(9)
  expect(harness.events.outcomes).toContain("damaged")
})

test("a replay of an empty window is complete at once", async () => {
  await harness.linkWithPosts(3)
  harness.outbound.respondToAll(() => 200)
  harness.start()
  await harness.create("9", 3, 3)
  await harness.until(harness.isEnded("9"))
  await harness.until(() => harness.completions().length === 1)
  expect(await harness.replay("9")).toMatchObject({ state: "complete", delivered: 0, failed: 0 })
  expect(harness.sentSeqs()).toEqual([])
})

test("a replay keeps the limit on sends per second", async () => {
  await harness.linkWithPosts(30)
  const sentAt: number[] = []
  harness.outbound.respondToAll(() => {
    sentAt.push(harness.clock.monotonicMs())
    return 200
  })
  harness.start(harness.links.store, { deliveriesPerLinkPerSecondMax: 10 })
  await harness.create("9", 0, 30)
  await harness.until(harness.isEnded("9"), 50)
  const matches = sentAt.slice(0, 30)
  for (const atMs of matches) {
    expect(matches.filter((other) => other >= atMs && other < atMs + 1_000).length).toBeLessThanOrEqual(10)
  }
})

test("a second replay may begin when the completion of the first one is sent", async () => {
  await harness.linkWithPosts(5)
  let second: string | undefined
  harness.outbound.respondToAll(({ eventId }) => {
    // In the handler of the event, before it responds.
    if (eventId === "replay_9") void harness.create("10", 0, 5).then(() => (second = "created"))
    return 200
  })
  harness.start()
  await harness.create("9", 0, 5)
  await harness.until(() => harness.completions().length === 2)
  expect(second).toBe("created")
  expect(await harness.replay("10")).toMatchObject({ state: "complete", delivered: 5 })
})

test("live deliveries on the same link continue as if there were no replay", async () => {
  await harness.linkWithPosts(40)
  const live = createWebhookLinks({
    ...harness.depsOver(harness.links.store),
    concurrencyPerLink: 4,
    deliveryAttemptsMax: 10,
    retryBaseMs: 1_000,
    retryMaxMs: 10_000,
  })
  // The replay's deliveries of the first 40 hang; those of the link get responses.
  harness.run(live)
  harness.outbound.respondToAll(() => 200)
  await harness.until(async () => (await harness.links.progress("100"))?.position === 40)
  harness.outbound.respondToAll(() => undefined)
  harness.start()
  await harness.create("9", 0, 40)
  await harness.until(() => harness.outbound.open.length === 8)
  await harness.links.post("1", ...Array.from({ length: 20 }, (_, index) => String(1_000 + index)))
  harness.outbound.respondToAll(({ postId }) => (Number(postId) >= 1_000 ? 200 : undefined))
  await harness.until(async () => (await harness.links.progress("100"))?.position === 60)
  expect(harness.outbound.open).toHaveLength(8)
  expect((await harness.links.store.linkTally("100" as LinkId))?.delivered).toBe(60)
  harness.outbound.respondToAll(() => 200)
  await harness.until(harness.isEnded("9"))
  expect(await harness.replay("9")).toMatchObject({ state: "complete", delivered: 40 })
  const perPost = Map.groupBy(harness.sentSeqs(), (seq) => seq)
  for (const [seq, sends] of perPost) expect(sends, String(seq)).toHaveLength(seq <= 40 ? 2 : 1)
})

test("attempts of a replay are in the history of its link", async () => {
  await harness.linkWithPosts(3)
  harness.outbound.respondToAll(() => 200)
  harness.start()
  await harness.create("9", 0, 3)
  await harness.until(harness.isEnded("9"))
  const attempts = () => harness.links.store.attempts("100" as LinkId, 10)
  await harness.until(async () => (await attempts()).length === 3)
  expect((await attempts()).map(({ seq, outcome }) => [seq, outcome])).toEqual([
    [3, "delivered"],
    [2, "delivered"],
    [1, "delivered"],
  ])
})

test("a replay sends nothing of a post that is deleted while its match waits, or is tried again", async () => {
  await harness.linkWithPosts(12)
  harness.start()
  await harness.create("9", 0, 12)
  await harness.until(() => harness.outbound.open.length === 8)
  // The first is in flight and fails, the last has been read and waits for a slot.
  await harness.links.store.delete(
    ["1", "12"].map((id) => ({ kind: "post", id: id as PostId }) as const),
    5,
  )
  await harness.clock.advance(1_000)
  const sent = harness.outbound.received.length
  for (const [index, one] of harness.outbound.open.entries()) one.respond(index === 0 ? 500 : 200)
  harness.outbound.respondToAll(() => 200)
  await harness.until(harness.isEnded("9"))
  expect(sent).toBe(8)
  expect(harness.sentSeqs().toSorted((a, b) => a - b)).toEqual(numbered(11).map(Number))
  expect(await harness.replay("9")).toMatchObject({ position: 12, delivered: 10 })
})
