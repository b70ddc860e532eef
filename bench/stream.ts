/**
 * Stream connections: envelopes per second down 1, 100 and 1,000 of them at once, and the cost of one of them.
 *
 * One connection reads the posts of the last seconds, and begins again after nearly all of them: the remembered posts,
 * as live connections read them. Another is far behind, and reads the file. A hundred read a full log. A thousand are
 * opened while the log is quiet, since Node accepts one connection in each turn of its event loop and these turns are
 * long while hundreds are served; then posts are sent, more than can be sent on in the meantime, and the bench measures
 * how fast the connections catch up.
 *
 * A live connection cannot be fed as fast as it can be written to, so its figure is its cost: the processor time of the
 * server's main thread per envelope, with the connection and without it, while the same posts come in. Linux only.
 *
 * The limit is a `node:http` server that writes the same records, each a chunk, joined into few system calls by a
 * corked socket, and waits when the socket is full: the server's work without reading a log and rendering posts. The
 * client counts bytes and parses nothing.
 *
 * Source of the goals: 0.6 of the bare writer down one connection, and as much as it down many.
 */
import { readFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { paths } from "../packages/api/src/paths.ts"
import { createClient } from "../packages/client/src/index.ts"
import { addRules, sendPosts } from "./app-client.ts"
import { figure, median, type Figure } from "./figure.ts"
import { MadePosts, madeWord } from "./made-posts.ts"
import { startBareStream, startSluice, type MeasuredSluice } from "./servers.ts"

/** `posts` are stored before the connections open, or come in each round once all connections are open. */
const sets: readonly ConnectionSet[] = [
  { name: "stream-1", connections: 1, posts: 10_000, areBefore: true, goal: 0.6 },
  { name: "stream-1-behind", connections: 1, posts: 150_000, areBefore: true },
  { name: "stream-100", connections: 100, posts: 50_000, areBefore: true, goal: 1 },
  { name: "stream-1000", connections: 1_000, posts: 20_000, areBefore: false, goal: 1 },
]

interface ConnectionSet {
  readonly name: string
  readonly connections: number
  readonly posts: number
  readonly areBefore: boolean
  readonly goal?: number
}

const perBody = 5_000
const warmUpSeconds = 5
const roundSeconds = 3
/** Posts of a round of the live connection. */
const livePosts = 20_000
const limitIs = "the same records from bare node:http, corked"

/** Prints the figures of stream connections. */
export async function stream(
  print: (figure: Figure) => void,
  { isQuick }: { readonly isQuick: boolean },
): Promise<void> {
  const rounds = isQuick ? 3 : 7
  for (const set of sets) print(await measureSet(set, rounds))
  print(await measureLive(rounds))
}

async function measureSet(set: ConnectionSet, rounds: number): Promise<Figure> {
  const { name, connections, posts, areBefore, goal } = set
  // A connection that begins again may arrive before the server notices the end of the one before it.
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
  const recordBytes = meanBytes(records)

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
  const perSecond = async (server: keyof typeof targets, seconds: number): Promise<number> => {
    const { port, path: at, go } = targets[server]
    const target = { port, path: at, token: sluice.token, connections, bytesMax }
    return (await bytesPerSecond(target, areBefore ? undefined : go, seconds)) / recordBytes
  }
  for (const server of ["sluice", "bare"] as const) await perSecond(server, warmUpSeconds)
  const seen = { sluice: [] as number[], bare: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    for (const server of ["sluice", "bare"] as const) seen[server].push(await perSecond(server, roundSeconds))
  }
  return figure(
    { name, value: median(seen.sluice), unit: "envelopes/s", limit: median(seen.bare), limitIs },
    goal === undefined ? undefined : { atLeast: goal },
  )
}

/** Envelopes that one live connection receives per second of the main thread's time. */
async function measureLive(rounds: number): Promise<Figure> {
  await using sluice = await startSluice()
  await addRules(sluice, [madeWord])
  const made = new MadePosts()
  const bodies = (): readonly string[] => Array.from({ length: livePosts / perBody }, () => made.take(perBody))
  for (const body of bodies()) await sendPosts(sluice, body, perBody)
  const records = await firstRecords(sluice, 1_000)
  await using bare = await startBareStream(records.join("\n"))
  const recordBytes = meanBytes(records)
  let bytes = 0
  const took = (count: number): void => void (bytes += count)

  /** Milliseconds of the main thread while posts come in and until they are sent on. */
  const costOfPosts = async (isRead: boolean): Promise<number> => {
    using _readers = await readers({ ...sluice, path: paths.stream, connections: isRead ? 1 : 0 }, took)
    const posts = bodies()
    bytes = 0
    const before = mainThreadMs(sluice.pid)
    for (const body of posts) await sendPosts(sluice, body, perBody)
    if (isRead) await until(() => bytes >= livePosts * recordBytes * 0.99)
    return mainThreadMs(sluice.pid) - before
  }
  const bareCost = async (): Promise<number> => {
    using _readers = await readers({ port: bare.port, path: "/", token: "", connections: 1 }, took)
    await sleep(100)
    const [before, start] = [mainThreadMs(bare.pid), bytes]
    await sleep(1_000)
    return ((mainThreadMs(bare.pid) - before) * recordBytes) / (bytes - start)
  }
  const seen = { with: [] as number[], without: [] as number[], bare: [] as number[] }
  for (let round = 0; round < rounds + 1; round++) {
    const costs = { without: await costOfPosts(false), with: await costOfPosts(true), bare: await bareCost() }
    // The first round warms up.
    if (round === 0) continue
    for (const name of ["with", "without", "bare"] as const) seen[name].push(costs[name])
  }
  const perEnvelopeMs = (median(seen.with) - median(seen.without)) / livePosts
  return figure({
    name: "stream-1-live",
    value: 1_000 / perEnvelopeMs,
    unit: "envelopes/s of processor time",
    limit: 1_000 / median(seen.bare),
    limitIs,
  })
}

async function until(isMet: () => boolean): Promise<void> {
  while (!isMet()) await sleep(10)
}

/** Time that the main thread of a process has run. Source: the kernel's documentation, "Scheduler statistics". */
function mainThreadMs(pid: number): number {
  const [ranNs] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")
  return Number(ranNs) / 1e6
}

function meanBytes(records: readonly string[]): number {
  return records.reduce((sum, record) => sum + chunkBytes(record), 0) / records.length
}

/** The first records of the stream, without their line ends. */
async function firstRecords(sluice: MeasuredSluice, count: number): Promise<readonly string[]> {
  const lines = createClient(sluice).stream({ query: { backfill_minutes: 5 }, reconnect: false })
  const records: string[] = []
  for await (const { text } of lines) if (records.push(text) === count) break
  return records
}

/** Bytes on the wire: length, record with its CRLF, and the end of the chunk. */
function chunkBytes(record: string): number {
  const bytes = record.length + 2
  return bytes.toString(16).length + 2 + bytes + 2
}

/** Connections that are opened at once: more would not fit into a server's backlog. */
const openedAtOnce = 200

/**
 * Bytes per second down all connections, from a second after all are open or, where they wait for `go`, from then on,
 * at most until each has received its share.
 */
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
      // Starts reading at once: bytes in the system's buffers would be counted later.
      for (const socket of sockets) readStream(socket, target, leave.signal, took)
    }
    await go?.()
    await sleep(1_000)
    const [startMs, before] = [performance.now(), bytes]
    const mostBytes = go === undefined ? Number.POSITIVE_INFINITY : target.connections * target.bytesMax
    const isOver = (): boolean => bytes >= mostBytes || performance.now() - startMs >= seconds * 1_000
    while (!isOver()) await sleep(20)
    return ((bytes - before) / (performance.now() - startMs)) * 1_000
  } finally {
    leave.abort()
  }
}

/** Connections that read until their disposal. */
async function readers(
  target: { port: number; path: string; token: string; connections: number },
  took: (bytes: number) => void,
): Promise<Disposable> {
  const leave = new AbortController()
  for (let opened = 0; opened < target.connections; opened += 1) {
    const socket = await openStream(target)
    readStream(socket, { ...target, bytesMax: Number.POSITIVE_INFINITY }, leave.signal, took)
  }
  return { [Symbol.dispose]: () => leave.abort() }
}

/** Opens a connection and pauses it after the head of the response. */
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

/** Reads the stream until `signal`, and starts over whenever nearly all of it has come. */
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

  // A connection that is being opened when the round ends may find that the server has ended too.
  async function readAnew(): Promise<void> {
    try {
      const next = await openStream(target)
      if (signal.aborted) next.destroy()
      else readStream(next, target, signal, took)
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }
}
