import { ownPageSizes, paths } from "@sluice/api"
import { ChangeRuleTagBody, RuleParams, RuleDetailBody, RuleDetailsBody, RuleDetailsQuery } from "@sluice/api/schemas"
import { asId, type RuleId } from "../../model/ids.ts"
import { notFound } from "../../model/problem.ts"
import type { StoredRule } from "../../model/rule.ts"
import { scannedPage } from "../../paging/keyset-page.ts"
import { appOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentData, presentPage } from "../present/bodies.ts"
import { presentRuleState } from "../present/rules.ts"
import { bearerRoute } from "./route-schema.ts"

/** The rules of an app with their statistics, and their tags. */
export function ruleStateRoutes(
  server: HttpServer,
  { rulesets, pageTokens, neverMatching }: Pick<HttpDeps, "rulesets" | "pageTokens" | "neverMatching">,
): void {
  /** GET /sluice/v1/rules: newest first, all or those that contain a text. */
  server.get(
    paths.ruleDetails,
    bearerRoute("List rules with their statistics", RuleDetailsBody, { querystring: RuleDetailsQuery }),
    async (request) => {
      const { id: appId } = appOf(request)
      const { max_results, pagination_token: token, query: text } = request.query
      const page = await scannedPage<StoredRule>({
        tokens: pageTokens,
        scope: { endpoint: paths.ruleDetails, appId, parameters: `query=${text ?? ""}` },
        token,
        limit: max_results ?? ownPageSizes.ruleDetails.default,
        scan: async (range) =>
          text === undefined ? { items: await rulesets.list(appId, range) } : rulesets.search(appId, range, text),
      })
      const matches = await rulesets.matches(appId, page.items)
      return presentPage(page, (rule) =>
        presentRuleState(rule, { matches: matches.get(rule.id), never: neverMatching(rule.value) }),
      )
    },
  )

  /** PATCH /sluice/v1/rules/:rule_id: another tag. The rule keeps its id, and no post misses it. */
  server.patch(
    paths.ruleDetail,
    bearerRoute("Change the tag of a rule", RuleDetailBody, { params: RuleParams, body: ChangeRuleTagBody }),
    async (request) => {
      const id = asId<RuleId>(request.params.rule_id)
      const { id: appId } = appOf(request)
      const rule = await rulesets.setTag(appId, id, request.body.tag)
      if (rule === undefined) throw notFound("rule", "rule_id", id)
      const matches = (await rulesets.matches(appId, [rule])).get(id)
      return presentData(presentRuleState(rule, { matches, never: neverMatching(rule.value) }))
    },
  )
}
