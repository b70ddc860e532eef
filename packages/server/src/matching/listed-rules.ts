/**
 * The rules as matches list them, by the matcher's number, and which of those that matched a post its match lists: the
 * oldest, as many as fit into its bytes.
 *
 * Otherwise a post that matches all of an app's 25,000 rules would be stored, read and sent with megabytes of tags. The
 * number of the omitted rules is part of the match.
 *
 * One record of numbers holds all that a list needs of a rule: a post with many matches then waits for memory once for
 * each of them.
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

/** Runs of this length are sorted by insertion, which is faster for few. */
const runLength = 16

/** Rules by number, with the age of each. */
type Aged = { readonly numbers: number[]; readonly ages: Float64Array }

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
  byOwner(numbers: readonly number[]): Iterable<readonly [owner: number, numbers: readonly number[]]> {
    const ownerOf = (number = 0): number => this.#ints[number * intSlots + ownerSlot] ?? 0
    const first = ownerOf(numbers[0])
    return numbers.every((number) => ownerOf(number) === first) ? [[first, numbers]] : Map.groupBy(numbers, ownerOf)
  }

  /** The rules to list, oldest first, and the number omitted. `matched` are of one owner, in any order. */
  list(
    matched: readonly number[],
    similarity: Similarity | undefined,
  ): { readonly rules: readonly MatchingRule[]; readonly omitted: number } {
    const numbers = this.#oldestThatMayFit(matched)
    const rules = this.#embeddings.size === 0 ? this.#listed(numbers) : this.#listedWith(numbers, similarity)
    return { rules, omitted: matched.length - rules.length }
  }

  /** The first of the rules, as many as fit. Short loops, in which waiting times for memory overlap. */
  #listed(numbers: readonly number[]): readonly MatchingRule[] {
    // The brackets; the last one has no comma.
    let bytes = 1
    let count = 0
    for (; count < numbers.length; count += 1) {
      bytes += this.#bytesOf(numbers[count])
      if (bytes > matchingRulesBytesMax) break
    }
    return numbers.slice(0, count).map((number) => this.#matching[number] as MatchingRule)
  }

  #listedWith(numbers: readonly number[], similarity: Similarity | undefined): readonly MatchingRule[] {
    const rules: MatchingRule[] = []
    let bytes = 1
    for (const number of numbers) {
      const matching = this.#matching[number] as MatchingRule
      const shown = this.#withSimilarity(number, matching, similarity)
      bytes += shown === matching ? this.#bytesOf(number) : jsonBytes(shown)
      if (bytes > matchingRulesBytesMax) break
      rules.push(shown)
    }
    return rules
  }

  /** The oldest rules, oldest first: all that could fit if each were as short as the shortest. Sorting all would be slow. */
  #oldestThatMayFit(matched: readonly number[]): readonly number[] {
    let shortest = Number.POSITIVE_INFINITY
    for (const number of matched) shortest = Math.min(shortest, this.#bytesOf(number))
    const fitting = Math.ceil(matchingRulesBytesMax / shortest)
    if (matched.length <= fitting) return this.#byAge(matched)
    const youngest = this.#agesOf(matched).toSorted()[fitting - 1] ?? Number.POSITIVE_INFINITY
    return this.#byAge(matched.filter((number) => this.#ageOf(number) <= youngest))
  }

  /** Sorts runs by insertion, then merges two at a time. A comparison that is called for each two takes longer. */
  #byAge(numbers: readonly number[]): readonly number[] {
    const { length } = numbers
    let from: Aged = { numbers: [...numbers], ages: this.#agesOf(numbers) }
    for (let begin = 0; begin < length; begin += runLength)
      this.#sortRun(from, begin, Math.min(begin + runLength, length))
    if (length <= runLength) return from.numbers
    let to: Aged = { numbers: [...numbers], ages: new Float64Array(length) }
    for (let run = runLength; run < length; run *= 2) {
      for (let begin = 0; begin < length; begin += run * 2)
        this.#merge(from, to, begin, Math.min(begin + run, length), Math.min(begin + run * 2, length))
      ;[from, to] = [to, from]
    }
    return from.numbers
  }

  #sortRun({ numbers, ages }: Aged, begin: number, end: number): void {
    for (let next = begin + 1; next < end; next++) {
      const number = numbers[next] ?? 0
      const age = ages[next] ?? 0
      let at = next
      for (; at > begin && this.#isBefore(number, age, numbers[at - 1] ?? 0, ages[at - 1] ?? 0); at--) {
        ages[at] = ages[at - 1] ?? 0
        numbers[at] = numbers[at - 1] ?? 0
      }
      ages[at] = age
      numbers[at] = number
    }
  }

  /** Merges what is sorted from `begin` to `middle` and from there to `end`. */
  #merge(from: Aged, to: Aged, begin: number, middle: number, end: number): void {
    const { numbers, ages } = from
    let [left, right] = [begin, middle]
    for (let at = begin; at < end; at++) {
      const [leftNumber, leftAge, rightNumber, rightAge] = [
        numbers[left] ?? 0,
        ages[left] ?? 0,
        numbers[right] ?? 0,
        ages[right] ?? 0,
      ]
      const isRight = left === middle || (right < end && this.#isBefore(rightNumber, rightAge, leftNumber, leftAge))
      to.numbers[at] = isRight ? rightNumber : leftNumber
      to.ages[at] = isRight ? rightAge : leftAge
      if (isRight) right++
      else left++
    }
  }

  #isBefore(a: number, age: number, b: number, otherAge: number): boolean {
    return age < otherAge || (age === otherAge && this.#compareIds(a, b) < 0)
  }

  #compareIds(a: number, b: number): number {
    const [left = "", right = ""] = [this.#matching[a]?.id, this.#matching[b]?.id]
    return left.length - right.length || (left < right ? -1 : 1)
  }

  #agesOf(numbers: readonly number[]): Float64Array {
    const ages = new Float64Array(numbers.length)
    for (let at = 0; at < ages.length; at += 1) ages[at] = this.#ageOf(numbers[at])
    return ages
  }

  #ageOf(number = 0): number {
    return this.#ages[number * ageSlots] ?? 0
  }

  #bytesOf(number = 0): number {
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

function jsonBytes(matching: MatchingRule): number {
  return Buffer.byteLength(JSON.stringify(matching)) + 1
}
