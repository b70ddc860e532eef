import { paths, searchQueryCharactersMax } from "@sluice/api"
import { RuleTestedBody, TestRuleBody } from "@sluice/api/schemas"
import { limitsOf } from "../../control/limits/app-limits.ts"
import { appOf } from "../auth.ts"
import { clientLeft } from "../connections/client-left.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentRuleTest } from "../present/rules.ts"
import { bearerRoute } from "./route-schema.ts"

/** Tests of rules. */
export function ruleTestRoutes(
  server: HttpServer,
  { ruleTestQueue, neverMatching, limits }: Pick<HttpDeps, "ruleTestQueue" | "neverMatching" | "limits">,
): void {
  /** POST /sluice/v1/rules/test: which posts a rule matches, and why; on posts given, recent ones, or those since a time. */
  server.post(
    paths.ruleTest,
    bearerRoute("Test a rule", RuleTestedBody, { body: TestRuleBody }),
    async (request, reply) => {
      const { body } = request
      const app = appOf(request)
      const { value, mode } = body
      const lengthMax = mode === "search" ? searchQueryCharactersMax : limitsOf(limits, app).ruleCharactersMax
      const test = await ruleTestQueue.run(app.id, { body, lengthMax }, clientLeft(reply.raw))
      return presentRuleTest(test, neverMatching(value, mode === "search" ? mode : "stream"))
    },
  )
}
