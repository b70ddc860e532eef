/**
 * The clauses of a rule that no post of the configured sources can fulfil.
 *
 * It is known only when a converter makes all posts of the sources: an envelope may have anything in it. Posts that
 * programs send by HTTP do not count, so a sentence about a clause speaks of the configured sources.
 */
import { parseRule, printRule, type Mode, type Operator, type Rule, type RuleOptions } from "@sluice/rules"
import type { ConverterSettings } from "./converters.ts"
import { neverMatching, type MatchedSource, type NeverMatching } from "./never-matching.ts"

/** A clause that never matches. */
export interface NeverMatchingClause {
  /** As the rule language prints it. */
  readonly clause: string
  /** Its name, as in the guide of operators. */
  readonly operator: string
  /** Names of the sources: all that are configured. */
  readonly sources: readonly string[]
  /** Whole sentences. */
  readonly reason: string
}

/** A source and its converter; without one its posts may have anything in them. */
export interface NamedConverter {
  readonly name: string
  readonly converter?: ConverterSettings
}

/** The clauses of a rule that never match, each once, in the order of the rule; none for a rule that does not parse. */
export type NeverMatchingOf = (value: string, mode?: Mode) => readonly NeverMatchingClause[]

/** A function for the clauses of rules under these options. */
export function createNeverMatching(sources: readonly NamedConverter[], ruleOptions: RuleOptions): NeverMatchingOf {
  const known = sources.map(({ converter }) => matchedSourceOf(converter))
  const never = known.flatMap((source) => (source === undefined ? [] : [neverMatching(source)]))
  // A source of any posts, or none at all.
  if (never.length < sources.length || never.length === 0) return () => []
  const names = sources.map(({ name }) => name)
  return (value, mode = "stream") => {
    const parsed = parseRule(value, { ...ruleOptions, mode, lengthMax: Number.POSITIVE_INFINITY })
    if (!parsed.ok) return []
    const clauses = clausesOf(parsed.rule).flatMap((leaf): readonly NeverMatchingClause[] => {
      const clause = printRule(leaf)
      const found = never.map((list) => entryOf(leaf, clause, list))
      const reasons = found.flatMap((entry) => (entry === undefined ? [] : [entry.reason]))
      if (reasons.length < never.length) return []
      return [{ clause, operator: operatorOf(clause), sources: names, reason: [...new Set(reasons)].join(" ") }]
    })
    return [...new Map(clauses.map((one) => [one.clause, one])).values()]
  }
}

function matchedSourceOf(of: ConverterSettings | undefined): MatchedSource | undefined {
  if (of?.type === "bluesky") return { kind: "bluesky", ...of.settings }
  if (of?.type === "mastodon") return { kind: "mastodon", takesReblogs: of.settings.takesReblogs }
  return undefined
}

/** The leaves that posts must fulfil, of which a group of alternatives has several. A negated leaf is fulfilled by absence. */
function clausesOf(rule: Rule, isNegated = false): readonly Operator[] {
  switch (rule.kind) {
    case "any":
    case "all":
      return rule.rules.flatMap((one) => clausesOf(one, isNegated))
    case "not":
      return clausesOf(rule.rule, !isNegated)
    default:
      return isNegated ? [] : [rule]
  }
}

/** The entry for a leaf, which names the operator, or the operator with this value. */
function entryOf(leaf: Operator, clause: string, list: readonly NeverMatching[]): NeverMatching | undefined {
  // Text of the post may look like an operator.
  if (leaf.kind === "near" || (leaf.kind === "words" && (leaf.name === "keyword" || leaf.name === "phrase")))
    return undefined
  const operator = operatorOf(clause)
  const value = clause.slice(operator.length + 1)
  return list.find((entry) => entry.operator === operator && (entry.value === undefined || entry.value === value))
}

/** The name before the colon; empty for a sigil. */
function operatorOf(clause: string): string {
  return /^([a-z_]+):/.exec(clause)?.[1] ?? ""
}
