import { NoQuery, paths, RuleTestedBody, TestRuleBody } from "@sluice/api"
import { invalidRequest } from "../../model/problem.ts"
import type { HttpDeps, HttpServer } from "../server.ts"
import { refusals, withBearer } from "./route.ts"

/** Rules tried out. */
export function ruleTestRoutes(server: HttpServer, { ruleBook }: Pick<HttpDeps, "ruleBook">): void {
  /** POST /sluice/v1/rules/test: which posts a rule matches, and why; on posts given, or on recent ones. */
  server.post(
    paths.ruleTest,
    {
      schema: {
        summary: "Try a rule",
        security: withBearer,
        querystring: NoQuery,
        body: TestRuleBody,
        response: { 200: RuleTestedBody, ...refusals },
      },
    },
    async (request) => {
      const { value, posts, recent, mode } = request.body
      if ((posts === undefined) === (recent === undefined)) {
        throw invalidRequest("Send either `posts` or `recent`, to say what the rule is tried on", {
          posts: [],
          recent: [],
        })
      }
      const { tested, matches, matchesPerDay, warnings } = await ruleBook.test(
        value,
        posts ?? recent ?? 0,
        mode === "search" ? "search" : "stream",
      )
      return {
        data: matches.map(({ id, spans }) => ({ id, spans: [...spans] })),
        meta: {
          tested,
          matched: matches.length,
          share: tested === 0 ? 0 : matches.length / tested,
          ...(matchesPerDay !== undefined && { estimated_per_day: matchesPerDay }),
        },
        warnings: [...warnings],
      }
    },
  )
}
