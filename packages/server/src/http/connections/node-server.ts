/**
 * Node's HTTP server, configured for clients that are slow, broken or hostile.
 *
 * Node responds to some of them by itself, before any route: with an empty body, or by closing the connection. Here each
 * gets a problem body, and in order: while an earlier request of the same connection is in progress, an error about a
 * later, malformed one would be taken for the response to the earlier one.
 *
 * A whole request has no time limit, because an ingest body may last forever. `body-reader.ts` limits JSON bodies, and
 * `endUnread` limits bodies that no one reads.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { Problem } from "../../model/problem.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { FairRounds } from "../../runtime/fair-rounds.ts"
import type { Callers } from "../callers.ts"
import { idleMsMax, type ConnectionTracker } from "./connection-tracker.ts"
import { methodNotAllowed, plainProblem, problemContentType, renderProblem, retryAfterS } from "../problems.ts"
import { headBytesMax, headersMax, headTooLarge } from "../input/request-head.ts"
import { defaultHeaders } from "../default-headers.ts"

// Not imported: an import reads every export, and one of them has Node load its own undici, which nothing here uses.
const { createServer } = process.getBuiltinModule("node:http")

/** Time that a connection stays open between two requests. Longer than common load balancers keep theirs. */
const keepAliveMs = 72_000

/** Idle time after which the operating system probes whether the client is still there. */
const probeAfterMs = 30_000

/** Builds the server. `connections` and `rounds` bound each client. A client has `requestMsMax` to send a head. */
export function createNodeServer(
  handler: RequestListener,
  deps: { clock: Clock; connections: ConnectionTracker; callers: Callers; rounds: FairRounds; requestMsMax: number },
): Server {
  const { clock, connections, callers, rounds, requestMsMax } = deps
  const refuse = alwaysRespond(plainProblem(503, "The server is closing. Connect again in a moment."), clock)
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
    connections.oneAtATime((request, response) => {
      // To validate a token that is not known yet is a part of the work.
      const withdraw = rounds.begin(callers.of(request), () => handler(request, response))
      if (withdraw !== undefined) response.once("close", withdraw)
    }, refuse),
  )
  // Node drops a response that has not begun when the client closes its half. This has it finish, and close after it; it is
  // missing in the documentation. Source: Node's lib/_http_server.js, `socketOnEnd`.
  Object.assign(server, { httpAllowHalfOpen: true })
  connections.track(server, (request) => callers.of(request))
  server.on("connection", () => rounds.connectionArrived())
  server.setTimeout(idleMsMax)
  // Some versions of Node silently drop the headers beyond this, a second token among them. `headProblem` refuses such a head.
  server.maxHeadersCount = headersMax + 1
  const unexpected = plainProblem(417, "The only expectation that this server meets is 100-continue.")
  server.on("checkExpectation", connections.oneAtATime(alwaysRespond(unexpected, clock), refuse))
  server.on("connect", (_request, socket) => {
    respondRaw(socket, methodNotAllowed("CONNECT", ["GET"]), clock)
  })
  return server
}

/** Responds to every request with the same problem. */
function alwaysRespond(problem: Problem, clock: Clock): RequestListener {
  return (_request, response) => {
    const body = renderProblem(problem)
    response
      .writeHead(problem.status, { ...rawHeaders(problem, clock), "content-length": Buffer.byteLength(body) })
      .end(body)
  }
}

/** Responds to a request that Node's parser rejected, after the requests before it, and ends the connection. */
export function respondToClientError(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  { clock, connections }: { clock: Clock; connections: ConnectionTracker },
): void {
  const respond = (): void => respondRaw(socket, malformed(error), clock)
  const respondNow = (current: ServerResponse | undefined): void => {
    const isOwnBody = current === undefined ? unread.has(socket) : !current.req.complete
    // The request has its response already; only the rest of its body is malformed.
    if (isOwnBody && (current === undefined || current.headersSent)) socket.end(() => socket.destroy())
    else respond()
  }
  connections.endMalformed(socket, respondNow, respond)
}

/** Connections whose last request got its response before its body arrived. */
const unread = new WeakSet<Duplex>()

/** Gives a client that got its response before its body arrived `restMsMax` to send the rest, which is discarded. */
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
      return headTooLarge()
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

function respondRaw(socket: Duplex, problem: Problem, clock: Clock): void {
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
    ...defaultHeaders(clock.nowMs()),
    "content-type": problemContentType,
    ...(problem.status === 405 ? { allow: "GET" } : {}),
    ...(problem.status === 503 ? { "retry-after": String(retryAfterS(problem)) } : {}),
  }
}
