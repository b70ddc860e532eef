import { paths } from "@sluice/api"
import { RedeliveredMatchesBody, RedeliverMatchesBody } from "@sluice/api/schemas"
import { scopeOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentRedelivered } from "../present/deliveries.ts"
import { bearerRoute } from "./route-schema.ts"

/** Matches that are sent again. An app chooses among its own; an operator among those of all apps. */
export function redeliveryRoutes(server: HttpServer, { redeliveries }: Pick<HttpDeps, "redeliveries">): void {
  /** POST /sluice/v1/deliveries/redeliver: any match that is kept, or all that a link has failed to deliver. */
  server.post(
    paths.redeliverMatches,
    bearerRoute("Redeliver matches", RedeliveredMatchesBody, { body: RedeliverMatchesBody }),
    async (request) => presentRedelivered(await redeliveries.redeliver(scopeOf(request), request.body)),
  )
}
