import { paths, type DisconnectType } from "@sluice/api"
import {
  AddTroubleBody,
  DisconnectStreamsBody,
  StreamsDisconnectedBody,
  TroubleBody,
  TroubleParams,
  TroublesBody,
  TroublesClearedBody,
} from "@sluice/api/schemas"
import { asId, type AppId, type TroubleId, type WebhookId } from "../../model/ids.ts"
import { notFound } from "../../model/problem.ts"
import { parseTrouble } from "../../trouble/trouble.ts"
import type { Troubles } from "../../trouble/troubles.ts"
import { appOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentData, presentList } from "../present/bodies.ts"
import { presentDisconnected, presentTrouble, presentTroublesCleared } from "../present/trouble.ts"
import { plainProblem } from "../problems.ts"
import { bearerRoute } from "./route-schema.ts"

/** Trouble on demand. A server that is not for development has none, and refuses all of it with 403. */
export function troubleRoutes(
  server: HttpServer,
  deps: Pick<HttpDeps, "troubles" | "webhookRegistry" | "streamConnections" | "clock">,
): void {
  const { webhookRegistry, streamConnections, clock } = deps

  function troubles(): Troubles {
    if (deps.troubles !== undefined) return deps.troubles
    throw plainProblem(403, "Trouble on demand is only for `sluice dev`. This server is one for production.")
  }

  async function checkWebhook(appId: AppId, webhookId: WebhookId): Promise<void> {
    const webhooks = await webhookRegistry.list(appId)
    if (!webhooks.some(({ id }) => id === webhookId)) throw notFound("webhook", "webhook_id", webhookId)
  }

  /** GET /sluice/v1/trouble: what waits for its time. */
  server.get(paths.troubles, bearerRoute("List pending troubles", TroublesBody), async (request) =>
    presentList(troubles().list(appOf(request).id), presentTrouble),
  )

  /** POST /sluice/v1/trouble: makes deliveries, challenges or page tokens fail. */
  server.post(paths.troubles, bearerRoute("Add a trouble", TroubleBody, { body: AddTroubleBody }), async (request) => {
    const waiting = troubles()
    const { id: appId } = appOf(request)
    const trouble = parseTrouble(request.body, clock.nowMs())
    if ("webhookId" in trouble && trouble.webhookId !== undefined) await checkWebhook(appId, trouble.webhookId)
    return presentData(presentTrouble(waiting.add(appId, trouble)))
  })

  /** DELETE /sluice/v1/trouble: clears all of the app's. */
  server.delete(paths.troubles, bearerRoute("Clear all troubles", TroublesClearedBody), async (request) =>
    presentTroublesCleared(troubles().clear(appOf(request).id)),
  )

  /** DELETE /sluice/v1/trouble/:trouble_id */
  server.delete(
    paths.trouble,
    bearerRoute("Clear a trouble", TroublesClearedBody, { params: TroubleParams }),
    async (request) => {
      troubles().remove(appOf(request).id, asId<TroubleId>(request.params.trouble_id))
      return presentTroublesCleared(1)
    },
  )

  /** POST /sluice/v1/trouble/disconnect: ends the app's stream connections, each with this message. */
  server.post(
    paths.troubleDisconnect,
    bearerRoute("Disconnect streams", StreamsDisconnectedBody, { body: DisconnectStreamsBody }),
    async (request) => {
      troubles()
      const disconnectType = request.body.disconnect_type as DisconnectType | "none"
      return presentDisconnected(streamConnections.disconnect(appOf(request).id, disconnectType))
    },
  )
}
