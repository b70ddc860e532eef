import { paths, StreamQuery } from "@sluice/api"
import { appOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../server.ts"
import { refusals, selectionOf, withBearer } from "./route.ts"

/** The stream connection. */
export function streamRoutes(
  server: HttpServer,
  { streamConnections, events }: Pick<HttpDeps, "streamConnections" | "events">,
): void {
  /** GET /2/tweets/search/stream: matches as they come, until the client leaves. Not for HEAD, which has no end. */
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
      const { backfill_minutes: backfillMinutes = 0, ...selection } = request.query
      const connection = await streamConnections.open(appOf(request), {
        backfillMinutes,
        selection: selectionOf(selection),
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
