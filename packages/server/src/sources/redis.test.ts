/** Posts from a stream of Redis, with a real server, through whole servers in this process. */
import { paths } from "@sluice/api"
import { expect, test } from "vitest"
import { openStream } from "../../../../test/support/open-stream.testing.ts"
import { TcpProxy } from "../../../../test/support/tcp-proxy.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { envelope, startTestServer, type TestServer } from "../../../../test/support/test-server.testing.ts"
import { startEmbeddingsEndpoint } from "../runtime/embeddings-endpoint.testing.ts"
import { systemClock } from "../runtime/clock.ts"
import { failureOf, waitsOf } from "./source-failures.testing.ts"
import { createRedisSource, type RedisTimes } from "./redis.ts"
import { describeWithRedis, redisAddress, testStream, type TestStream } from "./redis.testing.ts"
import type { RedisSourceSettings } from "./redis-settings.ts"
import { idsOf, metric, posts, storedIds } from "./stored-ids.testing.ts"

/** Times in which a test sees what else takes a minute. */
const quickly: Partial<RedisTimes> = { claimIdleMs: 1_000, claimMs: 100, measureMs: 50 }

/** A server with the source of these settings. */
function serverOf(
  settings: RedisSourceSettings,
  { flags = {}, ...times }: Partial<RedisTimes> & { readonly flags?: Readonly<Record<string, string>> } = {},
): Promise<TestServer> {
  return startTestServer({ search: "off", ...flags }, "dev", undefined, {
    moreSources: ({ monitorOf, ...deps }) => [
      createRedisSource(settings, { ...deps, monitor: monitorOf(settings.name) }, { ...quickly, ...times }),
    ],
  })
}

const sourceMetric = (server: TestServer, name: string) => metric(server, `sluice_source_${name}{source="posts"}`)

const outcome = (server: TestServer, name: string) =>
  metric(server, `sluice_source_messages_total{source="posts",outcome="${name}"}`)

const isConnected = async (server: TestServer) => (await sourceMetric(server, "connected")) === 1

const finished = (stream: TestStream) => expect.poll(() => stream.unfinished()).toBe(0)

