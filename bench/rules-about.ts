/** The mix of rules about real posts, and how selective they are. */
import { parseRule, readPost } from "../packages/rules/src/index.ts"
import type { Rule, RuleEnvelope } from "../packages/rules/src/index.ts"
import type { Envelopes } from "./envelopes.ts"
import { ruleTexts, type RuleMix } from "./rule-mix.ts"
import { vocabularyOf } from "./vocabulary.ts"

/**
 * Shares (0 to 1) of the posts that a clause and a rule may match. A few queries found the posts, and the queries' own
 * words stand in up to half of them; a word of that frequency is no clause of any rule here.
 */
export type Selectivity = { readonly clauseShareMax: number; readonly ruleShareMax: number }

/** A post has about 70 matches in a million rules, as with the posts for which the goals were set. */
export const usual: Selectivity = { clauseShareMax: 0.002, ruleShareMax: 3.4e-4 }

/** A post has about 5, and the words are rarer. */
export const selective: Selectivity = { clauseShareMax: 0.0005, ruleShareMax: 3.4e-5 }

/** A mix about all the posts; another seed gives other rules of the same kind. */
export function mixAbout(envelopes: Envelopes, { clauseShareMax, ruleShareMax }: Selectivity): RuleMix {
  const posts = Array.from({ length: envelopes.count }, (_, index) =>
    readPost(JSON.parse(envelopes.text(index)) as RuleEnvelope),
  )
  return { vocabulary: vocabularyOf(posts, clauseShareMax), seed: 1, shareMax: ruleShareMax }
}

/** The rules of the mix, parsed; without end, and the same each time. */
export function* rulesOf(mix: RuleMix): Generator<Rule, never> {
  const texts = ruleTexts(mix)
  for (;;) yield ruleOf(texts.next().value)
}

/** The rule of a text of the mix. */
export function ruleOf(text: string): Rule {
  const parsed = parseRule(text)
  if (!parsed.ok) throw new Error(`the mix has a rule that is refused: ${text}`)
  return parsed.rule
}

/** Number of the rule's clauses. */
export function clausesOf(rule: Rule): number {
  if (rule.kind === "not") return clausesOf(rule.rule)
  if (rule.kind !== "any" && rule.kind !== "all") return 1
  return rule.rules.reduce((sum, one) => sum + clausesOf(one), 0)
}
