/**
 * Files roots under the terms of their covers, and moves them when others turn out to be rarer.
 *
 * A root under one term keeps the term and where it stands in the term's list; one under several keeps a block:
 *
 *     [ number of terms, term, address, term, address, … ]
 *
 * What is rare is learned from the posts that pass. When a term has been seen often, and again whenever that is
 * four times as often, all that is filed under it is looked at again, a few roots a post: more where posts are compared
 * with many rules, so that the search for better places costs in proportion to what it may save.
 */

import { costOf, Cover } from "./cover.ts"
import { rootField } from "./expressions.ts"
import type { IntArena } from "./int-arena.ts"
import { PostingLists, walkEnd } from "./posting-lists.ts"
import type { Walk } from "./posting-lists.ts"
import { always } from "./term-table.ts"
import type { TermTable } from "./term-table.ts"

/** Roots looked at again for a post, least and most, and the candidates of the post that pay for one. */
const reviewsMin = 1
const reviewsMax = 32
const candidatesPerReview = 128

/** Terms that wait for a review. What comes when the queue is full is reviewed when it has been seen four times as often. */
const queueMax = 100_000

/*
 * Entries of the lists. Addresses are even, so that two bits are left. An entry is a root that has to be asked; a root
 * that holds whenever its term and guard are there; or, most often of these, just its only rule.
 */

function entryOfRoot(root: number, isExact: boolean): number {
  return (root << 1) | (isExact ? 1 : 0)
}

function entryOfRule(rule: number): number {
  return (rule << 2) | 3
}

/** Whether the entry is a rule, which holds. */
export function isRule(entry: number): boolean {
  return (entry & 3) === 3
}

export function ruleOf(entry: number): number {
  return entry >>> 2
}

/** Of an entry that is no rule. */
export function rootOf(entry: number): number {
  return (entry >>> 2) << 1
}

/** Whether the root of the entry holds without being asked. */
export function isExactRoot(entry: number): boolean {
  return (entry & 1) !== 0
}

/** Which roots are filed where. */
export class RuleFiling {
  readonly lists: PostingLists
  readonly #arena: IntArena
  readonly #terms: TermTable
  readonly #cover: Cover
  readonly #rootOfRule: (rule: number) => number
  #queue: number[] = []
  #queueAt = 0
  #walk: Walk | undefined

  /** `rootOfRule`: of a rule that is the only one of its root. */
  constructor(arena: IntArena, terms: TermTable, rootOfRule: (rule: number) => number) {
    this.#arena = arena
    this.#terms = terms
    this.#cover = new Cover(arena, terms)
    this.#rootOfRule = rootOfRule
    this.lists = new PostingLists(arena, terms, (entry, term, address) =>
      this.#moved(this.#rootOfEntry(entry), term, address),
    )
  }

  file(root: number): void {
    this.#cover.find(root)
    this.#fileByCover(root)
  }

