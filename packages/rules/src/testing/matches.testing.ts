/** Short ways to write rules and posts in tests. */

import { evaluate } from "../meaning/evaluate.ts"
import { parseRule, type RuleOptions } from "../language/parse-rule.ts"
import { readPost, type ReadOptions } from "../post/post-facts.ts"
import type { RuleEnvelope } from "../post/post-objects.ts"
import type { Rule } from "../language/rule.ts"

/** The parsed rule. Throws its problems if it is rejected. */
export function ruleOf(text: string, options: RuleOptions = {}): Rule {
  const parsed = parseRule(text, options)
  if (parsed.ok) return parsed.rule
  throw new Error(`${text}: ${parsed.problems.map((problem) => problem.message).join("\n")}`)
}

/** The parsed operator, also one that is not standalone. Throws what `ruleOf` throws. */
export function clauseOf(text: string, options: RuleOptions = {}): Rule {
  const beside = ruleOf(`beside ${text}`, options)
  const clause = beside.kind === "all" ? beside.rules[1] : undefined
  if (clause === undefined || (beside.kind === "all" && beside.rules.length !== 2)) throw new Error(text)
  return clause
}

/** The messages of the rule's problems, in order; empty if it is accepted. */
export function messagesOf(text: string, options: RuleOptions = {}): readonly string[] {
  const parsed = parseRule(text, options)
  return parsed.ok ? [] : parsed.problems.map((problem) => problem.message)
}

/** True if the rule holds of the post, both read in the mode. The rule need not be standalone. */
export function matches(rule: string, envelope: RuleEnvelope, options: ReadOptions = {}): boolean {
  const { mode = "stream" } = options
  return evaluate(clauseOf(`(${rule})`, { mode, embeddings: true }), readPost(envelope, options))
}

/** A post with this text and these members. */
export function postWith(
  text: string,
  members: Readonly<Record<string, unknown>> = {},
  includes?: unknown,
): RuleEnvelope {
  return { data: { id: "1", text, ...members }, includes }
}
