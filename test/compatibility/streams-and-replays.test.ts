/** Stream connections, recovery of a stream, and replays to a webhook. Each test bears the id of its row of docs/compatibility.md. */
import { once } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"
import { paths, pathOf, snowflakeEpochMs, type Envelope } from "@sluice/api"
import { isSampled } from "@sluice/rules"
import { expect } from "vitest"
import { loadConfig } from "../../packages/server/src/index.ts"
import { openStream } from "../support/open-stream.testing.ts"
import { connectTo } from "../support/raw-http.testing.ts"
import { envelope, startTestServer, type TestResponse, type TestApp } from "../support/test-server.testing.ts"
import {
  addRules,
  appWithReceiver,
  bearer,
  hourMs,
  ingestNew,
  link,
  minuteMs,
  newId,
  newIds,
  test,
  webhookPath,
} from "./support.testing.ts"

test("second-stream: the server refuses one connection too many, or closes the oldest where that is set", async ({
  server,
  otherServer,
}) => {
  const app = await server.newApp()
  await addRules(app, { value: "cat" })
  const detail = "This stream is currently at the maximum allowed connection limit."
  const type = "https://api.x.com/2/problems/streaming-connection"
  const error = {
    title: "ConnectionException",
    type,
    detail,
    status: 429,
    message: detail,
    connection_issue: "TooManyConnections",
  }
  const first = await openStream(app)
  const refused = await app.call(paths.stream, { signal: AbortSignal.timeout(5_000) })
  expect(refused.status).toBe(429)
  expect(refused.body).toEqual({ ...error, errors: [error] })
  const id = newId()
  await ingestNew(server, envelope(id, "a cat"))
  expect((await first.next()).data.id).toBe(id)
  await first[Symbol.asyncDispose]()
  await expect.poll(async () => isStreamOpen(app)).toBe(true)

  const env = { SLUICE_STREAM_CONNECTIONS_PER_APP_MAX: "2" }
  expect(loadConfig({ posture: "dev", env }).streamConnectionsPerAppMax).toBe(2)
  await addRules(otherServer, { value: "cat" })
  await using one = await openStream(otherServer)
  await using two = await openStream(otherServer)
  await using three = await openStream(otherServer)
  expect(await one.next()).toMatchObject({ errors: [{ disconnect_type: "OperationalDisconnect" }] })
  await expect(one.next()).rejects.toThrow("the stream has ended")
  const seen = newId()
  await otherServer.ingest(envelope(seen, "a cat"))
  expect([(await two.next()).data.id, (await three.next()).data.id]).toEqual([seen, seen])
})

test("stream-head: a stream has a chunked body, no content type and no Connection header", async ({ server }) => {
  const app = await server.newApp()
  await addRules(app, { value: "cat" })
  const window = `?start_time=${new Date(Date.now() - hourMs).toISOString().slice(0, 19)}Z`
  const closed: string[] = []
  for (const path of [paths.stream, paths.matches, paths.stream + window]) {
    const socket = await connectTo(server.url)
    socket.once("close", () => closed.push(path))
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.app.bearer_token}\r\n\r\n`)
    const [head] = (await once(socket, "data")) as [Buffer]
    const [statusLine, ...lines] = (head.toString("latin1").split("\r\n\r\n")[0] ?? "").split("\r\n")
    const headers = new Map(lines.map((line) => [line.split(":")[0]?.toLowerCase(), line]))
    expect(statusLine, path).toBe("HTTP/1.1 200 OK")
    expect(headers.get("transfer-encoding"), path).toBe("Transfer-Encoding: chunked")
    for (const absent of ["connection", "keep-alive", "content-type", "content-length"]) {
      expect(headers.has(absent), `${path} ${absent}`).toBe(false)
    }
    expect(closed).toEqual([])
    socket.destroy()
    await once(socket, "close")
    closed.length = 0
  }
})

test("stream-end: after a stream the connection stays open for the client's next request", async ({ server }) => {
  const app = await server.newApp()
  await addRules(app, { value: "cat" })
  const socket = await connectTo(server.url)
  const request = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.app.bearer_token}\r\n\r\n`
  socket.write(request(paths.stream))
  let received = ""
  socket.setEncoding("latin1").on("data", (chunk: string) => (received += chunk))
  await expect.poll(() => received).toContain("200 OK")
  expect((await app.call("/2/connections/all", { method: "DELETE" })).status).toBe(200)
  await expect.poll(() => received).toMatch(/ForceDisconnect[^]*\r\n0\r\n\r\n$/)
  received = ""
  socket.write(request("/2/connections"))
  await expect.poll(() => received).toContain('"result_count":0')
  socket.destroy()
})

