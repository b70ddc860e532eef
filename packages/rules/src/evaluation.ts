/**
 * Whether expressions hold of the post at hand. Each is asked at most once for a post: it keeps the answer, under
 * the stamp of the post.
 */

import { holds } from "./evaluate.ts"
import { countShift, kindMask, kinds, nodeField, rootField } from "./expressions.ts"
import type { Expressions } from "./expressions.ts"
import type { IntArena } from "./int-arena.ts"
import { noPage, pageBits, pageMask } from "./paged-ints.ts"
import type { PostFacts } from "./post-facts.ts"
import type { PostTerms } from "./post-terms.ts"

/** What is asked about one post after the other. */
export class Evaluation {
  readonly #arena: IntArena
  readonly #expressions: Expressions
  readonly #terms: PostTerms
  #post: PostFacts | undefined
  /** Even; never 0, which is what a new expression has. */
  #stamp: number
  #bits: Int32Array
  #evaluations = 0

  constructor(arena: IntArena, expressions: Expressions, terms: PostTerms, stamp: number) {
    this.#arena = arena
    this.#expressions = expressions
    this.#terms = terms
    this.#stamp = stamp
    this.#bits = terms.bits
  }

  /** Operators and phrases asked so far. */
  get evaluations(): number {
    return this.#evaluations
  }

  /** The stamp of the post at hand. */
  get stamp(): number {
    return this.#stamp
  }

  /** Turns to the post, whose terms were read. */
  begin(post: PostFacts): void {
    this.#post = post
    this.#bits = this.#terms.bits
    this.#stamp = (this.#stamp + 2) | 0
    if (this.#stamp !== 0) return
    // After two thousand million posts all stamps come again.
    this.#expressions.forgetMemos()
    this.#stamp = 2
  }

  /** Whether the root, which begins there on the page, holds. */
  rootHolds(page: Int32Array, at: number): boolean {
    return this.#groupHolds(page, at + rootField.parts, page[at + rootField.header] ?? 0)
  }

  #groupHolds(page: Int32Array, begin: number, header: number): boolean {
    const bits = this.#bits
    const isAny = (header & kindMask) === kinds.any
    const end = begin + (header >>> countShift)
    for (let index = begin; index < end; index++) {
      const part = page[index] ?? 0
      let answer: boolean
      if (part >= 0) answer = (((bits[part >>> 6] ?? 0) >>> (part >>> 1)) & 1) !== (part & 1)
      else answer = this.#nodeHolds(~part >>> 1) === ((part & 1) !== 0)
      if (answer === isAny) return isAny
    }
    return !isAny
  }

  #nodeHolds(address: number): boolean {
    const page = this.#arena.pages[address >>> pageBits] ?? noPage
    const at = address & pageMask
    const memo = page[at + nodeField.memo] ?? 0
    if ((memo & ~1) === this.#stamp) return (memo & 1) !== 0
    const answer = this.#ask(page, at)
    page[at + nodeField.memo] = this.#stamp | (answer ? 1 : 0)
    return answer
  }

  #ask(page: Int32Array, at: number): boolean {
    const header = page[at + nodeField.header] ?? 0
    const begin = at + nodeField.parts
    const count = header >>> countShift
    switch (header & kindMask) {
      case kinds.phrase:
        if (!this.#areThere(page, begin, count)) return false
        this.#evaluations++
        return this.#terms.hasPhrase(page, begin, count)
      case kinds.operator:
        return this.#areThere(page, begin + 1, count - 1) && this.#operatorHolds(page[begin] ?? 0)
      default:
        return this.#groupHolds(page, begin, header)
    }
  }

  #areThere(page: Int32Array, begin: number, count: number): boolean {
    const bits = this.#bits
    for (let index = begin; index < begin + count; index++) {
      const part = page[index] ?? 0
      if ((((bits[part >>> 6] ?? 0) >>> (part >>> 1)) & 1) === 0) return false
    }
    return true
  }

  #operatorHolds(part: number): boolean {
    const operator = this.#expressions.operatorOf(part)
    if (operator === undefined || this.#post === undefined) return false
    this.#evaluations++
    return holds(operator, this.#post)
  }
}
