import { keepAliveMs } from "@sluice/api"
import { connect } from "node:net"
import { expect, test, vi } from "vitest"
import { defaultSelection } from "../../model/field-selection.ts"
import { deliveryFormat } from "./line-format.ts"
import type { AppId, RuleId } from "../../model/ids.ts"
import { Problem } from "../../model/problem.ts"
import { anApp } from "../../store/contract/fixtures.ts"
import { app, rule, streamHarness, range, type Client } from "./stream-harness.testing.ts"

const harness = streamHarness()

const refusal = (options = harness.nextOptions): Promise<unknown> =>
  harness.streams.open(harness.credentials, options).catch((error: unknown) => error)

test("an app without rules may not connect: 409 in X's words", async () => {
  await harness.store.deleteRules(app, { kind: "all" })
  expect((await refusal()) as Problem).toMatchObject({
    status: 409,
    title: "ConnectionException",
    detail:
      "You must define rules using the POST /2/tweets/search/stream/rules endpoint before connecting to filtered stream.",
    type: "https://api.x.com/2/problems/streaming-connection",
    extras: { connection_issue: "RuleConfigurationIssue" },
  })
  expect(harness.streams.count).toBe(0)
})

test("an app may not have more connections than configured: 429 in X's words", async () => {
  await harness.connectClient()
  await harness.connectClient()
  expect(await refusal()).toMatchObject({
    status: 429,
    title: "ConnectionException",
    detail: "This stream is currently at the maximum allowed connection limit.",
    type: "https://api.x.com/2/problems/streaming-connection",
    extras: { connection_issue: "TooManyConnections" },
  })
  expect(harness.streams.count).toBe(2)
})

test("new connections replace the oldest where that is configured, and a recovery is left alone", async () => {
  await harness.streams.close()
  harness.streams = harness.streamsOver(harness.store, 2, 3_600_000, "replace")
  const part = { kind: "window", startMs: harness.clock.nowMs() - 1 } as const
  await harness.streams.open(harness.credentials, { part, format: deliveryFormat(defaultSelection), clientIp: "::1" })
  const clients: Client[] = []
  for (let count = 0; count < 5; count += 1) clients.push(await harness.connectClient())
  await expect.poll(() => clients.map(({ isEnded }) => isEnded)).toEqual([true, true, true, false, false])
  expect(harness.streams.count).toBe(3)
  for (const { chunks } of clients.slice(0, 3)) {
    expect(JSON.parse(chunks.at(-1) ?? "")).toMatchObject({
      errors: [{ disconnect_type: "OperationalDisconnect" }],
    })
  }
  expect(harness.closings()).toMatchObject(Array.from({ length: 3 }, () => ({ reason: "replaced" })))
})

test("when many connections open at the same moment, only the configured number is accepted", async () => {
  const outcomes = await Promise.allSettled(
    range(1, 50).map(() => harness.streams.open(harness.credentials, harness.nextOptions)),
  )
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(2)
  expect(harness.streams.count).toBe(2)
})

test("the limit of connections is each app's own", async () => {
  const other = "6" as AppId
  await harness.store.createApp(anApp(other), [])
  await harness.store.addRules(other, [{ ...rule, id: "71" as RuleId, appId: other }], {
    rulesMax: 10,
  })
  await harness.connectClient()
  await harness.connectClient()
  await expect(harness.streams.open(anApp(other), harness.nextOptions)).resolves.toBeDefined()
})

test("a client that leaves releases its slot", async () => {
  const first = await harness.connectClient()
  await harness.connectClient()
  first.leave()
  await expect.poll(() => harness.streams.count).toBe(1)
  await harness.connectClient()
  expect(harness.closings()).toEqual([{ appId: app, reason: "client", delivered: 0 }])
})

test("a client that has left before its connection runs releases its slot too", async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  harness.mayRun = promise
  const socket = connect({ port: harness.port(), host: "127.0.0.1" })
  socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n")
  await expect.poll(() => harness.streams.count).toBe(1)
  socket.destroy()
  await expect.poll(() => harness.responses[0]?.destroyed).toBe(true)
  resolve()
  await expect.poll(() => harness.streams.count).toBe(0)
  expect(harness.closings()).toEqual([{ appId: app, reason: "client", delivered: 0 }])
})

test("a slot is released when the store fails before the connection opens", async () => {
  vi.spyOn(harness.store, "head").mockRejectedValue(new Error("disk"))
  harness.streams = harness.streamsOver(harness.store, 1)
  await expect(harness.streams.open(harness.credentials, harness.nextOptions)).rejects.toThrow("disk")
  expect(harness.streams.count).toBe(0)
})

test("rules that are deleted leave the connection open", async () => {
  const client = await harness.connectClient()
  await harness.store.deleteRules(app, { kind: "all" })
  await harness.clock.advance(keepAliveMs)
  await expect.poll(() => client.chunks).toEqual(["\r\n"])
  expect(client.isEnded).toBe(false)
  expect(harness.streams.count).toBe(1)
})
