import {
  DeadLettersBody,
  DeadLettersQuery,
  NoQuery,
  ownPageSizes,
  paths,
  RedeliverBody,
  RedeliveredBody,
  type DeadLetter,
} from "@sluice/api"
import { asId, type AppId, type DeadLetterId, type WebhookId } from "../../model/ids.ts"
import { keysetPage } from "../../timelines/keyset-page.ts"
import { scopeOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../server.ts"
import { refusals, withBearer } from "./route.ts"

/** In page tokens: the lists of all apps are no app's. Ids are digits, so that it is nobody's. */
const allApps = "all" as AppId

/** What links gave up. An app sees its own; an operator those of all apps. */
export function deadLetterRoutes(
  server: HttpServer,
  { deadLetters, pageTokens }: Pick<HttpDeps, "deadLetters" | "pageTokens">,
): void {
  /** GET /sluice/v1/dead-letters: pages, newest first. */
  server.get(
    paths.deadLetters,
    {
      schema: {
        summary: "Dead letters",
        security: withBearer,
        querystring: DeadLettersQuery,
        response: { 200: DeadLettersBody, ...refusals },
      },
    },
    async (request) => {
      const appId = scopeOf(request)
      const { max_results, pagination_token: token, webhook_id } = request.query
      const of = {
        ...(appId !== undefined && { appId }),
        ...(webhook_id !== undefined && { webhookId: asId<WebhookId>(webhook_id) }),
      }
      const page = await keysetPage<DeadLetter, DeadLetterId>({
        tokens: pageTokens,
        scope: {
          endpoint: paths.deadLetters,
          appId: appId ?? allApps,
          parameters: `webhook_id=${of.webhookId ?? ""}`,
        },
        token,
        limit: max_results ?? ownPageSizes.deadLetters.default,
        idOf: (letter) => asId(letter.id),
        read: (range) => deadLetters.list(of, range),
      })
      return { data: [...page.items], meta: page.meta }
    },
  )

  /** POST /sluice/v1/dead-letters/redeliver: sends them again, some or all. */
  server.post(
    paths.redeliver,
    {
      schema: {
        summary: "Send dead letters again",
        security: withBearer,
        querystring: NoQuery,
        body: RedeliverBody,
        response: { 200: RedeliveredBody, ...refusals },
      },
    },
    async (request) => ({
      data: { redelivered: await deadLetters.redeliver(scopeOf(request), request.body) },
    }),
  )
}
