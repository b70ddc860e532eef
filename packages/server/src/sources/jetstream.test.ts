/** Posts from a stream of JetStream, with a real NATS server, through whole servers in this process. */
import { paths } from "@sluice/api"
import { headers as newHeaders } from "@nats-io/transport-node"
import { expect, test } from "vitest"
import { TcpProxy } from "../../../../test/support/tcp-proxy.testing.ts"
import { openStream } from "../../../../test/support/open-stream.testing.ts"
import { envelope, startTestServer, type TestServer } from "../../../../test/support/test-server.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { loadConfig } from "../config.ts"
import { startServer } from "../main.ts"
import { startEmbeddingsEndpoint } from "../runtime/embeddings-endpoint.testing.ts"
import type { StoreEngine } from "../store/engine.ts"
import { memoryEngine } from "../store/memory/memory-engine.testing.ts"
import { describeWithNats, natsAddress, testStream } from "./nats.testing.ts"
import { idsOf, metric, posts, storedIds } from "./stored-ids.testing.ts"

async function isConnected(server: TestServer): Promise<boolean> {
  return (await metric(server, 'sluice_source_connected{source="nats"}')) === 1
}

/** The position of a post's match in the log of the app, the next of which is one more. */
async function positionOf(server: TestServer, id: number): Promise<number> {
  const { body } = await server.call(paths.post.replace(":post_id", String(id)))
  return (body.matches as { position: number }[])[0]?.position ?? Number.NaN
}

