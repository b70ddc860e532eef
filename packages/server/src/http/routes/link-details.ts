import { ownPageSizes, paths } from "@sluice/api"
import {
  AttemptParams,
  AttemptsQuery,
  ChangeLinkBody,
  LinkAttemptBody,
  LinkAttemptsBody,
  LinkDetailBody,
  LinkDetailsBody,
  LinkDetailsQuery,
  WebhookParams,
} from "@sluice/api/schemas"
import type { LinkState } from "../../delivery/links/link-states.ts"
import { asId, type AppId, type AttemptId, type LinkId, type WebhookId } from "../../model/ids.ts"
import { notFound } from "../../model/problem.ts"
import { keysetPage } from "../../paging/keyset-page.ts"
import { scopeOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentData, presentList, presentPage } from "../present/bodies.ts"
import { presentAttempt, presentAttemptSent, presentLinkDetail } from "../present/deliveries.ts"
import { allApps, bearerRoute } from "./route-schema.ts"

/** The delivery state of links. An app sees its own links; an operator sees those of all apps. */
export function linkStateRoutes(
  server: HttpServer,
  { webhookLinks, links, pageTokens }: Pick<HttpDeps, "webhookLinks" | "links" | "pageTokens">,
): void {
  async function stateOf(webhookId: WebhookId, appId: AppId | undefined): Promise<LinkState> {
    const state = await webhookLinks.state(webhookId, appId)
    if (state === undefined) throw noSuchLink(webhookId)
    return state
  }

  /** GET /sluice/v1/links: every link, newest first; with parameters, a page of them with `meta`. */
  server.get(
    paths.linkDetails,
    bearerRoute("List the delivery status of links", LinkDetailsBody, { querystring: LinkDetailsQuery }),
    async (request) => {
      const appId = scopeOf(request)
      const { max_results: limit, pagination_token: token } = request.query
      if (limit === undefined && token === undefined)
        return presentData((await webhookLinks.states(appId)).map(presentLinkDetail))
      const page = await keysetPage<{ readonly id: LinkId; readonly state: LinkState }>({
        tokens: pageTokens,
        scope: { endpoint: paths.linkDetails, appId: appId ?? allApps, parameters: "" },
        token,
        limit: limit ?? ownPageSizes.linkDetails.default,
        read: (range) => webhookLinks.statePage(appId, range),
      })
      return presentPage(page, ({ state }) => presentLinkDetail(state))
    },
  )

  /** GET /sluice/v1/links/:webhook_id */
  server.get(
    paths.linkDetail,
    bearerRoute("Get the delivery status of a link", LinkDetailBody, { params: WebhookParams }),
    async (request) =>
      presentData(presentLinkDetail(await stateOf(asId<WebhookId>(request.params.webhook_id), scopeOf(request)))),
  )

  /** PATCH /sluice/v1/links/:webhook_id: whether it delivers strictly in order, and whether it is paused. Returns its new state. */
  server.patch(
    paths.linkDetail,
    bearerRoute("Pause or resume a link, or change the order of its deliveries", LinkDetailBody, {
      params: WebhookParams,
      body: ChangeLinkBody,
    }),
    async (request) => {
      const id = asId<WebhookId>(request.params.webhook_id)
      const { ordered, paused } = request.body
      if (ordered !== undefined) await links.setOrdered(scopeOf(request), id, ordered)
      if (paused !== undefined) await links.setPaused(scopeOf(request), id, paused)
      return presentData(presentLinkDetail(await stateOf(id, scopeOf(request))))
    },
  )

  /** GET /sluice/v1/links/:webhook_id/attempts: the newest first, as many as are kept. */
  server.get(
    paths.attempts,
    bearerRoute("List the recent attempts of a link", LinkAttemptsBody, {
      params: WebhookParams,
      querystring: AttemptsQuery,
    }),
    async (request) => {
      const id = asId<WebhookId>(request.params.webhook_id)
      const limit = request.query.max_results ?? ownPageSizes.attempts.default
      const attempts = await webhookLinks.attempts(id, scopeOf(request), limit)
      if (attempts === undefined) throw noSuchLink(id)
      return presentList(attempts, presentAttempt)
    },
  )

  /** GET /sluice/v1/links/:webhook_id/attempts/:attempt_id: what was sent, and what came back. */
  server.get(
    paths.attempt,
    bearerRoute("Get an attempt with its request and response", LinkAttemptBody, { params: AttemptParams }),
    async (request) => {
      const { webhook_id: webhookId, attempt_id: attemptId } = request.params
      const id = asId<AttemptId>(attemptId)
      const sent = await webhookLinks.attempt(asId(webhookId), scopeOf(request), id)
      if (sent === undefined) throw notFound("attempt", "attempt_id", id)
      return presentData(presentAttemptSent(sent))
    },
  )
}

function noSuchLink(id: WebhookId): Error {
  return notFound("webhook link", "webhook_id", id)
}
