/**
 * A server that speaks Jetstream's wire, both endpoints: events behind a cursor, then live ones. Tests say what it does
 * otherwise.
 */
import { once } from "node:events"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { zstdCompressSync } from "node:zlib"
import { WebSocketServer, type WebSocket } from "ws"

/** An event of a repository, without its time and form. */
export interface JetstreamEvent {
  readonly did: string
  readonly kind: "commit" | "identity" | "account"
  /** The member of the kind's name. */
  readonly body: Readonly<Record<string, unknown>>
}

interface TimedEvent extends JetstreamEvent {
  readonly timeUs: number
  readonly seq: number
}

/** A running one. */
export interface JetstreamServer extends AsyncDisposable {
  /** Address of the frozen endpoint. */
  readonly url: string
  /** Address of `subscribeEvents`. */
  readonly xrpcUrl: string
  /** The queries of the connections that came, in order. */
  readonly queries: readonly URLSearchParams[]
  /** First messages of clients. */
  readonly hellos: readonly string[]
  /** Appends an event a millisecond after the one before, and sends it. Returns its time in microseconds. */
  emit(event: JetstreamEvent, timeUs?: number): number
  /** Sends a text to all connections as it is. */
  sendRaw(text: string | Uint8Array): void
  /** Ends all connections: cut, or closed with a code. */
  cut(code?: number): void
  /** Open connections. */
  readonly open: number
  /** Gives the host another dictionary: from now on it refuses connections that name the old one. */
  changeDictionary(dictionary: Buffer): void
}

/** The trouble that a server makes. */
export interface JetstreamTrouble {
  /** Called for each connection, which it may cut; true when it has taken it over. */
  readonly onConnect?: (socket: WebSocket, connection: number) => boolean
  /** The oldest event that is kept, in microseconds: an older cursor begins there, and the frozen endpoint does not say so. */
  readonly floorUs?: number
  /** How often each event is sent, and whether neighbours change places. */
  readonly repeats?: number
  readonly reorders?: boolean
  /** The time of the first event, in microseconds. */
  readonly beginUs?: number
  /** The dictionary of zstd with which frames are compressed for who asks for it. */
  readonly dictionary?: Buffer
}

/** Starts one on 127.0.0.1. */
export async function startJetstream(trouble: JetstreamTrouble = {}): Promise<JetstreamServer> {
  const events: TimedEvent[] = []
  const queries: URLSearchParams[] = []
  const hellos: string[] = []
  let { dictionary } = trouble
  const http = createServer((request, response) => {
    if (request.url === "/xrpc/network.bsky.jetstream.getZstdDictionary") response.end(dictionary)
    else response.writeHead(404).end()
  })
  const knowsDictionary = (url: string): boolean => {
    const named = new URL(url, "http://127.0.0.1").searchParams.get("zstdDictionary")
    return named === null || named === String(dictionary?.readUInt32LE(4))
  }
  const sockets = new WebSocketServer({
    server: http,
    perMessageDeflate: false,
    verifyClient: ({ req }, answer) => answer(knowsDictionary(req.url ?? ""), 400, `{"error":"UnknownDictionary"}`),
  })
  const open = new Map<WebSocket, Form>()

  const send = (socket: WebSocket, form: Form, event: TimedEvent): void => {
    for (let times = 0; times < (trouble.repeats ?? 1); times += 1) socket.send(frameOf(event, form))
  }

  const welcome = (socket: WebSocket, url: URL): void => {
    const isXrpc = url.pathname.startsWith("/xrpc/")
    const form = { isXrpc, ...(url.searchParams.has("zstdDictionary") && { dictionary }) }
    const cursor = url.searchParams.get("cursor")
    const fromUs = cursor === null ? Number.POSITIVE_INFINITY : Number(cursor)
    const floorUs = trouble.floorUs ?? 0
    if (isXrpc && fromUs < floorUs) socket.send(outdated)
    const replayed = events.filter(({ timeUs }) => timeUs >= Math.max(fromUs, floorUs))
    if (trouble.reorders === true) for (let at = 1; at < replayed.length; at += 2) swap(replayed, at)
    for (const event of replayed) send(socket, form, event)
    open.set(socket, form)
  }

  sockets.on("connection", (socket: WebSocket, request: IncomingMessage) => {
    const url = new URL(request.url ?? "", "http://127.0.0.1")
    queries.push(url.searchParams)
    socket.on("close", () => open.delete(socket))
    socket.on("error", () => undefined)
    if (trouble.onConnect?.(socket, queries.length) === true) return
    if (url.searchParams.get("requireHello") !== "true") return welcome(socket, url)
    socket.once("message", (data) => {
      hellos.push((data as Buffer).toString("utf8"))
      welcome(socket, url)
    })
  })
  http.listen(0, "127.0.0.1")
  await once(http, "listening")
  const address = `ws://127.0.0.1:${(http.address() as AddressInfo).port}`
  return {
    url: `${address}/subscribe`,
    xrpcUrl: `${address}/xrpc/network.bsky.jetstream.subscribeEvents`,
    queries,
    hellos,
    emit(event, given) {
      const last = events.at(-1)?.timeUs ?? (trouble.beginUs ?? Date.now() * 1_000) - 1_000
      const timed = { ...event, timeUs: given ?? last + 1_000, seq: events.length + 1 }
      events.push(timed)
      for (const [socket, form] of open) send(socket, form, timed)
      return timed.timeUs
    },
    sendRaw(text) {
      for (const socket of open.keys()) socket.send(text)
    },
    cut(code) {
      for (const socket of open.keys()) {
        if (code === undefined) socket.terminate()
        else socket.close(code)
      }
    },
    get open() {
      return open.size
    },
    changeDictionary(other) {
      dictionary = other
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets.clients) socket.terminate()
      sockets.close()
      http.close()
      await once(http, "close")
    },
  }
}

