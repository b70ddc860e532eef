import { expect, test } from "vitest"
import { app, replayHarness, webhook } from "./replay-harness.testing.ts"

const harness = replayHarness()

test("an invalid webhook receives nothing, and the replay continues when it is valid again", async () => {
  await harness.linkWithPosts(20)
  harness.start()
  await harness.create("9", 0, 20)
  await harness.until(() => harness.outbound.open.length === 8)
  await harness.links.store.invalidateWebhook(webhook, "responded wrongly")
  await harness.clock.advance(1_000)
  for (const one of harness.outbound.open.slice()) one.respond(500)
  await harness.clock.advance(600_000)
  expect(harness.outbound.received).toHaveLength(8)
  harness.outbound.respondToAll(() => 200)
  await harness.links.store.markWebhookValid(webhook, 0)
  await harness.until(harness.isEnded("9"))
  expect(await harness.replay("9")).toMatchObject({ state: "complete", delivered: 20 })
})

test("410 Gone during a replay invalidates the webhook, with the reason", async () => {
  await harness.linkWithPosts(20)
  harness.outbound.respondToAll(() => 410)
  harness.start()
  await harness.create("9", 0, 20)
  await harness.until(async () => (await harness.links.store.webhook(app, webhook))?.valid === false)
  expect(await harness.links.store.webhook(app, webhook)).toMatchObject({
    invalidReason: "responded with 410 Gone",
  })
  const count = harness.outbound.received.length
  await harness.clock.advance(600_000)
  expect(harness.outbound.received).toHaveLength(count)
  expect(harness.events.webhookTurns).toEqual(["100 invalid"])
})

test("410 Gone to the completion event invalidates the webhook, and the event is sent once", async () => {
  await harness.linkWithPosts(3)
  harness.outbound.respondToAll(({ eventId }) => (eventId.startsWith("replay_") ? 410 : 200))
  harness.start()
  await harness.create("9", 0, 3)
  await harness.until(async () => (await harness.links.store.webhook(app, webhook))?.valid === false)
  expect(await harness.links.store.webhook(app, webhook)).toMatchObject({
    invalidReason: "responded with 410 Gone",
  })
  await harness.clock.advance(600_000)
  expect(harness.completions()).toHaveLength(1)
  expect(harness.events.webhookTurns).toEqual(["100 invalid"])
  expect(await harness.replay("9")).toMatchObject({ state: "complete" })
})

test("a replay ends with its link, and leaves no trace", async () => {
  await harness.linkWithPosts(100)
  harness.start()
  await harness.create("9", 0, 100)
  await harness.until(() => harness.outbound.open.length === 8)
  await harness.links.store.deleteLink(app, webhook)
  for (const one of harness.outbound.open.slice()) one.respond(500)
  await harness.clock.advance(100_000)
  expect(harness.outbound.received).toHaveLength(8)
  expect(await harness.replay("9")).toBeUndefined()
  expect(harness.events.failures).toEqual([])
})