test("recovery-window: a stream with start_time holds the matches since then, and ends", async ({ server }) => {
  const app = await server.newApp()
  await addRules(app, { value: "cat" })
  await ingestNew(server, envelope(newId(), "a cat before"))
  await sleep(20)
  const startAt = new Date().toISOString()
  const ids = [newId(), newId()]
  for (const id of ids) await ingestNew(server, envelope(id, "a cat within"))
  await sleep(20)
  const endAt = new Date().toISOString()
  await ingestNew(server, envelope(newId(), "a cat after"))
  const recover = async (query: string): Promise<readonly string[]> => {
    const { status, text: body } = await app.call(paths.stream + query)
    expect(status, body).toBe(200)
    const records = body.split("\r\n").filter((line) => line !== "")
    return records.map((line) => (JSON.parse(line) as Envelope).data.id)
  }
  expect(await recover(`?start_time=${startAt}&end_time=${endAt}`)).toEqual(ids)
  expect(await recover(`?start_time=${startAt}`)).toHaveLength(3)
  // It has separate places: the live stream may be open at the same time.
  await using live = await openStream(app)
  expect(live.response.status).toBe(200)
  expect(await recover(`?start_time=${startAt}&end_time=${endAt}`)).toEqual(ids)
  const dayAgo = new Date(Date.now() - 24 * hourMs - 1_000).toISOString()
  for (const query of [
    `?start_time=${dayAgo}`,
    `?end_time=${endAt}`,
    `?start_time=${endAt}&end_time=${startAt}`,
    `?start_time=${startAt}&backfill_minutes=1`,
  ]) {
    expect((await app.call(paths.stream + query)).status, query).toBe(400)
  }
})

test("replay-bounds: a replay includes both dates: from_date is 31 minutes to a day old, to_date at least 10 minutes", async ({
  server,
}) => {
  await using linked = await appWithReceiver(server)
  const id = await linked.webhook()
  await link(linked, id)
  const ago = (minutes: number): string =>
    new Date(Date.now() - minutes * minuteMs).toISOString().slice(0, 16).replaceAll(/\D/g, "")
  const ask = (from_date: string, to_date: string): Promise<TestResponse> =>
    linked.send("POST", paths.webhookReplay, { webhook_id: id, from_date, to_date })
  // A minute may begin between the writing of a date and its check.
  const right = [
    [ago(31), ago(10)],
    [ago(24 * 60 - 1), ago(24 * 60 - 1)],
    [ago(40), ago(40)],
  ] as const
  for (const [from, to] of right) {
    const made = await ask(from, to)
    expect([made.status, made.text]).toEqual([200, expect.stringContaining("job_id") as string])
    await expect
      .poll(async () => (await linked.call(paths.replays)).body.data[0])
      .toMatchObject({ job_id: made.body.data.job_id as string, state: "complete" })
  }
  const wrong = [
    [ago(24 * 60 + 1), ago(60), "from_date is more than 24 hours ago"],
    [ago(60), ago(-2), "to_date is in the future"],
    [ago(60), ago(61), "from_date is after to_date"],
    ["202602300000", ago(60), "from_date is not a minute in UTC, written yyyymmddhhmm"],
  ] as const
  for (const [from, to, reason] of wrong) {
    const refused = await ask(from, to)
    expect(refused.status).toBe(400)
    expect(refused.body.errors).toMatchObject([{ message: `QueryParamInvalid: ${reason}` }])
  }
  // A date may reach up to this minute only in development.
  await using careful = await startTestServer({}, "serve")
  const early = [
    [ago(29), ago(20), "from_date is less than 31 minutes ago"],
    [ago(60), ago(8), "to_date is less than 10 minutes ago"],
  ] as const
  for (const [from_date, to_date, reason] of early) {
    const body = { webhook_id: id, from_date, to_date }
    const refused = await careful.send("POST", paths.webhookReplay, body)
    expect(refused.body.errors).toMatchObject([{ message: `QueryParamInvalid: ${reason}` }])
  }
  await linked.send("POST", paths.rules, { add: [{ value: "heron" }] })
  await linked.ingest(envelope(4_000_001, "a heron"))
  await linked.receiver.arrived(4)
  const recent = await ask(ago(1), ago(0))
  expect([recent.status, recent.text]).toEqual([200, expect.stringContaining("job_id") as string])
  // The post once more, and the end of the replay.
  await linked.receiver.arrived(6)
  const again = linked.receiver.received.filter(({ body }) => body.includes("4000001"))
  expect(again).toHaveLength(2)
  linked.receiver.passesChallenges = false
  await linked.send("PUT", webhookPath(id))
  const invalid = await ask(ago(60), ago(60))
  expect([invalid.status, invalid.body.errors[0].message]).toEqual([
    400,
    expect.stringMatching(/^CrcValidationFailed: /) as string,
  ])
})

