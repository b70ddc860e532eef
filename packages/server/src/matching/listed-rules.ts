/**
 * The rules as matches list them, by the matcher's number, and which of those that matched a post its match lists: the
 * oldest, as many as fit into its bytes.
 *
 * Otherwise a post that matches all of an app's 25,000 rules would be stored, read and sent with megabytes of tags. The
 * number of the omitted rules is part of the match.
 *
 * What decides about a list stands in one record of numbers for each rule: a post with many matches then waits for memory
 * once for each of them.
 *
 *     record   age (8 bytes) │ owner │ bytes
 */
import type { MatchingRule } from "@sluice/api"
import { matchingRulesBytesMax } from "../model/match.ts"
import type { Similarity } from "./similarities.ts"

/** Texts of a rule that posts are compared with. */
type RuleEmbeddings = readonly { readonly value: string; readonly threshold: number }[]

const none: RuleEmbeddings = []

/** Doubles and integers of a record. */
const [ageSlots, intSlots] = [2, 4]
const ownerSlot = 2
const bytesSlot = 3

/** Lists up to this length are sorted by insertion, which is faster for few. */
const insertionSortMax = 64

/** Rules by number. Numbers are dense. */
export class ListedRules {
  readonly #matching: (MatchingRule | undefined)[] = []
  /** Those of the few rules that have any. */
  readonly #embeddings = new Map<number, RuleEmbeddings>()
  /** The records, of which an age is the id as a double: it orders as the id does, except for ids that are very near each other. */
  #ages = new Float64Array(64)
  /** The same: the owner, and the bytes of the JSON text with a comma. */
  #ints = new Int32Array(this.#ages.buffer)

  /** Sets the rule with the number, which may have had another one. */
  set(number: number, owner: number, matching: MatchingRule, embeddings: RuleEmbeddings): void {
    if ((number + 1) * ageSlots > this.#ages.length) this.#grow()
    this.#matching[number] = matching
    this.#ages[number * ageSlots] = Number(matching.id)
    this.#ints[number * intSlots + ownerSlot] = owner
    this.#ints[number * intSlots + bytesSlot] = jsonBytes(matching)
    if (embeddings.length > 0) this.#embeddings.set(number, embeddings)
    else this.#embeddings.delete(number)
  }

  /** Removes the rule. */
  delete(number: number): void {
    this.#matching[number] = undefined
    this.#embeddings.delete(number)
  }

  /** The rule as matches list it, without similarities. */
  matching(number: number): MatchingRule | undefined {
    return this.#matching[number]
  }

  /** Its texts that posts are compared with; most rules have none. */
  embeddings(number: number): RuleEmbeddings {
    return this.#embeddings.get(number) ?? none
  }

  /** The numbers by owner, in the order in which owners first occur. Nearly always of one. */
  byOwner(numbers: readonly number[]): ReadonlyMap<number, readonly number[]> {
    const ints = this.#ints
    const byOwner = new Map<number, number[]>()
    let ofOwner: number[] = []
    let last: number | undefined
    for (const number of numbers) {
      const owner = ints[number * intSlots + ownerSlot] ?? 0
      if (owner !== last) {
        last = owner
        ofOwner = byOwner.get(owner) ?? []
        byOwner.set(owner, ofOwner)
      }
      ofOwner.push(number)
    }
    return byOwner
  }

  /** The rules to list, oldest first, and the number omitted. `matched` are of one owner, in any order. */
  list(
    matched: readonly number[],
    similarity: Similarity | undefined,
  ): { readonly rules: readonly MatchingRule[]; readonly omitted: number } {
    const rules: MatchingRule[] = []
    // The brackets.
    let bytes = 2
    for (const number of this.#oldestThatMayFit(matched)) {
      const matching = this.#matching[number]
      if (matching === undefined) continue
      const shown = this.#embeddings.size === 0 ? matching : this.#withSimilarity(number, matching, similarity)
      bytes += shown === matching ? this.#bytesOf(number) : jsonBytes(shown)
      // The last one has no comma.
      if (bytes - 1 > matchingRulesBytesMax) break
      rules.push(shown)
    }
    return { rules, omitted: matched.length - rules.length }
  }

  /** The oldest rules, oldest first: all that could fit if each were as short as the shortest. Sorting all would be slow. */
  #oldestThatMayFit(matched: readonly number[]): readonly number[] {
    let shortest = Number.POSITIVE_INFINITY
    for (const number of matched) shortest = Math.min(shortest, this.#bytesOf(number))
    const fitting = Math.ceil(matchingRulesBytesMax / shortest)
    if (matched.length <= fitting) return this.#byAge(matched)
    const ages = new Float64Array(matched.length)
    for (let at = 0; at < ages.length; at += 1) ages[at] = this.#ageOf(matched[at])
    const youngest = ages.toSorted()[fitting - 1] ?? Number.POSITIVE_INFINITY
    return this.#byAge(matched.filter((number) => this.#ageOf(number) <= youngest))
  }

  #byAge(numbers: readonly number[]): readonly number[] {
    if (numbers.length > insertionSortMax) return numbers.toSorted((a, b) => this.#compare(a, b))
    const sorted = [...numbers]
    const ages = sortedAges
    for (let end = 0; end < sorted.length; end++) {
      const number = sorted[end] ?? 0
      const age = this.#ageOf(number)
      let at = end
      for (; at > 0; at--) {
        const before = ages[at - 1] ?? 0
        if (before < age || (before === age && this.#compare(sorted[at - 1] ?? 0, number) < 0)) break
        ages[at] = before
        sorted[at] = sorted[at - 1] ?? 0
      }
      ages[at] = age
      sorted[at] = number
    }
    return sorted
  }

  #compare(a: number, b: number): number {
    const difference = this.#ageOf(a) - this.#ageOf(b)
    if (difference !== 0) return difference
    const [left = "", right = ""] = [this.#matching[a]?.id, this.#matching[b]?.id]
    return left.length - right.length || (left < right ? -1 : 1)
  }

  #ageOf(number = 0): number {
    return this.#ages[number * ageSlots] ?? 0
  }

  #bytesOf(number: number): number {
    return this.#ints[number * intSlots + bytesSlot] ?? 0
  }

  /** With the greatest similarity that reaches its threshold, if there is one. */
  #withSimilarity(number: number, matching: MatchingRule, similarity: Similarity | undefined): MatchingRule {
    const holding = this.embeddings(number).flatMap(({ value, threshold }) => {
      const found = similarity?.(value) ?? Number.NEGATIVE_INFINITY
      return found >= threshold ? [{ embedding_similarity: found, embedding_threshold: threshold }] : []
    })
    const [nearest] = holding.toSorted((a, b) => b.embedding_similarity - a.embedding_similarity)
    return nearest === undefined ? matching : { ...matching, ...nearest }
  }

  #grow(): void {
    const ints = this.#ints
    this.#ages = new Float64Array(this.#ages.length * 2)
    this.#ints = new Int32Array(this.#ages.buffer)
    this.#ints.set(ints)
  }
}

/** The ages of the list that is sorted by insertion. */
const sortedAges = new Float64Array(insertionSortMax)

function jsonBytes(matching: MatchingRule): number {
  return Buffer.byteLength(JSON.stringify(matching)) + 1
}
