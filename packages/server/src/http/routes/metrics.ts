import { paths } from "@sluice/api"
import { NoQuery } from "@sluice/api/schemas"
import { createMetricsGuard } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { cachedFor } from "../cached-for.ts"
import { bearerAuth, textResponse } from "./route-schema.ts"

/** Maximum age of the metrics. No one scrapes more often, and rendering them takes the time of many requests. Ours. */
const metricsAgeMsMax = 1_000

/** GET /metrics: for Prometheus. Open, unless the operator has chosen a token for it. */
export function metricsRoutes(
  server: HttpServer,
  { metrics, clock, metricsToken }: Pick<HttpDeps, "metrics" | "clock" | "metricsToken">,
): void {
  const text = cachedFor(clock, metricsAgeMsMax, async () => Buffer.from(await metrics.metrics()))
  if (metricsToken !== undefined) server.addHook("onRequest", createMetricsGuard(metricsToken))
  const security = metricsToken === undefined ? [] : bearerAuth
  server.get(
    paths.metrics,
    { schema: { summary: "Get metrics", querystring: NoQuery, security, response: textResponse("text/plain") } },
    async (_request, reply) => reply.type(metrics.contentType).send(await text()),
  )
}
