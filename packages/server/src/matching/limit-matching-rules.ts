/**
 * Which of the rules that matched a post its match lists: the oldest, as many as fit into its bytes.
 *
 * Otherwise a post that matches all of an app's 25,000 rules would be stored, read and sent with megabytes of tags. The
 * number of the omitted rules is part of the match.
 */
import type { MatchingRule } from "@sluice/api"
import type { AppId } from "../model/ids.ts"
import { matchingRulesBytesMax } from "../model/match.ts"
import type { Similarity } from "./similarities.ts"

/** The parts of a rule that go into matches, made once. */
export interface IndexedRule {
  readonly appId: AppId
  readonly matching: MatchingRule
  /** Its id as a double. It orders as the id does, except for ids that are very near each other. */
  readonly age: number
  /** Of its JSON text, with a comma. */
  readonly bytes: number
  /** Its texts that posts are compared with; most rules have none. */
  readonly embeddings: readonly { readonly value: string; readonly threshold: number }[]
}

/** A rule as matches list it. */
export function indexedRule(appId: AppId, matching: MatchingRule, embeddings: IndexedRule["embeddings"]): IndexedRule {
  return { appId, matching, age: Number(matching.id), bytes: jsonBytes(matching), embeddings }
}

/** The rules to list, oldest first, and the number omitted. `matched` are of one app, in any order. */
export function limitMatchingRules(
  matched: readonly IndexedRule[],
  similarity: Similarity | undefined,
): { readonly rules: readonly MatchingRule[]; readonly omitted: number } {
  const rules: MatchingRule[] = []
  // The brackets.
  let bytes = 2
  for (const rule of oldestThatMayFit(matched)) {
    const shown = asMatching(rule, similarity)
    bytes += shown === rule.matching ? rule.bytes : jsonBytes(shown)
    // The last one has no comma.
    if (bytes - 1 > matchingRulesBytesMax) break
    rules.push(shown)
  }
  return { rules, omitted: matched.length - rules.length }
}

/** The oldest rules, oldest first: all that could fit if each were as short as the shortest. Sorting all would be slow. */
function oldestThatMayFit(matched: readonly IndexedRule[]): readonly IndexedRule[] {
  let shortest = Number.POSITIVE_INFINITY
  for (const { bytes } of matched) shortest = Math.min(shortest, bytes)
  const fitting = Math.ceil(matchingRulesBytesMax / shortest)
  if (matched.length <= fitting) return matched.toSorted(byAge)
  const ages = new Float64Array(matched.length)
  for (let at = 0; at < ages.length; at += 1) ages[at] = matched[at]?.age ?? 0
  const youngest = ages.toSorted()[fitting - 1] ?? Number.POSITIVE_INFINITY
  return matched.filter(({ age }) => age <= youngest).toSorted(byAge)
}

function byAge(a: IndexedRule, b: IndexedRule): number {
  if (a.age !== b.age) return a.age - b.age
  const [left, right] = [a.matching.id, b.matching.id]
  return left.length - right.length || (left < right ? -1 : 1)
}

/** With the greatest similarity that reaches its threshold, if there is one. */
function asMatching({ matching, embeddings }: IndexedRule, similarity: Similarity | undefined): MatchingRule {
  if (embeddings.length === 0) return matching
  const holding = embeddings.flatMap(({ value, threshold }) => {
    const found = similarity?.(value) ?? Number.NEGATIVE_INFINITY
    return found >= threshold ? [{ embedding_similarity: found, embedding_threshold: threshold }] : []
  })
  const [nearest] = holding.toSorted((a, b) => b.embedding_similarity - a.embedding_similarity)
  return nearest === undefined ? matching : { ...matching, ...nearest }
}

function jsonBytes(matching: MatchingRule): number {
  return Buffer.byteLength(JSON.stringify(matching)) + 1
}
