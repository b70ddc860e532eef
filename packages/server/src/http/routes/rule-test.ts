import { paths } from "@sluice/api"
import { RuleTestedBody, TestRuleBody } from "@sluice/api/schemas"
import { appOf } from "../auth.ts"
import { clientLeft } from "../connections/client-left.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentRuleTest } from "../present/rules.ts"
import { bearerRoute } from "./route-schema.ts"

/** Tests of rules. */
export function ruleTestRoutes(
  server: HttpServer,
  { ruleTestQueue, neverMatching }: Pick<HttpDeps, "ruleTestQueue" | "neverMatching">,
): void {
  /** POST /sluice/v1/rules/test: which posts a rule matches, and why; on posts given, recent ones, or those since a time. */
  server.post(
    paths.ruleTest,
    bearerRoute("Test a rule", RuleTestedBody, { body: TestRuleBody }),
    async (request, reply) => {
      const test = await ruleTestQueue.run(appOf(request).id, request.body, clientLeft(reply.raw))
      const { value, mode } = request.body
      return presentRuleTest(test, neverMatching(value, mode === "search" ? mode : "stream"))
    },
  )
}
