/**
 * Evaluates expressions for the current post. Each is evaluated at most once for a post: it stores the result under the
 * stamp of the post.
 *
 * The cost is counted in steps (`rule-cost.ts`). The caller may limit them. An evaluation that would exceed the limit
 * is aborted and has no result.
 */

import { holds } from "../meaning/evaluate.ts"
import { countShift, kindMask, kinds, nodeSlot, pairsOf, rootSlot } from "./expression-layout.ts"
import type { Expressions } from "./expressions.ts"
import type { IntArena } from "./int-arena.ts"
import type { EvaluatedOperator, OperatorRegistry } from "./operator-registry.ts"
import type { Facts } from "../post/post-facts.ts"
import type { PostTerms } from "./post-terms.ts"
import { charactersPerStep, operatorSteps, rootSteps } from "../meaning/rule-cost.ts"
import type { NearPlan } from "./word-positions.ts"

/** Steps to read a token for a long phrase, in addition to its bits. Measured. */
const readingTokenSteps = 8

/** Evaluates expressions for one post after the other. */
export class Evaluation {
  readonly #arena: IntArena
  readonly #expressions: Expressions
  readonly #operators: OperatorRegistry
  readonly #terms: PostTerms
  #post: Facts | undefined
  /** Even, and never 0, which a new expression has. */
  #stamp: number
  #bits: Int32Array
  #evaluations = 0
  /** Without those of the positions. */
  #steps = 0
  #stepsMax = Infinity
  #isAborted = false
  /** Characters of the post's links; -1 until they are counted. */
  #linkCharacters = -1
  /** True if the post has a location; undefined until it is looked up. */
  #hasLocation: boolean | undefined

  constructor(arena: IntArena, expressions: Expressions, terms: PostTerms, stamp: number) {
    this.#arena = arena
    this.#expressions = expressions
    this.#operators = expressions.operators
    this.#terms = terms
    this.#stamp = stamp
    this.#bits = terms.bits
  }

  /** Number of operators and phrases evaluated so far. */
  get evaluations(): number {
    return this.#evaluations
  }

  /** Number of steps so far, over all posts. */
  get steps(): number {
    return this.#steps + this.#terms.positions.steps
  }

  /** True if the last evaluation of a root was aborted. */
  get isAborted(): boolean {
    return this.#isAborted
  }

  /** The stamp of the current post. */
  get stamp(): number {
    return this.#stamp
  }

  /** Sets the current post, whose terms must have been read. */
  begin(post: Facts): void {
    this.#post = post
    this.#linkCharacters = -1
    this.#hasLocation = undefined
    this.#bits = this.#terms.bits
    this.#stamp = (this.#stamp + 2) | 0
    if (this.#stamp !== 0) return
    // After two thousand million posts the stamps repeat.
    this.#expressions.clearMemos()
    this.#stamp = 2
  }

  /** True if the root holds. Aborted after `stepsMax` steps: then it returns false and sets `isAborted`. */
  rootHolds(root: number, stepsMax = Infinity): boolean {
    this.#stepsMax = stepsMax === Infinity ? Infinity : this.steps + stepsMax
    this.#isAborted = false
    this.#steps += rootSteps
    return this.#groupHolds(root + rootSlot.parts, this.#arena.read(root, rootSlot.header))
  }

  #groupHolds(begin: number, header: number): boolean {
    const { ints } = this.#arena
    const bits = this.#bits
    const isAny = (header & kindMask) === kinds.any
    const end = begin + (header >>> countShift)
    for (let index = begin; index < end; index++) {
      const part = ints[index] ?? 0
      let result: boolean
      this.#steps++
      if (part >= 0) result = (((bits[part >>> 6] ?? 0) >>> (part >>> 1)) & 1) !== (part & 1)
      else {
        result = this.#nodeHolds(~part >>> 1) === ((part & 1) !== 0)
        if (this.#isAborted) return false
      }
      if (result === isAny) return isAny
    }
    return !isAny
  }

  #nodeHolds(address: number): boolean {
    const memo = this.#arena.read(address, nodeSlot.memo)
    if ((memo & ~1) === this.#stamp) return (memo & 1) !== 0
    this.#isAborted = this.steps > this.#stepsMax
    const result = !this.#isAborted && this.#evaluate(address)
    // An aborted evaluation has no result.
    if (this.#isAborted) return false
    this.#arena.write(address, nodeSlot.memo, this.#stamp | (result ? 1 : 0))
    return result
  }

  #evaluate(address: number): boolean {
    const header = this.#arena.read(address, nodeSlot.header)
    const begin = address + nodeSlot.parts
    const count = header >>> countShift
    switch (header & kindMask) {
      case kinds.phrase:
        return this.#phraseHolds(begin, count)
      case kinds.operator:
        return this.#operatorHolds(begin, count)
      default:
        return this.#groupHolds(begin, header)
    }
  }

  /** Words are present if their pairs are. */
  #phraseHolds(begin: number, count: number): boolean {
    const pairs = pairsOf(count)
    if (!this.#arePresent(begin, Math.max(pairs, 1))) return false
    this.#evaluations++
    return this.#terms.positions.hasPhrase(this.#arena.ints, begin + pairs, count - pairs)
  }

  #arePresent(begin: number, count: number): boolean {
    const { ints } = this.#arena
    const bits = this.#bits
    for (let index = begin; index < begin + count; index++) {
      const part = ints[index] ?? 0
      this.#steps++
      if ((((bits[part >>> 6] ?? 0) >>> (part >>> 1)) & 1) === 0) return false
    }
    return true
  }

  #operatorHolds(begin: number, count: number): boolean {
    const evaluated = this.#operators.ofPart(this.#arena.read(begin, 0))
    const post = this.#post
    if (evaluated === undefined || post === undefined) return false
    const { operator, plan } = evaluated
    if (plan !== undefined && !this.#arePresent(begin + 1, count - 1)) return false
    this.#evaluations++
    if (plan !== undefined && operator.kind === "near") return this.#terms.positions.hasNear(plan)
    if (plan !== undefined) return this.#longPhraseHolds(evaluated, plan, post)
    this.#steps += operatorSteps(operator)
    if (operator.kind === "contains") {
      this.#steps += this.#linkSteps(post)
      if (!post.mayLinksHold(operator.text)) return false
    }
    // A place that is not included is searched for in the whole list of places each time.
    if (operator.kind === "area" && !(this.#hasLocation ??= post.location() !== undefined)) return false
    return holds(operator, post)
  }

  /** By its rarest word, unless the algorithm of `phrase.ts`, which reads the whole text once, takes fewer steps. */
  #longPhraseHolds({ operator }: EvaluatedOperator, { words }: NearPlan, post: Facts): boolean {
    const { positions } = this.#terms
    const readingSteps = positions.length * (readingTokenSteps + (words.length >>> 5))
    if (positions.phraseStepsMax(words, 0, words.length) <= readingSteps)
      return positions.hasPhrase(words, 0, words.length)
    this.#steps += readingSteps
    return holds(operator, post)
  }

  #linkSteps(post: Facts): number {
    if (this.#linkCharacters < 0) this.#linkCharacters = post.linkCharacters
    return Math.ceil(this.#linkCharacters / charactersPerStep)
  }
}
