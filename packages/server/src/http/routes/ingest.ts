/**
 * Posts in: NDJSON of any length, plain or gzip, read no faster than it is stored.
 *
 *     socket ─► gunzip? ─► intake.write ─► (waits while a window is unread) ─► report
 *
 * With `ack=batch` the answer begins at once and says a line after each batch that is durable; the last line has
 * `"done":true`, or `errors` when it could not be finished. A client that does not read these lines is not read.
 */
import { once } from "node:events"
import { PassThrough, type Readable } from "node:stream"
import { createGunzip } from "node:zlib"
import { IngestedBody, IngestQuery, NdjsonBody, paths } from "@sluice/api"
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
  { intake, events }: Pick<HttpDeps, "intake" | "events">,
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
      if (request.query.ack === "batch") return acknowledge(intake, payload, isEncoded, reply, events)
      return reply.send(rendered(await pour(intake.open(), payload, isEncoded)))
    },
  )
}

/** Feeds a body in. Throws the `Problem` of a body or store that fails; what was stored before stays. */
async function pour(
  body: IntakeBody,
  payload: IncomingMessage,
  isEncoded: boolean,
  afterChunk: () => Promise<void> = () => Promise.resolve(),
): Promise<IngestReport> {
  try {
    for await (const chunk of isEncoded ? gunzipped(payload) : payload) {
      await body.write(chunk as Uint8Array)
      await afterChunk()
    }
  } catch (error) {
    body.abort()
    throw problemOf(error)
  }
  return body.end()
}

/** The lines of `ack=batch`, as an answer that goes on while the body comes. */
function acknowledge(
  intake: Intake,
  payload: IncomingMessage,
  isEncoded: boolean,
  reply: FastifyReply,
  events: HttpDeps["events"],
): FastifyReply {
  const lines = new PassThrough()
  const body = intake.open((report) => {
    lines.write(`${JSON.stringify(rendered(report))}\n`)
  })
  const roomForLines = async (): Promise<void> => {
    if (lines.writableNeedDrain) await Promise.race([once(lines, "drain"), once(lines, "close")])
  }
  pour(body, payload, isEncoded, roomForLines).then(
    (report) => lines.end(`${JSON.stringify({ ...rendered(report), done: true })}\n`),
    (error: unknown) => {
      const problem = error instanceof Problem ? error : internalProblem()
      if (problem !== error) events.failed({ where: "ingest", error })
      lines.end(`${renderProblem(problem)}\n`)
    },
  )
  return reply.type("application/x-ndjson; charset=utf-8").send(lines)
}

function gunzipped(payload: IncomingMessage): Readable {
  const gunzip = createGunzip()
  payload.once("error", (error) => gunzip.destroy(error))
  return payload.pipe(gunzip)
}

function isGzip({ headers }: FastifyRequest): boolean {
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity"
  if (encoding === "gzip" || encoding === "x-gzip") return true
  if (encoding === "identity" || encoding === "") return false
  throw plainProblem(415, "The content encoding of a body of posts is gzip, or none.")
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
