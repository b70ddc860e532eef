import type { TestRuleBody } from "@sluice/api"
import { asId, type PostId } from "../../model/ids.ts"
import { invalidRequest } from "../../model/problem.ts"
import type { RuleTestRequest } from "./test-rule.ts"

/** A test as the API asks for it. Throws a 400 `Problem` for one that does not say on which posts. */
export function ruleTestRequest(body: TestRuleBody): RuleTestRequest {
  const { value, mode, explain } = body
  return {
    value,
    posts: postsOf(body),
    mode: mode === "search" ? "search" : "stream",
    isExplained: explain === true,
  }
}

/** The posts to try the rule on. Throws 400 unless the body names one kind of them. */
function postsOf({ posts, recent, since, until_id: untilId }: TestRuleBody): RuleTestRequest["posts"] {
  const given = [posts, recent, since].filter((one) => one !== undefined)
  if (given.length !== 1) {
    throw invalidRequest("Send one of `posts`, `recent` and `since`, to say what the rule is tried on", {
      posts: [],
      recent: [],
      since: [],
    })
  }
  if (since !== undefined) {
    return { sinceMs: Date.parse(since), ...(untilId !== undefined && { untilId: asId<PostId>(untilId) }) }
  }
  if (untilId !== undefined) throw invalidRequest("`until_id` goes with `since`", { until_id: [untilId] })
  return posts ?? recent ?? []
}
