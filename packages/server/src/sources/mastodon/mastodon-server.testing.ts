/** An instance for tests: it speaks Mastodon's API over HTTP and WebSockets, as far as a source uses it. */
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { Duplex } from "node:stream"
import { WebSocketServer, type WebSocket } from "ws"
import { status as madeStatus } from "../../conversion/mastodon/mastodon-events.testing.ts"

/** A status, of which tests name members. */
export type TestStatus = Readonly<Record<string, unknown>> & { readonly id: string }

/** An answer in place of the usual one. */
export interface Scripted {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** The answer is sent, and neither ended nor closed. */
  readonly isStalled?: boolean
}

/** Properties of an instance. */
export interface InstanceOptions {
  /** The only token that it accepts; absent: it asks for none. */
  readonly token?: string
  /** The host in the names of its accounts. */
  readonly domain?: string
  /** `configuration.timelines_access`. */
  readonly access?: unknown
  /** False for an instance that does not describe itself. */
  readonly isDescribed?: boolean
  /** The address of its streams; absent: its own. */
  readonly streaming?: string
  /** Time until a subscription is made. */
  readonly subscribingMs?: number
}

/** A connection with its subscriptions. */
interface Reader {
  readonly socket: WebSocket
  /** The connection below it. */
  readonly raw: Duplex
  readonly streams: Set<string>
}

/** A stream that is read as server-sent events. */
interface Listener {
  readonly stream: string
  readonly response: ServerResponse
}

/** A running instance. Disposing of it ends it. */
export class MastodonServer implements AsyncDisposable {
  readonly #http = createServer((request, response) => this.#serve(request, response))
  readonly #sockets = new WebSocketServer({ noServer: true })
  readonly #options: InstanceOptions
  readonly #readers = new Set<Reader>()
  readonly #listeners = new Set<Listener>()
  readonly #timelines = new Map<string, TestStatus[]>()
  #ids = 0
  /** Paths of requests with their queries, and the tokens that came with them. */
  readonly requests: { readonly path: string; readonly token: string | undefined }[] = []
  /** Answers that are given in place of the usual one, once each, by the beginning of the path. */
  readonly scripted: { readonly path: string; readonly answer: Scripted }[] = []
  /** Called before a timeline is answered. */
  onTimeline: ((path: string) => unknown) | undefined

  constructor(options: InstanceOptions) {
    this.#options = options
  }

