import { pageSizes, paths, type Link } from "@sluice/api"
import {
  CreateLinkQuery,
  DeletedBody,
  LinksBody,
  LinksQuery,
  ProvisionedBody,
  WebhookParams,
} from "@sluice/api/schemas"
import type { App } from "../../model/app.ts"
import { asId, type LinkId } from "../../model/ids.ts"
import type { StoredLink } from "../../model/link.ts"
import { keysetPage } from "../../paging/keyset-page.ts"
import { appOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentLink } from "../present/deliveries.ts"
import { bearerRoute } from "./route-schema.ts"

/** The webhook links of an app's filtered stream. */
export function linkRoutes(server: HttpServer, { links, pageTokens }: Pick<HttpDeps, "links" | "pageTokens">): void {
  /** GET /2/tweets/search/webhooks: every link, newest first; with parameters, a page of them with `meta`. */
  server.get(
    paths.links,
    bearerRoute("Webhook links of the app's stream", LinksBody, { querystring: LinksQuery }),
    async (request, reply) => {
      const app = appOf(request)
      const { max_results: limit, pagination_token: token } = request.query
      const present = (link: StoredLink): Link => presentLink(app, link)
      if (limit === undefined && token === undefined) {
        void reply.type("application/json; charset=utf-8")
        return reply.send(allLinksJson(app, await links.all(app.id)) as never)
      }
      const page = await keysetPage<StoredLink, LinkId>({
        tokens: pageTokens,
        scope: { endpoint: paths.links, appId: app.id, parameters: "" },
        token,
        limit: limit ?? pageSizes.links.default,
        idOf: (item) => item.id,
        read: (range) => links.list(app.id, range),
      })
      return { data: { links: page.items.map(present) }, meta: page.meta }
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
      return { data: { provisioned: true } }
    },
  )

  /** DELETE /2/tweets/search/webhooks/:webhook_id: unlinks a webhook, which stays registered. */
  server.delete(
    paths.link,
    bearerRoute("Unlink a webhook", DeletedBody, { params: WebhookParams }),
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

const listsShown = new WeakMap<readonly StoredLink[], string>()

/** JSON text of an app's list. The same list is presented once: clients ask for it again and again, and it seldom changes. */
function allLinksJson(app: App, all: readonly StoredLink[]): string {
  const known = listsShown.get(all)
  if (known !== undefined) return known
  const text = JSON.stringify({ data: { links: all.map((link) => presentLink(app, link)) } })
  listsShown.set(all, text)
  return text
}
