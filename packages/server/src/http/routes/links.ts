import {
  CreateLinkQuery,
  DeletedBody,
  LinksBody,
  LinksQuery,
  NoQuery,
  pageSizes,
  paths,
  ProvisionedBody,
  WebhookParams,
} from "@sluice/api"
import type { ListedLink } from "../../control/links.ts"
import { asId, type LinkId } from "../../model/ids.ts"
import { keysetPage } from "../../timelines/keyset-page.ts"
import { appOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../server.ts"
import { refusals, withBearer } from "./route.ts"

/** The webhook links of an app's filtered stream. */
export function linkRoutes(
  server: HttpServer,
  { links, pageTokens }: Pick<HttpDeps, "links" | "pageTokens">,
): void {
  /** GET /2/tweets/search/webhooks: every link, newest first; with parameters, a page of them with `meta`. */
  server.get(
    paths.links,
    {
      schema: {
        summary: "Webhook links of the app's stream",
        security: withBearer,
        querystring: LinksQuery,
        response: { 200: LinksBody, ...refusals },
      },
    },
    async (request) => {
      const app = appOf(request)
      const { max_results: limit, pagination_token: token } = request.query
      if (limit === undefined && token === undefined) return { data: { links: [...(await links.all(app))] } }
      const page = await keysetPage<ListedLink, LinkId>({
        tokens: pageTokens,
        scope: { endpoint: paths.links, appId: app.id, parameters: "" },
        token,
        limit: limit ?? pageSizes.links.default,
        idOf: (item) => item.id,
        read: (range) => links.list(app, range),
      })
      return { data: { links: page.items.map(({ link }) => link) }, meta: page.meta }
    },
  )

  /** POST /2/tweets/search/webhooks/:webhook_id: links a webhook; the query chooses what deliveries show. */
  server.post(
    paths.link,
    {
      schema: {
        summary: "Link a webhook to the app's stream",
        security: withBearer,
        params: WebhookParams,
        querystring: CreateLinkQuery,
        response: { 200: ProvisionedBody, ...refusals },
      },
    },
    async (request) => {
      await links.create(appOf(request).id, asId(request.params.webhook_id), queryText(request.url))
      return { data: { provisioned: true } }
    },
  )

  /** DELETE /2/tweets/search/webhooks/:webhook_id: unlinks a webhook, which stays registered. */
  server.delete(
    paths.link,
    {
      schema: {
        summary: "Unlink a webhook",
        security: withBearer,
        params: WebhookParams,
        querystring: NoQuery,
        response: { 200: DeletedBody, ...refusals },
      },
    },
    async (request) => {
      await links.delete(appOf(request).id, asId(request.params.webhook_id))
      return { data: { deleted: true } }
    },
  )
}

/** The query string as it was given: a link shows its parameters in that order. */
function queryText(url: string): string {
  const at = url.indexOf("?")
  return at < 0 ? "" : url.slice(at + 1)
}
