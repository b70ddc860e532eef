/** Gaps of the stream of a real server, whose time a test moves on together with that of its reader. */
import { paths, type DisconnectStreamsBody } from "@sluice/api"
import { expect, test } from "vitest"
import { envelope, startTestServer } from "../../../test/support/test-server.testing.ts"
import { MovableClock } from "../../server/src/index.ts"
import { createClient } from "./client.ts"
import { refusal } from "./errors.ts"
import { streamLines, type Connect, type StreamLine, type StreamOptions } from "./stream.ts"

const minuteMs = 60_000

/** More than the sockets between a server and a reader that waits hold. */
const ids = Array.from({ length: 3_000 }, (_, at) => String(10_000 + at))
const text = `a cat ${"x".repeat(4_000)}`

/** A server with posts that a rule has matched, some minutes ago, and the queries of the streams that are read from it. */
async function startWithMatches({ minutesAgo }: { readonly minutesAgo: number }) {
  const clock = new MovableClock()
  const server = await startTestServer({ search: "off" }, "dev", undefined, { clock })
  const client = createClient({ url: server.url, token: server.app.bearer_token })
  await client.rules.add([{ value: "cat" }])
  await server.ingest(...ids.map((id) => envelope(id, text)))
  await clock.advance(minutesAgo * minuteMs)
  const queries: string[] = []
  const connect: Connect = async (query, signal) => {
    const search = String(new URLSearchParams(query as Record<string, string>))
    queries.push(decodeURIComponent(search))
    const headers = { authorization: `Bearer ${server.app.bearer_token}` }
    const response = await fetch(`${server.url}${paths.stream}?${search}`, { signal, headers })
    if (!response.ok) throw refusal(response.status, await response.json())
    return response.body ?? expect.unreachable()
  }
  return {
    clock,
    queries,
    stream: (options: StreamOptions) => streamLines(server.url, connect, options, () => clock.nowMs()),
    cut: async (type: DisconnectStreamsBody["disconnect_type"]) =>
      (await client.trouble.disconnectStreams({ disconnect_type: type })).data.disconnected,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

/** Reads until `count` posts have come; `afterFirst` runs while the first of them is handled. */
async function read(
  stream: AsyncIterable<StreamLine>,
  count: number,
  afterFirst: () => Promise<unknown> = async () => undefined,
) {
  const posts: string[] = []
  const messages: unknown[] = []
  let completeUntil: Date | undefined
  for await (const line of stream) {
    const id = line.body?.data?.id
    if (id === undefined)
      messages.push(...(line.body?.errors ?? []).map((error) => Reflect.get(error, "disconnect_type")))
    else if (posts.push(id) === 1) await afterFirst()
    completeUntil = line.completeUntil
    if (posts.length === count) break
  }
  return { posts, messages, completeUntil }
}

test("a recovery that the server cuts short with a message begins again, and no match of it is lost", async () => {
  await using server = await startWithMatches({ minutesAgo: 10 })
  const completeUntil = new Date(server.clock.nowMs() - 10 * minuteMs)
  const cut = () => server.cut("OperationalDisconnect")
  const { posts, messages } = await read(server.stream({ completeUntil }), ids.length, cut)
  expect(messages).toEqual(["OperationalDisconnect"])
  expect(posts).toEqual(ids)
  const recovery = `start_time=${new Date(completeUntil.getTime() - minuteMs).toISOString()}`
  expect(server.queries).toEqual([recovery, recovery])
})

test("a reader that stops in the middle of a recovery continues with the recovery", async () => {
  await using server = await startWithMatches({ minutesAgo: 10 })
  const completeUntil = new Date(server.clock.nowMs() - 10 * minuteMs)
  const stopped = await read(server.stream({ completeUntil }), 5)
  expect(stopped.completeUntil).toEqual(completeUntil)
  const continued = await read(server.stream({ completeUntil: stopped.completeUntil }), ids.length)
  expect(continued.posts).toEqual(ids)
})

test("a backfill that the caller requested and that breaks off is completed", async () => {
  await using server = await startWithMatches({ minutesAgo: 4 })
  const query = { backfill_minutes: 5 }
  const { posts } = await read(server.stream({ query }), ids.length, () => server.cut("none"))
  expect(posts).toEqual(ids)
})

test("`completeUntil` is refused where no gaps are healed", async () => {
  const completeUntil = new Date()
  const client = createClient({ url: "http://127.0.0.1:1" })
  for (const options of [
    { heal: false },
    { reconnect: false },
    { query: { start_time: completeUntil.toISOString() } },
  ]) {
    await expect(client.stream({ ...options, completeUntil }).next()).rejects.toThrow(TypeError)
  }
})
