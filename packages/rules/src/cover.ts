/**
 * Under which terms a rule is filed.
 *
 *     rule   cat (dog OR "hot fish") -cow
 *     cover  { cat }  or  { dog, hot }  or  { dog, fish }     a matching post must hold one of these
 *
 * Of an AND the cheapest cover among its clauses, of an OR the covers of all its branches together; a negation has
 * none but that of its inside turned around. This reaches the same rules as normal form would, without its blow-up.
 *
 * Cheap means rare. Each term of a cover comes with a guard: the rarest other term that a post must hold if it is by
 * this one that the rule holds. Most rules that are reached in vain are so by one look at the guard.
 */

import { countShift, kindMask, kinds, negation, nodeField, rootField, termRef } from "./expressions.ts"
import type { IntArena } from "./int-arena.ts"
import { noPage, pageBits, pageMask } from "./paged-ints.ts"
import { always, placeNumber } from "./term-table.ts"
import type { TermTable } from "./term-table.ts"

/** Finds covers. What it found stands in its fields until it is asked again. */
export class Cover {
  readonly #arena: IntArena
  readonly #terms: TermTable
  /** In rising order, each once. `always` alone for a rule that requires no selective term; none for one that cannot hold. */
  readonly terms: number[] = []
  /** By the index of the term; `always` when there is none. */
  readonly guards: number[] = []
  /** Shares of posts that hold the guards. */
  readonly #guardCosts: number[] = []
  /** Share of posts that hold one of the terms, or more. */
  cost = 0
  /** Whether the rule holds of every post that holds a term of the cover and its guard. */
  isExact = false
  /** The two rarest terms that the group looked at requires, and the shares of posts that hold them. */
  #first = always
  #firstCost = 1
  #second = always
  #secondCost = 1

  constructor(arena: IntArena, terms: TermTable) {
    this.#arena = arena
    this.#terms = terms
  }

  /** Finds the cheapest cover of the root. */
  find(root: number): void {
    this.#cut(0)
    const page = this.#arena.pages[root >>> pageBits] ?? noPage
    const header = page[(root & pageMask) + rootField.header] ?? 0
    const begin = (root & pageMask) + rootField.parts
    const count = header >>> countShift
    const isAll = (header & kindMask) === kinds.all
    this.cost = isAll ? this.#coverAll(page, begin, count, false) : this.#coverAny(page, begin, count, false)
    if (this.cost === Infinity) this.#push(always, isAll ? this.#first : always, 0)
    this.isExact = isAll ? this.#isAllThere(page, begin, count) : this.#isAllTerms(page, begin, count)
    if (this.terms.length > 1) this.#sort()
  }

  /** Pushes the cheapest cover of the group's parts, all of which must hold, and returns its cost: Infinity if it has none. */
  #coverAll(page: Int32Array, begin: number, count: number, isNegated: boolean): number {
    const from = this.terms.length
    const end = begin + count
    this.#first = this.#second = always
    this.#firstCost = this.#secondCost = Infinity
    let best = Infinity
    let groups = 0
    for (let index = begin; index < end; index++) {
      const part = partAt(page, index, isNegated)
      if (part >= 0) {
        if ((part & 1) === 0) best = this.#require(part >>> 1, from, best)
      } else if (this.#isGroup(part)) groups++
      else if (isPositive(part)) best = this.#requireWords(~part >>> 1, from, best)
    }
    const [first, firstCost, second, secondCost] = [
      this.#first,
      this.#firstCost,
      this.#second,
      this.#secondCost,
    ]
    for (let index = begin; groups > 0; index++) {
      const part = partAt(page, index, isNegated)
      if (part >= 0 || !this.#isGroup(part)) continue
      groups--
      const next = this.terms.length
      const cost = this.#coverGroup(part)
      if (cost < best) {
        this.#keepFrom(from, next)
        best = cost
      } else this.#cut(next)
    }
    for (let index = from; index < this.terms.length; index++)
      if (this.terms[index] === first) this.#guard(index, second, secondCost)
      else this.#guard(index, first, firstCost)
    this.#first = first
    return best
  }

  /** Pushes the covers of all of the group's parts, any of which may hold. */
  #coverAny(page: Int32Array, begin: number, count: number, isNegated: boolean): number {
    const from = this.terms.length
    let sum = 0
    for (let index = begin; index < begin + count; index++) {
      const part = partAt(page, index, isNegated)
      if (part < 0 && this.#isGroup(part)) sum += this.#coverGroup(part)
      else sum += this.#coverOne(part)
      if (sum === Infinity) {
        this.#cut(from)
        return Infinity
      }
    }
    return sum
  }

  #coverGroup(part: number): number {
    const address = ~part >>> 1
    const page = this.#arena.pages[address >>> pageBits] ?? noPage
    const at = address & pageMask
    const header = page[at + nodeField.header] ?? 0
    const isAll = (header & kindMask) === kinds.all
    return isAll === isPositive(part)
      ? this.#coverAll(page, at + nodeField.parts, header >>> countShift, !isPositive(part))
      : this.#coverAny(page, at + nodeField.parts, header >>> countShift, !isPositive(part))
  }

