/** The server ends while clients hold requests open: none of them delays its end. */
import assert from "node:assert/strict"
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { paths } from "@sluice/api"
import { expect, onTestFinished, test } from "vitest"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

/** The documented bound of a drain. */
const drainMsMax = 10_000

/** Time for the server to receive the bytes sent, where no response confirms it. */
const settleMs = 300

/** A client of one server. */
interface Client {
  readonly url: string
  /** A connection to the server. */
  readonly socket: Socket
  readonly token: string
  /** Headers of a raw request. */
  readonly headers: string
}

/** Holds the server's resources, and resolves once it does. */
type Hold = (client: Client) => Promise<void>

const holds: Readonly<Record<string, Hold>> = {
  async "a keep-alive connection"({ socket, headers }) {
    socket.write(`GET ${paths.healthz} HTTP/1.1\r\n${headers}\r\n`)
    await once(socket, "data")
  },

  async "an unfinished head"({ socket }) {
    socket.write(`GET ${paths.healthz} HTTP/1.1\r\nHost: x\r\n`)
    await sleep(settleMs)
  },

  async "an unfinished JSON body"({ socket, headers }) {
    socket.write(
      `POST ${paths.rules} HTTP/1.1\r\n${headers}Content-Type: application/json\r\nContent-Length: 900\r\n\r\n{"add"`,
    )
    await sleep(settleMs)
  },

  async "a stream connection that does not read"(client) {
    await call(client, paths.rules, "application/json", JSON.stringify({ add: [{ value: "cat" }] }))
    client.socket.pause()
    client.socket.write(`GET ${paths.stream} HTTP/1.1\r\n${client.headers}\r\n`)
    await sleep(settleMs)
    const text = `cat ${"x".repeat(10_000)}`
    // Twenty megabytes: more than sockets hold.
    const posts = range(1, 2_000).map((id) => postLine(id, text))
    await call(client, paths.posts, "application/x-ndjson", posts.join(""))
    await sleep(settleMs)
  },
}

test("SIGTERM drains within 10 s and exits 0, whatever requests clients hold open", async () => {
  await using directory = await temporaryDirectory()
  const names = Object.keys(holds)
  const outcomes = await Promise.all(
    Object.entries(holds).map(async ([name, hold]) => {
      await using server = new SluiceProcess(join(directory.path, name))
      await hold(clientOf(await server.mustBeReady()))
      return { name, ...(await drained(server)) }
    }),
  )
  expect(outcomes).toEqual(names.map((name) => ({ name, code: 0, isInTime: true })))
})

test("SIGTERM ends an endless body of posts, and keeps all that was acknowledged", async () => {
  await using directory = await temporaryDirectory()
  const data = join(directory.path, "data")
  let acknowledged = 0
  {
    await using server = new SluiceProcess(data)
    const { socket, headers } = clientOf(await server.mustBeReady())
    let response = ""
    socket.on("data", (chunk: Buffer) => (response += chunk.toString()))
    socket.write(
      `POST ${paths.posts}?ack=batch HTTP/1.1\r\n${headers}Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n`,
    )
    let sent = 0
    const ingesting = setInterval(() => {
      sent += 1
      if (socket.writable) socket.write(chunkOf(postLine(sent, "on and on")))
    }, 5)
    onTestFinished(() => clearInterval(ingesting))
    await expect.poll(() => response).toContain('"accepted"')
    const closed = once(socket, "close")
    expect(await drained(server)).toEqual({ code: 0, isInTime: true })
    await closed
    for (const line of response.split("\r\n").filter((part) => part.startsWith("{"))) {
      const { accepted, errors } = JSON.parse(line) as { accepted: number; errors?: unknown }
      // The last line gives the reason for the end of the body, and the totals.
      if (errors === undefined) acknowledged += accepted
      else expect(line).toContain("The server is closing.")
    }
    expect(response).toContain('"errors"')
  }
  expect(acknowledged).toBeGreaterThan(0)

  await using restarted = new SluiceProcess(data)
  const client = clientOf(await restarted.mustBeReady())
  const again = range(1, acknowledged).map((id) => postLine(id, "on and on"))
  const report = await call(client, paths.posts, "application/x-ndjson", again.join(""))
  expect(report).toMatchObject({ accepted: 0, duplicates: acknowledged })
})

/** Sends SIGTERM to a server, and waits for its end. */
async function drained(server: SluiceProcess): Promise<{ code: number | null; isInTime: boolean }> {
  const askedAtMs = performance.now()
  server.end("SIGTERM")
  const { code } = await server.ended()
  return { code, isInTime: performance.now() - askedAtMs < drainMsMax }
}

/** A client of the server that printed this line when it was ready. */
function clientOf(readyLine: string): Client {
  const { url, app } = JSON.parse(readyLine) as { url: string; app: { bearer_token: string } }
  const socket = connect(Number(new URL(url).port), "127.0.0.1")
  socket.on("error", () => undefined)
  onTestFinished(() => void socket.destroy())
  const token = app.bearer_token
  return { url, socket, token, headers: `Host: x\r\nAuthorization: Bearer ${token}\r\n` }
}

async function call({ url, token }: Client, path: string, type: string, body: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}`, "content-type": type, connection: "close" }
  const response = await fetch(url + path, { method: "POST", headers, body })
  assert(response.ok, `${path} returned ${response.status}`)
  return response.json()
}

function postLine(id: number, text: string): string {
  return `${JSON.stringify({ data: { id: String(id), text } })}\n`
}

function chunkOf(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, n) => from + n)
}