  /** Starts one; with a port, at the place of one that has ended. */
  static async start(options: InstanceOptions = {}, port = 0): Promise<MastodonServer> {
    const server = new MastodonServer(options)
    server.#http.on("upgrade", (request, socket, head) => {
      server.#note(request)
      const refusal = server.#scriptedFor(request) ?? server.#refusal(request)
      if (refusal === undefined) {
        server.#sockets.handleUpgrade(request, socket, head, (opened) => server.#listen(opened, socket))
        return
      }
      const body = JSON.stringify(refusal.body ?? {})
      const headers = Object.entries({ ...refusal.headers, "content-length": String(body.length), connection: "close" })
      const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")
      socket.end(`HTTP/1.1 ${refusal.status} No\r\n${lines}\r\n${body}`)
    })
    await once(server.#http.listen(port, "127.0.0.1"), "listening")
    return server
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** Streams that are subscribed to, of all connections. */
  get subscribed(): readonly string[] {
    return [
      ...[...this.#readers].flatMap(({ streams }) => [...streams]),
      ...[...this.#listeners].map((one) => one.stream),
    ]
  }

  /** A new status, in no timeline yet; `atMs` is the time in its id. */
  status(members: Readonly<Record<string, unknown>> = {}, atMs = Date.now()): TestStatus {
    this.#ids += 1
    const id = String((BigInt(atMs) << 16n) + BigInt(this.#ids % 65_536))
    return { ...madeStatus({ id, created_at: new Date(atMs).toISOString(), ...members }), id }
  }

  /** Puts statuses into timelines, without an event. */
  keep(streams: readonly string[], ...statuses: readonly TestStatus[]): void {
    for (const stream of streams) this.#timelines.set(stream, [...(this.#timelines.get(stream) ?? []), ...statuses])
  }

  /** Puts a new status into timelines, and sends it to those who follow them. */
  publish(streams: readonly string[], status = this.status()): TestStatus {
    this.keep(streams, status)
    for (const stream of streams) this.send(stream, "update", status)
    return status
  }

  /** Deletes a status from timelines, and tells those who follow the stream. */
  delete(stream: string, id: string): void {
    for (const [name, statuses] of this.#timelines) {
      this.#timelines.set(
        name,
        statuses.filter((one) => one.id !== id),
      )
    }
    this.send(stream, "delete", id)
  }

  /** Sends an event to those who follow a stream. The payload is a text, as Mastodon has it. */
  send(stream: string, event: string, payload: unknown): void {
    const text = typeof payload === "string" ? payload : JSON.stringify(payload)
    this.sendText(JSON.stringify({ stream: partsOf(stream), event, payload: text }), stream)
    for (const { stream: name, response } of this.#listeners) {
      if (name === stream) response.write(`event: ${event}\ndata: ${text}\n\n`)
    }
  }

  /** Sends a text to those who follow a stream, or to all. */
  sendText(text: string, stream?: string): void {
    for (const { socket, streams } of this.#readers) {
      if (stream === undefined || streams.has(stream)) socket.send(text)
    }
  }

  /** Cuts all connections in the middle of an event. */
  cut(): void {
    for (const { raw } of this.#readers) {
      // A text of 100 bytes, of which three come.
      raw.write(Buffer.from([0x81, 100, 0x7b, 0x22, 0x73]))
      raw.destroy()
    }
    for (const { response } of this.#listeners) {
      response.write("event: update\ndata: {")
      response.destroy()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { socket } of this.#readers) socket.terminate()
    this.#http.close()
    this.#http.closeAllConnections()
    await once(this.#http, "close")
  }

  #note(request: IncomingMessage): void {
    this.requests.push({ path: request.url ?? "", token: request.headers.authorization })
  }

  #scriptedFor({ url = "" }: IncomingMessage): Scripted | undefined {
    const at = this.scripted.findIndex(({ path }) => url.startsWith(path))
    return at < 0 ? undefined : this.scripted.splice(at, 1)[0]?.answer
  }

  /** Source: mastodon/mastodon, streaming/index.js: a token is asked for at the beginning of a connection. */
  #refusal({ headers: { authorization } }: IncomingMessage): Scripted | undefined {
    const { token } = this.#options
    if (token === undefined || authorization === `Bearer ${token}`) return undefined
    const error = authorization === undefined ? "Missing access token" : "Invalid access token"
    return { status: 401, body: { error } }
  }

  #listen(socket: WebSocket, raw: Duplex): void {
    const reader: Reader = { socket, raw, streams: new Set() }
    this.#readers.add(reader)
    socket.on("close", () => this.#readers.delete(reader))
    socket.on("error", () => undefined)
    socket.on("message", (bytes: Buffer) => {
      const { type, stream, tag, list } = JSON.parse(bytes.toString()) as Record<string, string>
      if (type !== "subscribe") return
      const name = [stream, tag ?? list].filter((part) => part !== undefined).join(":")
      const { subscribingMs = 0 } = this.#options
      if (subscribingMs === 0) reader.streams.add(name)
      else setTimeout(() => reader.streams.add(name), subscribingMs)
    })
  }

  /** Source: mastodon/mastodon, streaming/index.js: it begins with `:)`, and `:thump` comes every 15 s. */
  #serveEvents(url: URL, response: ServerResponse): void {
    const stream = url.pathname.replace("/api/v1/streaming/", "").replaceAll("/", ":")
    const name = [stream, url.searchParams.get("tag") ?? url.searchParams.get("list")].filter((part) => part !== null)
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" }).write(":)\n")
    const thumps = setInterval(() => response.write(":thump\n"), 15_000)
    const listener: Listener = { stream: name.join(":"), response }
    this.#listeners.add(listener)
    response.on("close", () => {
      clearInterval(thumps)
      this.#listeners.delete(listener)
    })
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    this.#note(request)
    void (async () => {
      const url = new URL(request.url ?? "", this.url)
      if (url.pathname.startsWith("/api/v1/timelines/")) await this.onTimeline?.(request.url ?? "")
      const { pathname } = url
      if (pathname.startsWith("/api/v1/streaming/") && this.#refusal(request) === undefined) {
        this.#serveEvents(url, response)
        return
      }
      const { status, headers = {}, body, isStalled } = this.#scriptedFor(request) ?? this.#answer(request, url)
      response.writeHead(status, { "content-type": "application/json", ...headers }).write(JSON.stringify(body ?? {}))
      if (isStalled !== true) response.end()
    })()
  }

  #answer(request: IncomingMessage, url: URL): Scripted {
    const { authorization } = request.headers
    if (authorization !== undefined && this.#refusal(request) !== undefined) {
      return { status: 401, body: { error: "The access token is invalid" } }
    }
    if (url.pathname === "/api/v2/instance") return this.#description()
    if (url.pathname.startsWith("/api/v1/streaming/")) return this.#refusal(request) ?? { status: 404 }
    const timeline = /^\/api\/v1\/timelines\/(.+)$/.exec(url.pathname)?.[1]
    if (timeline === undefined) return { status: 404, body: { error: "Record not found" } }
    const refusal = this.#refusal(request)
    if (refusal !== undefined) return { ...refusal, status: 422 }
    return { status: 200, body: this.#page(decodeURIComponent(timeline), url.searchParams) }
  }

  #description(): Scripted {
    const {
      isDescribed = true,
      domain = "127.0.0.1",
      access,
      streaming = this.url.replace("http", "ws"),
    } = this.#options
    if (!isDescribed) return { status: 404, body: { error: "Record not found" } }
    return { status: 200, body: { domain, configuration: { urls: { streaming }, timelines_access: access } } }
  }

  /** Source: mastodon/documentation, "timelines", the parameters of pages. */
  #page(timeline: string, query: URLSearchParams): readonly TestStatus[] {
    const limit = Math.min(40, Number(query.get("limit") ?? 20))
    const least = query.get("min_id")
    const statuses = (this.#timelines.get(streamOfTimeline(timeline, query)) ?? []).toSorted((a, b) =>
      Number(BigInt(a.id) - BigInt(b.id)),
    )
    const page =
      least === null ? statuses.slice(-limit) : statuses.filter(({ id }) => BigInt(id) > BigInt(least)).slice(0, limit)
    return page.toReversed()
  }
}

/** The stream of a timeline. */
function streamOfTimeline(timeline: string, query: URLSearchParams): string {
  if (timeline === "home") return "user"
  const scope = query.get("local") === "true" ? ":local" : query.get("remote") === "true" ? ":remote" : ""
  const [kind, name] = timeline.split("/")
  if (kind === "tag") return `hashtag${scope}:${name}`
  return kind === "list" ? `list:${name}` : `public${scope}`
}

/** The name of a stream as messages have it. */
function partsOf(stream: string): readonly string[] {
  const match = /^(hashtag:local|hashtag|list):(.+)$/.exec(stream)
  return match === null ? [stream] : match.slice(1)
}