describeWithNats("JetStream as a source", () => {
  test("a message is a post: it is stored, matched and delivered, and then acknowledged", async () => {
    await using stream = await testStream()
    await using server = await startTestServer(stream.flags)
    await server.send("POST", paths.rules, { add: [{ value: "heron" }] })
    await using reader = await openStream(server)
    await stream.publish(envelope(1, "a heron"), envelope(2, "a gull"), envelope(3, "a heron again"))
    expect([(await reader.next()).data.id, (await reader.next()).data.id]).toEqual(["1", "3"])
    expect(await storedIds(server)).toEqual([1, 2, 3])
    await expect.poll(() => stream.unfinished()).toBe(0)
    await expect.poll(() => metric(server, 'sluice_source_messages_total{source="nats",outcome="accepted"}')).toBe(3)
    expect(await stream.deadLetters()).toEqual([])
  })

  test("messages from before the server's start are ingested, and a post that is stored already is a duplicate", async () => {
    await using stream = await testStream()
    await stream.publish(...posts(1, 1_500))
    await using server = await startTestServer(stream.flags)
    await stream.publish(...posts(1, 5))
    await expect.poll(() => metric(server, 'sluice_source_messages_total{source="nats",outcome="duplicate"}')).toBe(5)
    expect(await storedIds(server)).toEqual(idsOf(1, 1_500))
    await expect.poll(() => metric(server, 'sluice_source_pending_messages{source="nats"}')).toBe(0)
    await expect.poll(() => metric(server, 'sluice_source_unacknowledged_messages{source="nats"}')).toBe(0)
    expect(await metric(server, 'sluice_source_messages_in_flight{source="nats"}')).toBe(0)
  })

  test("a post may be written over several lines, and a line break within its text is kept", async () => {
    await using stream = await testStream()
    await using server = await startTestServer(stream.flags)
    await stream.publish(
      `\n${JSON.stringify(envelope(1, "two\nlines\r\nor three"), null, 2)}\r\n`,
      JSON.stringify(envelope(2, "after it"), null, "\n"),
    )
    await expect.poll(() => storedIds(server)).toEqual([1, 2])
    const stored = await server.call(paths.post.replace(":post_id", "1"))
    expect(stored.body.data).toEqual(envelope(1, "two\nlines\r\nor three"))
    expect(await stream.deadLetters()).toEqual([])
  })

  test("a message that is not a post is an unchanged dead letter with the reason; others are posts", async () => {
    await using stream = await testStream()
    await using server = await startTestServer({ ...stream.flags, "post-bytes-max": "1024" })
    const wrong: readonly (readonly [message: string | Uint8Array, title: string])[] = [
      ["not json", "Invalid JSON"],
      ["", "Empty Message"],
      [" \r\n\u00a0\ufeff\u2028 ", "Empty Message"],
      [Uint8Array.of(0xff, 0xfe), "Invalid Text"],
      ['{"data":{"id":"8","text":"a\nb"}}', "Invalid JSON"],
      [`${JSON.stringify(envelope(9, "a"))}\n${JSON.stringify(envelope(10, "b"))}`, "Invalid JSON"],
      [JSON.stringify({ data: { id: 11, text: "a" } }), "Invalid Post"],
      [JSON.stringify({ id: "12", text: "a" }), "Invalid Envelope"],
      [JSON.stringify(envelope(13, "long ".repeat(300))), "Line Too Long"],
    ]
    const good = (at: number) => envelope(100 + at, "a heron")
    for (const [at, [message]] of wrong.entries()) await stream.publish(good(at), message)
    await stream.publish(good(wrong.length))
    await expect.poll(() => stream.unfinished()).toBe(0)
    expect(await storedIds(server)).toEqual(idsOf(100, 100 + wrong.length))
    const letters = (await stream.deadLetters()).toSorted((a, b) => sequenceOf(a.header) - sequenceOf(b.header))
    expect(letters.map(({ header }) => header.get("Sluice-Reason"))).toEqual(wrong.map(([, title]) => title))
    expect(letters.map(({ data }) => Buffer.from(data))).toEqual(wrong.map(([message]) => Buffer.from(message)))
    const [first] = letters
    expect(Object.fromEntries([...(first?.header ?? [])].map(([name, values]) => [name, values[0]]))).toEqual({
      "Nats-Msg-Id": `sluice-${stream.name}-2`,
      "Sluice-Reason": "Invalid JSON",
      "Sluice-Detail": expect.stringContaining("The line is not JSON: "),
      "Sluice-Stream": stream.name,
      "Sluice-Consumer": "sluice",
      "Sluice-Sequence": "2",
      "Sluice-Subject": stream.subject,
      "Sluice-Time": expect.stringMatching(/^\d{4}-.*Z$/),
      "Sluice-Deliveries": "1",
    })
    await expect
      .poll(() => metric(server, 'sluice_source_messages_total{source="nats",outcome="rejected"}'))
      .toBe(wrong.length)
  })

  test("a dead letter keeps the message's headers, and is empty when the reason leaves no room for it", async () => {
    await using stream = await testStream()
    await using _server = await startTestServer(stream.flags)
    const headers = newHeaders()
    headers.set("Trace", "a1")
    headers.set("Nats-Expected-Stream", stream.name)
    headers.set("Sluice-Reason", "none")
    await stream.client.publish(stream.subject, "not json", { headers })
    const length = (stream.connection.info?.max_payload ?? 0) - 100
    await stream.publish("x".repeat(length))
    await expect.poll(async () => (await stream.deadLetters()).length).toBe(2)
    const [small, large] = await stream.deadLetters()
    expect([small?.header.get("Trace"), small?.header.values("Sluice-Reason")]).toEqual(["a1", ["Invalid JSON"]])
    expect(small?.header.has("Nats-Expected-Stream")).toBe(false)
    expect([large?.header.get("Sluice-Reason"), large?.header.get("Sluice-Omitted-Bytes")]).toEqual([
      "Line Too Long",
      String(length),
    ])
    expect(large?.data.length).toBe(0)
    await expect.poll(() => stream.unfinished()).toBe(0)
  })

  test("a thousand messages that are not posts become a thousand dead letters, each with its own reason", async () => {
    await using stream = await testStream()
    await stream.publish(...idsOf(1, 1_000).flatMap((id) => [`{"data":{"id":"x${id}"}}`, envelope(id, "a heron")]))
    await using server = await startTestServer(stream.flags)
    await expect.poll(() => stream.unfinished()).toBe(0)
    const letters = await stream.deadLetters()
    const sequences = letters.map(({ header }) => sequenceOf(header)).toSorted((a, b) => a - b)
    const contents = new Set(letters.map(({ data }) => Buffer.from(data).toString()))
    expect([sequences.length, new Set(sequences).size, contents.size]).toEqual([1_000, 1_000, 1_000])
    expect([...contents].every((text) => text.includes('"x'))).toBe(true)
    expect(await storedIds(server)).toEqual(idsOf(1, 1_000))
  })

  test("two processes share the consumer: each post is ingested once, by one of them", async () => {
    await using stream = await testStream()
    await using first = await startTestServer(stream.flags)
    await using second = await startTestServer(stream.flags)
    await expect.poll(async () => [await isConnected(first), await isConnected(second)]).toEqual([true, true])
    for (let from = 1; from <= 2_000; from += 100) await stream.publish(...posts(from, from + 99))
    await expect.poll(() => stream.unfinished()).toBe(0)
    const [ofFirst, ofSecond] = [await storedIds(first), await storedIds(second)]
    expect([...ofFirst, ...ofSecond].toSorted((a, b) => a - b)).toEqual(idsOf(1, 2_000))
    expect(Math.min(ofFirst.length, ofSecond.length)).toBeGreaterThan(0)
  })

  test("a server starts without NATS and serves meanwhile; when NATS is up, posts are ingested", async () => {
    await using stream = await testStream()
    await using proxy = await TcpProxy.to(natsAddress.port)
    proxy.set("cut")
    await using server = await startTestServer({ ...stream.flags, "nats-url": `nats://127.0.0.1:${proxy.port}` })
    await stream.publish(...posts(1, 10))
    expect((await server.ingest(envelope(1, "a heron"))).body).toMatchObject({ accepted: 1 })
    await expect.poll(() => metric(server, 'sluice_failures_total{where="source"}')).toBeGreaterThan(0)
    expect(await metric(server, 'sluice_source_connected{source="nats"}')).toBe(0)
    proxy.set("good")
    await expect.poll(() => storedIds(server)).toEqual(idsOf(1, 10))
    await expect.poll(() => isConnected(server)).toBe(true)
  })

  test("a connection that is cut in mid-load is made again: nothing is lost, and nothing is stored twice", async () => {
    await using stream = await testStream()
    await stream.makeConsumer({ ackWaitMs: 1_000 })
    await using proxy = await TcpProxy.to(natsAddress.port)
    await using server = await startTestServer({ ...stream.flags, "nats-url": `nats://127.0.0.1:${proxy.port}` })
    await server.send("POST", paths.rules, { add: [{ value: "heron" }] })
    await expect.poll(() => isConnected(server)).toBe(true)
    for (let round = 0; round < 3; round += 1) {
      await stream.publish(...posts(round * 1_000 + 1, round * 1_000 + 500))
      proxy.set("cut")
      await expect.poll(() => isConnected(server)).toBe(false)
      await stream.publish(...posts(round * 1_000 + 501, round * 1_000 + 1_000))
      proxy.set("good")
      await expect.poll(() => isConnected(server)).toBe(true)
    }
    await expect.poll(() => stream.unfinished()).toBe(0)
    expect(await storedIds(server)).toEqual(idsOf(1, 3_000))
    await stream.publish(envelope(3_001, "a heron"))
    await expect.poll(() => storedIds(server)).toContain(3_001)
    expect(await positionOf(server, 3_001)).toBe(3_001)
  })

  test("while posts cannot be matched, messages are returned to the stream, and ingested later", async () => {
    await using stream = await testStream()
    await using endpoint = await startEmbeddingsEndpoint()
    await using server = await startTestServer({
      ...stream.flags,
      "embeddings-url": endpoint.url,
      "embeddings-model": "words",
    })
    await server.send("POST", paths.rules, { add: [{ value: 'embedding:"grey heron"' }] })
    await endpoint.stop()
    await stream.publish(...posts(1, 10))
    await expect
      .poll(() => metric(server, 'sluice_source_messages_total{source="nats",outcome="returned"}'))
      .toBeGreaterThanOrEqual(10)
    expect(await storedIds(server)).toEqual([])
    await endpoint.start()
    await expect.poll(() => storedIds(server)).toEqual(idsOf(1, 10))
    await expect.poll(() => stream.unfinished()).toBe(0)
    await expect
      .poll(() => metric(server, 'sluice_source_messages_redelivered_total{source="nats"}'))
      .toBeGreaterThanOrEqual(10)
    expect(await stream.deadLetters()).toEqual([])
  })

  test("while the store refuses posts, messages are returned to the stream, and stored later", async () => {
    await using stream = await testStream()
    await using directory = await temporaryDirectory()
    const disk = { isFull: true, refused: 0 }
    const flags = { ...stream.flags, port: "0", data: directory.path, "log-level": "silent" }
    const server = await startServer(loadConfig({ posture: "dev", flags, env: {} }), { engine: fillable(disk) })
    await using _closed = { [Symbol.asyncDispose]: () => server.close() }
    await stream.publish(...posts(1, 10), "not json")
    await expect.poll(() => disk.refused).toBeGreaterThan(1)
    expect(await stream.unfinished()).toBeGreaterThanOrEqual(10)
    disk.isFull = false
    await expect.poll(() => stream.unfinished()).toBe(0)
    const app = await server.apps.create("own")
    const page = await fetch(`${server.url}${paths.posts}`, {
      headers: { authorization: `Bearer ${app.bearer_token}` },
    })
    expect(((await page.json()) as { data: unknown[] }).data).toHaveLength(10)
    expect(await stream.deadLetters()).toHaveLength(1)
  })

  test("a server that closes finishes the messages in progress, and returns the rest to others at once", async () => {
    await using stream = await testStream()
    await stream.makeConsumer({ ackWaitMs: 600_000 })
    await stream.publish(...posts(1, 3_000))
    await using second = await temporaryDirectory()
    let ofFirst: readonly number[]
    {
      await using first = await startTestServer({ ...stream.flags, data: second.path })
      await expect.poll(async () => (await storedIds(first)).length).toBeGreaterThan(0)
      await first.running.close()
    }
    {
      await using again = await startTestServer({ data: second.path })
      ofFirst = await storedIds(again)
    }
    await using server = await startTestServer(stream.flags)
    await expect.poll(() => stream.unfinished()).toBe(0)
    expect([...ofFirst, ...(await storedIds(server))].toSorted((a, b) => a - b)).toEqual(idsOf(1, 3_000))
  })

  test("a consumer that is deleted is made again", async () => {
    await using stream = await testStream()
    await using server = await startTestServer(stream.flags)
    await stream.publish(...posts(1, 3))
    await expect.poll(() => storedIds(server)).toEqual([1, 2, 3])
    await stream.manager.consumers.delete(stream.name, "sluice")
    await stream.publish(...posts(4, 6))
    await expect.poll(() => storedIds(server)).toEqual(idsOf(1, 6))
  })

  test("only messages of the subject are ingested", async () => {
    await using stream = await testStream()
    await using server = await startTestServer({ ...stream.flags, "nats-subject": `${stream.name}.*.new` })
    await expect.poll(() => isConnected(server)).toBe(true)
    await stream.client.publish(`${stream.name}.birds.old`, JSON.stringify(envelope(1, "a heron")))
    await stream.client.publish(`${stream.name}.birds.new`, JSON.stringify(envelope(2, "a heron")))
    await expect.poll(() => storedIds(server)).toEqual([2])
  })
})

function sequenceOf(header: { get(name: string): string }): number {
  return Number(header.get("Sluice-Sequence"))
}

/** A store that refuses posts as a full disk does. */
function fillable(disk: { isFull: boolean; refused: number }): StoreEngine {
  const engine = memoryEngine()
  return {
    ...engine,
    async serve(options) {
      const served = await engine.serve(options)
      const { store } = served
      const append = store.append.bind(store)
      store.append = (...batch) => {
        if (!disk.isFull) return append(...batch)
        disk.refused += 1
        return Promise.reject(Object.assign(new Error("The disk is full."), { code: "STORE_FULL" }))
      }
      return served
    },
  }
}
