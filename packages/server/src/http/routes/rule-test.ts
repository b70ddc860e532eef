import { paths } from "@sluice/api"
import { RuleTestedBody, TestRuleBody } from "@sluice/api/schemas"
import { invalidRequest } from "../../model/problem.ts"
import { appOf } from "../auth.ts"
import { clientLeft } from "../connections/client-left.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentRuleTest } from "../present/rules.ts"
import { bearerRoute } from "./route-schema.ts"

/** Tests of rules. */
export function ruleTestRoutes(server: HttpServer, { ruleTestQueue }: Pick<HttpDeps, "ruleTestQueue">): void {
  /** POST /sluice/v1/rules/test: which posts a rule matches, and why; on posts given, or on recent ones. */
  server.post(
    paths.ruleTest,
    bearerRoute("Test a rule", RuleTestedBody, { body: TestRuleBody }),
    async (request, reply) => {
      const { value, posts, recent, mode, explain } = request.body
      if ((posts === undefined) === (recent === undefined)) {
        throw invalidRequest("Send either `posts` or `recent`, to say what the rule is tried on", {
          posts: [],
          recent: [],
        })
      }
      const test = await ruleTestQueue.run(
        appOf(request).id,
        {
          value,
          posts: posts ?? recent ?? 0,
          mode: mode === "search" ? "search" : "stream",
          isExplained: explain === true,
        },
        clientLeft(reply.raw),
      )
      return presentRuleTest(test)
    },
  )
}
