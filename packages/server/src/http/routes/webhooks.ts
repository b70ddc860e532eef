import {
  CreateWebhookBody,
  DeletedBody,
  NoQuery,
  paths,
  SigningKeyBody,
  WebhookBody,
  WebhookParams,
  WebhooksBody,
  WebhookValidBody,
} from "@sluice/api"
import { asId, type WebhookId } from "../../model/ids.ts"
import { appOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../server.ts"
import { refusals, withBearer } from "./route.ts"

/** The webhooks of an app. */
export function webhookRoutes(
  server: HttpServer,
  { webhookRegistry }: Pick<HttpDeps, "webhookRegistry">,
): void {
  /** GET /2/webhooks: newest first. */
  server.get(
    paths.webhooks,
    {
      schema: {
        summary: "Webhooks of the app",
        security: withBearer,
        querystring: NoQuery,
        response: { 200: WebhooksBody, ...refusals },
      },
    },
    async (request) => {
      const data = await webhookRegistry.list(appOf(request).id)
      return { data: [...data], meta: { result_count: data.length } }
    },
  )

  /** POST /2/webhooks: registers an endpoint that answers a challenge. */
  server.post(
    paths.webhooks,
    {
      schema: {
        summary: "Register a webhook",
        security: withBearer,
        querystring: NoQuery,
        body: CreateWebhookBody,
        response: { 200: WebhookBody, ...refusals },
      },
    },
    async (request) => ({ data: await webhookRegistry.create(appOf(request), request.body.url) }),
  )

  /** PUT /2/webhooks/:webhook_id: challenges a webhook now, and says how it went. */
  server.put(
    paths.webhook,
    {
      schema: {
        summary: "Challenge a webhook",
        security: withBearer,
        params: WebhookParams,
        querystring: NoQuery,
        response: { 200: WebhookValidBody, ...refusals },
      },
    },
    async (request) => ({
      data: await webhookRegistry.validate(appOf(request), asId(request.params.webhook_id)),
    }),
  )

  /** GET /sluice/v1/webhooks/:webhook_id/signing_key: what a receiver checks `webhook-signature` with. */
  server.get(
    paths.signingKey,
    {
      schema: {
        summary: "Key of a webhook's Standard Webhooks signature",
        security: withBearer,
        params: WebhookParams,
        querystring: NoQuery,
        response: { 200: SigningKeyBody, ...refusals },
      },
    },
    async (request) => {
      const id = asId<WebhookId>(request.params.webhook_id)
      return { data: await webhookRegistry.signingKey(appOf(request).id, id) }
    },
  )

  /** POST /sluice/v1/webhooks/:webhook_id/signing_key: a new key; the present one signs too until its grace is over. */
  server.post(
    paths.signingKey,
    {
      schema: {
        summary: "Rotate the key of a webhook's Standard Webhooks signature",
        security: withBearer,
        params: WebhookParams,
        querystring: NoQuery,
        response: { 200: SigningKeyBody, ...refusals },
      },
    },
    async (request) => {
      const id = asId<WebhookId>(request.params.webhook_id)
      return { data: await webhookRegistry.rotateSigningKey(appOf(request).id, id) }
    },
  )

  /** DELETE /2/webhooks/:webhook_id: deletes a webhook, and its link with it. */
  server.delete(
    paths.webhook,
    {
      schema: {
        summary: "Delete a webhook",
        security: withBearer,
        params: WebhookParams,
        querystring: NoQuery,
        response: { 200: DeletedBody, ...refusals },
      },
    },
    async (request) => {
      await webhookRegistry.delete(appOf(request).id, asId(request.params.webhook_id))
      return { data: { deleted: true } }
    },
  )
}
