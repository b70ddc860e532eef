import { paths } from "@sluice/api"
import {
  CreateBackfillBody,
  CreateReplayBody,
  ReplayBody,
  ReplayCreatedBody,
  ReplayParams,
  ReplaysBody,
} from "@sluice/api/schemas"
import { asId } from "../../model/ids.ts"
import { appOf, scopeOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentData, presentList } from "../present/bodies.ts"
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

  /** POST /sluice/v1/replays: sends a webhook the stored posts that came before rules and match them. */
  server.post(
    paths.replays,
    bearerRoute("Create a backfill of rules to a webhook", ReplayBody, { body: CreateBackfillBody }),
    async (request) => presentData(presentReplay(await replayRequests.createBackfill(appOf(request).id, request.body))),
  )

  /** DELETE /sluice/v1/replays/:job_id: ends a replay that runs. */
  server.delete(paths.replay, bearerRoute("Cancel a replay", ReplayBody, { params: ReplayParams }), async (request) =>
    presentData(presentReplay(await replayRequests.cancel(scopeOf(request), asId(request.params.job_id)))),
  )
}
