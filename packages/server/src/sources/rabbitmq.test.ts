/** Posts from a queue of RabbitMQ, with a real server, through whole servers in this process. */
import { paths } from "@sluice/api"
import { expect, test } from "vitest"
import { openStream } from "../../../../test/support/open-stream.testing.ts"
import { TcpProxy } from "../../../../test/support/tcp-proxy.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { envelope, startTestServer, type TestServer } from "../../../../test/support/test-server.testing.ts"
import { startEmbeddingsEndpoint } from "../runtime/embeddings-endpoint.testing.ts"
import { createRabbitMqSource } from "./rabbitmq.ts"
import { describeWithRabbitMq, rabbitMqAddress, testQueue } from "./rabbitmq.testing.ts"
import type { RabbitMqSourceSettings } from "./rabbitmq-settings.ts"
import { failureOf, waitsOf } from "./source-failures.testing.ts"
import { idsOf, metric, posts, storedIds } from "./stored-ids.testing.ts"

/** A server with the source of these settings. */
function serverOf(settings: RabbitMqSourceSettings, flags: Readonly<Record<string, string>> = {}): Promise<TestServer> {
  return startTestServer({ search: "off", ...flags }, "dev", undefined, {
    moreSources: ({ monitorOf, ...deps }) => [
      createRabbitMqSource(settings, { ...deps, monitor: monitorOf(settings.name) }),
    ],
  })
}

const sourceMetric = (server: TestServer, name: string) => metric(server, `sluice_source_${name}{source="posts"}`)

const outcome = (server: TestServer, name: string) =>
  metric(server, `sluice_source_messages_total{source="posts",outcome="${name}"}`)

const isConnected = async (server: TestServer) => (await sourceMetric(server, "connected")) === 1

const failures = async (server: TestServer) => (await metric(server, 'sluice_failures_total{where="source"}')) ?? 0

