/**
 * Stream connections: envelopes per second down 1, 100 and 1,000 of them at once, to clients that are behind.
 *
 * A few connections come when the log is full, and begin some minutes back; one that has had nearly all of it begins
 * again. A thousand are opened while the log is quiet, since Node takes in one connection in each turn of its event
 * loop and these turns are long while hundreds are served; then posts are sent, many more than can be sent in the
 * meantime, and what is measured is how the connections catch up.
 *
 * The limit is a `node:http` server that writes the same records, each a chunk of its own, joined into few system calls
 * by a corked socket, and waits when the socket is full: what the server does, without a log to read and posts to
 * render. The client counts bytes and parses nothing.
 *
 * Source of the goal: 0.75 of the bare writer.
 */
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { paths } from "../packages/api/src/paths.ts"
import { createClient } from "../packages/client/src/index.ts"
import { addRules, sendPosts } from "./app-client.ts"
import { figure, median, type Figure } from "./figure.ts"
import { MadePosts, madeWord } from "./made-posts.ts"
import { startBareStream, startSluice, type MeasuredSluice } from "./servers.ts"

/** `posts` are there before, or come in each round once all connections are open. */
const sets = [
  { connections: 1, posts: 150_000, areBefore: true },
  { connections: 100, posts: 50_000, areBefore: true },
  { connections: 1_000, posts: 5_000, areBefore: false },
] as const

const perBody = 5_000
const warmUpSeconds = 5
const roundSeconds = 3

/** Prints the figures of stream connections. */
export async function stream(
  print: (figure: Figure) => void,
  { isQuick }: { readonly isQuick: boolean },
): Promise<void> {
  for (const set of sets) print(await measureSet(set, isQuick ? 3 : 7))
}

async function measureSet(set: (typeof sets)[number], rounds: number): Promise<Figure> {
  const { connections, posts, areBefore } = set
  // A connection that begins again may come before the end of the one before it is noticed.
  await using sluice = await startSluice({
    settings: { SLUICE_STREAM_CONNECTIONS_PER_APP_MAX: String(connections * 2) },
  })
  await addRules(sluice, [madeWord])
  const made = new MadePosts()
  const sendAll = async (): Promise<void> => {
    for (let sent = 0; sent < posts; sent += perBody) await sendPosts(sluice, made.take(perBody), perBody)
  }
  await sendAll()
  const records = await firstRecords(sluice, 1_000)
  await using bare = await startBareStream(records.join("\n"))
  const recordBytes = records.reduce((sum, record) => sum + chunkBytes(record), 0) / records.length

  const path = paths.stream
  const targets = {
    sluice: { port: sluice.port, path: areBefore ? `${path}?backfill_minutes=5` : path, go: sendAll },
    bare: {
      port: bare.port,
      path: areBefore ? "/" : "/held",
      go: () => fetch(`http://127.0.0.1:${bare.port}/go`),
    },
  }
  const bytesMax = posts * recordBytes * 0.95
  const perSecond = async (name: keyof typeof targets, seconds: number): Promise<number> => {
    const { port, path: at, go } = targets[name]
    const target = { port, path: at, token: sluice.token, connections, bytesMax }
    return (await bytesPerSecond(target, areBefore ? undefined : go, seconds)) / recordBytes
  }
  for (const name of ["sluice", "bare"] as const) await perSecond(name, warmUpSeconds)
  const seen = { sluice: [] as number[], bare: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    for (const name of ["sluice", "bare"] as const) seen[name].push(await perSecond(name, roundSeconds))
  }
  return figure(
    {
      name: `stream-${connections}`,
      value: median(seen.sluice),
      unit: "envelopes/s",
      limit: median(seen.bare),
      limitIs: "the same records from bare node:http, corked",
    },
    { atLeast: 0.75 },
  )
}

/** The first records of the stream, without their line ends. */
async function firstRecords(sluice: MeasuredSluice, count: number): Promise<readonly string[]> {
  const lines = createClient(sluice).stream({ query: { backfill_minutes: 5 }, reconnect: false })
  const records: string[] = []
  for await (const { text } of lines) if (records.push(text) === count) break
  return records
}

/** On the wire: length, record with its CRLF, and what ends a chunk. */
function chunkBytes(record: string): number {
  const bytes = record.length + 2
  return bytes.toString(16).length + 2 + bytes + 2
}

/** Connections that are opened at once: more would not fit into what a server lets wait for it. */
const openedAtOnce = 200

/** What arrives down all connections, a second after all are open and, where it is not for them to begin, after `go`. */
async function bytesPerSecond(
  target: { port: number; path: string; token: string; connections: number; bytesMax: number },
  go: (() => Promise<unknown>) | undefined,
  seconds: number,
): Promise<number> {
  let bytes = 0
  const took = (count: number): void => void (bytes += count)
  const leave = new AbortController()
  try {
    for (let opened = 0; opened < target.connections; opened += openedAtOnce) {
      const count = Math.min(openedAtOnce, target.connections - opened)
      const sockets = await Promise.all(Array.from({ length: count }, () => openStream(target)))
      // Read at once: what lies in the system's buffers would be counted later.
      for (const socket of sockets) readStream(socket, target, leave.signal, took)
    }
    await go?.()
    await sleep(1_000)
    const [startMs, before] = [performance.now(), bytes]
    await sleep(seconds * 1_000)
    return ((bytes - before) / (performance.now() - startMs)) * 1_000
  } finally {
    leave.abort()
  }
}

/** A connection whose response has begun, paused. */
function openStream(target: { port: number; path: string; token: string }): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const socket = connect({ port: target.port, host: "127.0.0.1" })
  socket.on("error", reject)
  socket.on("connect", () =>
    socket.write(
      `GET ${target.path} HTTP/1.1\r\nHost: 127.0.0.1:${target.port}\r\nAuthorization: Bearer ${target.token}\r\n\r\n`,
    ),
  )
  socket.once("data", (chunk: Buffer) => {
    socket.pause()
    const head = chunk.toString("latin1")
    if (head.startsWith("HTTP/1.1 200")) resolve(socket)
    else reject(new Error(head))
  })
  return promise
}

/** Reads the stream, again from its start whenever nearly all of it has come, until `signal`. */
function readStream(
  socket: Socket,
  target: { port: number; path: string; token: string; bytesMax: number },
  signal: AbortSignal,
  took: (bytes: number) => void,
): void {
  let left = target.bytesMax
  const leave = (): void => void socket.destroy()
  signal.addEventListener("abort", leave, { once: true })
  socket.on("data", (chunk: Buffer) => {
    took(chunk.length)
    left -= chunk.length
    if (left > 0 || socket.destroyed || !target.path.includes("backfill_minutes")) return
    socket.destroy()
    signal.removeEventListener("abort", leave)
    void readAnew()
  })
  socket.resume()

  async function readAnew(): Promise<void> {
    readStream(await openStream(target), target, signal, took)
  }
}
