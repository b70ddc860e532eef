import { paths } from "@sluice/api"
import { CreateReplayBody, ReplayCreatedBody, ReplaysBody } from "@sluice/api/schemas"
import { appOf, scopeOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentList } from "../present/bodies.ts"
import { presentNewReplay, presentReplay } from "../present/deliveries.ts"
import { bearerRoute } from "./route-schema.ts"

/** Requests for replays. */
export function replayRoutes(server: HttpServer, { replayRequests }: Pick<HttpDeps, "replayRequests">): void {
  /** POST /2/webhooks/replay: sends a webhook again what was matched in a window of time. */
  server.post(
    paths.webhookReplay,
    bearerRoute("Create a replay to a webhook", ReplayCreatedBody, { body: CreateReplayBody }),
    async (request) => presentNewReplay(await replayRequests.create(appOf(request).id, request.body)),
  )
}

/** The state of replays. An app sees its own; an operator sees those of all apps. */
export function replayStateRoutes(server: HttpServer, { replayRequests }: Pick<HttpDeps, "replayRequests">): void {
  /** GET /sluice/v1/replays: those in progress, and those that ended recently, newest first. */
  server.get(paths.replays, bearerRoute("List replays and their progress", ReplaysBody), async (request) =>
    presentList(await replayRequests.list(scopeOf(request)), presentReplay),
  )
}
