import { paths } from "@sluice/api"
import {
  CreateWebhookBody,
  DeletedBody,
  SigningKeyBody,
  TestDeliveryBody,
  WebhookBody,
  WebhookParams,
  WebhooksBody,
  WebhooksQuery,
  WebhookValidBody,
} from "@sluice/api/schemas"
import { asId, type WebhookId } from "../../model/ids.ts"
import { appOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentData, presentList } from "../present/bodies.ts"
import {
  presentDeleted,
  presentSigningKey,
  presentTestDelivery,
  presentValid,
  presentWebhook,
} from "../present/deliveries.ts"
import { bearerRoute } from "./route-schema.ts"

/** The webhooks of an app. */
export function webhookRoutes(server: HttpServer, { webhookRegistry }: Pick<HttpDeps, "webhookRegistry">): void {
  /** GET /2/webhooks: newest first. */
  server.get(
    paths.webhooks,
    bearerRoute("List the webhooks of the app", WebhooksBody, { querystring: WebhooksQuery }),
    async (request) => presentList(await webhookRegistry.list(appOf(request).id), presentWebhook),
  )

  /** POST /2/webhooks: registers an endpoint that passes a challenge. */
  server.post(
    paths.webhooks,
    bearerRoute("Register a webhook", WebhookBody, { body: CreateWebhookBody }),
    async (request) => presentData(presentWebhook(await webhookRegistry.create(appOf(request), request.body.url))),
  )

  /** PUT /2/webhooks/:webhook_id: challenges a webhook now, and returns whether it passed. */
  server.put(
    paths.webhook,
    bearerRoute("Challenge a webhook", WebhookValidBody, { params: WebhookParams }),
    async (request) => presentValid(await webhookRegistry.validate(appOf(request), asId(request.params.webhook_id))),
  )

  /** POST /sluice/v1/webhooks/:webhook_id/test: sends a made-up post to it, once, and returns how that ended. */
  server.post(
    paths.webhookTest,
    bearerRoute("Send a test to a webhook", TestDeliveryBody, { params: WebhookParams }),
    async (request) =>
      presentData(presentTestDelivery(await webhookRegistry.sendTest(appOf(request), asId(request.params.webhook_id)))),
  )

  /** GET /sluice/v1/webhooks/:webhook_id/signing_key: what a receiver checks `webhook-signature` with. */
  server.get(
    paths.signingKey,
    bearerRoute("Get a webhook's signing key", SigningKeyBody, { params: WebhookParams }),
    async (request) => {
      const id = asId<WebhookId>(request.params.webhook_id)
      return presentSigningKey(await webhookRegistry.signingKey(appOf(request).id, id))
    },
  )

  /** POST /sluice/v1/webhooks/:webhook_id/signing_key: a new key; the current one signs as well until its grace period ends. */
  server.post(
    paths.signingKey,
    bearerRoute("Rotate a webhook's signing key", SigningKeyBody, {
      params: WebhookParams,
    }),
    async (request) => {
      const id = asId<WebhookId>(request.params.webhook_id)
      return presentSigningKey(await webhookRegistry.rotateSigningKey(appOf(request).id, id))
    },
  )

  /** DELETE /2/webhooks/:webhook_id: deletes a webhook, and its link with it. */
  server.delete(
    paths.webhook,
    bearerRoute("Delete a webhook", DeletedBody, { params: WebhookParams }),
    async (request) => {
      await webhookRegistry.delete(appOf(request).id, asId(request.params.webhook_id))
      return presentDeleted()
    },
  )
}
