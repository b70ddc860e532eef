import { paths } from "@sluice/api"
import { OverviewBody } from "@sluice/api/schemas"
import { LRUCache } from "lru-cache"
import { readOverview, type Overview, type OverviewDeps } from "../../control/problems/overview.ts"
import { scopeOf } from "../auth.ts"
import { cachedFor } from "../cached-for.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentOverview } from "../present/overview.ts"
import { bearerRoute } from "./route-schema.ts"

/** Age at which an overview is read anew, however many pages show it: with many links it costs many reads. Ours. */
const ageMsMax = 3_000

/** Most scopes with a kept overview; beyond it the least recently requested is dropped. */
const keptMax = 100

/** Activity and problems. An app sees its own; an operator sees one app's, or all. */
export function overviewRoutes(server: HttpServer, deps: OverviewDeps & Pick<HttpDeps, "clock">): void {
  const kept = new LRUCache<string, () => Promise<Overview>>({ max: keptMax })

  /** GET /sluice/v1/overview */
  server.get(
    paths.overview,
    bearerRoute("Get the overview of activity and problems", OverviewBody),
    async (request) => {
      const appId = scopeOf(request)
      const key = appId ?? "all"
      const overview = kept.get(key) ?? cachedFor(deps.clock, ageMsMax, () => readOverview(appId, deps))
      kept.set(key, overview)
      return presentOverview(await overview())
    },
  )
}
