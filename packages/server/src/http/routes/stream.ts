import { paths, StreamedBody, StreamQuery } from "@sluice/api"
import type { Static } from "typebox"
import type { StreamPart } from "../../delivery/streams/stream-connections.ts"
import { invalidRequest } from "../../model/problem.ts"
import { appOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { bearerRoute, selectionOf } from "./route-schema.ts"

/** The stream connection. */
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
      ...bearerRoute("Stream of matches", StreamedBody, { querystring: StreamQuery }),
    },
    async (request, reply) => {
      const { query } = request
      const connection = await streamConnections.open(appOf(request), {
        part: partOf(query),
        selection: selectionOf(query),
      })
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) reply.raw.setHeader(name, value)
      }
      reply.hijack()
      try {
        await connection.run(reply.raw)
      } catch (error) {
        events.failed({ where: "stream", error })
        reply.raw.destroy()
      }
    },
  )
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
