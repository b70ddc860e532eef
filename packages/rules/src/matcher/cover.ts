/**
 * The terms under which a rule is filed.
 *
 *     rule   cat (dog OR "hot fish") -cow
 *     cover  { cat }  or  { dog, hot }  or  { dog, fish }     a matching post contains a term of each of these
 *
 * The cover of an AND is the cheapest cover of its clauses; that of an OR is the union of the covers of its branches. A
 * negation is covered by its content, inverted by De Morgan's laws. This gives the covers that a normal form would give,
 * without its exponential size.
 *
 * Each term of a cover has a guard: the rarest other term that a post must contain if the rule holds through this term.
 * Most candidates that do not match are rejected by the guard alone. So a cover is cheap if its terms and their guards
 * are rare.
 */

import { countShift, kindMask, kinds, negation, nodeSlot, rootSlot, termRef } from "./expression-layout.ts"
import type { IntArena } from "./int-arena.ts"
import { longer, noPage, pageBits, pageMask } from "./paged-ints.ts"
import { always, fieldNumber } from "./term-layout.ts"
import type { TermTable } from "./term-table.ts"

/** Cost of evaluating a rule, if testing a guard costs 1. */
const evaluationCost = 20

/** Cost of a rule under a term, from the shares of posts that contain the term and the guard. */
export function costOf(termShare: number, guardShare: number): number {
  return termShare * (1 + evaluationCost * guardShare)
}

/** Finds covers. The result is in its members until the next call of `find`. */
export class Cover {
  readonly #arena: IntArena
  readonly #terms: TermTable
  /** Number of terms of the cover. */
  count = 0
  /** The first `count` are in use, in increasing order without duplicates. Only `always` if the rule requires no selective term; none if it cannot hold. */
  terms = new Int32Array(16)
  /** The guard of each term; `always` if it has none. */
  guards = new Int32Array(16)
  /** Shares of posts that contain the terms, and the guards. */
  #termShares = new Float64Array(16)
  #guardShares = new Float64Array(16)
  /** Sum of `costOf` over the terms; Infinity for the cover `always`. */
  cost = 0
  /** Whether the rule holds of every post that contains a term of the cover and its guard. */
  isExact = false
  /** The rarest, second rarest and rarest selective terms that the current group requires, with their shares. */
  #first = always
  #firstShare = 1
  #second = always
  #secondShare = 1
  #selective = always
  #selectiveShare = Infinity

  constructor(arena: IntArena, terms: TermTable) {
    this.#arena = arena
    this.#terms = terms
  }

  /** Finds the cheapest cover of the root. */
  find(root: number): void {
    this.count = 0
    const page = this.#arena.pages[root >>> pageBits] ?? noPage
    const header = page[(root & pageMask) + rootSlot.header] ?? 0
    const begin = (root & pageMask) + rootSlot.parts
    const count = header >>> countShift
    const isAll = (header & kindMask) === kinds.all
    this.cost = isAll ? this.#coverAll(page, begin, count, false) : this.#coverAny(page, begin, count, false)
    if (this.cost === Infinity) this.#push(always, 1, isAll ? this.#first : always, 1)
    this.isExact = isAll ? this.#isTermAndGuard(page, begin, count) : this.#isAllTerms(page, begin, count)
    if (this.count > 1) this.#sort()
  }

