import { paths, StreamQuery } from "@sluice/api"
import type { Static } from "typebox"
import type { StreamPart } from "../../delivery/stream-connections.ts"
import { invalidRequest } from "../../model/problem.ts"
import { appOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../server.ts"
import { refusals, selectionOf, withBearer } from "./route.ts"

/** The stream connection. */
export function streamRoutes(
  server: HttpServer,
  { streamConnections, events }: Pick<HttpDeps, "streamConnections" | "events">,
): void {
  /**
   * GET /2/tweets/search/stream: matches as they come, until the client leaves; or those of a window of time that is
   * past, and then the end. Not for HEAD, which has no end.
   */
  server.get(
    paths.stream,
    {
      exposeHeadRoute: false,
      schema: {
        summary: "Stream of matches",
        security: withBearer,
        querystring: StreamQuery,
        response: { ...refusals },
      },
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
