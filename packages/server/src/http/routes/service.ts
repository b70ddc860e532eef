import { paths } from "@sluice/api"
import { DescriptionBody, NoQuery, StatusBody } from "@sluice/api/schemas"
import { plainProblem } from "../problems.ts"
import { cachedFor } from "../cached-for.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
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
  server.get(paths.healthz, { schema: { summary: "Liveness", ...status } }, async () => ({ status: "ok" }))

  /** GET /readyz: requests are served; 503 before and after that, and while the store cannot be read. */
  server.get(paths.readyz, { schema: { summary: "Readiness", ...status } }, async () => {
    const reason = notReady()
    if (reason !== undefined) throw plainProblem(503, reason)
    return { status: "ready" }
  })

  /** GET /openapi.json: this description; also where X has its own. */
  const description = cachedFor(clock, Infinity, () => api.bytes())
  for (const path of [paths.openapi, paths.dialectOpenapi]) {
    server.get(
      path,
      {
        schema: {
          summary: "This description",
          querystring: NoQuery,
          response: responseOf("application/json", DescriptionBody),
        },
      },
      async (_request, reply) => reply.type("application/json; charset=utf-8").send(await description()),
    )
  }

  /** GET /: what this is, for a person who opens the address in a browser. */
  const home = homePage(servesMetrics)
  server.get(
    paths.home,
    { schema: { summary: "What this is", querystring: NoQuery, response: textResponse("text/html") } },
    async (_request, reply) =>
      reply
        .header("content-security-policy", "default-src 'none'; base-uri 'none'; frame-ancestors 'none'")
        .type("text/html; charset=utf-8")
        .send(home),
  )
}

/** What an open route may say: that there are metrics here, when there are. */
const homePage = (servesMetrics: boolean): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sluice</title>
<h1>Sluice</h1>
<p>The filtered stream that you run yourself. Its API is that of X API v2: send posts, add rules, and every match goes to
webhooks and down stream connections. It fetches nothing from X.</p>
<p>This is an API, to be called with a bearer token. For a first call see the README, or what <code>sluice dev</code>
printed when it started.</p>
<ul>
<li><a href="/console">/console</a>: what happens here, as pages</li>
<li><a href="/docs">/docs</a>: every path of the API, to read and to try</li>
<li><a href="/openapi.json">/openapi.json</a>: every path, parameter and response (OpenAPI 3.1)</li>
<li><a href="/healthz">/healthz</a>, <a href="/readyz">/readyz</a>: is the server alive, and does it serve requests?</li>
${servesMetrics ? '<li><a href="/metrics">/metrics</a>: for Prometheus</li>\n' : ""}\
<li><code>README.md</code>, <code>docs/rules.md</code>, <code>docs/delivery.md</code>,
<code>docs/compatibility.md</code>: in the source, for people</li>
</ul>
`
