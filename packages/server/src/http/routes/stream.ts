import { paths } from "@sluice/api"
import {
  appHeader,
  ComplianceBody,
  ComplianceQuery,
  MatchesQuery,
  MatchLine,
  Sample10Query,
  SampleQuery,
  StreamedBody,
  StreamQuery,
} from "@sluice/api/schemas"
import type { FastifyReply, FastifyRequest } from "fastify"
import type { Static } from "typebox"
import { limitsOf } from "../../control/limits/app-limits.ts"
import {
  deletionFormat,
  deliveryFormat,
  matchFormat,
  sampleFormat,
  type LineFormat,
} from "../../delivery/streams/line-format.ts"
import { onePercent, tenPercent } from "../../delivery/streams/sample.ts"
import type { StreamPart, StreamSpanRequest } from "../../delivery/streams/stream-parts.ts"
import type { MatchSeq } from "../../model/ids.ts"
import { invalidRequest, notEnrolled } from "../../model/problem.ts"
import { appOf, credentialsWatch } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { bearerRoute, selectionOf } from "./route-schema.ts"

/**
 * The stream connection. A stream holds one of the app's few connections for as long as it is open, so a session opens one
 * only with its CSRF token.
 */
export function streamRoutes(server: HttpServer, { limits, ...deps }: StreamDeps & Pick<HttpDeps, "limits">): void {
  const serve = servingStreams(deps)

  /**
   * GET /2/tweets/search/stream: matches as they come, until the client disconnects; or the matches of a past window of
   * time, and then the end. Not for HEAD, which would not end.
   */
  server.get(
    paths.stream,
    {
      exposeHeadRoute: false,
      config: { sessionProof: "csrf-token", returnsPosts: true },
      ...bearerRoute("Stream matches", StreamedBody, { querystring: StreamQuery }),
    },
    async (request, reply) => {
      const { query } = request
      await serve(request, reply, { part: spanOf(query), format: deliveryFormat(selectionOf(query)) })
    },
  )

  /** GET /2/tweets/sample/stream: one in a hundred of all posts, as they come. Not for HEAD, which would not end. */
  server.get(
    paths.sample,
    {
      exposeHeadRoute: false,
      config: { sessionProof: "csrf-token", returnsPosts: true },
      ...bearerRoute("Stream a sample of posts", StreamedBody, { querystring: SampleQuery }),
    },
    async (request, reply) => {
      const { query } = request
      const { backfill_minutes: backfillMinutes = 0 } = query
      const part = { kind: "sample", endpoint: "sample_stream", sample: onePercent, backfillMinutes } as const
      await serve(request, reply, { part, format: sampleFormat(selectionOf(query)) })
    },
  )

  /** GET /2/tweets/sample10/stream: a half of one in ten of all posts, as they come. Not for HEAD, which would not end. */
  server.get(
    paths.sample10,
    {
      exposeHeadRoute: false,
      config: { sessionProof: "csrf-token", returnsPosts: true },
      ...bearerRoute("Stream a larger sample of posts", StreamedBody, { querystring: Sample10Query }),
    },
    async (request, reply) => {
      const { query } = request
      const { backfill_minutes: backfillMinutes = 0 } = query
      const sample = tenPercent[query.partition === 1 ? 1 : 2]
      const part = { kind: "sample", endpoint: "sample10_stream", sample, backfillMinutes } as const
      await serve(request, reply, { part, format: sampleFormat(selectionOf(query)) })
    },
  )

  /**
   * GET /2/tweets/compliance/stream and /2/users/compliance/stream: a partition of the deletions, as they come, for apps whose
   * operator allows it. Not for HEAD, which would not end.
   */
  for (const [path, of, summary] of [
    [paths.postsCompliance, "post", "Stream the posts that are deleted"],
    [paths.usersCompliance, "user", "Stream the users that are deleted"],
  ] as const) {
    server.get(
      path,
      {
        exposeHeadRoute: false,
        config: { sessionProof: "csrf-token" },
        ...bearerRoute(summary, ComplianceBody, { querystring: ComplianceQuery }),
      },
      async (request, reply) => {
        const app = appOf(request)
        if (!limitsOf(limits, app).hasComplianceStreams) throw notEnrolled(app.id)
        const { partition, ...span } = request.query
        const part = { kind: "deletions", of, partition, span: spanOf(span) } as const
        await serve(request, reply, { part, format: deletionFormat })
      },
    )
  }

  /**
   * GET /sluice/v1/matches: matches as they come, whole; it does not count as a stream connection of the app. Not for HEAD,
   * which would not end.
   */
  server.get(
    paths.matches,
    {
      exposeHeadRoute: false,
      config: { sessionProof: "csrf-token" },
      ...bearerRoute("Watch matches", MatchLine, { querystring: MatchesQuery }),
    },
    async (request, reply) => {
      const { after, recent = 0 } = request.query
      const part = { kind: "watch", recent, ...(after !== undefined && { after: after as MatchSeq }) } as const
      await serve(request, reply, { part, format: matchFormat })
    },
  )
}

