/** Rules as text, and posts of few members, brought together. */

import { evaluate } from "./evaluate.ts"
import { parseRule } from "./parse-rule.ts"
import type { RuleOptions } from "./parse-rule.ts"
import { readPost } from "./post-facts.ts"
import type { ReadOptions, RuleEnvelope } from "./post-facts.ts"
import type { Rule } from "./rule.ts"

/** The parsed rule; throws its problems when it is refused. */
export function ruleOf(text: string, options: RuleOptions = {}): Rule {
  const parsed = parseRule(text, options)
  if (parsed.ok) return parsed.rule
  throw new Error(`${text}: ${parsed.problems.map((problem) => problem.message).join("\n")}`)
}

/** The parsed operator, also of those that need another beside them; throws what `ruleOf` throws. */
export function clauseOf(text: string, options: RuleOptions = {}): Rule {
  const beside = ruleOf(`beside ${text}`, options)
  const clause = beside.kind === "all" ? beside.rules[1] : undefined
  if (clause === undefined || (beside.kind === "all" && beside.rules.length !== 2)) throw new Error(text)
  return clause
}

/** The messages with which the rule is refused, in order; none when it is accepted. */
export function messagesOf(text: string, options: RuleOptions = {}): readonly string[] {
  const parsed = parseRule(text, options)
  return parsed.ok ? [] : parsed.problems.map((problem) => problem.message)
}

/** Whether the rule holds of the post, both in one mode; rules that cannot stand alone are asked all the same. */
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
