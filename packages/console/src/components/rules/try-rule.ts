/** Matches a rule against posts in the browser, fast enough for every key press. */
import type { Envelope } from "@sluice/api"
import {
  EarlierPosts,
  evaluate,
  explain,
  parseLocatedRule,
  readPost,
  whyNot,
  type Rule,
  type Span,
} from "@sluice/rules"

/** A clause of the rule that a post fails. */
export interface FailedPart {
  readonly operator: string
  readonly start: number
  readonly end: number
  /** The operator matches, but the rule negates it. */
  readonly isUnwanted: boolean
}

/** The result of a rule for one post. */
export type Verdict =
  | { readonly kind: "match"; readonly envelope: Envelope; readonly spans: readonly Span[] }
  | { readonly kind: "miss"; readonly envelope: Envelope; readonly failed: readonly FailedPart[] }

/**
 * The verdict for each post; `undefined` for an invalid rule, and for one with similarities, which only the server computes.
 */
export function tryRule(value: string, envelopes: readonly Envelope[]): readonly Verdict[] | undefined {
  const parsed = parseLocatedRule(value)
  if (!parsed.ok) return undefined
  const { rule, sources } = parsed
  const earlier = new EarlierPosts()
  for (const envelope of envelopes) earlier.learn(envelope)
  return envelopes.map((envelope): Verdict => {
    const post = readPost(envelope, { earlier })
    if (evaluate(rule, post)) return { kind: "match", envelope, spans: explain(rule, post).spans }
    return { kind: "miss", envelope, failed: whyNot(rule, sources, post).failed }
  })
}

/** Whether a rule has similarities, which only the server computes. */
export function needsServer(value: string): boolean {
  const parsed = parseLocatedRule(value, { embeddings: true })
  return parsed.ok && hasEmbedding(parsed.rule)
}

function hasEmbedding(rule: Rule): boolean {
  if (rule.kind === "any" || rule.kind === "all") return rule.rules.some(hasEmbedding)
  return rule.kind === "not" ? hasEmbedding(rule.rule) : rule.kind === "embedding"
}
