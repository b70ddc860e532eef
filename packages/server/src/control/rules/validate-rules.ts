/** Validates new rules without the store: each must parse, and this server must be able to match it. */
import { ruleTagCharactersMax } from "@sluice/api"
import { parseRule, ruleCost, type RuleOptions } from "@sluice/rules"
import { embeddingsIn } from "../../matching/similarities.ts"
import { asId, type AppId, type RuleId } from "../../model/ids.ts"
import { duplicateRule, invalidRule, ruleNotServed, type Problem } from "../../model/problem.ts"
import type { StoredRule } from "../../model/rule.ts"
import { EmbeddingsUnavailable, type Embeddings } from "../../runtime/embeddings.ts"
import type { Snowflakes } from "../../runtime/snowflakes.ts"
import type { Turn } from "../../runtime/turns.ts"
import type { NewRule } from "./parse-change.ts"

/** A rule that may be added, as far as is known without the store. */
export interface CandidateRule {
  readonly kind: "candidate"
  readonly rule: StoredRule
  /** Steps of the matcher. */
  readonly cost: number
  /** Texts that its `embedding:` operators compare posts with. */
  readonly embeddingTexts: readonly string[]
}

/** A rule that is not added, and why. */
export interface RejectedRule {
  readonly kind: "rejected"
  readonly problem: Problem
}

/** A new rule after validation. */
export type ValidatedRule = CandidateRule | RejectedRule

/** Each of the rules, in order: it parses, its tag is short enough, and no rule before it has the same value. */
export async function validateRules(
  appId: AppId,
  rules: readonly NewRule[],
  { snowflakes, ruleOptions }: { readonly snowflakes: Snowflakes; readonly ruleOptions: RuleOptions },
  turn: Turn,
): Promise<readonly ValidatedRule[]> {
  const seen = new Set<string>()
  const validated: ValidatedRule[] = []
  for (const { value, tag = "" } of rules) {
    const parsed = parseRule(value, ruleOptions)
    const details = parsed.ok ? [] : parsed.problems.map(({ message }) => message)
    const tagCharacters = Array.from(tag).length
    if (tagCharacters > ruleTagCharactersMax) {
      details.push(`The tag is ${tagCharacters} characters while the maximum allowed is ${ruleTagCharactersMax}`)
    }
    if (!parsed.ok || details.length > 0) {
      validated.push({ kind: "rejected", problem: invalidRule(value, details) })
    } else if (seen.has(value)) {
      validated.push({ kind: "rejected", problem: duplicateRule(value) })
    } else {
      seen.add(value)
      validated.push({
        kind: "candidate",
        rule: { id: asId<RuleId>(snowflakes.next()), appId, value, ...(tag === "" ? {} : { tag }) },
        cost: ruleCost(parsed.rule),
        embeddingTexts: embeddingsIn(parsed.rule).map((operator) => operator.value),
      })
    }
    await turn.spend(value.length)
  }
  return validated
}

/**
 * The same rules, but rejects those with `embedding:` while the endpoint returns no vector for their texts: such a rule
 * could not be served. The vectors themselves are for the rule index to keep.
 */
export async function rejectUnembeddable(
  validated: readonly ValidatedRule[],
  embeddings: Embeddings | undefined,
): Promise<readonly ValidatedRule[]> {
  const texts = validated.flatMap((one) => (one.kind === "candidate" ? one.embeddingTexts : []))
  try {
    if (texts.length > 0) await embeddings?.of([...new Set(texts)])
    return validated
  } catch (error) {
    if (!(error instanceof EmbeddingsUnavailable)) throw error
    return validated.map((one) =>
      one.kind === "candidate" && one.embeddingTexts.length > 0
        ? { kind: "rejected", problem: ruleNotServed(one.rule.value, error) }
        : one,
    )
  }
}
