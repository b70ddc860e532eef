/**
 * Ingest: NDJSON of any length, plain or gzip, read no faster than it is stored.
 *
 *     socket ─► whole already? ── yes ─► intake ─► report
 *                 └─ no ─► gunzip? ─► intake.write ─► (waits while the intake's window is full) ─► report
 *
 * With `ack=batch` the response begins at once and has a line for each batch that is durable. Its last line has
 * `"done":true`, or `errors` when the body could not be read to its end. The body of a client that does not read these
 * lines is not read either.
 */
import { PassThrough, Readable, type Duplex, type Writable } from "node:stream"
import { createGunzip } from "node:zlib"
import { paths, problemTypes } from "@sluice/api"
import { AcknowledgedLines, IngestedBody, IngestQuery, NdjsonBody } from "@sluice/api/schemas"
import type { FastifyReply, FastifyRequest } from "fastify"
import type { Static } from "typebox"
import type { IncomingMessage } from "node:http"
import { rejectedBeyondTakenMax } from "../../ingest/accept-posts.ts"
import type { IngestReport } from "../../ingest/ingest-report.ts"
import { BodyRefused, endWith, type IntakeBody } from "../../ingest/port-body.ts"
import type { MatchUse } from "../../ingest/post-batches.ts"
import { Problem } from "../../model/problem.ts"
import { presentIngest, presentIngestEnd, presentIngestLine } from "../present/ingest.ts"
import { internalProblem, plainProblem, renderProblem } from "../problems.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { credentialsWatch, scopeOf } from "../auth.ts"
import { bearerAuth, responsesOf } from "./route-schema.ts"

const ndjsonTypes = ["application/x-ndjson", "application/jsonl"] as const

/** The route that posts are sent to. */
export function ingestRoutes(
  server: HttpServer,
  {
    intake,
    events,
    closing,
    ...known
  }: Pick<HttpDeps, "intake" | "events" | "closing" | "apps" | "sessions" | "clock">,
): void {
  server.removeContentTypeParser("application/json")
  for (const type of ndjsonTypes) {
    server.addContentTypeParser(type, (_request: FastifyRequest, payload: IncomingMessage, done) => {
      done(null, payload)
    })
  }

  /** POST /sluice/v1/posts: responds when every accepted post is durable and its matches are logged. */
  server.post(
    paths.posts,
    {
      schema: {
        summary: "Send posts",
        security: bearerAuth,
        querystring: IngestQuery,
        body: { content: Object.fromEntries(ndjsonTypes.map((type) => [type, { schema: NdjsonBody }])) },
        response: responsesOf({ "application/json": IngestedBody, [ndjsonTypes[0]]: AcknowledgedLines }),
      },
    },
    async (request, reply) => {
      const isEncoded = isGzip(request)
      // An empty body has no type, and holds no posts.
      const payload = (request.body as IncomingMessage | null | undefined) ?? Readable.from([])
      // A client may be idle for any time; the probes of the operating system detect when it is gone.
      request.raw.socket.setTimeout(0)
      // A body may come for days.
      const isAllowed = credentialsWatch(request, known)
      const source = { payload, isEncoded, closing, isAllowed }
      const open: OpenBody = (onBatch) => intake.open(onBatch, matchUseOf(request))
      if (request.query.ack === "batch") return acknowledge(open, source, reply, events)
      const whole = isEncoded ? undefined : wholeBody(payload)
      const report = whole === undefined ? ingest(open(), source) : ingestWhole(open(), whole)
      return reply.send(presentIngest(await report))
    },
  )
}

/** Opens a body for one request. */
type OpenBody = (onBatch?: (report: IngestReport) => void) => IntakeBody

/** An ingest token belongs to no app, so the number of matches of its posts is not reported to it. */
function matchUseOf(request: FastifyRequest<{ Querystring: Static<typeof IngestQuery> }>): MatchUse | undefined {
  if (request.query.deliver !== false) return undefined
  return request.principal?.kind === "ingest" ? { kind: "discard" } : { kind: "count", appId: scopeOf(request) }
}

/** A request body, and what ends it early. */
interface BodySource {
  readonly payload: Readable & Partial<Pick<IncomingMessage, "complete">>
  readonly isEncoded: boolean
  /** Aborted when the server begins to close. */
  readonly closing: AbortSignal
  /** Whether the token of the request still is one; asked before a chunk is read. */
  readonly isAllowed: () => Promise<boolean>
  /** Waits until the client has read enough of the response. */
  readonly responseRead?: () => Promise<void>
}

/** The body, if all of it has come with the head of its request, as that of a post alone; else `undefined`. */
function wholeBody(payload: BodySource["payload"]): Buffer | undefined {
  if (payload.complete !== true || payload.readableLength === 0) return undefined
  return payload.read() as Buffer
}

/** As `ingest`, for a body that is whole. */
function ingestWhole(body: IntakeBody, bytes: Buffer): Promise<IngestReport> {
  return endWith(body, [bytes]).catch((error: unknown) => {
    throw refusalOf(error)
  })
}

/**
 * Writes a body to the intake. Throws a `Problem` as soon as the body or the store fails, and when the server closes.
 * Posts stored before stay.
 */
