/**
 * Posts in: NDJSON of any length, plain or gzip, read no faster than it is stored.
 *
 *     socket ─► gunzip? ─► intake.write ─► (waits while a window is unread) ─► report
 *
 * With `ack=batch` the answer begins at once and says a line after each batch that is durable; the last line has
 * `"done":true`, or `errors` when it could not be finished. A client that does not read these lines is not read.
 */
import { PassThrough, type Duplex, type Writable } from "node:stream"
import { createGunzip } from "node:zlib"
import { IngestedBody, IngestQuery, NdjsonBody, paths, problemTypes } from "@sluice/api"
import type { FastifyReply, FastifyRequest } from "fastify"
import type { IncomingMessage } from "node:http"
import type { Static } from "typebox"
import type { IngestReport } from "../../ingest/accept-posts.ts"
import type { Intake, IntakeBody } from "../../ingest/intake.ts"
import { Problem } from "../../model/problem.ts"
import { internalProblem, plainProblem, renderProblem, unsupportedMediaType } from "../render-problem.ts"
import type { HttpDeps, HttpServer } from "../server.ts"
import { refusals, withBearer } from "./route.ts"

const ndjsonTypes = ["application/x-ndjson", "application/jsonl"] as const

/** The way in for posts. */
export function ingestRoutes(
  server: HttpServer,
  { intake, events, closing }: Pick<HttpDeps, "intake" | "events" | "closing">,
): void {
  server.removeContentTypeParser("application/json")
  for (const type of ndjsonTypes) {
    server.addContentTypeParser(type, (_request: FastifyRequest, payload: IncomingMessage, done) => {
      done(null, payload)
    })
  }

  /** POST /sluice/v1/posts: answers when everything acceptable is durable and its matches are logged. */
  server.post(
    paths.ingest,
    {
      schema: {
        summary: "Pour posts in",
        security: withBearer,
        querystring: IngestQuery,
        body: { content: Object.fromEntries(ndjsonTypes.map((type) => [type, { schema: NdjsonBody }])) },
        response: { 200: IngestedBody, ...refusals },
      },
    },
    async (request, reply) => {
      const isEncoded = isGzip(request)
      const payload = request.body as IncomingMessage | null | undefined
      if (payload === undefined || payload === null) throw unsupportedMediaType(ndjsonTypes)
      // A quiet source is no reason to close its connection; the system's own probes tell when it is gone.
      request.raw.socket.setTimeout(0)
      const pouring = { payload, isEncoded, closing }
      if (request.query.ack === "batch") return acknowledge(intake, pouring, reply, events)
      return reply.send(rendered(await pour(intake.open(), pouring)))
    },
  )
}

/** How a body comes in, and what ends it early. */
interface Pouring {
  readonly payload: IncomingMessage
  readonly isEncoded: boolean
  /** Aborted when the server begins to close. */
  readonly closing: AbortSignal
  /** Waits until the sender has room for what it is told. */
  readonly roomForAnswers?: () => Promise<void>
}

/**
 * Feeds a body in. Throws the `Problem` of a body or store that fails, as soon as it has, and of a server that
 * closes; what was stored before stays.
 */
async function pour(body: IntakeBody, pouring: Pouring): Promise<IngestReport> {
  const { payload, closing, roomForAnswers } = pouring
  const door = openDoor(pouring)
  using stops = new DisposableStack()
  stops.defer(onAbort(body.failed, (problem) => door.destroy(problem)))
  stops.defer(
    onAbort(closing, () => {
      if (!payload.complete) door.destroy(new ServerCloses())
    }),
  )
  try {
    for await (const chunk of door) {
      await body.write(chunk as Uint8Array)
      await roomForAnswers?.()
    }
    return await body.end()
  } catch (error) {
    // What the sender still sends is thrown away, so that it comes to read the answer.
    payload.unpipe(door).resume()
    if (error instanceof ServerCloses) throw serverCloses(await body.stop())
    body.abort()
    throw problemOf(error)
  }
}

/** Thrown within this file: the body is cut off here, though its sender has more. */
class ServerCloses extends Error {}

/** What is read instead of the payload, decoded: it may be destroyed, and the connection still be answered on. */
function openDoor({ payload, isEncoded }: Pouring): Duplex {
  const door = isEncoded ? createGunzip() : new PassThrough()
  payload.once("error", (error) => door.destroy(error))
  return payload.pipe(door)
}

/** Calls `listener` with the reason once `signal` is aborted, until the function that it answers is called. */
function onAbort(signal: AbortSignal, listener: (reason: Error) => void): () => void {
  const listen = (): void => listener(signal.reason as Error)
  if (signal.aborted) listen()
  else signal.addEventListener("abort", listen, { once: true })
  return () => signal.removeEventListener("abort", listen)
}

/** The lines of `ack=batch`, as an answer that goes on while the body comes. */
function acknowledge(
  intake: Intake,
  pouring: Pouring,
  reply: FastifyReply,
  events: HttpDeps["events"],
): FastifyReply {
  const lines = new PassThrough()
  const body = intake.open((report) => {
    if (lines.writable) lines.write(`${JSON.stringify(rendered(report))}\n`)
  })
  const stopped = AbortSignal.any([body.failed, pouring.closing])
  pour(body, { ...pouring, roomForAnswers: () => drained(lines, stopped) }).then(
    (report) => lines.end(`${JSON.stringify({ ...rendered(report), done: true })}\n`),
    (error: unknown) => {
      const problem = error instanceof Problem ? error : internalProblem()
      if (problem !== error) events.failed({ where: "ingest", error })
      lines.end(`${renderProblem(problem)}\n`)
    },
  )
  return reply.type("application/x-ndjson; charset=utf-8").send(lines)
}

/** Waits until `lines` takes more, or never will, or there will be no more of them. Leaves no listener behind. */
export async function drained(lines: Writable, stopped: AbortSignal): Promise<void> {
  if (!lines.writableNeedDrain || lines.destroyed) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const happenings = ["drain", "close"] as const
  for (const happening of happenings) lines.on(happening, resolve)
  const stop = onAbort(stopped, () => resolve())
  await promise
  stop()
  for (const happening of happenings) lines.off(happening, resolve)
}

function isGzip({ headers }: FastifyRequest): boolean {
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity"
  if (encoding === "gzip" || encoding === "x-gzip") return true
  if (encoding === "identity" || encoding === "") return false
  throw plainProblem(415, "The content encoding of a body of posts is gzip, or none.")
}

/** The server closes in the middle of a body. Beside the error stands what was taken of it, counted from its start. */
function serverCloses(report: IngestReport): Problem {
  return new Problem({
    status: 503,
    type: problemTypes.unavailable,
    title: "Service Unavailable",
    detail: `The server is closing. Lines taken, blank ones not counted: ${report.lines}. Send the rest again later.`,
    extras: rendered(report),
  })
}

/** What went wrong on the way in, as far as it is the sender's to know. */
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

function rendered({
  accepted,
  duplicates,
  rejected,
  rejectedCount,
  lines,
}: IngestReport): Static<typeof IngestedBody> {
  return { lines, accepted, duplicates, rejected: [...rejected], rejected_count: rejectedCount }
}
