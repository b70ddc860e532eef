/** A rule tried on posts before it is used. */

import { evaluate } from "./evaluate.ts"
import { parseRule } from "./parse-rule.ts"
import type { RuleOptions } from "./parse-rule.ts"
import type { PostFacts } from "./post-facts.ts"
import { printRule } from "./print-rule.ts"
import type { RuleProblem } from "./rule-problem.ts"
import type { Rule } from "./rule.ts"

/** Something that is allowed, and probably not meant. */
export type RuleWarning = {
  /** For people. */
  readonly message: string
  /** The part of the rule that it is about, as `printRule` prints it. */
  readonly part: string
}

/** A rule with what the posts say of it, or what is wrong with it. */
export type RuleCheck =
  | {
      readonly ok: true
      readonly rule: Rule
      readonly warnings: readonly RuleWarning[]
      readonly tested: number
      readonly matched: number
    }
  | { readonly ok: false; readonly problems: readonly RuleProblem[] }

/** A rule that holds of more posts than this is warned of. Ours. */
const shareMax = 0.1

/** Fewer posts say nothing. Ours. */
const testedMin = 100

/** Reads the rule and tries it on the posts, which were read in its mode. Recent posts estimate what is to come. */
export function checkRule(text: string, posts: readonly PostFacts[], options: RuleOptions = {}): RuleCheck {
  const parsed = parseRule(text, options)
  if (!parsed.ok) return parsed
  const { rule } = parsed
  const matched = countOf(rule, posts)
  const warnings = isBroad(matched, posts.length) ? broadParts(rule, posts).map(warningOf) : []
  return { ok: true, rule, warnings, tested: posts.length, matched }
}

type Broad = { readonly rule: Rule; readonly matched: number; readonly tested: number }

/** The branches of an OR that are each too broad, or the whole rule when none is so by itself. */
function broadParts(rule: Rule, posts: readonly PostFacts[]): readonly Broad[] {
  const measured = (one: Rule): Broad => ({ rule: one, matched: countOf(one, posts), tested: posts.length })
  const branches = rule.kind === "any" ? rule.rules.map(measured) : []
  const broad = branches.filter(({ matched, tested }) => isBroad(matched, tested))
  return broad.length > 0 ? broad : [measured(rule)]
}

function warningOf({ rule, matched, tested }: Broad): RuleWarning {
  const part = printRule(rule)
  const percent = Math.round((100 * matched) / tested)
  return { part, message: `'${part}' matches ${matched} of ${tested} posts (${percent} %): narrow it down` }
}

function isBroad(matched: number, tested: number): boolean {
  return tested >= testedMin && matched > tested * shareMax
}

function countOf(rule: Rule, posts: readonly PostFacts[]): number {
  return posts.reduce((count, post) => (evaluate(rule, post) ? count + 1 : count), 0)
}