  /** Pushes the cover of a term, a phrase or an operator. */
  #coverOne(part: number): number {
    const from = this.terms.length
    this.#first = this.#second = always
    this.#firstCost = this.#secondCost = Infinity
    let cost = Infinity
    if (part >= 0) {
      if ((part & 1) === 0) cost = this.#require(part >>> 1, from, Infinity)
    } else if (isPositive(part)) cost = this.#requireWords(~part >>> 1, from, Infinity)
    if (cost < Infinity) this.#guard(from, this.#second, this.#secondCost)
    return cost
  }

  /** Takes note that the group requires the term, which may be the best to file it under so far. Returns the best cost. */
  #require(term: number, at: number, best: number): number {
    const cost = this.#terms.frequencyOf(term)
    if (term !== this.#first && term !== this.#second) {
      if (cost < this.#firstCost) {
        this.#second = this.#first
        this.#secondCost = this.#firstCost
        this.#first = term
        this.#firstCost = cost
      } else if (cost < this.#secondCost) {
        this.#second = term
        this.#secondCost = cost
      }
    }
    if (cost >= best || !this.#isSelective(term)) return best
    this.#cut(at)
    this.#push(term, always, Infinity)
    return cost
  }

  /** Of a phrase, or of an operator that requires words. */
  #requireWords(address: number, at: number, best: number): number {
    const page = this.#arena.pages[address >>> pageBits] ?? noPage
    const header = page[(address & pageMask) + nodeField.header] ?? 0
    const begin = (address & pageMask) + nodeField.parts
    const end = begin + (header >>> countShift)
    let least = best
    for (let index = (header & kindMask) === kinds.operator ? begin + 1 : begin; index < end; index++)
      least = this.#require((page[index] ?? 0) >>> 1, at, least)
    return least
  }

  #isGroup(part: number): boolean {
    const address = ~part >>> 1
    const page = this.#arena.pages[address >>> pageBits] ?? noPage
    const kind = (page[(address & pageMask) + nodeField.header] ?? 0) & kindMask
    return kind === kinds.any || kind === kinds.all
  }

  #guard(index: number, term: number, cost: number): void {
    if (cost >= (this.#guardCosts[index] ?? 0)) return
    this.guards[index] = term
    this.#guardCosts[index] = cost
  }

  /** X's conjunction-required operators hold of too many posts to file a rule under. */
  #isSelective(term: number): boolean {
    const place = this.#terms.placeOf(term)
    return place !== langPlace && place !== isPlace && place !== hasPlace
  }

  /** Whether the parts are nothing but the one term of the cover and its guard. */
  #isAllThere(page: Int32Array, begin: number, count: number): boolean {
    if (this.terms.length !== 1) return false
    const [term, guard] = [termRef(this.terms[0] ?? 0), termRef(this.guards[0] ?? 0)]
    for (let index = begin; index < begin + count; index++)
      if (page[index] !== term && page[index] !== guard) return false
    return true
  }

  /** Whether the parts are nothing but terms that the group is filed under. */
  #isAllTerms(page: Int32Array, begin: number, count: number): boolean {
    if (this.cost === Infinity) return false
    for (let index = begin; index < begin + count; index++) {
      const part = page[index] ?? 0
      if (part < 0 || (part & 1) !== 0) return false
    }
    return true
  }

  #push(term: number, guard: number, guardCost: number): void {
    this.terms.push(term)
    this.guards.push(guard)
    this.#guardCosts.push(guardCost)
  }

  #cut(length: number): void {
    if (this.terms.length === length) return
    this.terms.length = length
    this.guards.length = length
    this.#guardCosts.length = length
  }

  /** Moves what begins at `next` to `from`, over what is there. */
  #keepFrom(from: number, next: number): void {
    if (from === next) return
    this.terms.copyWithin(from, next)
    this.guards.copyWithin(from, next)
    this.#guardCosts.copyWithin(from, next)
    this.#cut(from + this.terms.length - next)
  }

  /** A term that comes from two branches with different guards has none. */
  #sort(): void {
    const pairs = this.terms
      .map((term, index) => ({ term, guard: this.guards[index] ?? always }))
      .toSorted((left, right) => left.term - right.term)
    this.#cut(0)
    for (const { term, guard } of pairs) {
      const last = this.terms.length - 1
      if (this.terms[last] !== term) this.#push(term, guard, 0)
      else if (this.guards[last] !== guard) this.guards[last] = always
    }
  }
}

function partAt(page: Int32Array, index: number, isNegated: boolean): number {
  const part = page[index] ?? 0
  return isNegated ? negation(part) : part
}

/** Whether the part, which is no term, is not negated. */
function isPositive(part: number): boolean {
  return (part & 1) !== 0
}

const langPlace = placeNumber("lang")
const isPlace = placeNumber("is")
const hasPlace = placeNumber("has")
