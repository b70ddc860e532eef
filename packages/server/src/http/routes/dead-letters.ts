import { ownPageSizes, paths } from "@sluice/api"
import { DeadLettersBody, DeadLettersQuery, RedeliverBody, RedeliveredBody } from "@sluice/api/schemas"
import type { DeadLetter } from "../../model/dead-letter.ts"
import { asId, type WebhookId } from "../../model/ids.ts"
import { keysetPage } from "../../paging/keyset-page.ts"
import { scopeOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentPage } from "../present/bodies.ts"
import { presentDeadLetter, presentRedeliveredCount } from "../present/deliveries.ts"
import { allApps, bearerRoute } from "./route-schema.ts"

/** Dead letters. An app sees its own; an operator sees those of all apps. */
export function deadLetterRoutes(
  server: HttpServer,
  { deadLetters, pageTokens }: Pick<HttpDeps, "deadLetters" | "pageTokens">,
): void {
  /** GET /sluice/v1/dead-letters: pages, newest first. */
  server.get(
    paths.deadLetters,
    bearerRoute("List dead letters", DeadLettersBody, { querystring: DeadLettersQuery }),
    async (request) => {
      const appId = scopeOf(request)
      const { max_results, pagination_token: token, webhook_id } = request.query
      const of = {
        ...(appId !== undefined && { appId }),
        ...(webhook_id !== undefined && { webhookId: asId<WebhookId>(webhook_id) }),
      }
      const page = await keysetPage<DeadLetter>({
        tokens: pageTokens,
        scope: {
          endpoint: paths.deadLetters,
          appId: appId ?? allApps,
          parameters: `webhook_id=${of.webhookId ?? ""}`,
        },
        token,
        limit: max_results ?? ownPageSizes.deadLetters.default,
        read: (range) => deadLetters.list(of, range),
      })
      return presentPage(page, presentDeadLetter)
    },
  )

  /** POST /sluice/v1/dead-letters/redeliver: sends them again, some or all. */
  server.post(
    paths.redeliver,
    bearerRoute("Redeliver dead letters", RedeliveredBody, { body: RedeliverBody }),
    async (request) => presentRedeliveredCount(await deadLetters.redeliver(scopeOf(request), request.body)),
  )
}