  /** Pushes the cheapest cover of the AND of the parts. Returns its cost: Infinity if there is none. */
  #coverAll(page: Int32Array, begin: number, count: number, isNegated: boolean): number {
    const groups = this.#require(page, begin, count, isNegated)
    const from = this.count
    const first = this.#first
    const firstShare = this.#firstShare
    const second = this.#second
    const secondShare = this.#secondShare
    let best = Infinity
    if (this.#selective !== always) {
      this.#push(this.#selective, this.#selectiveShare, always, 1)
      best = this.#guardedCost(from, first, firstShare, second, secondShare)
    }
    for (let index = begin, left = groups; left > 0; index++) {
      const part = partAt(page, index, isNegated)
      if (part >= 0 || !this.#isGroup(part)) continue
      left--
      const next = this.count
      if (this.#coverGroup(part) === Infinity) continue
      const cost = this.#guardedCost(next, first, firstShare, second, secondShare)
      if (cost < best) {
        this.#keepFrom(from, next)
        best = cost
      } else this.count = next
    }
    this.#first = first
    return best
  }

  /** Pushes the cover of the OR of the parts. Returns its cost: Infinity if there is none. */
  #coverAny(page: Int32Array, begin: number, count: number, isNegated: boolean): number {
    const from = this.count
    let sum = 0
    for (let index = begin; index < begin + count; index++) {
      sum += this.#coverAll(page, index, 1, isNegated)
      if (sum < Infinity) continue
      this.count = from
      return Infinity
    }
    return sum
  }

