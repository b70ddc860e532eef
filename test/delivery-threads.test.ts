/** A server with delivery threads, over HTTP: it behaves as one whose main thread delivers. */
import { setTimeout as sleep } from "node:timers/promises"
import { paths, type LinkDetail } from "@sluice/api"
import { expect, onTestFinished, test } from "vitest"
import { envelope, startTestServer, type TestServer } from "./support/test-server.testing.ts"
import { WebhookReceiver } from "./support/webhook-receiver.testing.ts"

const links = 5

/** A server with delivery threads, a rule `cat` and links to endpoints of one receiver. */
async function started(flags: Readonly<Record<string, string>> = {}) {
  const server = await startTestServer({ "delivery-threads": "2", "intake-threads": "1", search: "off", ...flags })
  onTestFinished(() => server[Symbol.asyncDispose]())
  const receiver = await WebhookReceiver.start(server.app.consumer_secret)
  onTestFinished(() => receiver[Symbol.asyncDispose]())
  await server.send("POST", paths.rules, { add: [{ value: "cat" }] })
  return { server, receiver }
}

/** Registers a webhook at an endpoint of the receiver and links it; returns its id. */
async function link(server: TestServer, receiver: WebhookReceiver, name: string): Promise<string> {
  const { body } = await server.send("POST", paths.webhooks, { url: `${receiver.url}/${name}` })
  const { id } = body.data as { id: string }
  await server.send("POST", paths.link.replace(":webhook_id", id))
  return id
}

async function statesOf(server: TestServer): Promise<readonly LinkDetail[]> {
  return (await server.call(paths.linkDetails)).body.data
}

async function stateOf(server: TestServer, webhook: string): Promise<LinkDetail | undefined> {
  return (await statesOf(server)).find(({ webhook_id: id }) => id === webhook)
}

test("every match reaches every link once, and states and metrics include all threads", async () => {
  const { server, receiver } = await started()
  for (let count = 0; count < links; count += 1) await link(server, receiver, String(count))
  const ids = Array.from({ length: 200 }, (_, index) => index + 1)
  await server.ingest(...ids.map((id) => envelope(id, "a cat")))
  await receiver.arrived(links * ids.length)
  expect(receiver.eventIds.size).toBe(links * ids.length)
  await expect
    .poll(async () => (await statesOf(server)).map(({ delivered, undelivered }) => ({ delivered, undelivered })))
    .toEqual(Array.from({ length: links }, () => ({ delivered: ids.length, undelivered: 0 })))
  await expect
    .poll(async () => (await server.call(paths.metrics)).text)
    .toMatch(new RegExp(`^sluice_delivery_attempts_total\\{outcome="delivered"\\} ${links * ids.length}$`, "m"))
  expect(receiver.received).toHaveLength(links * ids.length)
  expect(receiver.refusals).toEqual([])
})

test("the state of a link shows what its thread knows of its endpoint", async () => {
  const { server, receiver } = await started()
  receiver.statusOf = () => 500
  const webhook = await link(server, receiver, "failing")
  await server.ingest(envelope(1, "a cat"))
  await receiver.arrived(1)
  await expect
    .poll(async () => (await statesOf(server))[0])
    .toMatchObject({ webhook_id: webhook, failed: 1, undelivered: 1, failing_since: expect.anything() })
})

test("a paused link sends nothing in its thread, and after a resume each match once", async () => {
  const { server, receiver } = await started()
  const webhook = await link(server, receiver, "paused")
  const other = await link(server, receiver, "other")
  const setPaused = (paused: boolean) =>
    server.send("PATCH", paths.linkDetail.replace(":webhook_id", webhook), { paused })
  expect((await setPaused(true)).body.data).toMatchObject({ paused: true })
  // The thread hears of it within two seconds.
  await sleep(2_500)
  await server.ingest(...[1, 2, 3].map((id) => envelope(id, "a cat")))
  await receiver.arrived(3)
  await expect.poll(() => stateOf(server, other)).toMatchObject({ undelivered: 0 })
  await sleep(500)
  expect(receiver.received).toHaveLength(3)
  expect(await stateOf(server, webhook)).toMatchObject({ undelivered: 3, in_flight: 0, down: false })
  await setPaused(false)
  await receiver.arrived(6)
  expect(receiver.eventIds.size).toBe(6)
  await expect.poll(() => stateOf(server, webhook)).toMatchObject({ undelivered: 0, paused: false })
})

test("a deleted link receives nothing more, and a new link receives later matches", async () => {
  const { server, receiver } = await started()
  const [first] = [await link(server, receiver, "first"), await link(server, receiver, "second")]
  await server.ingest(envelope(1, "a cat"))
  await receiver.arrived(2)
  await server.send("DELETE", paths.link.replace(":webhook_id", first))
  await server.ingest(envelope(2, "a cat"))
  await receiver.arrived(3)
  await link(server, receiver, "third")
  await server.ingest(envelope(3, "a cat"))
  await receiver.arrived(5)
  expect(receiver.postIds.toSorted()).toEqual(["1", "1", "2", "3", "3"])
})

test("a server that restarts with fewer threads resumes, and repeats nothing", async () => {
  const { server, receiver } = await started({ "deliveries-per-link-max": "4" })
  for (let count = 0; count < links; count += 1) await link(server, receiver, String(count))
  const ids = Array.from({ length: 300 }, (_, index) => index + 1)
  await server.ingest(...ids.map((id) => envelope(id, "a cat")))
  await receiver.arrived(links)
  await server.running.close()
  const before = receiver.received.length
  expect(before).toBeLessThan(links * ids.length)
  const again = await startTestServer({ data: server.data, "delivery-threads": "1", search: "off" })
  onTestFinished(() => again[Symbol.asyncDispose]())
  await receiver.arrived(links * ids.length)
  expect(receiver.received).toHaveLength(receiver.eventIds.size)
})
