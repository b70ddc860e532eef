/**
 * Posts alone: each in a request of its own over a connection that stays. A bare socket costs less than any server, so that
 * the bench measures the server.
 */
import { connect, type Socket } from "node:net"
import { paths } from "../packages/api/src/paths.ts"
import { atConstantRate } from "./constant-rate.ts"
import type { HandledPosts } from "./handled-posts.ts"
import type { MadePosts } from "./made-posts.ts"

/** A server, and the token to send posts with. */
export interface LoneTarget {
  readonly port: number
  readonly token: string
}

/** Connections that posts are sent over at a constant rate; a post waits while all are in use. */
const connectionsMax = 64

/** Sends posts one after the other, each when the one before is acknowledged. Returns how long each took, in ms. */
export async function sendInTurn(
  target: LoneTarget,
  { posts, handled, count }: { readonly posts: MadePosts; readonly handled: HandledPosts; readonly count: number },
): Promise<readonly number[]> {
  using connection = await LoneConnection.open(target)
  const tookMs: number[] = []
  for (let sent = 0; sent < count; sent++) {
    const line = posts.take(1)
    const startMs = performance.now()
    handled.noteDue(line, startMs)
    await connection.send(line)
    tookMs.push(performance.now() - startMs)
  }
  return tookMs
}

/** Sends posts when they are due. Returns for each the ms from then until it was acknowledged. */
export async function sendAtRate(
  target: LoneTarget,
  {
    posts,
    handled,
    perSecond,
    seconds,
  }: {
    readonly posts: MadePosts
    readonly handled: HandledPosts
    readonly perSecond: number
    readonly seconds: number
  },
): Promise<readonly number[]> {
  using connections = new DisposableStack()
  const free: LoneConnection[] = []
  for (let opened = 0; opened < connectionsMax; opened++) {
    free.push(connections.use(await LoneConnection.open(target)))
  }
  const tookMs: number[] = []
  const waiting: { readonly line: string; readonly dueMs: number }[] = []
  const all = Promise.withResolvers<void>()
  const total = perSecond * seconds
  const send = async (connection: LoneConnection, { line, dueMs }: (typeof waiting)[number]): Promise<void> => {
    await connection.send(line)
    tookMs.push(performance.now() - dueMs)
    free.push(connection)
    if (tookMs.length === total) all.resolve()
    sendNext()
  }
  const sendNext = (): void => {
    // The server closes connections that are idle for long.
    while (free.at(-1)?.isClosed === true) free.pop()
    const [connection, post] = [free.at(-1), waiting[0]]
    if (connection === undefined || post === undefined) return
    free.pop()
    waiting.shift()
    send(connection, post).catch(all.reject)
  }
  await atConstantRate(perSecond, seconds, (count, firstDueMs) => {
    for (let at = 0; at < count; at++) {
      const [line, dueMs] = [posts.take(1), firstDueMs + (at * 1_000) / perSecond]
      handled.noteDue(line, dueMs)
      waiting.push({ line, dueMs })
      sendNext()
    }
  })
  await all.promise
  return tookMs
}

/** Reads a stream and notes each post that comes. */
export function readStream({ port, token }: LoneTarget, noteId: (id: string) => void): Disposable {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true })
  socket.write(`GET ${paths.stream} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n\r\n`)
  let rest = ""
  socket.setEncoding("latin1")
  socket.on("error", () => undefined)
  socket.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) {
      const id = /^\{"data":\{(?:.*?)"id":"(\d+)"/.exec(line)?.[1]
      if (id !== undefined) noteId(id)
    }
  })
  return { [Symbol.dispose]: () => socket.destroy() }
}

/** A connection with one request at a time. */
class LoneConnection implements Disposable {
  readonly #socket: Socket
  readonly #head: string
  #response = ""
  #pending: PromiseWithResolvers<void> | undefined

  static async open(target: LoneTarget): Promise<LoneConnection> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const socket = connect({ port: target.port, host: "127.0.0.1", noDelay: true }, resolve)
    socket.once("error", reject)
    await promise
    return new LoneConnection(socket, target)
  }

  constructor(socket: Socket, { token }: LoneTarget) {
    this.#socket = socket
    this.#head =
      `POST ${paths.posts} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n` +
      "content-type: application/x-ndjson\r\ncontent-length: "
    socket.on("error", (error) => this.#pending?.reject(error))
    socket.on("end", () => socket.destroy())
    socket.on("close", () => this.#pending?.reject(new Error("the server closed the connection")))
    socket.setEncoding("latin1").on("data", (chunk: string) => this.#receive(chunk))
  }

  get isClosed(): boolean {
    return this.#socket.destroyed
  }

  /** Resolves when the post is acknowledged. */
  send(line: string): Promise<void> {
    this.#pending = Promise.withResolvers()
    this.#socket.write(`${this.#head}${Buffer.byteLength(line)}\r\n\r\n${line}`)
    return this.#pending.promise
  }

  #receive(chunk: string): void {
    this.#response += chunk
    const headEnd = this.#response.indexOf("\r\n\r\n")
    if (headEnd === -1) return
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(this.#response)?.[1])
    if (this.#response.length < headEnd + 4 + length) return
    const response = this.#response
    this.#response = ""
    if (response.startsWith("HTTP/1.1 200") && response.includes('"accepted":1')) this.#pending?.resolve()
    else this.#pending?.reject(new Error(`unexpected response: ${response}`))
  }

  [Symbol.dispose](): void {
    this.#pending = undefined
    this.#socket.destroy()
  }
}
