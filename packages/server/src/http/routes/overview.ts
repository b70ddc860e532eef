import { paths } from "@sluice/api"
import { OverviewBody } from "@sluice/api/schemas"
import { readOverview, type Overview } from "../../control/problems/overview.ts"
import { scopeOf } from "../auth.ts"
import { cachedFor } from "../cached-for.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentOverview } from "../present/overview.ts"
import { bearerRoute } from "./route-schema.ts"

/** Age at which an overview is read anew, however many pages show it: with many links it costs many reads. Ours. */
const ageMsMax = 3_000

/** Most scopes with a kept overview. */
const keptMax = 100

type OverviewDeps = Pick<
  HttpDeps,
  | "activity"
  | "apps"
  | "clock"
  | "clockAheadMs"
  | "diskRoom"
  | "notReady"
  | "rulesets"
  | "webhookLinks"
  | "webhookRegistry"
>

/** Activity and problems. An app sees its own; an operator sees one app's, or all. */
export function overviewRoutes(server: HttpServer, deps: OverviewDeps): void {
  const kept = new Map<string, () => Promise<Overview>>()

  /** GET /sluice/v1/overview */
  server.get(
    paths.overview,
    bearerRoute("Get the overview of activity and problems", OverviewBody),
    async (request) => {
      const appId = scopeOf(request)
      const key = appId ?? "all"
      const overview = kept.get(key) ?? cachedFor(deps.clock, ageMsMax, () => readOverview(appId, deps))
      // The one that was requested last is the last to go.
      kept.delete(key)
      kept.set(key, overview)
      const [oldest] = kept.keys()
      if (kept.size > keptMax && oldest !== undefined) kept.delete(oldest)
      return presentOverview(await overview())
    },
  )
}