const outdated = JSON.stringify({
  $type: "message",
  payload: { $type: "network.bsky.jetstream.subscribeEvents#info", name: "OutdatedCursor", message: "too old" },
})

function swap(events: TimedEvent[], at: number): void {
  const [before, after] = [events[at - 1], events[at]]
  if (before !== undefined && after !== undefined) [events[at - 1], events[at]] = [after, before]
}

/** The form of the frames of a connection. */
interface Form {
  readonly isXrpc: boolean
  readonly dictionary?: Buffer | undefined
}

function frameOf(event: TimedEvent, { isXrpc, dictionary }: Form): string | Buffer {
  const text = textOf(event, isXrpc)
  return dictionary === undefined ? text : zstdCompressSync(text, { dictionary })
}

function textOf({ did, kind, body, timeUs, seq }: TimedEvent, isXrpc: boolean): string {
  if (!isXrpc) return JSON.stringify({ did, time_us: timeUs, kind, [kind]: body })
  const $type = `network.bsky.jetstream.subscribeEvents#${kind}`
  const time = new Date(timeUs / 1_000).toISOString()
  const members = kind === "commit" ? body : { [kind]: body }
  return JSON.stringify({ $type: "message", payload: { $type, seq, did, time, ...members } })
}

const digits = "234567abcdefghijklmnopqrstuvwxyz"

/** A TID of this time in microseconds. Source: AT Protocol, "Timestamp identifiers". */
function tid(us: number): string {
  let [number, text] = [BigInt(us) << 10n, ""]
  for (let digit = 0; digit < 13; digit += 1, number >>= 5n) text = `${digits[Number(number & 31n)]}${text}`
  return text
}

/** A commit that creates a post, written at this time in microseconds. */
export function postCommit(text: string, us: number, did = "did:plc:wren22222222222222222222"): JetstreamEvent {
  const record = { $type: "app.bsky.feed.post", text, createdAt: new Date(us / 1_000).toISOString(), langs: ["en"] }
  return { did, kind: "commit", body: commitBody("create", us, { record, cid: "bafyreib" }) }
}

/** A commit that deletes the post of this time. */
export function deleteCommit(us: number, did = "did:plc:wren22222222222222222222"): JetstreamEvent {
  return { did, kind: "commit", body: commitBody("delete", us, {}) }
}

function commitBody(operation: string, us: number, more: object): JetstreamEvent["body"] {
  return { rev: tid(us + 1_000), operation, collection: "app.bsky.feed.post", rkey: tid(us), ...more }
}
