/**
 * Files roots under the terms of their covers, and moves a root when other terms turn out to be rarer.
 *
 * A root under one term stores the term and the address of its posting. A root under several terms stores a block:
 *
 *     [ number of terms, term, address, term, address, … ]
 *
 * The frequencies of terms are counted in the posts. When a term has been seen often, and each time that this number
 * has quadrupled, the roots filed under it are reviewed, as far as they may gain by it, one with every few posts. More
 * are reviewed while posts are compared with many rules, so that the cost of reviews is a twentieth of that of
 * matching, and in proportion to what they may save.
 *
 * If posts are at hand when the rules are added, filing is deferred until their terms have been counted: then it is
 * right at once, and there is little to review.
 */

import { costOf, Cover, coverLength, coverSlot } from "./cover.ts"
import { rootSlot, unfiled } from "./expression-layout.ts"
import type { IntArena } from "./int-arena.ts"
import { PostingLists, walkEnd, type Walk } from "./posting-lists.ts"
import { isList, onlyRuleOf, type RuleNumbers } from "./rule-numbers.ts"
import { always } from "./term-layout.ts"
import type { TermTable } from "./term-table.ts"

/**
 * Reviews that each post pays for, and what each of its candidates adds. Measured: a twentieth of the time of a post.
 */
const reviewsPerPost = 0.25
const reviewsPerCandidate = 1 / 512

/** Maximum reviews with a post. */
const reviewsMax = 32

/** Cost of finding that a posting needs no review, in reviews. */
const skipCost = 1 / 16

/** A posting with a guard is rejected fast, and is only reviewed once its term was seen so often. Measured. */
const guardedSeenMin = 256

/**
 * Maximum number of terms waiting for a review. If the queue is full, the term is reviewed when it has been seen four
 * times as often.
 */
const queueMax = 100_000

/*
 * Entries of the lists. Addresses are even, which leaves two bits. An entry is a root that must be evaluated, a root
 * that holds whenever term, guard and mask are satisfied, or the only rule of such a root.
 */

function entryOfRoot(root: number, isExact: boolean): number {
  return (root << 1) | (isExact ? 1 : 0)
}

function entryOfRule(rule: number): number {
  return (rule << 2) | 3
}

/** True if the entry is a rule, which holds without evaluation. */
export function isRule(entry: number): boolean {
  return (entry & 3) === 3
}

/** The rule of such an entry. */
export function ruleOf(entry: number): number {
  return entry >>> 2
}

/** The root of an entry that is no rule. */
export function rootOf(entry: number): number {
  return (entry >>> 2) << 1
}

/** True if the root of the entry holds without evaluation. */
export function isExactRoot(entry: number): boolean {
  return (entry & 1) !== 0
}

/** The terms under which each root is filed. */
export class RuleFiling {
  readonly lists: PostingLists
  readonly #arena: IntArena
  readonly #terms: TermTable
  readonly #cover: Cover
  readonly #rules: RuleNumbers
  #queue: number[] = []
  #queueAt = 0
  #walk: Walk | undefined
  /** Reviews that posts have paid for. */
  #paid = 0
  #isDeferring = false
  /** Rules with a smaller number are filed; Infinity if all are. */
  #filedTo = Infinity

  constructor(arena: IntArena, terms: TermTable, rules: RuleNumbers) {
    this.#arena = arena
    this.#terms = terms
    this.#cover = new Cover(arena, terms)
    this.#rules = rules
    this.lists = new PostingLists(arena, terms, (entry, term, address) =>
      this.#moved(this.#rootOfEntry(entry), term, address),
    )
  }

