import { CreateReplayBody, NoQuery, paths, ReplayCreatedBody, ReplaysBody } from "@sluice/api"
import { appOf, scopeOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../server.ts"
import { refusals, withBearer } from "./route.ts"

/** Asking for a replay. */
export function replayRoutes(server: HttpServer, { replayBook }: Pick<HttpDeps, "replayBook">): void {
  /** POST /2/webhooks/replay: sends a webhook once more what was matched in a window of time. */
  server.post(
    paths.webhookReplay,
    {
      schema: {
        summary: "Replay to a webhook",
        security: withBearer,
        querystring: NoQuery,
        body: CreateReplayBody,
        response: { 200: ReplayCreatedBody, ...refusals },
      },
    },
    async (request) => ({ data: await replayBook.create(appOf(request).id, request.body) }),
  )
}

/** How replays are going. An app sees its own; an operator those of all apps. */
export function replayStateRoutes(server: HttpServer, { replayBook }: Pick<HttpDeps, "replayBook">): void {
  /** GET /sluice/v1/replays: those that run, and those that have ended lately, newest first. */
  server.get(
    paths.replays,
    {
      schema: {
        summary: "Replays and how far they have come",
        security: withBearer,
        querystring: NoQuery,
        response: { 200: ReplaysBody, ...refusals },
      },
    },
    async (request) => {
      const data = await replayBook.list(scopeOf(request))
      return { data: [...data], meta: { result_count: data.length } }
    },
  )
}