test("replay-end: the webhook receives the end of a replay in X's words, under the job's event id", async ({
  server,
}) => {
  await using linked = await appWithReceiver(server)
  const id = await linked.webhook()
  await link(linked, id)
  const anHourAgo = new Date(Date.now() - hourMs).toISOString().slice(0, 16).replaceAll(/\D/g, "")
  const request = { webhook_id: id, from_date: anHourAgo, to_date: anHourAgo }
  const { job_id: jobId } = (await linked.send("POST", paths.webhookReplay, request)).body.data as {
    job_id: string
  }
  await linked.receiver.arrived(1)
  const [delivery] = linked.receiver.received
  expect(delivery).toMatchObject({ headers: { "webhook-id": `replay_${jobId}` } })
  expect(JSON.parse(delivery?.body ?? "")).toEqual({
    replay_job_status: {
      webhook_id: id,
      job_state: "Complete",
      job_state_description: "Job completed successfully",
      job_id: jobId,
    },
  })
})

async function isStreamOpen(app: TestApp): Promise<boolean> {
  const leave = new AbortController()
  const { status } = await fetch(app.url + paths.stream, {
    ...bearer(app.app.bearer_token),
    signal: leave.signal,
  })
  leave.abort()
  return status === 200
}

test("connections-apart: each stream endpoint has a number of connections of its own", async ({ server }) => {
  const app = await server.newApp()
  await addRules(app, { value: "cat" })
  const open: AsyncDisposable[] = []
  const [first, second] = [`${paths.sample10}?partition=1`, `${paths.sample10}?partition=2`]
  open.push(await openStream(app, "", first))
  for (const path of [paths.stream, paths.sample, second]) {
    open.push(await openStream(app, "", path))
    const refused = await app.call(path, { signal: AbortSignal.timeout(5_000) })
    expect(refused.status, path).toBe(429)
    expect(refused.body).toMatchObject({ connection_issue: "TooManyConnections" })
  }
  expect((await app.call(first)).status).toBe(429)
  for (const stream of open) await stream[Symbol.asyncDispose]()
})

test("sample-posts: the samples are those of sample:1 and sample:10, without rules in their lines", async ({
  server,
}) => {
  const app = await server.newApp()
  await using one = await openStream(app, "", paths.sample)
  await using first = await openStream(app, "?partition=1&tweet.fields=lang", paths.sample10)
  const ids = newIds(300)
  await ingestNew(server, ...ids.map((id) => envelope(id, "a post", { lang: "en" })))
  const inOne = ids.filter((id) => isSampled(id, 1))
  for (const id of inOne) {
    expect(await one.next()).toEqual({ data: { id, text: "a post", edit_history_tweet_ids: [id] } })
  }
  for (const id of ids.filter((known) => isSampled(known, 5))) {
    expect(await first.next()).toMatchObject({ data: { id, lang: "en" } })
  }
  const archived = newIds(600).find((id) => isSampled(id, 1)) ?? ""
  await server.call(`${paths.posts}?deliver=false`, {
    method: "POST",
    headers: { "content-type": "application/x-ndjson" },
    body: JSON.stringify(envelope(archived, "of an archive")),
  })
  expect(await one.next()).toMatchObject({ data: { id: archived } })
  for (const query of ["start_time=2026-03-14T12:00:00Z", "end_time=2026-03-14T12:00:00Z"]) {
    expect((await app.call(`${paths.sample10}?partition=1&${query}`)).status).toBe(400)
  }
})