describeWithRedis("a stream of Redis as a source", () => {
  test("an entry is a post: it is stored, matched and delivered, and then acknowledged", async () => {
    await using stream = await testStream()
    await using server = await serverOf(stream.settings)
    await server.send("POST", paths.rules, { add: [{ value: "heron" }] })
    await using reader = await openStream(server)
    await stream.publish(envelope(1, "a heron"), envelope(2, "a gull"), envelope(3, "a heron again"))
    expect([(await reader.next()).data.id, (await reader.next()).data.id]).toEqual(["1", "3"])
    expect(await storedIds(server)).toEqual([1, 2, 3])
    await finished(stream)
    await expect.poll(() => outcome(server, "accepted")).toBe(3)
    expect(await stream.deadLetters()).toEqual([])
  })

  test("entries from before the server's start are ingested, and a post that is stored already is a duplicate", async () => {
    await using stream = await testStream()
    await stream.publish(...posts(1, 1_500))
    await using server = await serverOf(stream.settings)
    await stream.publish(...posts(1, 5))
    await expect.poll(() => outcome(server, "duplicate")).toBe(5)
    expect(await storedIds(server)).toEqual(idsOf(1, 1_500))
    await expect.poll(() => sourceMetric(server, "pending_messages")).toBe(0)
    await expect.poll(() => sourceMetric(server, "unacknowledged_messages")).toBe(0)
    await expect.poll(() => sourceMetric(server, "behind_seconds")).toBe(0)
    expect(await sourceMetric(server, "messages_in_flight")).toBe(0)
    expect(await sourceMetric(server, "gaps_total")).toBe(0)
  })

  test("an entry that is no post is a dead letter as it came, with the reason; others are posts", async () => {
    await using stream = await testStream()
    await using server = await serverOf(stream.settings, { flags: { "post-bytes-max": "1024" } })
    const { client, settings } = stream
    const wrong: readonly (readonly [fields: Readonly<Record<string, string | Buffer>>, title: string])[] = [
      [{ envelope: "not json", trace: "a1", "sluice-reason": "none" }, "Invalid JSON"],
      [{ envelope: "" }, "Empty Message"],
      [{ envelope: Buffer.of(0xff, 0xfe) }, "Invalid Text"],
      [{ envelop: "{}" }, "Missing Field"],
      [{ envelope: JSON.stringify({ data: { id: 11, text: "a" } }) }, "Invalid Post"],
      [{ envelope: JSON.stringify(envelope(13, "long ".repeat(300))) }, "Line Too Long"],
    ]
    const ids: string[] = []
    for (const [at, [fields]] of wrong.entries()) {
      await stream.publish(envelope(100 + at, "a heron"))
      ids.push(await client.xAdd(settings.stream, "*", fields))
    }
    await stream.publish(envelope(100 + wrong.length, "a heron"))
    await finished(stream)
    expect(await storedIds(server)).toEqual(idsOf(100, 100 + wrong.length))
    const letters = (await stream.deadLetters()).toSorted(
      (a, b) => ids.indexOf(a.message["sluice-id"] ?? "") - ids.indexOf(b.message["sluice-id"] ?? ""),
    )
    expect(letters.map(({ message }) => message["sluice-reason"])).toEqual(wrong.map(([, title]) => title))
    expect({ ...letters[0]?.message }).toEqual({
      envelope: "not json",
      trace: "a1",
      "sluice-reason": "Invalid JSON",
      "sluice-detail": expect.stringContaining("The line is not JSON: "),
      "sluice-stream": settings.stream,
      "sluice-group": "sluice",
      "sluice-id": ids[0],
      "sluice-time": expect.stringMatching(/^\d{4}-.*Z$/),
      "sluice-rejected": expect.stringMatching(/^\d{4}-.*Z$/),
    })
    await expect.poll(() => outcome(server, "rejected")).toBe(wrong.length)
  })

  test("a stream of dead letters that cannot be written keeps the entry pending, and loses nothing", async () => {
    await using stream = await testStream()
    const { client, settings } = stream
    await client.set(settings.deadLetterStream, "no stream")
    await using server = await serverOf(settings)
    await stream.publish("not json", envelope(1, "a heron"))
    await expect.poll(() => storedIds(server)).toEqual([1])
    await expect.poll(() => metric(server, 'sluice_failures_total{where="source"}')).toBeGreaterThan(0)
    await expect.poll(() => stream.unfinished()).toBe(1)
    await client.del(settings.deadLetterStream)
    await server.running.close()
    // The server that leaves lets others claim it at once.
    await using other = await serverOf(settings, { claimIdleMs: 600_000 })
    await finished(stream)
    expect((await stream.deadLetters()).map(({ message }) => message.envelope)).toEqual(["not json"])
    await expect.poll(() => outcome(other, "rejected")).toBe(1)
  })

  test("two processes share the group: each post is ingested once, by one of them", async () => {
    await using stream = await testStream()
    await using first = await serverOf(stream.settings, { claimIdleMs: 30_000 })
    await using second = await serverOf(stream.settings, { claimIdleMs: 30_000 })
    await expect.poll(async () => [await isConnected(first), await isConnected(second)]).toEqual([true, true])
    for (let from = 1; from <= 2_000; from += 100) await stream.publish(...posts(from, from + 99))
    await finished(stream)
    const [ofFirst, ofSecond] = [await storedIds(first), await storedIds(second)]
    expect([...ofFirst, ...ofSecond].toSorted((a, b) => a - b)).toEqual(idsOf(1, 2_000))
    expect(Math.min(ofFirst.length, ofSecond.length)).toBeGreaterThan(0)
  })

  test("entries of a consumer that is dead are claimed; its name is deleted, and that of a server that has left", async () => {
    await using stream = await testStream()
    const { client, settings } = stream
    await client.xGroupCreate(settings.stream, "sluice", "0", { MKSTREAM: true })
    await stream.publish(...posts(1, 300))
    await client.xReadGroup("sluice", "sluice-dead", { key: settings.stream, id: ">" }, { COUNT: 300 })
    await client.xGroupCreateConsumer(settings.stream, "sluice", "of-another-program")
    await using server = await serverOf(settings, { tidyMs: 100, consumerIdleMs: 1_500 })
    await expect.poll(() => storedIds(server)).toEqual(idsOf(1, 300))
    await finished(stream)
    await expect.poll(() => sourceMetric(server, "messages_redelivered_total")).toBe(300)
    await expect.poll(() => stream.consumers()).not.toContain("sluice-dead")
    expect(await stream.consumers()).toHaveLength(2)
    await server.running.close()
    expect(await stream.consumers()).toEqual(["of-another-program"])
  })

  test("while the store is slow, no other process claims what is in flight", async () => {
    await using stream = await testStream()
    await using endpoint = await startEmbeddingsEndpoint()
    const flags = { "embeddings-url": endpoint.url, "embeddings-model": "words" }
    await using slow = await serverOf(stream.settings, { flags })
    await slow.send("POST", paths.rules, { add: [{ value: 'embedding:"grey heron"' }] })
    const answers: (() => void)[] = []
    endpoint.fault = (response, _asked, right) => {
      answers.push(() => response.setHeader("content-type", "application/json").end(JSON.stringify(right)))
      return true
    }
    await stream.publish(...posts(1, 10))
    await expect.poll(() => answers.length).toBeGreaterThan(0)
    await using other = await serverOf(stream.settings)
    await expect.poll(() => isConnected(other)).toBe(true)
    // Longer than an entry may be untouched.
    await systemClock.sleep(3_000)
    expect([await storedIds(other), await sourceMetric(other, "messages_redelivered_total")]).toEqual([[], 0])
    endpoint.fault = undefined
    for (const answer of answers) answer()
    await expect.poll(() => storedIds(slow)).toEqual(idsOf(1, 10))
    await finished(stream)
  })

  test("the next entries are read while those before them wait for room, and no more than the bounds allow", async () => {
    await using stream = await testStream()
    const { client, settings } = stream
    for (let from = 1; from <= 4_000; from += 500) await stream.publish(...posts(from, from + 499))
    /** Reports of batches that are stored, withheld from the source. */
    let withheld: (() => void)[] | undefined = []
    await using server = await startTestServer({ search: "off" }, "dev", undefined, {
      moreSources: ({ monitorOf, intake, ...deps }) => {
        const open: typeof intake.open = (onBatch, matchUse) =>
          intake.open((report) => {
            if (withheld === undefined) onBatch?.(report)
            else withheld.push(() => onBatch?.(report))
          }, matchUse)
        return [createRedisSource(settings, { ...deps, intake: { open }, monitor: monitorOf(settings.name) }, quickly)]
      },
    })
    const pending = async () => (await client.xPending(settings.stream, settings.group)).pending
    await expect.poll(() => sourceMetric(server, "messages_in_flight")).toBe(2_000)
    // The room was full within a reply, of which less than 500 wait: the others are of the next reply.
    await expect.poll(pending).toBeGreaterThan(2_500)
    // Longer than any wait of the source for room or for entries, if it had another one.
    await systemClock.sleep(1_000)
    expect(await pending()).toBeLessThanOrEqual(3_000)
    for (const report of withheld) report()
    withheld = undefined
    await finished(stream)
    expect(await storedIds(server)).toEqual(idsOf(1, 4_000))
    expect(await sourceMetric(server, "messages_redelivered_total")).toBe(0)
  })

  test("a server starts without Redis and serves meanwhile; when Redis is up, posts are ingested", async () => {
    await using stream = await testStream()
    await using proxy = await TcpProxy.to(redisAddress.port)
    proxy.set("cut")
    await using server = await serverOf({ ...stream.settings, url: `redis://127.0.0.1:${proxy.port}` })
    await stream.publish(...posts(1, 10))
    expect((await server.ingest(envelope(1, "a heron"))).body).toMatchObject({ accepted: 1 })
    await expect.poll(() => metric(server, 'sluice_failures_total{where="source"}')).toBeGreaterThan(0)
    expect(await sourceMetric(server, "connected")).toBe(0)
    proxy.set("good")
    await expect.poll(() => storedIds(server)).toEqual(idsOf(1, 10))
    await expect.poll(() => isConnected(server)).toBe(true)
  })

  test("a connection that is cut in mid-load is made again: nothing is lost, and nothing is stored twice", async () => {
    await using stream = await testStream()
    await using proxy = await TcpProxy.to(redisAddress.port)
    await using server = await serverOf({ ...stream.settings, url: `redis://127.0.0.1:${proxy.port}` })
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
    await finished(stream)
    expect(await storedIds(server)).toEqual(idsOf(1, 3_000))
    expect(await sourceMetric(server, "gaps_total")).toBe(0)
  })

  test("a client that the server kills between the commit and the acknowledgement stores each post once", async () => {
    await using stream = await testStream()
    const { client } = stream
    await using server = await serverOf(stream.settings)
    await expect.poll(() => isConnected(server)).toBe(true)
    const killAll = async (): Promise<void> => {
      const clients = await client.clientList()
      for (const { id, name } of clients) if (name.startsWith("sluice-")) await client.clientKill({ filter: "ID", id })
    }
    for (let round = 0; round < 10; round += 1) {
      const ids = [round * 200 + 1, round * 200 + 200] as const
      await stream.publish(...posts(...ids))
      await expect.poll(async () => (await storedIds(server)).at(-1)).toBeGreaterThanOrEqual(ids[0])
      await killAll()
    }
    await finished(stream)
    expect(await storedIds(server)).toEqual(idsOf(1, 2_000))
  })

  test("while posts cannot be matched, entries stay pending, and are ingested later", async () => {
    await using stream = await testStream()
    await using endpoint = await startEmbeddingsEndpoint()
    const flags = { "embeddings-url": endpoint.url, "embeddings-model": "words" }
    await using server = await serverOf(stream.settings, { flags, claimIdleMs: 30_000 })
    await server.send("POST", paths.rules, { add: [{ value: 'embedding:"grey heron"' }] })
    await endpoint.stop()
    await stream.publish(...posts(1, 10))
    await expect.poll(() => outcome(server, "returned")).toBeGreaterThanOrEqual(10)
    expect(await storedIds(server)).toEqual([])
    await endpoint.start()
    await expect.poll(() => storedIds(server)).toEqual(idsOf(1, 10))
    await finished(stream)
    await expect.poll(() => sourceMetric(server, "messages_redelivered_total")).toBeGreaterThanOrEqual(10)
    expect(await stream.deadLetters()).toEqual([])
  })

  test("entries that are trimmed before the group reads them are a gap, reported once, and no lag", async () => {
    await using stream = await testStream()
    const { client, settings } = stream
    {
      await using server = await serverOf(settings)
      await stream.publish(...posts(1, 5))
      await expect.poll(() => storedIds(server)).toEqual(idsOf(1, 5))
      await finished(stream)
      await server.running.close()
    }
    await stream.publish(...posts(6, 25))
    await client.xTrim(settings.stream, "MAXLEN", 8)
    await using directory = await temporaryDirectory()
    await using server = await serverOf(settings, { flags: { data: directory.path } })
    await using other = await serverOf(settings)
    const gaps = async () => (await sourceMetric(server, "gaps_total")) ?? 0
    await expect.poll(async () => (await gaps()) + ((await sourceMetric(other, "gaps_total")) ?? 0)).toBe(1)
    await finished(stream)
    expect([...(await storedIds(server)), ...(await storedIds(other))].toSorted((a, b) => a - b)).toEqual(idsOf(18, 25))
    await expect.poll(() => sourceMetric(server, "pending_messages")).toBe(0)
    await stream.publish(...posts(26, 30))
    await finished(stream)
    // Read from the state of the group, since metrics are cached for a moment.
    expect((await client.xInfoGroups(settings.stream))[0]).toMatchObject({ lag: 0, "entries-read": 30 })
    expect((await gaps()) + ((await sourceMetric(other, "gaps_total")) ?? 0)).toBe(1)
  })

  test("entries that are trimmed while a dead consumer holds them are a gap", async () => {
    await using stream = await testStream()
    const { client, settings } = stream
    await client.xGroupCreate(settings.stream, "sluice", "0", { MKSTREAM: true })
    await stream.publish(...posts(1, 10))
    await client.xReadGroup("sluice", "sluice-dead", { key: settings.stream, id: ">" }, { COUNT: 10 })
    await client.xTrim(settings.stream, "MAXLEN", 4)
    await using server = await serverOf(settings)
    await expect.poll(() => storedIds(server)).toEqual(idsOf(7, 10))
    await expect.poll(() => sourceMetric(server, "gaps_total")).toBe(1)
    await finished(stream)
  })

  test("a group that is destroyed is made again, and so is a stream that is deleted, which is a gap", async () => {
    await using stream = await testStream()
    const { client, settings } = stream
    await using server = await serverOf(settings)
    await stream.publish(...posts(1, 3))
    await expect.poll(() => storedIds(server)).toEqual([1, 2, 3])
    await client.xGroupDestroy(settings.stream, "sluice")
    await stream.publish(...posts(4, 6))
    await expect.poll(() => storedIds(server)).toEqual(idsOf(1, 6))
    await finished(stream)
    expect(await sourceMetric(server, "gaps_total")).toBe(0)
    await client.del(settings.stream)
    await expect.poll(() => sourceMetric(server, "gaps_total")).toBe(1)
    await stream.publish(...posts(7, 9))
    await expect.poll(() => storedIds(server)).toEqual(idsOf(1, 9))
    await finished(stream)
  })

  test("a server that closes finishes the entries in progress, and returns the rest to others at once", async () => {
    await using stream = await testStream()
    await stream.publish(...posts(1, 3_000))
    await using data = await temporaryDirectory()
    const claimIdleMs = 600_000
    let ofFirst: readonly number[]
    {
      await using first = await serverOf(stream.settings, { flags: { data: data.path }, claimIdleMs })
      await expect.poll(async () => (await storedIds(first)).length).toBeGreaterThan(0)
      await first.running.close()
    }
    {
      await using again = await startTestServer({ data: data.path })
      ofFirst = await storedIds(again)
    }
    await using server = await serverOf(stream.settings, { claimIdleMs })
    await finished(stream)
    expect([...ofFirst, ...(await storedIds(server))].toSorted((a, b) => a - b)).toEqual(idsOf(1, 3_000))
  })

  test("a key that is no stream, and a port on which nothing listens, are reported with advice", async () => {
    await using stream = await testStream()
    const { client, settings } = stream
    await client.set(settings.stream, "text")
    expect(await failureOf((deps) => createRedisSource(settings, deps))).toMatchObject({
      message: expect.stringMatching(/^WRONGTYPE/),
      advice: expect.stringContaining("holds no stream: name another key in stream"),
    })
    const unreachable = { ...settings, url: "redis://127.0.0.1:1" }
    expect(await failureOf((deps) => createRedisSource(unreachable, deps))).toMatchObject({
      message: expect.stringContaining("ECONNREFUSED"),
      advice: "Start the server, or correct url.",
    })
  })

  test("a user who may connect and not read is tried again after waits that grow", async () => {
    await using stream = await testStream()
    const { client, settings } = stream
    const username = settings.stream.replaceAll(":", "-")
    await client.aclSetUser(username, ["on", ">a-password", "~*", "+@all", "-xreadgroup"])
    try {
      const refused = { ...settings, username, password: () => "a-password" }
      const { waits, expected } = await waitsOf((deps) => createRedisSource(refused, deps), [1, 2, 3])
      expect(waits).toEqual(expected)
    } finally {
      await client.aclDelUser(username)
    }
  })
})
