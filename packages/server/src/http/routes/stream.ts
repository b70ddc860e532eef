import { paths } from "@sluice/api"
import { MatchesQuery, MatchLine, StreamedBody, StreamQuery } from "@sluice/api/schemas"
import type { FastifyReply } from "fastify"
import type { Static } from "typebox"
import { deliveryFormat, matchFormat, type LineFormat } from "../../delivery/streams/line-format.ts"
import type { StreamPart } from "../../delivery/streams/stream-connections.ts"
import type { App } from "../../model/app.ts"
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
      await serve(appOf(request), reply, { part: partOf(query), format: deliveryFormat(selectionOf(query)) })
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
      await serve(appOf(request), reply, { part, format: matchFormat })
    },
  )

  async function serve(
    app: App,
    reply: Pick<FastifyReply, "getHeaders" | "hijack" | "raw">,
    what: { readonly part: StreamPart; readonly format: LineFormat },
  ): Promise<void> {
    const connection = await streamConnections.open(app, what)
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
