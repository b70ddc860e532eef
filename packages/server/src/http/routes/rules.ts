import { pageSizes, paths } from "@sluice/api"
import {
  ChangeRulesBody,
  ChangeRulesQuery,
  RuleCostBody,
  RuleCountsBody,
  RuleCountsQuery,
  RulesBody,
  RulesChangedBody,
  RulesQuery,
} from "@sluice/api/schemas"
import { instant } from "../../model/date-time.ts"
import { asId, type AppId, type RuleId } from "../../model/ids.ts"
import { notFound, type Problem } from "../../model/problem.ts"
import type { StoredRule } from "../../model/rule.ts"
import { keysetPage } from "../../paging/keyset-page.ts"
import { appOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentErrors } from "../problems.ts"
import { presentChange, presentRule, presentRuleCost, presentRuleCounts } from "../present/rules.ts"
import { bearerAuth, bearerRoute, problemResponses } from "./route-schema.ts"

/** The rules of an app's filtered stream. */
export function ruleRoutes(
  server: HttpServer,
  { rulesets, intake, pageTokens, clock }: Pick<HttpDeps, "rulesets" | "intake" | "pageTokens" | "clock">,
): void {
  /** GET /2/tweets/search/stream/rules: newest first; no `data` when the app has none at all. */
  server.get(paths.rules, bearerRoute("Rules of the app", RulesBody, { querystring: RulesQuery }), async (request) => {
    const { max_results: limit = pageSizes.rules.default, pagination_token: token } = request.query
    const app = appOf(request)
    const ids = request.query.ids?.map((id) => asId<RuleId>(id))
    const page = await keysetPage<StoredRule, RuleId>({
      tokens: pageTokens,
      scope: { endpoint: paths.rules, appId: app.id, parameters: `ids=${ids?.toSorted().join(",") ?? ""}` },
      token,
      limit,
      idOf: (rule) => rule.id,
      read: (range) => rulesets.list(app.id, range, ids),
    })
    const hasRules = page.items.length > 0 || (await rulesets.count(app.id)).count > 0
    const problems = ids === undefined || token !== undefined ? [] : await missing(app.id, ids)
    return {
      ...(hasRules && { data: page.items.map(presentRule) }),
      meta: { sent: instant(clock.nowMs()), ...page.meta },
      ...presentErrors(problems),
    }
  })

  /** POST /2/tweets/search/stream/rules: adds or deletes rules; keeps nothing when `dry_run`. */
  server.post(
    paths.rules,
    {
      schema: {
        summary: "Add or delete rules",
        security: bearerAuth,
        querystring: ChangeRulesQuery,
        body: ChangeRulesBody,
        response: { 200: RulesChangedBody, 201: RulesChangedBody, ...problemResponses },
      },
    },
    async (request, reply) => {
      const { dry_run: dryRun = false, delete_all: deleteAll = false } = request.query
      const change = await rulesets.change(appOf(request).id, request.body, { dryRun, deleteAll })
      const body = presentChange(change, clock.nowMs())
      return reply.code(body.data === undefined ? 200 : 201).send(body)
    },
  )

  /** GET /2/tweets/search/stream/rules/counts: how many rules there are and may be. */
  server.get(
    paths.ruleCounts,
    bearerRoute("Number of rules", RuleCountsBody, { querystring: RuleCountsQuery }),
    async (request) => {
      const { id } = appOf(request)
      return presentRuleCounts(id, await rulesets.count(id))
    },
  )

  /** GET /sluice/v1/rules/cost: what the rules cost the matcher, and how often they exceeded their steps for a post. */
  server.get(paths.ruleCost, bearerRoute("Cost of the rules", RuleCostBody), async (request) => {
    const { id } = appOf(request)
    return presentRuleCost(await rulesets.cost(id), intake.skippedOf(id))
  })

  /** An error for each of `ids` that the app has no rule of. */
  async function missing(appId: AppId, ids: readonly RuleId[]): Promise<readonly Problem[]> {
    const found = await rulesets.list(appId, { direction: "older", limit: ids.length }, ids)
    const foundIds = new Set(found.map((rule) => rule.id))
    return ids.filter((id) => !foundIds.has(id)).map((id) => notFound("rule", "ids", id))
  }
}
