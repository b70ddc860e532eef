import { AppsBody, paths, type Application } from "@sluice/api"
import type { App } from "../../model/app.ts"
import { instant } from "../../model/date-time.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { bearerRoute } from "./route-schema.ts"

/** Apps and tokens, for operators. */
export function appRoutes(server: HttpServer, { apps }: Pick<HttpDeps, "apps">): void {
  /** GET /sluice/v1/apps: newest first, revoked ones included. */
  server.get(paths.apps, bearerRoute("All apps", AppsBody), async () => {
    const data = (await apps.list()).map(presentApp)
    return { data, meta: { result_count: data.length } }
  })
}

function presentApp({ id, name, consumerKey, createdAtMs, revoked }: App): Application {
  return { id, name, consumer_key: consumerKey, created_at: instant(createdAtMs), revoked }
}