  #coverGroup(part: number): number {
    const address = ~part >>> 1
    const page = this.#arena.pages[address >>> pageBits] ?? noPage
    const begin = (address & pageMask) + nodeSlot.parts
    const header = page[(address & pageMask) + nodeSlot.header] ?? 0
    const isAll = (header & kindMask) === kinds.all
    return isAll === isPositive(part)
      ? this.#coverAll(page, begin, header >>> countShift, !isPositive(part))
      : this.#coverAny(page, begin, header >>> countShift, !isPositive(part))
  }

  /** Finds the rarest terms among those that the AND of the parts requires directly. Returns the number of groups among the parts. */
  #require(page: Int32Array, begin: number, count: number, isNegated: boolean): number {
    this.#first = this.#second = this.#selective = always
    this.#firstShare = this.#secondShare = 1
    this.#selectiveShare = Infinity
    let groups = 0
    for (let index = begin; index < begin + count; index++) {
      const part = partAt(page, index, isNegated)
      if (part >= 0) {
        if ((part & 1) === 0) this.#requireTerm(part >>> 1)
      } else if (this.#isGroup(part)) groups++
      else if (isPositive(part)) this.#requireWords(~part >>> 1)
    }
    return groups
  }

  #requireTerm(term: number): void {
    if (term === this.#first || term === this.#second) return
    const share = this.#terms.frequencyOf(term)
    if (share < this.#selectiveShare && this.#isSelective(term)) {
      this.#selective = term
      this.#selectiveShare = share
    }
    if (this.#first === always || share < this.#firstShare) {
      this.#second = this.#first
      this.#secondShare = this.#firstShare
      this.#first = term
      this.#firstShare = share
    } else if (this.#second === always || share < this.#secondShare) {
      this.#second = term
      this.#secondShare = share
    }
  }

  /** Requires the words of a phrase or of an operator. */
  #requireWords(address: number): void {
    const page = this.#arena.pages[address >>> pageBits] ?? noPage
    const header = page[(address & pageMask) + nodeSlot.header] ?? 0
    const begin = (address & pageMask) + nodeSlot.parts
    const end = begin + (header >>> countShift)
    for (let index = (header & kindMask) === kinds.operator ? begin + 1 : begin; index < end; index++)
      this.#requireTerm((page[index] ?? 0) >>> 1)
  }

  #isGroup(part: number): boolean {
    const address = ~part >>> 1
    const page = this.#arena.pages[address >>> pageBits] ?? noPage
    const kind = (page[(address & pageMask) + nodeSlot.header] ?? 0) & kindMask
    return kind === kinds.any || kind === kinds.all
  }

  /** Gives the terms from `from` on a rarer guard if there is one: the first term, or the second for the first itself. Returns their cost. */
  #guardedCost(from: number, first: number, firstShare: number, second: number, secondShare: number): number {
    let sum = 0
    for (let index = from; index < this.count; index++) {
      const guard = this.terms[index] === first ? second : first
      const share = this.terms[index] === first ? secondShare : firstShare
      if (guard !== always && (this.guards[index] === always || share < (this.#guardShares[index] ?? 1))) {
        this.guards[index] = guard
        this.#guardShares[index] = share
      }
      sum += costOf(this.#termShares[index] ?? 1, this.#guardShares[index] ?? 1)
    }
    return sum
  }

  /** X's conjunction-required operators hold of too many posts to file a rule under them. */
  #isSelective(term: number): boolean {
    const field = this.#terms.fieldOf(term)
    return field !== langField && field !== isField && field !== hasField
  }

  /** Whether every part is the only term of the cover or its guard. */
  #isTermAndGuard(page: Int32Array, begin: number, count: number): boolean {
    if (this.count !== 1) return false
    const [term, guard] = [termRef(this.terms[0] ?? 0), termRef(this.guards[0] ?? 0)]
    for (let index = begin; index < begin + count; index++)
      if (page[index] !== term && page[index] !== guard) return false
    return true
  }

  /** Whether every part is a term of the cover. */
  #isAllTerms(page: Int32Array, begin: number, count: number): boolean {
    if (this.cost === Infinity) return false
    for (let index = begin; index < begin + count; index++) {
      const part = page[index] ?? 0
      if (part < 0 || (part & 1) !== 0) return false
    }
    return true
  }

  #push(term: number, termShare: number, guard: number, guardShare: number): void {
    const at = this.count++
    if (at === this.terms.length) this.#makeRoom()
    this.terms[at] = term
    this.guards[at] = guard
    this.#termShares[at] = termShare
    this.#guardShares[at] = guardShare
  }

  #makeRoom(): void {
    const [termShares, guardShares] = [this.#termShares, this.#guardShares]
    this.terms = longer(this.terms)
    this.guards = longer(this.guards)
    this.#termShares = new Float64Array(termShares.length * 2)
    this.#guardShares = new Float64Array(guardShares.length * 2)
    this.#termShares.set(termShares)
    this.#guardShares.set(guardShares)
  }

  /** Moves the terms from `next` on to `from`, overwriting those there. */
  #keepFrom(from: number, next: number): void {
    let to = from
    for (let index = next; index < this.count; index++) {
      this.terms[to] = this.terms[index] ?? 0
      this.guards[to] = this.guards[index] ?? 0
      this.#termShares[to] = this.#termShares[index] ?? 0
      this.#guardShares[to++] = this.#guardShares[index] ?? 0
    }
    this.count = to
  }

  /** Sorts the terms and merges duplicates. A term with different guards from two branches gets none. */
  #sort(): void {
    const { terms, guards, count } = this
    if (count > insertionSortMax) this.#sortMany()
    else
      for (let end = 1; end < count; end++) {
        const term = terms[end] ?? 0
        const guard = guards[end] ?? 0
        let at = end
        for (; at > 0 && (terms[at - 1] ?? 0) > term; at--) {
          terms[at] = terms[at - 1] ?? 0
          guards[at] = guards[at - 1] ?? 0
        }
        terms[at] = term
        guards[at] = guard
      }
    let kept = 1
    for (let index = 1; index < count; index++) {
      if (terms[index] === terms[kept - 1]) {
        if (guards[index] !== guards[kept - 1]) guards[kept - 1] = always
        continue
      }
      terms[kept] = terms[index] ?? 0
      guards[kept++] = guards[index] ?? 0
    }
    this.count = kept
  }

  #sortMany(): void {
    const pairs = Array.from(this.terms.subarray(0, this.count), (term, index) => ({
      term,
      guard: this.guards[index] ?? always,
    }))
    for (const [index, { term, guard }] of pairs.toSorted((left, right) => left.term - right.term).entries()) {
      this.terms[index] = term
      this.guards[index] = guard
    }
  }
}

/** Maximum number of terms for insertion sort. */
const insertionSortMax = 16

function partAt(page: Int32Array, index: number, isNegated: boolean): number {
  const part = page[index] ?? 0
  return isNegated ? negation(part) : part
}

/** Whether the part, which must not be a term, is not negated. */
function isPositive(part: number): boolean {
  return (part & 1) !== 0
}

const langField = fieldNumber("lang")
const isField = fieldNumber("is")
const hasField = fieldNumber("has")
