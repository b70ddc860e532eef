import { paths } from "@sluice/api"
import { DescriptionBody, NoQuery, StatusBody } from "@sluice/api/schemas"
import { plainProblem } from "../problems.ts"
import { cachedFor } from "../cached-for.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentHome } from "../present/pages.ts"
import { presentStatus } from "../present/service.ts"
import type { ApiDescription } from "../description/api-description.ts"
import { problemResponses, responseOf, textResponse } from "./route-schema.ts"

/** Routes for operators and their tools: health and the API's description. */
export function serviceRoutes(
  server: HttpServer,
  {
    clock,
    notReady,
    servesMetrics,
    description: api,
  }: Pick<HttpDeps, "clock" | "notReady" | "servesMetrics"> & { readonly description: ApiDescription },
): void {
  const status = { querystring: NoQuery, response: { 200: StatusBody, ...problemResponses } }

  /** GET /healthz: the process is alive. */
  server.get(paths.healthz, { schema: { summary: "Check liveness", ...status } }, async () => presentStatus("ok"))

  /** GET /readyz: requests are served; 503 before and after that, and while the store cannot be read. */
  server.get(paths.readyz, { schema: { summary: "Check readiness", ...status } }, async () => {
    const reason = notReady()
    if (reason !== undefined) throw plainProblem(503, reason)
    return presentStatus("ready")
  })

  /** GET /openapi.json: this description; also where X has its own. */
  const description = cachedFor(clock, Infinity, () => api.bytes())
  for (const path of [paths.openapi, paths.dialectOpenapi]) {
    server.get(
      path,
      {
        schema: {
          summary: "Get this description",
          querystring: NoQuery,
          response: responseOf("application/json", DescriptionBody),
        },
      },
      async (_request, reply) => reply.type("application/json; charset=utf-8").send(await description()),
    )
  }

  /** GET /: what this is, for a person who opens the address in a browser. */
  const home = presentHome({ servesMetrics })
  server.get(
    paths.home,
    { schema: { summary: "Get the home page", querystring: NoQuery, response: textResponse("text/html") } },
    async (_request, reply) =>
      reply
        .header("content-security-policy", "default-src 'none'; base-uri 'none'; frame-ancestors 'none'")
        .type("text/html; charset=utf-8")
        .send(home),
  )
}
