import { LinkStatesBody, NoQuery, paths } from "@sluice/api"
import type { HttpDeps, HttpServer } from "../server.ts"
import { refusals, withBearer } from "./route.ts"

/** How the deliveries of links are going. */
export function linkStateRoutes(server: HttpServer, { webhookLinks }: Pick<HttpDeps, "webhookLinks">): void {
  /** GET /sluice/v1/links: an app's own links; an operator's are those of all apps. */
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
    async ({ principal }) => {
      const states = await webhookLinks.states(principal?.kind === "app" ? principal.app.id : undefined)
      return { data: [...states] }
    },
  )
}
