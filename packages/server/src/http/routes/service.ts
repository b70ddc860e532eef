import { NoQuery, paths, StatusBody } from "@sluice/api"
import { plainProblem } from "../render-problem.ts"
import type { HttpDeps, HttpServer } from "../server.ts"
import { refusals } from "./route.ts"

/** What runs and looks after the server asks for. */
export function serviceRoutes(
  server: HttpServer,
  { registry, isReady }: Pick<HttpDeps, "registry" | "isReady">,
): void {
  const status = { querystring: NoQuery, response: { 200: StatusBody, ...refusals } }

  /** GET /healthz: the process answers. */
  server.get(paths.healthz, { schema: { summary: "Liveness", ...status } }, async () => ({ status: "ok" }))

  /** GET /readyz: requests are served; 503 before and after that. */
  server.get(paths.readyz, { schema: { summary: "Readiness", ...status } }, async () => {
    if (!isReady()) throw plainProblem(503, "The server is starting or closing.")
    return { status: "ready" }
  })

  /** GET /metrics: for Prometheus. */
  server.get(
    paths.metrics,
    { schema: { summary: "Metrics", querystring: NoQuery } },
    async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()),
  )

  /** GET /openapi.json: this description. */
  server.get(paths.openapi, { schema: { summary: "This description", querystring: NoQuery } }, async () =>
    server.swagger(),
  )
}
