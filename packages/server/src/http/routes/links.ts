import { pageSizes, paths } from "@sluice/api"
import {
  CreateLinkQuery,
  DeletedBody,
  LinksBody,
  LinksQuery,
  ProvisionedBody,
  WebhookParams,
} from "@sluice/api/schemas"
import { asId } from "../../model/ids.ts"
import type { StoredLink } from "../../model/link.ts"
import { keysetPage } from "../../paging/keyset-page.ts"
import { appOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentAllLinks, presentDeleted, presentLinks, presentProvisioned } from "../present/deliveries.ts"
import { bearerRoute } from "./route-schema.ts"
import { sendJson } from "./send-json.ts"

/** The webhook links of an app's filtered stream. */
export function linkRoutes(server: HttpServer, { links, pageTokens }: Pick<HttpDeps, "links" | "pageTokens">): void {
  /** GET /2/tweets/search/webhooks: every link, newest first; with parameters, a page of them with `meta`. */
  server.get(
    paths.links,
    bearerRoute("List the webhook links of the app's stream", LinksBody, { querystring: LinksQuery }),
    async (request, reply) => {
      const app = appOf(request)
      const { max_results: limit, pagination_token: token } = request.query
      if (limit === undefined && token === undefined) {
        return sendJson(reply, presentAllLinks(app, await links.all(app.id)))
      }
      const page = await keysetPage<StoredLink>({
        tokens: pageTokens,
        scope: { endpoint: paths.links, appId: app.id, parameters: "" },
        token,
        limit: limit ?? pageSizes.links.default,
        read: (range) => links.list(app.id, range),
      })
      return presentLinks(app, page)
    },
  )

  /** POST /2/tweets/search/webhooks/:webhook_id: links a webhook; the query chooses what deliveries show. */
  server.post(
    paths.link,
    bearerRoute("Link a webhook to the app's stream", ProvisionedBody, {
      params: WebhookParams,
      querystring: CreateLinkQuery,
    }),
    async (request) => {
      await links.create(appOf(request).id, asId(request.params.webhook_id), queryText(request.url))
      return presentProvisioned()
    },
  )

  /** DELETE /2/tweets/search/webhooks/:webhook_id: unlinks a webhook, which stays registered. */
  server.delete(
    paths.link,
    bearerRoute("Unlink a webhook", DeletedBody, { params: WebhookParams }),
    async (request) => {
      await links.delete(appOf(request).id, asId(request.params.webhook_id))
      return presentDeleted()
    },
  )
}

/** The query string as it was given: a link shows its parameters in that order. */
function queryText(url: string): string {
  const at = url.indexOf("?")
  return at < 0 ? "" : url.slice(at + 1)
}
