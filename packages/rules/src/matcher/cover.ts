/**
 * The terms under which a rule is filed.
 *
 *     rule   cat (dog OR "hot fish") -cow has:media
 *     cover  { cat }  or  { dog, hot fish }     a matching post contains a term of each of these
 *
 * The cover of an AND is the cheapest cover of its clauses; that of an OR is the union of the covers of its branches. A
 * negation is covered by its content, inverted by De Morgan's laws. This gives the covers that a normal form would
 * give, without its exponential size.
 *
 * Each term of a cover has a guard, the rarest other term that a post must contain if the rule holds through this term,
 * and a mask, the flags that it must then have or not have. Most candidates that do not match are rejected by these
 * two. So a cover is cheap if its terms and their guards are rare. If term, guard and mask are all that the rule
 * requires, they are exact: the rule then holds of every post that satisfies them, and is not evaluated.
 */

import { countShift, kindMask, kinds, negation, nodeSlot, pairsOf, rootSlot } from "./expression-layout.ts"
import { maskOf } from "./flag-masks.ts"
import type { IntArena } from "./int-arena.ts"
import { longer } from "./flat-ints.ts"
import { always, fieldNumber } from "./term-layout.ts"
import type { TermTable } from "./term-table.ts"

/** Cost of evaluating a rule, if testing a guard costs 1. */
const evaluationCost = 20

/** Cost of a rule under a term, from the shares of posts that contain the term and the guard. */
export function costOf(termShare: number, guardShare: number): number {
  return termShare * (1 + evaluationCost * guardShare)
}

/** Layout of a term of a cover. */
export const coverSlot = { term: 0, guard: 1, mask: 2, isExact: 3 } as const

/** Integers of a term of a cover. */
export const coverLength = 4

/** The requirements of an AND itself, without its groups. */
type Required = {
  /** The rarest and the second rarest term; `always` if there is none. */
  first: number
  firstShare: number
  second: number
  secondShare: number
  /** The rarest term that is selective; `always` if there is none. */
  selective: number
  selectiveShare: number
  mask: number
  /** Number of clauses that are terms. */
  terms: number
  groups: number
  /** True if there is a clause that only an evaluation can decide. */
  hasMore: boolean
}

/** Finds covers. The result is in its members until the next call of `find`. */
export class Cover {
  readonly #arena: IntArena
  readonly #terms: TermTable
  /** Number of terms of the cover. */
  count = 0
  /**
   * The first `count` terms are in use, each `coverLength` integers, in increasing order without duplicates. Only
   * `always` if the rule requires no selective term; none if it cannot hold.
   */
  entries = new Int32Array(16 * coverLength)
  /** Shares of posts that contain each term, and its guard. */
  #shares = new Float64Array(16 * 2)
  /** Sum of `costOf` over the terms; Infinity for the cover `always`. */
  cost = 0

  constructor(arena: IntArena, terms: TermTable) {
    this.#arena = arena
    this.#terms = terms
  }

  /** Finds the cheapest cover of the root. */
  find(root: number): void {
    this.count = 0
    const header = this.#arena.read(root, rootSlot.header)
    const begin = root + rootSlot.parts
    const count = header >>> countShift
    const isAll = (header & kindMask) === kinds.all
    this.cost = isAll ? this.#coverAll(begin, count, false) : this.#coverAny(begin, count, false)
    if (this.cost === Infinity) {
      this.#push(always, 1)
      const required = this.#require(begin, count, false)
      if (isAll) this.#narrow(0, required, required.groups)
      else this.entries[coverSlot.isExact] = 0
    }
    if (this.count > 1) this.#sort()
  }

  /** Pushes the cheapest cover of the AND of the parts. Returns its cost: Infinity if there is none. */
  #coverAll(begin: number, count: number, isNegated: boolean): number {
    const required = this.#require(begin, count, isNegated)
    const from = this.count
    let best = Infinity
    if (required.selective !== always) {
      this.#push(required.selective, required.selectiveShare)
      best = this.#narrow(from, required, required.groups)
    }
    for (let index = begin, left = required.groups; left > 0; index++) {
      const part = this.#partAt(index, isNegated)
      if (part >= 0 || !this.#isGroup(part)) continue
      left--
      const next = this.count
      if (this.#coverGroup(part) === Infinity) continue
      const cost = this.#narrow(next, required, required.groups - 1)
      if (cost < best) {
        this.#keepFrom(from, next)
        best = cost
      } else this.count = next
    }
    return best
  }

  /** Pushes the cover of the OR of the parts. Returns its cost: Infinity if there is none. */
  #coverAny(begin: number, count: number, isNegated: boolean): number {
    const from = this.count
    let sum = 0
    for (let index = begin; index < begin + count; index++) {
      sum += this.#coverAll(index, 1, isNegated)
      if (sum < Infinity) continue
      this.count = from
      return Infinity
    }
    return sum
  }