test("sample-backfill: a sample begins with the posts of the minutes that are asked for", async ({ server }) => {
  const app = await server.newApp()
  const now = BigInt(Date.now() - minuteMs - snowflakeEpochMs) << 22n
  const id = Array.from({ length: 4_000 }, (_, at) => String(now + BigInt(at))).find((one) => isSampled(one, 1)) ?? ""
  await ingestNew(server, envelope(id, "in the sample"))
  await using stream = await openStream(app, "?backfill_minutes=5", paths.sample)
  const seen: string[] = []
  while (seen.at(-1) !== id) seen.push((await stream.next()).data.id)
  expect(seen.filter((one) => one === id)).toHaveLength(1)
})

test("connection-history: the list has open connections, and by status those that have ended", async ({ server }) => {
  const app = await server.newApp()
  await addRules(app, { value: "cat" })
  expect((await app.call(paths.connections)).body).toEqual({ data: [], meta: { result_count: 0 } })
  await using _stream = await openStream(app)
  await using _sample = await openStream(app, "", paths.sample)
  await using _watch = await openStream(app, "", paths.matches)
  const list = async (query = ""): Promise<readonly { endpoint_name: string }[]> =>
    (await app.call(paths.connections + query)).body.data as never
  expect((await list()).map((one) => one.endpoint_name)).toEqual(["sample_stream", "filtered_stream"])
  expect(await list("?endpoints=sample_stream&connection.fields=client_ip")).toEqual([
    { id: expect.any(String) as string, client_ip: "127.0.0.1" },
  ])
  const page = (await app.call(`${paths.connections}?max_results=1`)).body
  expect(Object.keys(page.meta as object)).toEqual(["result_count", "next_token"])
  const next = (page.meta as { next_token: string }).next_token
  expect((await list(`?max_results=1&pagination_token=${next}`)).map((one) => one.endpoint_name)).toEqual([
    "filtered_stream",
  ])
  await app.send("DELETE", paths.allConnections)
  expect(await list()).toEqual([])
  expect(await list("?status=inactive")).toHaveLength(2)
  const other = await server.newApp()
  expect((await other.call(`${paths.connections}?status=all`)).body.data).toEqual([])
})

test("connection-members: an ended connection says when and why it ended", async ({ server }) => {
  const app = await server.newApp()
  const stream = await openStream(app, "", paths.sample)
  await stream[Symbol.asyncDispose]()
  const listed = async (): Promise<unknown> => (await app.call(`${paths.connections}?status=all`)).body.data
  await expect.poll(listed).toEqual([
    {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      endpoint_name: "sample_stream",
      connected_at: expect.stringMatching(/Z$/) as string,
      disconnected_at: expect.stringMatching(/Z$/) as string,
      disconnect_reason: "ClientDisconnected",
      client_ip: "127.0.0.1",
    },
  ])
})

test("connection-end: an ended connection gets X's message before its end, and no app ends another's", async ({
  server,
}) => {
  const [app, other] = [await server.newApp(), await server.newApp()]
  await using stream = await openStream(app, "", paths.sample)
  const listed = (await app.call(paths.connections)).body.data as unknown as [{ id: string }]
  const uuids = [listed[0].id, "01890a5d-ac96-774b-bcce-b302099a8057"]
  const failed = (uuid: string | undefined) => ({
    uuid,
    success: false,
    error_message: "No active connection with this id.",
  })
  const byOther = await other.send("DELETE", paths.connections, { uuids })
  expect(byOther.body.data).toEqual({ successful_kills: 0, failed_kills: 2, results: uuids.map(failed) })
  const none = { successful_kills: 0, failed_kills: 0, results: [] }
  const ofEndpoint = (endpoint: string): string => pathOf(paths.endpointConnections, { endpoint_id: endpoint })
  for (const path of [paths.allConnections, ofEndpoint("sample_stream")]) {
    expect((await other.send("DELETE", path)).body.data).toEqual(none)
  }
  const { status, body } = await app.send("DELETE", paths.connections, { uuids })
  expect(status).toBe(200)
  expect(body.data).toEqual({
    successful_kills: 1,
    failed_kills: 1,
    results: [{ uuid: uuids[0], success: true }, failed(uuids[1])],
  })
  expect(await stream.next()).toMatchObject({
    errors: [{ title: "operational-disconnect", disconnect_type: "ForceDisconnect" }],
  })
  await expect(stream.next()).rejects.toThrow("the stream has ended")
  expect((await app.send("DELETE", paths.connections, { uuids: ["one"] })).status).toBe(400)
  expect((await app.send("DELETE", ofEndpoint("firehose_stream"))).body.data).toEqual(none)
})