  /** Files the root, which has got another rule. */
  file(root: number): void {
    if (this.#arena.read(root, rootSlot.filing) !== unfiled) this.#share(root)
    else if (!this.#isDeferring) this.#fileNew(root)
  }

  /** Leaves new roots to `fileDeferred`. */
  defer(): void {
    this.#isDeferring = true
    this.#filedTo = 0
  }

  /** True if all roots are filed. */
  get isComplete(): boolean {
    return this.#filedTo === Infinity
  }

  /**
   * Files the roots that were left, of the next `rulesMax` rules, and defers no others. Returns whether all are filed.
   */
  fileDeferred(rulesMax: number): boolean {
    this.#isDeferring = false
    const end = Math.min(this.#filedTo + rulesMax, this.#rules.numbers)
    for (let rule = this.#filedTo; rule < end; rule++) {
      const root = this.#rules.has(rule) ? this.#rules.rootOf(rule) : undefined
      if (root !== undefined && this.#arena.read(root, rootSlot.filing) === unfiled) this.#fileNew(root)
    }
    this.#filedTo = end < this.#rules.numbers ? end : Infinity
    return this.isComplete
  }

  #fileNew(root: number): void {
    this.#cover.find(root)
    this.#fileByCover(root)
  }

  unfile(root: number): void {
    const filing = this.#arena.read(root, rootSlot.filing)
    if (filing === unfiled) return
    if (filing >= 0) {
      this.lists.remove(filing, this.#arena.read(root, rootSlot.posting))
      return
    }
    const block = ~filing
    const count = this.#arena.read(block, 0)
    // Removing a posting may move another one of this root, but does not change the order of the block.
    for (let index = 0; index < count; index++)
      this.lists.remove(this.#arena.read(block, 1 + index * 2), this.#arena.read(block, 2 + index * 2))
    this.#arena.free(block, 1 + count * 2)
  }

  /** Changes the entry of a root that was the entry of its only rule. */
  #share(root: number): void {
    const term = this.#arena.read(root, rootSlot.filing)
    if (term < 0) return
    const address = this.#arena.read(root, rootSlot.posting)
    if (isRule(this.lists.entryAt(term, address))) this.lists.setEntry(term, address, entryOfRoot(root, true))
  }

  /** Queues the terms for review. */
  queueReviews(terms: readonly number[]): void {
    for (const term of terms)
      if (this.lists.countOf(term) > 0 && this.#queue.length - this.#queueAt < queueMax) this.#queue.push(term)
  }

  /** Reviews some roots, after a post with so many candidates. */
  review(candidates: number): void {
    if (this.#walk === undefined && this.#queueAt === this.#queue.length) return
    this.#paid = Math.min(this.#paid + reviewsPerPost + candidates * reviewsPerCandidate, reviewsMax)
    while (this.#paid >= 1) {
      this.#walk ??= this.#nextWalk()
      if (this.#walk === undefined) return
      const address = this.lists.step(this.#walk)
      if (address === walkEnd) this.#walk = undefined
      else if (this.#mayGain(address, this.#walk.term)) {
        this.#reviewAt(address, this.#walk.term)
        this.#paid--
      } else this.#paid -= skipCost
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

  /**
   * True if another filing might save more than the review takes. A filing that is exact without a guard requires no
   * other term.
   */
  #mayGain(address: number, term: number): boolean {
    if (this.lists.guardAt(term, address) === always) return !isExactRoot(this.lists.entryAt(term, address))
    return this.#terms.seenOf(term) >= guardedSeenMin
  }

  #reviewAt(address: number, term: number): void {
    const entry = this.lists.entryAt(term, address)
    const root = this.#rootOfEntry(entry)
    this.#cover.find(root)
    // Only for half the cost: otherwise rules would move back and forth between equal terms.
    if (this.#cover.cost > this.#costOf(root) / 2) return
    this.unfile(root)
    this.#fileByCover(root)
  }

  /** Cost of the root's current terms. */
  #costOf(root: number): number {
    const filing = this.#arena.read(root, rootSlot.filing)
    if (filing >= 0) return this.#costAt(filing, this.#arena.read(root, rootSlot.posting))
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
    const { entries, count } = this.#cover
    if (count === 1) {
      const rules = this.#arena.read(root, rootSlot.rules)
      const isExact = entries[coverSlot.isExact] === 1
      const entry = isExact && !isList(rules) ? entryOfRule(onlyRuleOf(rules)) : entryOfRoot(root, isExact)
      this.#arena.write(root, rootSlot.filing, entries[coverSlot.term] ?? always)
      this.#arena.write(root, rootSlot.posting, this.#addPosting(0, entry))
      return
    }
    const block = this.#arena.allocate(1 + count * 2)
    this.#arena.write(root, rootSlot.filing, ~block)
    this.#arena.write(root, rootSlot.posting, 0)
    this.#arena.write(block, 0, count)
    for (let index = 0; index < count; index++)
      this.#arena.write(block, 1 + index * 2, entries[index * coverLength + coverSlot.term] ?? 0)
    for (let index = 0; index < count; index++) {
      const isExact = entries[index * coverLength + coverSlot.isExact] === 1
      this.#arena.write(block, 2 + index * 2, this.#addPosting(index, entryOfRoot(root, isExact)))
    }
  }

  /** Adds the entry to the list of the term of the cover. Returns the address of its posting. */
  #addPosting(index: number, entry: number): number {
    const { entries } = this.#cover
    const at = index * coverLength
    const guard = entries[at + coverSlot.guard] ?? always
    return this.lists.add(entries[at + coverSlot.term] ?? always, entry, guard, entries[at + coverSlot.mask] ?? 0)
  }

  #rootOfEntry(entry: number): number {
    return isRule(entry) ? this.#rules.rootOf(ruleOf(entry)) : rootOf(entry)
  }

  #moved(root: number, term: number, address: number): void {
    const filing = this.#arena.read(root, rootSlot.filing)
    if (filing >= 0) {
      this.#arena.write(root, rootSlot.posting, address)
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
