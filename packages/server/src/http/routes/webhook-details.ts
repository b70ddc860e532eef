import { ownPageSizes, paths } from "@sluice/api"
import {
  ChangeWebhookBody,
  WebhookParams,
  WebhookDetailBody,
  WebhookDetailsBody,
  WebhookDetailsQuery,
} from "@sluice/api/schemas"
import { asId, type AppId, type WebhookId } from "../../model/ids.ts"
import { notFound } from "../../model/problem.ts"
import type { StoredWebhook } from "../../model/webhook.ts"
import { keysetPage } from "../../paging/keyset-page.ts"
import { scopeOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentData, presentPage } from "../present/bodies.ts"
import { presentWebhookState } from "../present/deliveries.ts"
import { allApps, bearerRoute } from "./route-schema.ts"

/** Webhooks with the states of their links. An app sees its own; an operator sees those of all apps. */
export function webhookStateRoutes(
  server: HttpServer,
  { webhookRegistry, webhookLinks, pageTokens }: Pick<HttpDeps, "webhookRegistry" | "webhookLinks" | "pageTokens">,
): void {
  /** GET /sluice/v1/webhooks: pages, newest first. */
  server.get(
    paths.webhookDetails,
    bearerRoute("List webhooks with the delivery status of their links", WebhookDetailsBody, {
      querystring: WebhookDetailsQuery,
    }),
    async (request) => {
      const appId = scopeOf(request)
      const { max_results: limit, pagination_token: token, url: urlPart } = request.query
      const of = { ...(appId !== undefined && { appId }), ...(urlPart !== undefined && { urlPart }) }
      const page = await keysetPage<StoredWebhook>({
        tokens: pageTokens,
        scope: { endpoint: paths.webhookDetails, appId: appId ?? allApps, parameters: `url=${urlPart ?? ""}` },
        token,
        limit: limit ?? ownPageSizes.webhookDetails.default,
        read: (range) => webhookRegistry.page(of, range),
      })
      const states = await webhookLinks.statesOf(page.items.map(({ id }) => id))
      return presentPage(page, (webhook) => presentWebhookState(webhook, states.get(webhook.id)))
    },
  )

  async function detailOf(appId: AppId | undefined, id: WebhookId): Promise<WebhookDetailBody> {
    const webhook = await webhookRegistry.find(appId, id)
    if (webhook === undefined) throw notFound("webhook", "webhook_id", id)
    return presentData(presentWebhookState(webhook, (await webhookLinks.statesOf([id])).get(id)))
  }

  /** GET /sluice/v1/webhooks/:webhook_id */
  server.get(
    paths.webhookDetail,
    bearerRoute("Get a webhook with the delivery status of its link", WebhookDetailBody, { params: WebhookParams }),
    (request) => detailOf(scopeOf(request), asId(request.params.webhook_id)),
  )

  /** PATCH /sluice/v1/webhooks/:webhook_id: its name and its description. Returns its new state. */
  server.patch(
    paths.webhookDetail,
    bearerRoute("Name or describe a webhook", WebhookDetailBody, { params: WebhookParams, body: ChangeWebhookBody }),
    async (request) => {
      const id = asId<WebhookId>(request.params.webhook_id)
      const { name, description } = request.body
      await webhookRegistry.describe(scopeOf(request), id, {
        ...(name !== undefined && { name: name.trim() }),
        ...(description !== undefined && { description: description.trim() }),
      })
      return detailOf(scopeOf(request), id)
    },
  )
}