async function ingest(body: IntakeBody, source: BodySource): Promise<IngestReport> {
  const { payload, closing, isAllowed, responseRead } = source
  const decoded = decodedBody(source)
  using stops = new DisposableStack()
  stops.defer(onAbort(body.failed, (problem) => decoded.destroy(problem)))
  stops.defer(
    onAbort(closing, () => {
      if (!payload.complete) decoded.destroy(new ServerCloses())
    }),
  )
  try {
    for await (const chunk of decoded) {
      if (!(await isAllowed())) throw new TokenEnded()
      await body.write(chunk as Uint8Array)
      await responseRead?.()
    }
    return await body.end()
  } catch (error) {
    // Discards the rest of the request, so that the client reads the response.
    payload.unpipe(decoded).resume()
    if (error instanceof ServerCloses) throw serverCloses(await body.stop())
    if (error instanceof TokenEnded) {
      await body.stop()
      throw plainProblem(401, "Unauthorized")
    }
    body.abort()
    throw refusalOf(error)
  }
}

/** Thrown within this file when the server closes before the body ends. */
class ServerCloses extends Error {}

/** Thrown within this file when the token of the request was revoked while its body came. */
class TokenEnded extends Error {}

/** Thrown within this file when the connection closed before the body was read. Its code is that of Node for such an end. */
class ClientLeft extends Error {
  readonly code = "ECONNRESET"
}

/** The decoded body. It may be destroyed without the connection, on which the response is then sent. */
function decodedBody({ payload, isEncoded }: BodySource): Duplex {
  const decoded = isEncoded ? createGunzip() : new PassThrough()
  payload.once("error", (error) => decoded.destroy(error))
  // The client left while its token was read: then no error comes any more, and no end.
  if (payload.destroyed) return decoded.destroy(new ClientLeft())
  return payload.pipe(decoded)
}

/** Calls `listener` with the reason once `signal` is aborted. Returns a function that removes the listener. */
function onAbort(signal: AbortSignal, listener: (reason: Error) => void): () => void {
  const listen = (): void => listener(signal.reason as Error)
  if (signal.aborted) listen()
  else signal.addEventListener("abort", listen, { once: true })
  return () => signal.removeEventListener("abort", listen)
}

/** Sends the lines of `ack=batch`, as a response that continues while the body arrives. */
function acknowledge(
  open: OpenBody,
  source: BodySource,
  reply: FastifyReply,
  events: HttpDeps["events"],
): FastifyReply {
  const lines = new PassThrough()
  const body = open((report) => {
    if (lines.writable) lines.write(presentIngestLine(report))
  })
  const stopped = AbortSignal.any([body.failed, source.closing])
  ingest(body, { ...source, responseRead: () => drained(lines, stopped) }).then(
    (report) => lines.end(presentIngestEnd(report)),
    (error: unknown) => {
      const problem = error instanceof Problem ? error : internalProblem()
      if (problem !== error) events.failed({ where: "ingest", error })
      lines.end(`${renderProblem(problem)}\n`)
    },
  )
  return reply.type("application/x-ndjson; charset=utf-8").send(lines)
}

/** Waits until `lines` accepts more, is closed, or `stopped` is aborted. Removes its listeners. */
export async function drained(lines: Writable, stopped: AbortSignal): Promise<void> {
  if (!lines.writableNeedDrain || lines.destroyed) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const settled = ["drain", "close"] as const
  for (const event of settled) lines.on(event, resolve)
  const stop = onAbort(stopped, () => resolve())
  await promise
  stop()
  for (const event of settled) lines.off(event, resolve)
}

function isGzip({ headers }: FastifyRequest): boolean {
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity"
  if (encoding === "gzip" || encoding === "x-gzip") return true
  if (encoding === "identity" || encoding === "") return false
  throw plainProblem(415, "The content encoding of a body of posts is gzip, or none.")
}

/** The server closes before a body ends. The error holds the report of what was read, counted from the body's start. */
function serverCloses(report: IngestReport): Problem {
  return new Problem({
    status: 503,
    type: problemTypes.unavailable,
    title: "Service Unavailable",
    detail: `The server is closing. Lines taken, blank ones not counted: ${report.lines}. Send the rest again later.`,
    extras: presentIngest(report),
  })
}

/** Too many lines of a body were rejected. The error holds the report of what was read, counted from the body's start. */
function bodyRefused(report: IngestReport): Problem {
  return new Problem({
    status: 400,
    type: problemTypes.invalidRequest,
    title: "Too Many Rejected Lines",
    detail:
      `The body was read up to its line ${report.lines}, blank ones not counted: ${rejectedBeyondTakenMax} more of ` +
      "its lines were rejected than taken. What was accepted is kept, and the rest was not read.",
    extras: presentIngest(report),
  })
}

/** The error of a response to a body that was not taken. */
function refusalOf(error: unknown): unknown {
  return error instanceof BodyRefused ? bodyRefused(error.report) : problemOf(error)
}

/** The problem for an error of the body, or the error itself when it is not the client's. */
function problemOf(error: unknown): unknown {
  if (error instanceof Problem || !(error instanceof Error)) return error
  const { code } = error as NodeJS.ErrnoException
  if (code?.startsWith("Z_") === true) {
    return plainProblem(
      400,
      "The body is not valid gzip. What came before the fault may be stored; it is safe to send it again.",
    )
  }
  if (code === "ECONNRESET") return plainProblem(400, "The body ended before it was complete.")
  return error
}