describeWithRabbitMq("a queue of RabbitMQ as a source", () => {
  test("a message is a post: it is stored, matched and delivered, and then acknowledged", async () => {
    await using queue = await testQueue()
    await using server = await serverOf(queue.settings)
    await server.send("POST", paths.rules, { add: [{ value: "heron" }] })
    await using reader = await openStream(server)
    await queue.publish(envelope(1, "a heron"), envelope(2, "a gull"), envelope(3, "a heron again"))
    expect([(await reader.next()).data.id, (await reader.next()).data.id]).toEqual(["1", "3"])
    expect(await storedIds(server)).toEqual([1, 2, 3])
    await expect.poll(() => outcome(server, "accepted")).toBe(3)
    await server.running.close()
    // A message that was not acknowledged would be in the queue again.
    expect(await queue.ready()).toBe(0)
    expect(await queue.deadLetters()).toEqual([])
  })

  test("messages from before the server's start are ingested, and a post that is stored already is a duplicate", async () => {
    await using queue = await testQueue()
    await queue.publish(...posts(1, 1_500))
    await using server = await serverOf(queue.settings)
    await queue.publish(...posts(1, 5))
    await expect.poll(() => outcome(server, "duplicate")).toBe(5)
    expect(await storedIds(server)).toEqual(idsOf(1, 1_500))
    await expect.poll(() => sourceMetric(server, "pending_messages")).toBe(0)
    await expect.poll(() => sourceMetric(server, "messages_in_flight")).toBe(0)
    await server.running.close()
    expect(await queue.ready()).toBe(0)
  })

  test("a message that is no post is a dead letter as it came, with the reason; others are posts", async () => {
    await using queue = await testQueue()
    await using server = await serverOf(queue.settings, { "post-bytes-max": "1024" })
    const wrong: readonly (readonly [message: string | Uint8Array, title: string])[] = [
      ["", "Empty Message"],
      [Uint8Array.of(0xff, 0xfe), "Invalid Text"],
      [JSON.stringify({ data: { id: 11, text: "a" } }), "Invalid Post"],
      [JSON.stringify(envelope(13, "long ".repeat(300))), "Line Too Long"],
    ]
    const { channel, settings } = queue
    channel.sendToQueue(settings.queue, Buffer.from("not json"), {
      headers: { trace: "a1", CC: ["elsewhere"], "sluice-reason": "none" },
      messageId: "m1",
      expiration: 60_000,
    })
    for (const [at, [message]] of wrong.entries()) await queue.publish(message, envelope(100 + at, "a heron"))
    await expect.poll(() => outcome(server, "rejected")).toBe(wrong.length + 1)
    await expect.poll(() => storedIds(server)).toEqual(idsOf(100, 99 + wrong.length))
    const letters = await queue.deadLetters()
    const byReason = new Map(letters.map((letter) => [letter.properties.headers?.["sluice-reason"] as string, letter]))
    expect([...byReason.keys()].toSorted()).toEqual(["Invalid JSON", ...wrong.map(([, title]) => title)].toSorted())
    for (const [message, title] of wrong) expect(byReason.get(title)?.content).toEqual(Buffer.from(message))
    const first = byReason.get("Invalid JSON")
    expect(first?.properties).toMatchObject({ messageId: "m1", deliveryMode: 2, expiration: undefined })
    expect(first?.properties.headers).toEqual({
      trace: "a1",
      "sluice-id": expect.any(String),
      "sluice-reason": "Invalid JSON",
      "sluice-detail": expect.stringContaining("The line is not JSON: "),
      "sluice-queue": settings.queue,
      "sluice-exchange": "",
      "sluice-routing-key": settings.queue,
      "sluice-rejected": expect.stringMatching(/^\d{4}-.*Z$/),
    })
    await server.running.close()
    expect(await queue.ready()).toBe(0)
  })

  test("a queue of dead letters that is deleted is made again, and no dead letter is lost", async () => {
    await using queue = await testQueue()
    const { channel, settings } = queue
    await using server = await serverOf(settings)
    await expect.poll(() => isConnected(server)).toBe(true)
    await channel.deleteQueue(settings.deadLetterQueue)
    await queue.publish("not json", envelope(1, "a heron"))
    await expect.poll(() => outcome(server, "rejected")).toBe(1)
    expect((await queue.deadLetters()).map(({ content }) => content.toString())).toEqual(["not json"])
    expect(await storedIds(server)).toEqual([1])
  })

  test("a queue with a dead-letter exchange gives its dead letters to that", async () => {
    await using others = await testQueue()
    const deadLetterRoutingKey = others.settings.queue
    await using queue = await testQueue({ deadLetterExchange: "", deadLetterRoutingKey })
    await using server = await serverOf({ ...queue.settings, deadLetterExchange: true })
    await queue.publish("not json", envelope(1, "a heron"))
    await expect.poll(() => others.ready()).toBe(1)
    await expect.poll(() => storedIds(server)).toEqual([1])
    await expect.poll(() => outcome(server, "rejected")).toBe(1)
    expect(await queue.connection.createChannel().then((each) => exists(each, queue.settings.deadLetterQueue))).toBe(
      false,
    )
  })

  test("two processes share the queue: each post is ingested once, by one of them", async () => {
    await using queue = await testQueue()
    await using first = await serverOf(queue.settings)
    await using second = await serverOf(queue.settings)
    await expect.poll(async () => [await isConnected(first), await isConnected(second)]).toEqual([true, true])
    for (let from = 1; from <= 2_000; from += 100) await queue.publish(...posts(from, from + 99))
    const stored = async () => [await storedIds(first), await storedIds(second)] as const
    await expect.poll(async () => (await stored()).flat().length).toBe(2_000)
    const [ofFirst, ofSecond] = await stored()
    expect([...ofFirst, ...ofSecond].toSorted((a, b) => a - b)).toEqual(idsOf(1, 2_000))
    expect(Math.min(ofFirst.length, ofSecond.length)).toBeGreaterThan(0)
  })

  test("a server starts without RabbitMQ and serves meanwhile; when RabbitMQ is up, posts are ingested", async () => {
    await using queue = await testQueue()
    await using proxy = await TcpProxy.to(rabbitMqAddress.port)
    proxy.set("cut")
    await using server = await serverOf({ ...queue.settings, url: `amqp://127.0.0.1:${proxy.port}` })
    await queue.publish(...posts(1, 10))
    expect((await server.ingest(envelope(1, "a heron"))).body).toMatchObject({ accepted: 1 })
    await expect.poll(() => failures(server)).toBeGreaterThan(0)
    expect(await sourceMetric(server, "connected")).toBe(0)
    proxy.set("good")
    await expect.poll(() => storedIds(server)).toEqual(idsOf(1, 10))
    await expect.poll(() => isConnected(server)).toBe(true)
  })

  test("a connection that is cut in mid-load is made again: nothing is lost, and nothing is stored twice", async () => {
    await using queue = await testQueue()
    await using proxy = await TcpProxy.to(rabbitMqAddress.port)
    await using server = await serverOf({ ...queue.settings, url: `amqp://127.0.0.1:${proxy.port}` })
    await server.send("POST", paths.rules, { add: [{ value: "heron" }] })
    await expect.poll(() => isConnected(server)).toBe(true)
    for (let round = 0; round < 3; round += 1) {
      await queue.publish(...posts(round * 1_000 + 1, round * 1_000 + 500))
      proxy.set("cut")
      await expect.poll(() => isConnected(server)).toBe(false)
      await queue.publish(...posts(round * 1_000 + 501, round * 1_000 + 1_000))
      proxy.set("good")
      await expect.poll(() => isConnected(server)).toBe(true)
    }
    await expect.poll(() => storedIds(server)).toEqual(idsOf(1, 3_000))
    await server.running.close()
    expect(await queue.ready()).toBe(0)
  })

  test("a connection that is cut between the commit and the acknowledgement stores each post once", async () => {
    await using queue = await testQueue()
    await using proxy = await TcpProxy.to(rabbitMqAddress.port)
    await using server = await serverOf({ ...queue.settings, url: `amqp://127.0.0.1:${proxy.port}` })
    await expect.poll(() => isConnected(server)).toBe(true)
    for (let round = 0; round < 10; round += 1) {
      // The server sends messages on an open connection; what the client sends after them is an acknowledgement.
      proxy.cutAtMessage(round % 3, "before")
      await queue.publish(...posts(round * 200 + 1, round * 200 + 200))
      await expect.poll(async () => (await storedIds(server)).at(-1)).toBeGreaterThanOrEqual(round * 200 + 1)
    }
    await expect.poll(() => storedIds(server)).toEqual(idsOf(1, 2_000))
    expect(await failures(server)).toBeGreaterThan(0)
    await expect.poll(() => sourceMetric(server, "messages_redelivered_total")).toBeGreaterThan(0)
    // The last cut may have returned messages, which come with the next connection.
    const isSettled = async (): Promise<boolean> =>
      (await isConnected(server)) &&
      (await queue.ready()) + ((await sourceMetric(server, "messages_in_flight")) ?? 1) === 0
    await expect.poll(isSettled).toBe(true)
    await server.running.close()
    expect(await queue.ready()).toBe(0)
  })

  test.each(["classic", "quorum"])(
    "while posts cannot be matched, messages of a %s queue are returned, and ingested later",
    async (type) => {
      // A limit that each return counts against: a message that reaches it is dropped.
      const limit = type === "quorum" ? { "x-delivery-limit": 3 } : {}
      await using queue = await testQueue({ arguments: { "x-queue-type": type, ...limit } })
      await using endpoint = await startEmbeddingsEndpoint()
      const flags = { "embeddings-url": endpoint.url, "embeddings-model": "words" }
      await using server = await serverOf(queue.settings, flags)
      await server.send("POST", paths.rules, { add: [{ value: 'embedding:"grey heron"' }] })
      await endpoint.stop()
      await queue.publish(...posts(1, 10))
      await expect.poll(() => outcome(server, "returned")).toBeGreaterThanOrEqual(40)
      expect(await storedIds(server)).toEqual([])
      await endpoint.start()
      await expect.poll(() => storedIds(server)).toEqual(idsOf(1, 10))
      await expect.poll(() => sourceMetric(server, "messages_redelivered_total")).toBeGreaterThanOrEqual(10)
      await server.running.close()
      expect(await queue.ready()).toBe(0)
      expect(await queue.deadLetters()).toEqual([])
    },
  )

  test("a queue that is deleted is a gap; when it is there again, posts are ingested", async () => {
    await using queue = await testQueue()
    const { channel, settings } = queue
    await using server = await serverOf(settings)
    await queue.publish(...posts(1, 3))
    await expect.poll(() => storedIds(server)).toEqual([1, 2, 3])
    await channel.deleteQueue(settings.queue)
    await expect.poll(() => sourceMetric(server, "gaps_total")).toBe(1)
    expect(await sourceMetric(server, "connected")).toBe(0)
    await queue.make()
    await queue.publish(...posts(4, 6))
    await expect.poll(() => storedIds(server)).toEqual(idsOf(1, 6))
    await expect.poll(() => isConnected(server)).toBe(true)
  })

  test("a server that closes finishes the messages in progress, and returns the rest to others at once", async () => {
    await using queue = await testQueue()
    await queue.publish(...posts(1, 3_000))
    await using data = await temporaryDirectory()
    let ofFirst: readonly number[]
    {
      await using first = await serverOf(queue.settings, { data: data.path })
      await expect.poll(async () => (await storedIds(first)).length).toBeGreaterThan(0)
      await first.running.close()
    }
    {
      await using again = await startTestServer({ data: data.path })
      ofFirst = await storedIds(again)
    }
    // Messages that were stored and not acknowledged would be stored by the other one, too.
    expect(await queue.ready()).toBe(3_000 - ofFirst.length)
    await using server = await serverOf(queue.settings)
    await expect.poll(async () => (await storedIds(server)).length).toBe(3_000 - ofFirst.length)
    expect([...ofFirst, ...(await storedIds(server))].toSorted((a, b) => a - b)).toEqual(idsOf(1, 3_000))
  })

  test("a missing queue, a wrong password and a wrong host are reported with advice", async () => {
    await using queue = await testQueue()
    const { settings } = queue
    const failure = (other: Partial<RabbitMqSourceSettings>) =>
      failureOf((deps) => createRabbitMqSource({ ...settings, ...other }, deps))
    expect(await failure({ queue: "test.missing" })).toEqual({
      message: "The queue test.missing is not there.",
      advice: expect.stringContaining("Create the queue test.missing as a durable one, or correct queue."),
      atMs: expect.any(Number),
    })
    expect(await failure({ username: "guest", password: () => "wrong" })).toMatchObject({
      advice: expect.stringContaining("Correct username, or the password"),
    })
    expect(await failure({ url: `${settings.url}/missing` })).toMatchObject({
      advice: expect.stringContaining("Correct the virtual host"),
    })
    expect(await failure({ url: "amqp://127.0.0.1:1" })).toMatchObject({ advice: "Start the server, or correct url." })
  })

  test("a stream is refused, since it keeps no position", async () => {
    await using queue = await testQueue({ arguments: { "x-queue-type": "stream" } })
    const failed = failureOf((deps) => createRabbitMqSource(queue.settings, deps))
    const publishing = setInterval(() => void queue.publish(envelope(1, "a heron")), 100)
    try {
      expect((await failed).message).toContain("is a stream, which keeps no position")
    } finally {
      clearInterval(publishing)
    }
  })

  test("a queue that may be opened and not consumed is tried again after waits that grow", async () => {
    await using queue = await testQueue()
    const { connection, settings } = queue
    // An exclusive consumer refuses all others.
    const holder = await connection.createChannel()
    await holder.consume(settings.queue, () => undefined, { exclusive: true })
    const { waits, expected } = await waitsOf((deps) => createRabbitMqSource(settings, deps), [1, 2, 3])
    expect(waits).toEqual(expected)
  })
})

async function exists(
  channel: { checkQueue(name: string): Promise<unknown>; on(event: string, listener: () => void): unknown },
  name: string,
) {
  channel.on("error", () => undefined)
  return channel.checkQueue(name).then(
    () => true,
    () => false,
  )
}