type StreamDeps = Pick<HttpDeps, "streamConnections" | "events" | "apps" | "sessions" | "clock">

/** Serves a stream over a response, until it ends. */
function servingStreams({ streamConnections, events, ...known }: StreamDeps) {
  return async (
    request: FastifyRequest,
    reply: Pick<FastifyReply, "getHeaders" | "hijack" | "raw">,
    what: { readonly part: StreamPart; readonly format: LineFormat },
  ): Promise<void> => {
    const connection = await streamConnections.open(appOf(request), { ...what, clientIp: request.ip })
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) reply.raw.setHeader(name, value)
    }
    reply.hijack()
    // A body, which some clients send with every request, would otherwise stay unread, and the end of the connection behind it.
    reply.raw.req.resume()
    const over = new AbortController()
    void endWithCredentials(request, known, connection, over.signal)
    try {
      await connection.run(reply.raw)
    } catch (error) {
      events.failed({ where: "stream", error })
      reply.raw.destroy()
    } finally {
      over.abort()
    }
  }
}

/**
 * Ends a connection when the credentials that have opened it end, until it is over. Does nothing for an app's own token, which
 * ends with the app's credentials.
 */
async function endWithCredentials(
  request: FastifyRequest,
  known: Parameters<typeof credentialsWatch>[1],
  connection: { readonly end: (reason: "credentials") => void },
  over: AbortSignal,
): Promise<void> {
  // A page of the console, or an operator, acts for the app.
  if (request.session === null && request.headers[appHeader] === undefined) return
  const isAllowed = credentialsWatch(request, known)
  while (!over.aborted && (await isAllowed())) await known.clock.pause(credentialsMs, over)
  if (!over.aborted) connection.end("credentials")
}

/** Time between two looks at the credentials of a connection. Ours: so soon it ends after them. */
const credentialsMs = 2_000

function spanOf({
  backfill_minutes,
  start_time,
  end_time,
}: Pick<Static<typeof StreamQuery>, "backfill_minutes" | "start_time" | "end_time">): StreamSpanRequest {
  if (start_time === undefined) {
    if (end_time !== undefined) {
      throw invalidRequest("The `end_time` query parameter needs a `start_time`", { end_time: [end_time] })
    }
    return { kind: "live", backfillMinutes: backfill_minutes ?? 0 }
  }
  if (backfill_minutes !== undefined) {
    throw invalidRequest("The `backfill_minutes` and `start_time` query parameters exclude each other", {
      backfill_minutes: [String(backfill_minutes)],
      start_time: [start_time],
    })
  }
  return {
    kind: "window",
    startMs: Date.parse(start_time),
    ...(end_time !== undefined && { endMs: Date.parse(end_time) }),
  }
}
