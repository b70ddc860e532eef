import { paths, usageDays } from "@sluice/api"
import { AppLimitsBody, AppParams, OwnLimits, UsageBody, UsageQuery } from "@sluice/api/schemas"
import { asId, type AppId } from "../../model/ids.ts"
import { conflict, notFound } from "../../model/problem.ts"
import { appOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentLimits, presentUsage } from "../present/limits.ts"
import { bearerRoute } from "./route-schema.ts"

/** The usage of an app. */
export function usageRoutes(server: HttpServer, { usage, limits }: Pick<HttpDeps, "usage" | "limits">): void {
  /** GET /2/usage/tweets: how many posts the app got, by day. */
  server.get(
    paths.usage,
    bearerRoute("Get how many posts the app got", UsageBody, { querystring: UsageQuery }),
    async (request) => {
      const { days = usageDays.default, "usage.fields": fields } = request.query
      const app = appOf(request)
      return presentUsage(await usage.of(app, days), app, { limits, fields })
    },
  )
}

/** The limits of the app that asks. */
export function ownLimitsRoutes(server: HttpServer, { limits }: Pick<HttpDeps, "limits">): void {
  /** GET /sluice/v1/limits: the limits that hold for the app. */
  server.get(paths.limits, bearerRoute("Get the limits of the app", AppLimitsBody), async (request) =>
    presentLimits(appOf(request), limits),
  )
}

/** Limits of apps, for operators. */
export function appLimitsRoutes(server: HttpServer, { apps, limits }: Pick<HttpDeps, "apps" | "limits">): void {
  /** GET /sluice/v1/apps/:id/limits: the limits that hold for an app. */
  server.get(
    paths.appLimits,
    bearerRoute("Get the limits of an app", AppLimitsBody, { params: AppParams }),
    async ({ params: { id } }) => presentLimits(await existing(id), limits),
  )

  /** PUT /sluice/v1/apps/:id/limits: replaces what is set for an app; what is left out is the server's. */
  server.put(
    paths.appLimits,
    bearerRoute("Set limits of an app", AppLimitsBody, { params: AppParams, body: OwnLimits }),
    async ({ params: { id }, body }) => {
      const app = await existing(id)
      if (!(await apps.setLimits(app.id, body))) throw conflict(`App [${id}] is revoked: it has no limits to set.`)
      return presentLimits({ ...app, limits: body }, limits)
    },
  )

  async function existing(id: string) {
    const app = (await apps.list()).find((one) => one.id === asId<AppId>(id))
    if (app === undefined) throw notFound("app", "id", id)
    return app
  }
}
