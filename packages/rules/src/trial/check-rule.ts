/** Trying a rule on posts before it is used. */

import { parseRule, type RuleOptions } from "../language/parse-rule.ts"
import type { PostFacts } from "../post/post-facts.ts"
import { printRule } from "../language/print-rule.ts"
import type { RuleProblem } from "../language/rule-problem.ts"
import type { Rule } from "../language/rule.ts"
import { RuleMatcher } from "../matcher/rule-matcher.ts"

/** Something that is valid and probably not intended. */
export type RuleWarning = {
  /** For people to read. */
  readonly message: string
  /** The part of the rule that the warning is about, as `printRule` prints it. */
  readonly part: string
}

/** The result of a trial, or the problems of the rule. */
type RuleCheck =
  | {
      readonly ok: true
      readonly rule: Rule
      readonly warnings: readonly RuleWarning[]
      readonly tested: number
      readonly matched: number
    }
  | { readonly ok: false; readonly problems: readonly RuleProblem[] }

/** A rule that matches a larger share of the posts gets a warning. Ours. */
const shareMax = 0.1

/** Fewer posts are not significant. Ours. */
const testedMin = 100

/** Parses the rule and tries it on the posts, which must have been read in its mode. */
export function checkRule(text: string, posts: readonly PostFacts[], options: RuleOptions = {}): RuleCheck {
  const parsed = parseRule(text, options)
  if (!parsed.ok) return parsed
  const trial = new RuleTrial(parsed.rule)
  for (const post of posts) trial.holds(post)
  const { tested, matched, warnings } = trial
  return { ok: true, rule: parsed.rule, warnings, tested, matched }
}

/** Tries a rule on one post after the other. Posts must have been read in the rule's mode. */
export class RuleTrial {
  readonly #matcher = new RuleMatcher()
  readonly #rule: Rule
  readonly #number: number
  /** The branches of an OR by their numbers in the matcher, with the number of posts that each matched. */
  readonly #branches = new Map<number, { readonly rule: Rule; matched: number }>()
  #tested = 0
  #matched = 0

  constructor(rule: Rule) {
    this.#rule = rule
    this.#number = this.#matcher.add(rule)
    for (const branch of rule.kind === "any" ? rule.rules : [])
      this.#branches.set(this.#matcher.add(branch), { rule: branch, matched: 0 })
  }

  get tested(): number {
    return this.#tested
  }

  get matched(): number {
    return this.#matched
  }

  /** Steps taken so far, without the reading of posts. */
  get steps(): number {
    return this.#matcher.ownerStepsTotal
  }

  /** Tries the post. Returns whether the rule holds of it. */
  holds(post: PostFacts): boolean {
    this.#tested++
    let holds = false
    for (const number of this.#matcher.match(post)) {
      if (number === this.#number) holds = true
      const branch = this.#branches.get(number)
      if (branch) branch.matched++
    }
    if (holds) this.#matched++
    return holds
  }

  /** One for each branch of an OR that is too broad, or one for the whole rule if no single branch is. */
  get warnings(): readonly RuleWarning[] {
    const tested = this.#tested
    if (!isBroad(this.#matched, tested)) return []
    const broad = Array.from(this.#branches.values()).filter(({ matched }) => isBroad(matched, tested))
    const parts = broad.length > 0 ? broad : [{ rule: this.#rule, matched: this.#matched }]
    return parts.map(({ rule, matched }) => {
      const part = printRule(rule)
      const percent = Math.round((100 * matched) / tested)
      return {
        part,
        message: `'${part}' matches ${matched} of ${tested} posts (${percent} %): narrow it down`,
      }
    })
  }
}

function isBroad(matched: number, tested: number): boolean {
  return tested >= testedMin && matched > tested * shareMax
}
