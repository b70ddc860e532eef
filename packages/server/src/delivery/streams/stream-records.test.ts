import { keepAliveMs } from "@sluice/api"
import { connect } from "node:net"
import { expect, test } from "vitest"
import { parseSelection } from "../../model/field-selection.ts"
import { deliveryFormat } from "./line-format.ts"
import type { Store } from "../../store/store.ts"
import { app, streamHarness, idsOf } from "./stream-harness.testing.ts"

const harness = streamHarness()

test("the head says 200, chunked, not to be cached, and no content type; other headers stay", async () => {
  const { response } = await harness.connectClient()
  expect(response.statusCode).toBe(200)
  expect(response.headers).toMatchObject({
    "transfer-encoding": "chunked",
    "cache-control": "no-cache, no-store, max-age=0",
    "x-rate-limit-limit": "50",
  })
  expect(response.headers).not.toHaveProperty("content-type")
})

test("each match is its own chunk, ends with CRLF and is ASCII", async () => {
  const client = await harness.connectClient()
  await harness.append([1, 2, 3], "grüße 😀")
  await expect.poll(() => client.chunks).toHaveLength(3)
  expect(client.chunks[0]).toBe(
    String.raw`{"data":{"id":"1","text":"gr\u00fc\u00dfe \ud83d\ude00","edit_history_tweet_ids":["1"]},` +
      '"matching_rules":[{"id":"70","tag":"c"}]}\r\n',
  )
  expect(idsOf(client.chunks)).toEqual([1, 2, 3])
})

test("a client of HTTP/1.0, which has no chunks, gets the bare records", async () => {
  const socket = connect({ port: harness.port(), host: "127.0.0.1" })
  let text = ""
  socket.setEncoding("latin1").on("data", (more: string) => (text += more))
  socket.write("GET / HTTP/1.0\r\nhost: x\r\n\r\n")
  await expect.poll(() => text).toContain("\r\n\r\n")
  await harness.append([1, 2])
  await expect.poll(() => text.split("\r\n\r\n")[1]?.split("\r\n")).toHaveLength(3)
  expect(idsOf(text.split("\r\n\r\n")[1]?.trim().split("\r\n") ?? [])).toEqual([1, 2])
  socket.destroy()
})

test("a match shows the requested fields", async () => {
  harness.nextOptions = {
    part: { kind: "live", backfillMinutes: 0 },
    format: deliveryFormat(parseSelection({ "tweet.fields": "lang" })),
    clientIp: "127.0.0.1",
  }
  const client = await harness.connectClient()
  await harness.append([1])
  await expect.poll(() => client.chunks).toHaveLength(1)
  expect(JSON.parse(client.chunks[0] ?? "")).toMatchObject({ data: { id: "1", lang: "en" } })
})

test("a keep-alive is a CRLF in its own chunk, whenever nothing was written for twelve seconds", async () => {
  const client = await harness.connectClient()
  await harness.clock.advance(keepAliveMs - 1)
  await harness.append([1])
  await expect.poll(() => client.chunks).toHaveLength(1)
  await harness.clock.advance(keepAliveMs - 1)
  expect(client.chunks).toHaveLength(1)
  await harness.clock.advance(1)
  await expect.poll(() => client.chunks.slice(1)).toEqual(["\r\n"])
  await harness.clock.advance(keepAliveMs)
  await expect.poll(() => client.chunks.slice(1)).toEqual(["\r\n", "\r\n"])
})

test("a damaged post is reported and left out, and those around it arrive", async () => {
  const read = new Proxy(harness.store, {
    get(target, name) {
      if (name !== "matches") {
        const value: unknown = Reflect.get(target, name)
        return typeof value === "function" ? value.bind(target) : value
      }
      return async (span: Parameters<Store["matches"]>[0]) =>
        (await target.matches(span)).map((entry) => {
          if (entry.postId !== "2") return entry
          const { postJson: _, ...damaged } = entry
          return damaged
        })
    },
  })
  harness.streams = harness.streamsOver(read, 1)
  const client = await harness.connectClient()
  await harness.append([1, 2, 3])
  await harness.append([4])
  await expect.poll(() => client.chunks).toHaveLength(3)
  expect(idsOf(client.chunks)).toEqual([1, 3, 4])
  expect(harness.reported).toContainEqual({
    name: "failed",
    event: { where: "stream connection", error: new Error("post 2 is damaged") },
  })
  client.leave()
  await expect.poll(() => harness.closings()).toEqual([{ appId: app, reason: "client", delivered: 3 }])
})
