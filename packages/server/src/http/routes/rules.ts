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
import { limitsOf } from "../../control/limits/app-limits.ts"
import { asId, type RuleId } from "../../model/ids.ts"
import { notFound, type Problem } from "../../model/problem.ts"
import type { StoredRule } from "../../model/rule.ts"
import { keysetPage } from "../../paging/keyset-page.ts"
import { appOf } from "../auth.ts"
import type { Callers } from "../callers.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentInTurns } from "../present/body-in-turns.ts"
import { presentChange, presentRuleCost, presentRuleCounts, presentRules } from "../present/rules.ts"
import { heldPage } from "./held-page.ts"
import { bearerAuth, bearerRoute, problemResponses } from "./route-schema.ts"
import { sendJson } from "./send-json.ts"

/** The rules of an app's filtered stream. */
export function ruleRoutes(
  server: HttpServer,
  {
    rulesets,
    limits,
    intake,
    pageTokens,
    heldPages,
    clock,
    callers,
    rounds,
  }: Pick<HttpDeps, "rulesets" | "limits" | "intake" | "pageTokens" | "heldPages" | "clock" | "rounds"> & {
    readonly callers: Callers
  },
): void {
  /** GET /2/tweets/search/stream/rules: newest first; no `data` when the app has none at all. */
  server.get(
    paths.rules,
    bearerRoute("List the rules of the app", RulesBody, { querystring: RulesQuery }),
    async (request, reply) => {
      const { max_results: limit = pageSizes.rules.default, pagination_token: token, ids: given } = request.query
      const app = appOf(request)
      const ids = given?.map((id) => asId<RuleId>(id))
      return heldPage(reply, heldPages, app.id, async () => {
        const named = ids && (await rulesets.named(app.id, ids))
        const page = await keysetPage<StoredRule>({
          tokens: pageTokens,
          scope: { endpoint: paths.rules, appId: app.id, parameters: `ids=${ids?.toSorted().join(",") ?? ""}` },
          token,
          limit,
          read: (range) => rulesets.list(app.id, range, named),
        })
        const hasRules = page.items.length > 0 || (await rulesets.count(app.id)) > 0
        const problems = token === undefined ? missing(ids ?? [], named ?? []) : []
        const body = presentRules(page, { hasRules, problems, sentAtMs: clock.nowMs() })
        return presentInTurns(body, () => rounds.turn(callers.of(request.raw)))
      })
    },
  )

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
      const app = appOf(request)
      const options = { dryRun, deleteAll, limits: limitsOf(limits, app) }
      const change = await rulesets.change(app.id, request.body, options)
      const body = presentChange(change, clock.nowMs())
      void reply.code(body.data === undefined ? 200 : 201)
      return sendJson(reply, await presentInTurns(body, () => rounds.turn(callers.of(request.raw))))
    },
  )

  /** GET /2/tweets/search/stream/rules/counts: how many rules there are and may be. */
  server.get(
    paths.ruleCounts,
    bearerRoute("Get the number of rules", RuleCountsBody, { querystring: RuleCountsQuery }),
    async (request) => {
      const app = appOf(request)
      const { rulesMax: countMax } = limitsOf(limits, app)
      return presentRuleCounts(app.id, { count: await rulesets.count(app.id), countMax })
    },
  )

  /** GET /sluice/v1/rules/cost: what the rules cost the matcher, and how often they exceeded their steps for a post. */
  server.get(paths.ruleCost, bearerRoute("Get the cost of the rules", RuleCostBody), async (request) => {
    const { id } = appOf(request)
    return presentRuleCost(await rulesets.cost(id), intake.skippedOf(id))
  })
}

/** An error for each of the ids that no rule has. */
function missing(ids: readonly RuleId[], rules: readonly StoredRule[]): readonly Problem[] {
  const found = new Set(rules.map((rule) => rule.id))
  return ids.filter((id) => !found.has(id)).map((id) => notFound("rule", "ids", id))
}
