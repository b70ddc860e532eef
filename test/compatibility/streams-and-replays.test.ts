/** Stream connections, recovery of a stream, and replays to a webhook. Each test bears the id of its row of docs/compatibility.md. */
import { once } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"
import { paths, type Envelope } from "@sluice/api"
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
