import {
  AttemptsQuery,
  ChangeLinkBody,
  faultOf,
  LinkAttemptsBody,
  LinkStateBody,
  LinkStatesBody,
  NoQuery,
  ownPageSizes,
  paths,
  WebhookParams,
  type LinkAttempt,
  type LinkState,
} from "@sluice/api"
import type { Attempt } from "../../model/attempt.ts"
import { asId, type AppId, type WebhookId } from "../../model/ids.ts"
import { eventIdOf } from "../../model/link.ts"
import { notFound } from "../../model/problem.ts"
import { scopeOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../server.ts"
import { refusals, withBearer } from "./route.ts"

/** How the deliveries of links are going. An app sees its own links; an operator those of all apps. */
export function linkStateRoutes(
  server: HttpServer,
  { webhookLinks, links }: Pick<HttpDeps, "webhookLinks" | "links">,
): void {
  async function stateOf(webhookId: WebhookId, appId: AppId | undefined): Promise<LinkState> {
    const state = await webhookLinks.state(webhookId, appId)
    if (state === undefined) throw noSuchLink(webhookId)
    return state
  }

  /** GET /sluice/v1/links: newest first. */
  server.get(
    paths.linkStates,
    {
      schema: {
        summary: "State of links",
        security: withBearer,
        querystring: NoQuery,
        response: { 200: LinkStatesBody, ...refusals },
      },
    },
    async (request) => ({ data: [...(await webhookLinks.states(scopeOf(request)))] }),
  )

  /** GET /sluice/v1/links/:webhook_id */
  server.get(
    paths.linkState,
    {
      schema: {
        summary: "State of a link",
        security: withBearer,
        params: WebhookParams,
        querystring: NoQuery,
        response: { 200: LinkStateBody, ...refusals },
      },
    },
    async (request) => ({
      data: await stateOf(asId<WebhookId>(request.params.webhook_id), scopeOf(request)),
    }),
  )

  /** PATCH /sluice/v1/links/:webhook_id: whether it delivers strictly in order; answers its state then. */
  server.patch(
    paths.linkState,
    {
      schema: {
        summary: "Change how a link delivers",
        security: withBearer,
        params: WebhookParams,
        querystring: NoQuery,
        body: ChangeLinkBody,
        response: { 200: LinkStateBody, ...refusals },
      },
    },
    async (request) => {
      const id = asId<WebhookId>(request.params.webhook_id)
      await links.setOrdered(scopeOf(request), id, request.body.ordered)
      return { data: await stateOf(id, scopeOf(request)) }
    },
  )

  /** GET /sluice/v1/links/:webhook_id/attempts: the newest first, as many as are kept. */
  server.get(
    paths.attempts,
    {
      schema: {
        summary: "Recent attempts of a link",
        security: withBearer,
        params: WebhookParams,
        querystring: AttemptsQuery,
        response: { 200: LinkAttemptsBody, ...refusals },
      },
    },
    async (request) => {
      const id = asId<WebhookId>(request.params.webhook_id)
      const limit = request.query.max_results ?? ownPageSizes.attempts.default
      const attempts = await webhookLinks.attempts(id, scopeOf(request), limit)
      if (attempts === undefined) throw noSuchLink(id)
      return { data: attempts.map(shownAttempt), meta: { result_count: attempts.length } }
    },
  )
}

function noSuchLink(id: WebhookId): Error {
  return notFound("webhook link", "webhook_id", id)
}

function shownAttempt(attempt: Attempt): LinkAttempt {
  const { linkId, seq, outcome, status, bytes, error } = attempt
  const fault = faultOf(outcome)
  return {
    at: new Date(attempt.atMs).toISOString(),
    duration_ms: Math.max(0, Math.round(attempt.durationMs)),
    outcome,
    ...(fault !== undefined && { fault }),
    ...(status !== undefined && { status }),
    event_id: eventIdOf(linkId, seq),
    bytes,
    ...(error !== undefined && { error }),
  }
}
