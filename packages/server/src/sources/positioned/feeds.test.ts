/** Whole servers that read feeds: what is stored, matched and kept as a dead letter. */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import pg from "pg"
import { expect, test } from "vitest"
import { WebSocketServer } from "ws"
import { pathOf, paths } from "@sluice/api/paths"
import type { TestServer } from "../../../../../test/support/test-server.testing.ts"
import { createTestDatabase } from "../../store/cluster/connection/postgres.testing.ts"
import { sourceState, startServerWith } from "../server-with-sources.testing.ts"
import { startFeed } from "./reading.testing.ts"

const mapping = '{ "uri": "birds:" & id, "text": words, "author": { "username": by }, "cursor": id }'
const itemOf = (id: number): string => JSON.stringify({ id, words: `heron ${id}`, by: "wren" })

async function storedTexts(server: TestServer): Promise<readonly string[]> {
  const { body } = await server.call(`${paths.posts}?max_results=100`)
  const { data = [] } = body as { data?: readonly { data: { text: string } }[] }
  return data.map((envelope) => envelope.data.text).toSorted()
}

const herons = (...ids: readonly number[]): readonly string[] => ids.map((id) => `heron ${id}`).toSorted()

test("lines over HTTP become posts, each once, page after page", async () => {
  const asked: (string | undefined)[] = []
  await using feed = await startFeed(({ url }, response) => {
    asked.push(url)
    const since = Number(new URL(`http://a${url}`).searchParams.get("since") ?? 0)
    response.end(since >= 6 ? "" : `${[1, 2, 3].map((step) => itemOf(since + step)).join("\n")}\nnot json\n`)
  })
  const url = `http://127.0.0.1:${feed.port}/?since={cursor}`
  await using server = await startServerWith([{ name: "birds", type: "http", url, pollSeconds: 1, mapping }])
  await expect.poll(() => storedTexts(server), { timeout: 20_000 }).toEqual(herons(1, 2, 3, 4, 5, 6))
  expect(asked.slice(0, 3)).toEqual(["/", "/?since=3", "/?since=6"])
})

test("messages of a WebSocket become posts", async () => {
  const http = createServer()
  const sockets = new WebSocketServer({ server: http })
  sockets.on("connection", (socket) => {
    for (const id of [1, 2, 3]) socket.send(itemOf(id))
  })
  await once(http.listen(0, "127.0.0.1"), "listening")
  await using _closed = {
    async [Symbol.asyncDispose]() {
      for (const client of sockets.clients) client.terminate()
      await new Promise((resolve) => http.close(resolve))
    },
  }
  const url = `ws://127.0.0.1:${(http.address() as AddressInfo).port}/`
  await using server = await startServerWith([{ name: "birds", type: "websocket", url, mapping }])
  await expect.poll(() => storedTexts(server), { timeout: 20_000 }).toEqual(herons(1, 2, 3))
})

test("rows of an outbox become posts and are deleted once these are stored, and an operator rewinds it to an id", async () => {
  await using database = await createTestDatabase()
  const client = new pg.Client(database.url)
  await client.connect()
  try {
    await client.query("CREATE TABLE outbox (id bigserial PRIMARY KEY, envelope jsonb)")
    const write = (id: number) =>
      client.query("INSERT INTO outbox (envelope) VALUES ($1)", [{ data: { id: String(id), text: `heron ${id}` } }])
    for (const id of [1, 2, 3]) await write(id)
    const place = new URL(database.url)
    place.username = ""
    const outbox = {
      name: "own",
      type: "outbox",
      url: place.href,
      username: "postgres",
      deleteRows: true,
      pollSeconds: 1,
    }
    await using server = await startServerWith([outbox])
    await expect.poll(() => storedTexts(server), { timeout: 20_000 }).toEqual(herons(1, 2, 3))
    await write(4)
    await expect.poll(() => storedTexts(server), { timeout: 20_000 }).toEqual(herons(1, 2, 3, 4))
    const rows = async (): Promise<number | null> => (await client.query("SELECT FROM outbox")).rowCount
    await expect.poll(rows, { timeout: 20_000 }).toBe(0)
    await client.query("TRUNCATE outbox RESTART IDENTITY")
    await write(5)
    await expect
      .poll(async () => (await sourceState(server, "own"))["last_error"], { timeout: 20_000 })
      .toMatchObject({
        message: expect.stringContaining("numbered anew"),
        advice: expect.stringContaining("--position 0"),
      })
    const token = await server.running.apps.createToken("operator")
    const rewind = (body: object) => server.send("POST", pathOf(paths.rewindSource, { name: "own" }), body, token)
    const [word, time] = [await rewind({ position: "first" }), await rewind({ to: new Date(0).toISOString() })]
    expect(word).toMatchObject({
      status: 400,
      body: { errors: [{ message: expect.stringContaining("whole numbers") }] },
    })
    expect(time).toMatchObject({ status: 400, body: { errors: [{ message: expect.stringContaining("by time") }] } })
    expect(await rows()).toBe(1)
    expect(await rewind({ position: "0" })).toMatchObject({ status: 200, body: { data: { position: "0" } } })
    await expect.poll(() => storedTexts(server), { timeout: 60_000 }).toEqual(herons(1, 2, 3, 4, 5))
    await expect.poll(rows, { timeout: 20_000 }).toBe(0)
  } finally {
    await client.end()
  }
})