  #coverGroup(part: number): number {
    const address = ~part >>> 1
    const begin = address + nodeSlot.parts
    const header = this.#arena.read(address, nodeSlot.header)
    const isAll = (header & kindMask) === kinds.all
    return isAll === isPositive(part)
      ? this.#coverAll(begin, header >>> countShift, !isPositive(part))
      : this.#coverAny(begin, header >>> countShift, !isPositive(part))
  }

  /** The requirements of the AND of the parts itself. */
  #require(begin: number, count: number, isNegated: boolean): Required {
    const required: Required = {
      first: always,
      firstShare: 1,
      second: always,
      secondShare: 1,
      selective: always,
      selectiveShare: Infinity,
      mask: 0,
      terms: 0,
      groups: 0,
      hasMore: false,
    }
    for (let index = begin; index < begin + count; index++) {
      const part = this.#partAt(index, isNegated)
      if (part >= 0) {
        const mask = maskOf(part >>> 1, (part & 1) !== 0)
        required.mask |= mask
        if (mask !== 0) continue
        if ((part & 1) !== 0) required.hasMore = true
        else {
          required.terms++
          this.#requireTerm(required, part >>> 1)
        }
      } else if (this.#isGroup(part)) required.groups++
      else {
        required.hasMore = true
        if (isPositive(part)) this.#requireWords(required, ~part >>> 1)
      }
    }
    return required
  }

  #requireTerm(required: Required, term: number): void {
    if (term === required.first || term === required.second) return
    const share = this.#terms.frequencyOf(term)
    if (share < required.selectiveShare && this.#isSelective(term)) {
      required.selective = term
      required.selectiveShare = share
    }
    if (required.first === always || share < required.firstShare) {
      required.second = required.first
      required.secondShare = required.firstShare
      required.first = term
      required.firstShare = share
    } else if (required.second === always || share < required.secondShare) {
      required.second = term
      required.secondShare = share
    }
  }

  /** Requires the pairs of words of a phrase, or the terms of an operator. */
  #requireWords(required: Required, address: number): void {
    const header = this.#arena.read(address, nodeSlot.header)
    const count = header >>> countShift
    const isOperator = (header & kindMask) === kinds.operator
    const begin = address + nodeSlot.parts
    const end = begin + (isOperator ? count : Math.max(pairsOf(count), 1))
    for (let index = isOperator ? begin + 1 : begin; index < end; index++) {
      const term = this.#arena.read(index, 0) >>> 1
      const mask = maskOf(term, false)
      required.mask |= mask
      if (mask === 0) this.#requireTerm(required, term)
    }
  }

  #partAt(at: number, isNegated: boolean): number {
    const part = this.#arena.read(at, 0)
    return isNegated ? negation(part) : part
  }

  #isGroup(part: number): boolean {
    const address = ~part >>> 1
    const kind = this.#arena.read(address, nodeSlot.header) & kindMask
    return kind === kinds.any || kind === kinds.all
  }

  /**
   * Adds what an AND requires, which also has so many groups, to the terms from `from` on: its mask, and a rarer guard
   * if it has one: the first term, or the second for the first itself. Returns their cost.
   */
  #narrow(from: number, required: Required, groups: number): number {
    const { entries } = this
    const shares = this.#shares
    const isAll = groups === 0 && !required.hasMore
    let sum = 0
    for (let index = from; index < this.count; index++) {
      const at = index * coverLength
      const term = entries[at + coverSlot.term] ?? always
      const before = entries[at + coverSlot.guard] ?? always
      const guard = term === required.first ? required.second : required.first
      const share = term === required.first ? required.secondShare : required.firstShare
      if (guard !== always && (before === always || share < (shares[index * 2 + 1] ?? 1))) {
        if (before !== always) entries[at + coverSlot.isExact] = 0
        entries[at + coverSlot.guard] = guard
        shares[index * 2 + 1] = share
      }
      entries[at + coverSlot.mask] = (entries[at + coverSlot.mask] ?? 0) | required.mask
      if (!isAll || !areTested(required, term, entries[at + coverSlot.guard] ?? always))
        entries[at + coverSlot.isExact] = 0
      sum += costOf(shares[index * 2] ?? 1, shares[index * 2 + 1] ?? 1)
    }
    return sum
  }

  /** X's conjunction-required operators hold of too many posts to file a rule under them. */
  #isSelective(term: number): boolean {
    const field = this.#terms.fieldOf(term)
    return field !== langField && field !== isField && field !== hasField
  }

  #push(term: number, share: number): void {
    const index = this.count++
    if ((index + 1) * coverLength > this.entries.length) this.#makeRoom()
    const at = index * coverLength
    this.entries[at + coverSlot.term] = term
    this.entries[at + coverSlot.guard] = always
    this.entries[at + coverSlot.mask] = 0
    this.entries[at + coverSlot.isExact] = 1
    this.#shares[index * 2] = share
    this.#shares[index * 2 + 1] = 1
  }

  #makeRoom(): void {
    const shares = this.#shares
    this.entries = longer(this.entries)
    this.#shares = new Float64Array(shares.length * 2)
    this.#shares.set(shares)
  }

  /** Moves the terms from `next` on to `from`, overwriting those there. */
  #keepFrom(from: number, next: number): void {
    this.entries.copyWithin(from * coverLength, next * coverLength, this.count * coverLength)
    this.#shares.copyWithin(from * 2, next * 2, this.count * 2)
    this.count -= next - from
  }

  /** Sorts the terms and merges duplicates. */
  #sort(): void {
    if (this.count > insertionSortMax) this.#sortMany()
    else this.#sortFew()
    let kept = 0
    for (let index = 1; index < this.count; index++)
      if (!this.#merge(kept * coverLength, index * coverLength)) {
        kept++
        this.entries.copyWithin(kept * coverLength, index * coverLength, (index + 1) * coverLength)
      }
    this.count = kept + 1
  }

  /**
   * Merges the term into the one at `to` if they are equal. A flag that only one of them requires is then left to an
   * evaluation.
   */
  #merge(to: number, from: number): boolean {
    const { entries } = this
    if (entries[to + coverSlot.term] !== entries[from + coverSlot.term]) return false
    const [guard, mask] = [entries[to + coverSlot.guard] ?? always, entries[to + coverSlot.mask] ?? 0]
    const [otherGuard, otherMask] = [entries[from + coverSlot.guard] ?? always, entries[from + coverSlot.mask] ?? 0]
    const merged = { guard: guard === otherGuard ? guard : always, mask: mask & otherMask }
    const isExact = entries[to + coverSlot.isExact] === 1 && guard === merged.guard && mask === merged.mask
    const isOtherExact =
      entries[from + coverSlot.isExact] === 1 && otherGuard === merged.guard && otherMask === merged.mask
    entries[to + coverSlot.guard] = merged.guard
    entries[to + coverSlot.mask] = merged.mask
    entries[to + coverSlot.isExact] = isExact || isOtherExact ? 1 : 0
    return true
  }

  #sortFew(): void {
    const { entries } = this
    for (let end = 1; end < this.count; end++) {
      const term = entries[end * coverLength] ?? 0
      let at = end
      while (at > 0 && (entries[(at - 1) * coverLength] ?? 0) > term) at--
      if (at === end) continue
      moved.set(entries.subarray(end * coverLength, (end + 1) * coverLength))
      entries.copyWithin((at + 1) * coverLength, at * coverLength, end * coverLength)
      entries.set(moved, at * coverLength)
    }
  }

  #sortMany(): void {
    const { entries } = this
    const sorted = Array.from({ length: this.count }, (_, index) => {
      const at = index * coverLength
      return entries.slice(at, at + coverLength)
    }).toSorted((left, right) => (left[coverSlot.term] ?? 0) - (right[coverSlot.term] ?? 0))
    for (const [index, entry] of sorted.entries()) entries.set(entry, index * coverLength)
  }
}

/** Maximum number of terms for insertion sort. */
const insertionSortMax = 16

/** The term that insertion sort moves. */
const moved = new Int32Array(coverLength)

/** True if all terms that are required directly are the term or its guard. */
function areTested({ terms, first, second }: Required, term: number, guard: number): boolean {
  if (terms === 0) return true
  const isFirst = first === term || first === guard
  return isFirst && (terms === 1 || (terms === 2 && (second === term || second === guard)))
}

/** True if the part, which must not be a term, is not negated. */
function isPositive(part: number): boolean {
  return (part & 1) !== 0
}

const langField = fieldNumber("lang")
const isField = fieldNumber("is")
const hasField = fieldNumber("has")
