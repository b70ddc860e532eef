/**
 * Load over bare sockets: a client that costs less than any server, so that the bench measures the server.
 *
 * Every connection has one request in flight, and sends the next when a response is whole. The client never sleeps: on
 * a virtual machine, waking it up would cost the server more than the request, and most where the client waits most.
 */
import { connect, type Socket } from "node:net"

/** Results of a round of load. */
export interface Load {
  readonly perSecond: number
  /** Milliseconds from the last byte of a request to the last of its response. */
  readonly latenciesMs: readonly number[]
}

/** Sends requests to 127.0.0.1 over `connections` at once, for `seconds`. Fails on any response but a 200. */
export async function load(options: {
  port: number
  path: string
  headers?: Readonly<Record<string, string>>
  connections: number
  seconds: number
}): Promise<Load> {
  const request = Buffer.from(
    `GET ${options.path} HTTP/1.1\r\nHost: 127.0.0.1:${options.port}\r\n` +
      Object.entries(options.headers ?? {})
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join("") +
      "\r\n",
  )
  const latenciesMs: number[] = []
  const startMs = performance.now()
  const endMs = startMs + options.seconds * 1000
  let isOver = false
  const stayAwake = (): void => {
    if (!isOver) setImmediate(stayAwake)
  }
  stayAwake()
  try {
    await Promise.all(
      Array.from({ length: options.connections }, () => oneConnection(options.port, request, endMs, latenciesMs)),
    )
  } finally {
    isOver = true
  }
  return { perSecond: (latenciesMs.length / (performance.now() - startMs)) * 1000, latenciesMs }
}

function oneConnection(port: number, request: Buffer, endMs: number, latenciesMs: number[]): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket: Socket = connect({ port, host: "127.0.0.1", noDelay: true })
  let missing = 0
  let sentMs = 0
  const send = (): void => {
    sentMs = performance.now()
    missing = 0
    socket.write(request)
  }
  socket.on("connect", send)
  socket.on("error", reject)
  socket.on("data", (chunk: Buffer) => {
    try {
      missing = missing === 0 ? responseBytes(chunk) - chunk.length : missing - chunk.length
    } catch (error) {
      socket.destroy()
      reject(error)
      return
    }
    if (missing > 0) return
    const nowMs = performance.now()
    latenciesMs.push(nowMs - sentMs)
    if (nowMs < endMs) send()
    else {
      socket.destroy()
      resolve()
    }
  })
  return promise
}

/** Length of the whole response that this chunk begins. */
function responseBytes(chunk: Buffer): number {
  const headEnd = chunk.indexOf("\r\n\r\n")
  const head = chunk.subarray(0, headEnd).toString("latin1")
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  if (!head.startsWith("HTTP/1.1 200") || length === undefined) throw new Error(`unexpected response: ${head}`)
  return headEnd + 4 + Number(length)
}
