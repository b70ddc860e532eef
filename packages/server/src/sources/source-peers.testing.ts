/**
 * The other sides of all kinds of sources, for tests that kill processes and cut connections: servers in this process, and
 * brokers and databases of this machine. The text of each post tells its number: `heron 17`.
 */
import { once } from "node:events"
import type { ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { snowflakeEpochMs } from "@sluice/api"
import pg from "pg"
import { WebSocketServer, type WebSocket } from "ws"
import { whyNoPostgres } from "../../../../test/support/postgres.testing.ts"
import { envelope } from "../../../../test/support/test-server.testing.ts"
import { createTestDatabase } from "../store/cluster/connection/postgres.testing.ts"
import { postCommit, startJetstream, type JetstreamEvent } from "./bluesky/jetstream-server.testing.ts"
import { MastodonServer } from "./mastodon/mastodon-server.testing.ts"
import { natsAddress, testStream as natsStream } from "./nats.testing.ts"
import { startFeed } from "./positioned/reading.testing.ts"
import { rabbitMqAddress, testQueue } from "./rabbitmq.testing.ts"
import { isListening } from "./reachable.testing.ts"
import { redisAddress, testStream as redisStream } from "./redis.testing.ts"
import { idsOf } from "./stored-ids.testing.ts"

/** A kind of source. */
export type PeerKind = "bluesky" | "mastodon" | "http" | "websocket" | "outbox" | "redis" | "rabbitmq" | "nats"

/** The kinds whose other side is a broker or a database. */
export type ServedKind = "outbox" | "redis" | "rabbitmq" | "nats"

/** The name of the source. */
export const peerSource = "posts"

/** Settings of a process that reads from a peer. */
interface PeerSettings {
  /** Entries of the list `sources` of the configuration file. */
  readonly sources: readonly Readonly<Record<string, unknown>>[]
  /** Variables, `SLUICE_…`. */
  readonly env: Readonly<Record<string, string>>
}

/** Up to where the source has come. */
type PeerProgress =
  /** The number of the last post up to the position, which the store keeps; 0 before the first. */
  | { readonly kind: "positioned"; readonly reached: (position: string | undefined) => number }
  /** Posts that the broker would give again, or has not given yet; asked while no process reads. */
  | {
      readonly kind: "acknowledged"
      readonly unacknowledged: () => Promise<number>
      readonly deadLetters: () => Promise<number>
    }

/** The other side of a source. Disposing of it ends it. */
export interface SourcePeer extends AsyncDisposable {
  /** The port of this machine that it listens on. */
  readonly port: number
  /** Settings with which it is read at a port. */
  settingsAt(port: number): PeerSettings
  /** Gives the posts from one number to another one: they continue those before. */
  give(from: number, to: number): Promise<void>
  /** Whether what is given from now on is read, though no position says where to begin. */
  isFollowed(): boolean
  readonly progress: PeerProgress
}

/** The other side of a source on a server of its own. */
export interface ServedPeer extends SourcePeer {
  /** Connects again, after the server was killed and has started again. */
  reconnect(): Promise<void>
}

/** The text of a post. */
const textOf = (number: number): string => `heron ${number}`

/** The number in the text of a post. */
export function numberIn(text: string): number {
  return Number(/^heron (\d+)/.exec(text)?.[1] ?? Number.NaN)
}

/** Ids of posts of which the source knows them, one a millisecond, from this moment on. */
const beganMs = Date.now() - 3_600_000
const idOf = (number: number): string => String(BigInt(beganMs + number - snowflakeEpochMs) << 22n)
const envelopeOf = (number: number): object => envelope(idOf(number), textOf(number))

/** The source of one entry. */
const oneSource = (type: string, members: Readonly<Record<string, unknown>>): PeerSettings => ({
  sources: [{ name: peerSource, type, ...members }],
  env: {},
})

/** How each kind is made, and which server of this machine it needs. */
const kinds: Readonly<
  Record<PeerKind, { readonly start: () => Promise<SourcePeer>; readonly needs?: () => Promise<boolean> }>
> = {
  bluesky: { start: blueskyPeer },
  mastodon: { start: mastodonPeer },
  http: { start: httpPeer },
  websocket: { start: webSocketPeer },
  outbox: { start: () => outboxPeer(), needs: async () => (await whyNoPostgres()) === undefined },
  redis: { start: () => redisPeer(), needs: () => isListening(redisAddress) },
  rabbitmq: { start: () => rabbitMqPeer(), needs: () => isListening(rabbitMqAddress) },
  nats: { start: () => natsPeer(), needs: () => isListening(natsAddress) },
}

const servedPeers: Readonly<Record<ServedKind, (port: number) => Promise<ServedPeer>>> = {
  outbox: outboxPeer,
  redis: redisPeer,
  rabbitmq: rabbitMqPeer,
  nats: natsPeer,
}

/** Starts a peer. */
export function startPeer(kind: PeerKind): Promise<SourcePeer> {
  return kinds[kind].start()
}

/** Starts a peer on a server of the test's own, which listens on a port of this machine. */
export function startServedPeer(kind: ServedKind, port: number): Promise<ServedPeer> {
  return servedPeers[kind](port)
}

/** The kinds that can be tested here. In CI all must. */
export async function peerKinds(): Promise<readonly PeerKind[]> {
  const found: PeerKind[] = []
  for (const kind of Object.keys(kinds) as PeerKind[]) {
    if ((await kinds[kind].needs?.()) !== false) found.push(kind)
    else if (process.env.CI !== undefined) throw new Error(`The server that a source of ${kind} needs is not there.`)
    else console.warn(`Skipped: the server that a source of ${kind} needs is not there.`)
  }
  return found
}

/** As `peerKinds`, those with a broker or a database. */
export async function servedPeerKinds(): Promise<readonly ServedKind[]> {
  return (await peerKinds()).filter((kind): kind is ServedKind => kind in servedPeers)
}

/** Microseconds between two posts of Bluesky: it has some fifty a second, and is read again from five seconds before. */
const blueskyStepUs = 20_000

/** The time of the first post of Bluesky. */
const blueskyBeganUs = beganMs * 1_000

/** The peer of a source of Bluesky. */
export interface BlueskyPeer extends SourcePeer {
  /** Has the host send another event, after those before. */
  emit(event: JetstreamEvent): void
}

/** Starts one. */
export async function blueskyPeer(): Promise<BlueskyPeer> {
  const server = await startJetstream()
  let atUs = blueskyBeganUs
  const emit = (event: JetstreamEvent): void => {
    atUs = server.emit(event, atUs + blueskyStepUs)
  }
  return {
    emit,
    port: Number(new URL(server.url).port),
    settingsAt: (port) => oneSource("bluesky", { urls: [`ws://127.0.0.1:${port}/subscribe`] }),
    async give(from, to) {
      for (const number of idsOf(from, to)) emit(postCommit(textOf(number), blueskyBeganUs + number * blueskyStepUs))
    },
    isFollowed: () => server.open > 0,
    progress: {
      kind: "positioned",
      reached: (position) =>
        position === undefined ? 0 : Math.floor((Number(position) - blueskyBeganUs) / blueskyStepUs),
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

async function mastodonPeer(): Promise<SourcePeer> {
  const server = await MastodonServer.start({ isDescribed: false })
  const numbers = new Map<string, number>()
  return {
    port: server.port,
    settingsAt: (port) =>
      oneSource("mastodon", { host: "oat.example", url: `http://127.0.0.1:${port}`, healMax: 100_000 }),
    async give(from, to) {
      for (const number of idsOf(from, to)) {
        const status = server.status({ content: `<p>${textOf(number)}</p>` })
        numbers.set(status.id, number)
        server.publish(["public"], status)
      }
    },
    isFollowed: () => server.subscribed.length > 0,
    progress: {
      kind: "positioned",
      reached(position) {
        if (position === undefined) return 0
        const { streams } = JSON.parse(position) as { streams: { public?: string } }
        return numbers.get(streams.public ?? "") ?? 0
      },
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

/** Items that are all kept, and those who read them. */
class KeptItems<Reader> {
  readonly readers = new Set<Reader>()
  readonly #items: string[] = []
  readonly #write: (reader: Reader, items: readonly string[]) => void

  constructor(write: (reader: Reader, items: readonly string[]) => void) {
    this.#write = write
  }

  give(items: readonly string[]): void {
    this.#items.push(...items)
    for (const reader of this.readers) this.#write(reader, items)
  }

  /** Writes what the reader of an address has not read, and from now on what comes. */
  begin(reader: Reader, address: string | undefined): void {
    const since = Number(new URL(address ?? "", "http://127.0.0.1").searchParams.get("since") ?? 0)
    const missed = this.#items.slice(since)
    if (missed.length > 0) this.#write(reader, missed)
    this.readers.add(reader)
  }
}

const byNumber: PeerProgress = { kind: "positioned", reached: (position) => Number(position ?? 0) }

async function httpPeer(): Promise<SourcePeer> {
  const items = new KeptItems<ServerResponse>((response, lines) => response.write(`${lines.join("\n")}\n`))
  const feed = await startFeed((request, response) => {
    response.writeHead(200, { "content-type": "application/x-ndjson" }).flushHeaders()
    response.on("close", () => items.readers.delete(response))
    items.begin(response, request.url)
  })
  const mapping = '{ "uri": "birds:" & id, "text": words, "author": { "username": "wren" }, "cursor": id }'
  return {
    port: feed.port,
    settingsAt: (port) => oneSource("http", { url: `http://127.0.0.1:${port}/items?since={cursor}`, mapping }),
    give: async (from, to) => items.give(idsOf(from, to).map((id) => JSON.stringify({ id, words: textOf(id) }))),
    isFollowed: () => true,
    progress: byNumber,
    [Symbol.asyncDispose]: () => feed[Symbol.asyncDispose](),
  }
}

/** The peer of a WebSocket, and what it cannot send. */
export interface WebSocketPeer extends SourcePeer {
  /** Bytes that wait in this process for readers that read nothing. */
  readonly waitingBytes: number
}

/** Starts one whose items have this many characters more. */
export async function webSocketPeer(padding = 0): Promise<WebSocketPeer> {
  const items = new KeptItems<WebSocket>((socket, messages) => {
    for (const message of messages) socket.send(message)
  })
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" })
  await once(server, "listening")
  server.on("connection", (socket, { url }) => {
    socket.on("close", () => items.readers.delete(socket)).on("error", () => undefined)
    items.begin(socket, url)
  })
  const itemOf = (id: number): string => {
    const text = `${textOf(id)}${" kingfisher".repeat(Math.ceil(padding / 11))}`
    return JSON.stringify({ envelope: envelope(idOf(id), text), cursor: id })
  }
  return {
    port: (server.address() as AddressInfo).port,
    settingsAt: (port) => oneSource("websocket", { url: `ws://127.0.0.1:${port}/live?since={cursor}` }),
    give: async (from, to) => items.give(idsOf(from, to).map(itemOf)),
    isFollowed: () => true,
    progress: byNumber,
    get waitingBytes() {
      return [...items.readers].reduce((sum, { bufferedAmount }) => sum + bufferedAmount, 0)
    },
    async [Symbol.asyncDispose]() {
      for (const socket of server.clients) socket.terminate()
      server.close()
      await once(server, "close")
    },
  }
}

async function outboxPeer(ownPort?: number): Promise<ServedPeer> {
  await using resources = new AsyncDisposableStack()
  const url =
    ownPort === undefined
      ? resources.use(await createTestDatabase()).url
      : `postgres://postgres@127.0.0.1:${ownPort}/postgres`
  const connected = async (): Promise<pg.Client> => {
    const made = new pg.Client(url)
    // Queries report the end of a connection themselves.
    made.on("error", () => undefined)
    await made.connect()
    return made
  }
  let client = await connected()
  await client.query("CREATE TABLE outbox (id bigserial PRIMARY KEY, envelope jsonb NOT NULL)")
  const { port, pathname } = new URL(url)
  const made = resources.move()
  return {
    port: Number(port),
    settingsAt: (at) =>
      oneSource("outbox", {
        url: `postgres://127.0.0.1:${at}${pathname}`,
        username: "postgres",
        pollSeconds: 1,
        channel: "posts",
      }),
    async give(from, to) {
      await client.query(
        `INSERT INTO outbox (envelope) SELECT line::jsonb
         FROM unnest($1::text[]) WITH ORDINALITY AS given (line, place) ORDER BY place`,
        [idsOf(from, to).map((number) => JSON.stringify(envelopeOf(number)))],
      )
      await client.query("NOTIFY posts")
    },
    isFollowed: () => true,
    progress: byNumber,
    async reconnect() {
      await client.end().catch(() => undefined)
      client = await connected()
    },
    async [Symbol.asyncDispose]() {
      await client.end()
      await made.disposeAsync()
    },
  }
}

/** The client connects again by itself. */
const byItself = (): Promise<void> => Promise.resolve()

async function redisPeer(ownPort: number = redisAddress.port): Promise<ServedPeer> {
  const stream = await redisStream(`redis://${redisAddress.host}:${ownPort}`)
  const { name: _name, url: _url, ...members } = stream.settings
  return {
    port: ownPort,
    reconnect: byItself,
    settingsAt: (port) => oneSource("redis", { ...members, url: `redis://127.0.0.1:${port}` }),
    give: async (from, to) => void (await stream.publish(...idsOf(from, to).map(envelopeOf))),
    isFollowed: () => true,
    progress: {
      kind: "acknowledged",
      unacknowledged: () => stream.unfinished(),
      deadLetters: async () => (await stream.deadLetters()).length,
    },
    [Symbol.asyncDispose]: () => stream[Symbol.asyncDispose](),
  }
}

async function rabbitMqPeer(ownPort: number = rabbitMqAddress.port): Promise<ServedPeer> {
  const queue = await testQueue({}, ownPort)
  const { name: _name, url: _url, ...members } = queue.settings
  return {
    port: ownPort,
    reconnect: () => queue.reconnect(),
    settingsAt: (port) => oneSource("rabbitmq", { ...members, url: `amqp://127.0.0.1:${port}` }),
    give: (from, to) => queue.publish(...idsOf(from, to).map(envelopeOf)),
    isFollowed: () => true,
    progress: {
      kind: "acknowledged",
      async unacknowledged() {
        // The broker learns of the end of a process a moment later, and has its messages again then.
        for (;;) {
          const { consumerCount, messageCount } = await queue.channel.checkQueue(members.queue)
          if (consumerCount === 0) return messageCount
        }
      },
      deadLetters: async () => (await queue.deadLetters()).length,
    },
    [Symbol.asyncDispose]: () => queue[Symbol.asyncDispose](),
  }
}

/** How long NATS waits for an acknowledgement before it gives a message to another process. */
const natsAckWaitMs = 2_000

async function natsPeer(ownPort: number = natsAddress.port): Promise<ServedPeer> {
  const stream = await natsStream(ownPort)
  await stream.makeConsumer({ ackWaitMs: natsAckWaitMs })
  return {
    port: ownPort,
    reconnect: byItself,
    settingsAt: (port) => ({
      sources: [],
      env: Object.fromEntries(
        Object.entries({ ...stream.flags, "nats-url": `nats://127.0.0.1:${port}` }).map(([flag, value]) => [
          `SLUICE_${flag.replaceAll("-", "_").toUpperCase()}`,
          value,
        ]),
      ),
    }),
    give: (from, to) => stream.publish(...idsOf(from, to).map(envelopeOf)),
    isFollowed: () => true,
    progress: {
      kind: "acknowledged",
      unacknowledged: () => stream.unfinished(),
      deadLetters: async () => (await stream.deadLetters()).length,
    },
    [Symbol.asyncDispose]: () => stream[Symbol.asyncDispose](),
  }
}
