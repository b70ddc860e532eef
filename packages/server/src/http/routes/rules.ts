import {
  ChangeRulesBody,
  ChangeRulesQuery,
  NoQuery,
  pageSizes,
  paths,
  RuleCountsBody,
  RulesBody,
  RulesChangedBody,
  RulesQuery,
  type ErrorObject,
  type Rule,
} from "@sluice/api"
import { asId, type AppId, type RuleId } from "../../model/ids.ts"
import { notFound } from "../../model/problem.ts"
import { keysetPage } from "../../timelines/keyset-page.ts"
import { appOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../server.ts"
import { refusals, withBearer } from "./route.ts"

/** The rules of an app's filtered stream. */
export function ruleRoutes(
  server: HttpServer,
  { ruleBook, pageTokens, clock }: Pick<HttpDeps, "ruleBook" | "pageTokens" | "clock">,
): void {
  /** GET /2/tweets/search/stream/rules: newest first. */
  server.get(
    paths.rules,
    {
      schema: {
        summary: "Rules of the app",
        security: withBearer,
        querystring: RulesQuery,
        response: { 200: RulesBody, ...refusals },
      },
    },
    async (request) => {
      const { max_results: limit = pageSizes.rules.default, pagination_token: token } = request.query
      const app = appOf(request)
      const ids = request.query.ids?.map((id) => asId<RuleId>(id))
      const page = await keysetPage<Rule, RuleId>({
        tokens: pageTokens,
        scope: { endpoint: paths.rules, appId: app.id, parameters: `ids=${ids?.toSorted().join(",") ?? ""}` },
        token,
        limit,
        idOf: (rule) => asId(rule.id),
        read: (range) => ruleBook.list(app.id, range, ids),
      })
      const errors = ids === undefined || token !== undefined ? [] : await missing(app.id, ids)
      return {
        data: [...page.items],
        meta: { sent: new Date(clock.nowMs()).toISOString(), ...page.meta },
        ...(errors.length === 0 ? {} : { errors }),
      }
    },
  )

  /** POST /2/tweets/search/stream/rules: adds or deletes rules; keeps nothing when `dry_run`. */
  server.post(
    paths.rules,
    {
      schema: {
        summary: "Add or delete rules",
        security: withBearer,
        querystring: ChangeRulesQuery,
        body: ChangeRulesBody,
        response: { 200: RulesChangedBody, 201: RulesChangedBody, ...refusals },
      },
    },
    async (request, reply) => {
      const { dry_run: dryRun = false, delete_all: deleteAll = false } = request.query
      const { created, body } = await ruleBook.change(appOf(request).id, request.body, { dryRun, deleteAll })
      return reply.code(created ? 201 : 200).send(body)
    },
  )

  /** GET /2/tweets/search/stream/rules/counts: how many rules there are and may be. */
  server.get(
    paths.ruleCounts,
    {
      schema: {
        summary: "Number of rules",
        security: withBearer,
        querystring: NoQuery,
        response: { 200: RuleCountsBody, ...refusals },
      },
    },
    async (request) => ruleBook.counts(appOf(request)),
  )

  /** An error for each of `ids` that the app has no rule of. */
  async function missing(appId: AppId, ids: readonly RuleId[]): Promise<ErrorObject[]> {
    const found = await ruleBook.list(appId, { direction: "older", limit: ids.length }, ids)
    const foundIds = new Set(found.map((rule) => rule.id))
    return ids.filter((id) => !foundIds.has(id)).map((id) => notFound("rule", "ids", id).toErrorObject())
  }
}
