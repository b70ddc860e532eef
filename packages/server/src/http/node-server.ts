/**
 * Node's HTTP server, set up for clients that are slow, broken or hostile.
 *
 * Node answers some of them by itself, before any route: with an empty body, or by closing the connection. Here
 * each gets a problem body like everybody else, and in its turn: while an earlier request of the same connection
 * is still being answered, a word about the later, broken one would be taken for that answer.
 *
 * There is no time limit on a whole request, because bodies of posts may flow for ever: `read-body.ts` limits
 * JSON bodies, and `endUnread` what nobody reads.
 */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { Problem } from "../model/problem.ts"
import type { Clock } from "../runtime/clock.ts"
import { methodNotAllowed, plainProblem, problemContentType, renderProblem } from "./render-problem.ts"
import { standingHeaders } from "./standing-headers.ts"

/** Largest head of a request, its first line included. */
export const headBytesMax = 16_384

/** How long a connection may stay open between two requests. Longer than common load balancers keep theirs. */
const keepAliveMs = 72_000

/** How long a connection may move no byte in either direction. Streams have keep-alives; ingest is exempt. */
const idleMsMax = 120_000

/** After this, the system asks whether the other end is still there. */
const probeAfterMs = 30_000

/** The server. A client has `requestMsMax` for the head of a request. */
export function createNodeServer(
  handler: RequestListener,
  deps: { clock: Clock; requestMsMax: number },
): Server {
  const { clock, requestMsMax } = deps
  const server = createServer(
    {
      maxHeaderSize: headBytesMax,
      insecureHTTPParser: false,
      joinDuplicateHeaders: false,
      requireHostHeader: false,
      headersTimeout: requestMsMax,
      requestTimeout: 0,
      connectionsCheckingInterval: Math.max(50, Math.min(5_000, requestMsMax / 4)),
      keepAliveTimeout: keepAliveMs,
      keepAlive: true,
      keepAliveInitialDelay: probeAfterMs,
      noDelay: true,
    },
    handler,
  )
  server.setTimeout(idleMsMax)
  // The head's size bounds their number. Node's own bound drops the rest in silence, a second token with it.
  server.maxHeadersCount = 0
  server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) => {
    const problem = plainProblem(417, "The only expectation that this server meets is 100-continue.")
    const body = renderProblem(problem)
    response
      .writeHead(problem.status, { ...rawHeaders(problem, clock), "content-length": Buffer.byteLength(body) })
      .end(body)
  })
  server.on("connect", (_request, socket) => {
    answerRaw(socket, methodNotAllowed("CONNECT", ["GET"]), clock)
  })
  return server
}

/** Answers what Node's parser gave up on, and ends the connection. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex, clock: Clock): void {
  answerBroken(socket, malformed(error), clock)
}

/** Connections whose last request was answered before its body came. */
const unread = new WeakSet<Duplex>()

/** Gives a client that was answered before its body came so long to send the rest of it, which nobody reads. */
export function endUnread(request: IncomingMessage, restMsMax: number): void {
  const { socket } = request
  const timer = setTimeout(() => socket.destroy(), restMsMax)
  timer.unref()
  unread.add(socket)
  const stop = (): void => {
    clearTimeout(timer)
    unread.delete(socket)
  }
  request.once("end", stop).once("close", stop)
}

function malformed(error: NodeJS.ErrnoException): Problem {
  switch (error.code) {
    case "HPE_HEADER_OVERFLOW":
      return plainProblem(431, `The head of the request is larger than ${headBytesMax} bytes.`)
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return plainProblem(413, "The extensions of a chunk are too large.")
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return plainProblem(408, "The request did not arrive in time.")
    default: {
      const { reason } = error as { reason?: unknown }
      const why = typeof reason === "string" && reason !== "" ? ` (${reason})` : ""
      return plainProblem(400, `The request is not valid HTTP/1.1${why}.`)
    }
  }
}

/** The answer that a connection is working on, as Node keeps it; Node's own handler of broken requests looks here. */
interface AnsweringSocket extends Duplex {
  readonly _httpMessage?: ServerResponse | null
}

function answerBroken(socket: Duplex, problem: Problem, clock: Clock): void {
  const current = (socket as AnsweringSocket)._httpMessage ?? undefined
  const isOwnBody = current === undefined ? unread.has(socket) : !current.req.complete
  if (isOwnBody && (current === undefined || current.headersSent)) {
    // The request has its answer already; only the rest of its body is broken.
    socket.end(() => socket.destroy())
  } else if (current === undefined || isOwnBody || current.writableEnded) {
    answerRaw(socket, problem, clock)
  } else {
    // The broken request is a later one of the same connection.
    current.once("close", () => {
      answerRaw(socket, problem, clock)
    })
  }
}

function answerRaw(socket: Duplex, problem: Problem, clock: Clock): void {
  if (!socket.writable || (socket as Socket).destroyed) {
    socket.destroy()
    return
  }
  const body = renderProblem(problem)
  const headers = Object.entries(rawHeaders(problem, clock)).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = Buffer.byteLength(body)
  const title = problem.title.replaceAll(/[^ -~]/g, "")
  socket.end(
    `HTTP/1.1 ${problem.status} ${title}\r\n${headers.join("")}content-length: ${length}\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  )
}

function rawHeaders(problem: Problem, clock: Clock): Readonly<Record<string, string>> {
  return {
    ...standingHeaders(clock.nowMs()),
    "content-type": problemContentType,
    ...(problem.status === 405 ? { allow: "GET" } : {}),
  }
}
