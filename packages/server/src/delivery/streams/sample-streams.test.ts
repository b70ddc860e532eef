import { expect, test } from "vitest"
import { parseRule } from "@sluice/rules"
import { snowflakeEpochMs } from "@sluice/api"
import { defaultSelection, parseSelection } from "../../model/field-selection.ts"
import type { PostId } from "../../model/ids.ts"
import { sampleFormat } from "./line-format.ts"
import { isInSample, onePercent, tenPercent, type Sample } from "./sample.ts"
import { disconnectOf, idsOf, range, recordsOf, streamHarness, type Client } from "./stream-harness.testing.ts"

const harness = streamHarness()

const many = range(1, 3_000)
const inSample = (sample: Sample, ids = many): number[] => ids.filter((id) => isInSample(String(id) as PostId, sample))

function ask(
  sample: Sample,
  backfillMinutes = 0,
  endpoint: "sample_stream" | "sample10_stream" = "sample_stream",
): void {
  harness.nextOptions = {
    part: { kind: "sample", endpoint, sample, backfillMinutes },
    format: sampleFormat(defaultSelection),
    clientIp: "127.0.0.1",
  }
}

const received = (client: Client): number[] =>
  client.chunks.join("").includes("{") ? idsOf(recordsOf(client).filter((record) => record.startsWith("{"))) : []

test("the 1 % is what sample:1 takes, and the partitions of the 10 % divide what sample:10 takes", () => {
  const [first, second] = [inSample(tenPercent[1]), inSample(tenPercent[2])]
  const taken = (percent: number): number[] => inSample({ from: 0, below: percent })
  expect(inSample(onePercent)).toEqual(taken(1))
  expect([...first, ...second].toSorted((a, b) => a - b)).toEqual(taken(10))
  expect(first.filter((id) => second.includes(id))).toEqual([])
  expect(first.length).toBeGreaterThan(100)
  expect(second.length).toBeGreaterThan(100)
  expect(parseRule("cat sample:10")).toMatchObject({ ok: true })
})

test("a sample has its posts in the order in which they arrive, matched by a rule or not, without rules in its lines", async () => {
  ask(onePercent)
  await harness.append([1, 2], "before")
  const [client, same] = [await harness.connectClient(), await harness.connectClient()]
  const ids = many.toReversed()
  for (let at = 0; at < ids.length; at += 500) await harness.append(ids.slice(at, at + 500), "a cat", 1)
  const expected = inSample(onePercent)
    .toReversed()
    .filter((id) => id > 2)
  await expect.poll(() => received(client)).toEqual(expected)
  await expect.poll(() => received(same)).toEqual(expected)
  const record = JSON.parse(recordsOf(client)[0] ?? "") as object
  expect(Object.keys(record)).toEqual(["data"])
})

test("a post of another process, which announces nothing here, is found by a poll", async () => {
  ask(tenPercent[2], 0, "sample10_stream")
  const quiet = Object.assign(Object.create(harness.store), { onChange: () => () => undefined })
  await harness.streams.close()
  harness.streams = harness.streamsOver(quiet, 2)
  const client = await harness.connectClient()
  await harness.append(many.slice(0, 100))
  await harness.clock.advance(1_000)
  await expect.poll(() => received(client)).toEqual(inSample(tenPercent[2], range(1, 100)))
})

test("a sample shows the requested fields, and its lines are those of each client's request", async () => {
  ask(tenPercent[1])
  const plain = await harness.connectClient()
  harness.nextOptions = { ...harness.nextOptions, format: sampleFormat(parseSelection({ "tweet.fields": "lang" })) }
  const chosen = await harness.connectClient()
  await harness.append(range(1, 60))
  const ids = inSample(tenPercent[1], range(1, 60))
  await expect.poll(() => received(chosen)).toEqual(ids)
  await expect.poll(() => received(plain)).toEqual(ids)
  expect(recordsOf(chosen)[0]).toContain('"lang":"en"')
  expect(recordsOf(plain)[0]).not.toContain("lang")
})

test("a backfill begins with the posts of those minutes, and older ones are left out", async () => {
  const nowMs = harness.clock.nowMs()
  const idAt = (atMs: number, n: number): string => String((BigInt(atMs - snowflakeEpochMs) << 22n) + BigInt(n))
  const idsAt = (minutes: number): string[] => range(1, 1_200).map((n) => idAt(nowMs - minutes * 60_000, n))
  const appendIds = (ids: readonly string[]): Promise<void> => harness.append(ids as unknown as number[])
  await appendIds(idsAt(9))
  await appendIds(idsAt(4))
  await appendIds(idsAt(1))
  ask(onePercent, 5)
  const client = await harness.connectClient()
  const expected = [...idsAt(4), ...idsAt(1)].filter((id) => isInSample(id as PostId, onePercent))
  const texts = (): string[] => client.chunks.join("").match(/"id":"(\d+)"/g) ?? []
  await expect.poll(texts).toEqual(expected.map((id) => `"id":"${id}"`))
})

test("a sample needs no rules, has slots of its own for each endpoint, and refuses one too many", async () => {
  await harness.store.deleteRules(harness.credentials.id, { kind: "all" })
  ask(onePercent)
  for (let count = 0; count < 2; count += 1) expect((await harness.connectClient()).response.statusCode).toBe(200)
  expect((await harness.connectClient()).response.statusCode).toBe(429)
  ask(tenPercent[1], 0, "sample10_stream")
  expect((await harness.connectClient()).response.statusCode).toBe(200)
})

test("a sample's client that reads nothing is disconnected, and one that reads on gets every post once", async () => {
  ask({ from: 0, below: 100 })
  const [stalled, slow] = [await harness.connectClient(), await harness.connectClient()]
  stalled.response.pause()
  slow.response.pause()
  const text = "x".repeat(20_000)
  for (let at = 0; at < 300; at += 100) await harness.append(range(at + 1, at + 100), text)
  await expect.poll(() => harness.responses.every(({ socket }) => socket?.writableNeedDrain === true)).toBe(true)
  slow.response.resume()
  await expect.poll(() => received(slow).length, { timeout: 20_000 }).toBe(300)
  expect(received(slow)).toEqual(range(1, 300))
  await harness.clock.advance(30_000)
  await harness.clock.advance(1_000)
  await expect.poll(() => harness.closings()).toMatchObject([{ reason: "slow-reader" }])
})

test("a sample ends with X's message when its app ends it, and is listed as it was", async () => {
  ask(onePercent)
  const client = await harness.connectClient()
  const filter = { appId: harness.credentials.id }
  const page = { direction: "older", limit: 10 } as const
  const [open] = await harness.streams.list(filter, page)
  expect(open).toMatchObject({ endpoint: "sample_stream", clientIp: "127.0.0.1" })
  expect(await harness.streams.end(filter.appId, { kind: "all" })).toEqual([open?.uuid])
  expect(harness.streams.count).toBe(0)
  await expect.poll(() => client.isEnded).toBe(true)
  expect(disconnectOf(client)).toMatchObject({ errors: [{ disconnect_type: "ForceDisconnect" }] })
  expect(await harness.streams.list(filter, page)).toMatchObject([{ ended: { reason: "ForceDisconnect" } }])
})
