import { paths } from "@sluice/api"
import { MatchesQuery, MatchLine, Sample10Query, SampleQuery, StreamedBody, StreamQuery } from "@sluice/api/schemas"
import type { FastifyReply, FastifyRequest } from "fastify"
import type { Static } from "typebox"
import { deliveryFormat, matchFormat, sampleFormat, type LineFormat } from "../../delivery/streams/line-format.ts"
import { onePercent, tenPercent } from "../../delivery/streams/sample.ts"
import type { StreamPart } from "../../delivery/streams/stream-parts.ts"
import type { MatchSeq } from "../../model/ids.ts"
import { invalidRequest } from "../../model/problem.ts"
import { appOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { bearerRoute, selectionOf } from "./route-schema.ts"

/**
 * The stream connection. A stream holds one of the app's few connections for as long as it is open, so a session opens one
 * only with its CSRF token.
 */
export function streamRoutes(
  server: HttpServer,
  { streamConnections, events }: Pick<HttpDeps, "streamConnections" | "events">,
): void {
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
      await serve(request, reply, { part: partOf(query), format: deliveryFormat(selectionOf(query)) })
    },
  )

  /** GET /2/tweets/sample/stream: one in a hundred of all posts, as they come. Not for HEAD, which would not end. */
  server.get(
    paths.sample,
    {
      exposeHeadRoute: false,
      config: { sessionProof: "csrf-token" },
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
      config: { sessionProof: "csrf-token" },
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

  async function serve(
    request: FastifyRequest,
    reply: Pick<FastifyReply, "getHeaders" | "hijack" | "raw">,
    what: { readonly part: StreamPart; readonly format: LineFormat },
  ): Promise<void> {
    const connection = await streamConnections.open(appOf(request), { ...what, clientIp: request.ip })
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) reply.raw.setHeader(name, value)
    }
    reply.hijack()
    // A body, which some clients send with every request, would otherwise stay unread, and the end of the connection behind it.
    reply.raw.req.resume()
    try {
      await connection.run(reply.raw)
    } catch (error) {
      events.failed({ where: "stream", error })
      reply.raw.destroy()
    }
  }
}

function partOf({ backfill_minutes, start_time, end_time }: Static<typeof StreamQuery>): StreamPart {
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