  unfile(root: number): void {
    const filing = this.#arena.read(root, rootField.filing)
    if (filing >= 0) {
      this.lists.remove(filing, this.#arena.read(root, rootField.place))
      return
    }
    const block = ~filing
    const count = this.#arena.read(block, 0)
    // Removing one may move another of this root's, but not within the block.
    for (let index = 0; index < count; index++)
      this.lists.remove(this.#arena.read(block, 1 + index * 2), this.#arena.read(block, 2 + index * 2))
    this.#arena.free(block, 1 + count * 2)
  }

  /** The root has a second rule from now on. */
  share(root: number): void {
    const term = this.#arena.read(root, rootField.filing)
    if (term < 0) return
    const address = this.#arena.read(root, rootField.place)
    if (isRule(this.lists.entryAt(term, address))) this.lists.setEntry(term, address, entryOfRoot(root, true))
  }

  /** Takes note of terms that have been seen often. */
  queueReviews(terms: readonly number[]): void {
    for (const term of terms)
      if (this.lists.countOf(term) > 0 && this.#queue.length - this.#queueAt < queueMax)
        this.#queue.push(term)
  }

  /** Looks at some roots again, after a post that was compared with so many. */
  review(candidates: number): void {
    if (this.#walk === undefined && this.#queueAt === this.#queue.length) return
    let left = Math.min(reviewsMin + Math.floor(candidates / candidatesPerReview), reviewsMax)
    for (; left > 0; left--) {
      this.#walk ??= this.#nextWalk()
      if (this.#walk === undefined) return
      const address = this.lists.step(this.#walk)
      if (address === walkEnd) this.#walk = undefined
      else this.#reviewAt(address, this.#walk.term)
    }
  }

  #nextWalk(): Walk | undefined {
    const term = this.#queue[this.#queueAt]
    if (term === undefined) {
      this.#queue = []
      this.#queueAt = 0
      return undefined
    }
    this.#queueAt++
    if (this.#queueAt === queueMax) {
      this.#queue.splice(0, queueMax)
      this.#queueAt = 0
    }
    return this.lists.startWalk(term)
  }

  #reviewAt(address: number, term: number): void {
    const entry = this.lists.entryAt(term, address)
    const root = this.#rootOfEntry(entry)
    this.#cover.find(root)
    // Half: moving for less would have rules go back and forth between two equals.
    if (this.#cover.cost > this.#costOf(root) / 2) return
    this.unfile(root)
    this.#fileByCover(root)
  }

  /** What the root's present places cost. */
  #costOf(root: number): number {
    const filing = this.#arena.read(root, rootField.filing)
    if (filing >= 0) return this.#costAt(filing, this.#arena.read(root, rootField.place))
    let cost = 0
    for (let index = 0; index < this.#arena.read(~filing, 0); index++)
      cost += this.#costAt(this.#arena.read(~filing, 1 + index * 2), this.#arena.read(~filing, 2 + index * 2))
    return cost
  }

  #costAt(term: number, address: number): number {
    const guard = this.lists.guardAt(term, address)
    return costOf(this.#terms.frequencyOf(term), guard === always ? 1 : this.#terms.frequencyOf(guard))
  }

  #fileByCover(root: number): void {
    const { terms, guards, count, isExact } = this.#cover
    if (count === 1) {
      const rule = this.#arena.read(root, rootField.rule)
      const isRuleEnough = isExact && (rule & 1) === 0
      const entry = isRuleEnough ? entryOfRule(rule >> 1) : entryOfRoot(root, isExact)
      const term = terms[0] ?? always
      this.#arena.write(root, rootField.filing, term)
      this.#arena.write(root, rootField.place, this.lists.add(term, entry, guards[0] ?? always))
      return
    }
    const block = this.#arena.allocate(1 + count * 2)
    this.#arena.write(root, rootField.filing, ~block)
    this.#arena.write(root, rootField.place, 0)
    this.#arena.write(block, 0, count)
    for (let index = 0; index < count; index++) this.#arena.write(block, 1 + index * 2, terms[index] ?? 0)
    const entry = entryOfRoot(root, isExact)
    for (let index = 0; index < count; index++)
      this.#arena.write(
        block,
        2 + index * 2,
        this.lists.add(terms[index] ?? 0, entry, guards[index] ?? always),
      )
  }

  #rootOfEntry(entry: number): number {
    return isRule(entry) ? this.#rootOfRule(ruleOf(entry)) : rootOf(entry)
  }

  #moved(root: number, term: number, address: number): void {
    const filing = this.#arena.read(root, rootField.filing)
    if (filing >= 0) {
      this.#arena.write(root, rootField.place, address)
      return
    }
    const block = ~filing
    let low = 0
    let high = this.#arena.read(block, 0) - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#arena.read(block, 1 + middle * 2) < term) low = middle + 1
      else high = middle
    }
    this.#arena.write(block, 2 + low * 2, address)
  }
}
