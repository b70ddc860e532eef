/**
 * Finds the rules that match a post without evaluating each of them.
 *
 *     rule ──► root, shared by rules with the same meaning ──► filed under its rarest required term, with a guard
 *
 *     post ──► its terms ──► roots filed under them whose guard is a term of the post too ──► evaluation
 *
 * `expressions.ts` stores the rules as integers, `cover.ts` and `rule-filing.ts` decide where each is filed,
 * `post-terms.ts` reads a post, and `evaluation.ts` evaluates the remaining candidates. A rule of one or two plain terms
 * needs no evaluation: term and guard decide. A root that requires no selective term is filed under the term that every
 * post contains. These roots are the scan list; `parseRule` rejects most such rules.
 *
 * Rules have owners. The steps that the rules of one owner may take for a post are bounded. The rules beyond the bound are
 * skipped and counted, and those of other owners are evaluated. The steps of a root with several owners are charged to
 * one that has steps left. Reading posting lists is not charged: the cost of rules (`rule-cost.ts`) bounds it.
 *
 * The integers are stored in pages, which grow without copying. So adding or removing a rule takes microseconds, however
 * many rules there are.
 */

import { Evaluation } from "./evaluation.ts"
import { noRule, rootSlot } from "./expression-layout.ts"
import { Expressions } from "./expressions.ts"
import { IntArena } from "./int-arena.ts"
import type { PostField } from "./operator-registry.ts"
import { longer, noPage, pageBits, PagedInts, pageMask } from "./paged-ints.ts"
import type { PostFacts } from "../post/post-facts.ts"
import { chunkSlot, pairsOfFirst, chunkPairs } from "./posting-lists.ts"
import { PostTerms } from "./post-terms.ts"
import { isExactRoot, isRule, rootOf, RuleFiling, ruleOf } from "./rule-filing.ts"
import type { Rule } from "../language/rule.ts"
import { TermTable } from "./term-table.ts"
import { always, termBits, termSlot } from "./term-layout.ts"

/** Resources in use. */
type RuleMatcherUsage = {
  readonly terms: number
  /** Distinct expressions; each distinct rule is one. */
  readonly expressions: number
  /** Allocated blocks of integers. */
  readonly blocks: number
  /** Integers in the pages of these blocks, used or not. */
  readonly capacity: number
}

/** Options of a matcher. */
type RuleMatcherOptions = {
  /** Maximum steps of the rules of one owner for a post; a single operator may exceed it. Default: unlimited. */
  readonly ownerStepsMax?: number
  /** Number of posts that the matcher counts as seen. For tests. */
  readonly postsBefore?: number
}

/** The number of rules of one owner that were skipped. */
type SkippedRules = { readonly owner: number; readonly rules: number }

/** In the links of a free number, instead of the previous rule. */
const isFree = -0x80000000

/** Rules by number, and the matching of posts with them. */
export class RuleMatcher {
  readonly #arena = new IntArena()
  readonly #terms = new TermTable(this.#arena)
  readonly #expressions = new Expressions(this.#arena, this.#terms)
  readonly #filing = new RuleFiling(this.#arena, this.#terms, (rule) => ~this.#links.get(rule * 2 + 1))
  readonly #postTerms = new PostTerms(this.#terms)
  readonly #evaluation: Evaluation
  /** Two integers for each rule: the next rule of its root, or `noRule`; the previous one, or `~` the root if it is the first. */
  readonly #links = new PagedInts()
  /** Numbers assigned so far. */
  #numbers = 0
  /** First free number; its next rule is the next free number. */
  #free = noRule
  #size = 0
  #candidates = 0
  /** Entries of the posting lists to evaluate for the current post. */
  #entries = new Int32Array(64)
  #entriesCount = 0
  /** Result of prefetching, kept so that the engine does not remove it as dead code. */
  protected prefetched = 0

  readonly #ownerStepsMax: number
  /** Owner of each rule. */
  readonly #owners = new PagedInts()
  /** Steps for the current post, by owner. */
  #spent = new Float64Array(4)
  readonly #skipped = new Map<number, number>()

  constructor({ postsBefore = 0, ownerStepsMax = Infinity }: RuleMatcherOptions = {}) {
    this.#ownerStepsMax = ownerStepsMax
    this.#evaluation = new Evaluation(this.#arena, this.#expressions, this.#postTerms, (postsBefore * 2) | 0)
  }

  /** Number of rules. */
  get size(): number {
    return this.#size
  }

  /** Number of distinct rules that every post is compared with, because they require no term. */
  get scanListLength(): number {
    return this.#filing.lists.countOf(always)
  }

  /** Number of distinct rules compared with a post, over all posts. A rule reached by two terms of a post may count twice. */
  get candidatesTotal(): number {
    return this.#candidates
  }

  /** Number of evaluations of operators other than terms (phrases, areas …), over all posts: at most one per post for each distinct operator. */
  get evaluationsTotal(): number {
    return this.#evaluation.evaluations
  }

  /** Number of steps charged to owners, over all posts. */
  get ownerStepsTotal(): number {
    return this.#evaluation.steps
  }

  /** The rules that were skipped for the last post, because their owner had no steps left. Usually empty. */
  get skippedRules(): readonly SkippedRules[] {
    return Array.from(this.#skipped, ([owner, rules]) => ({ owner, rules }))
  }

  /** The fields of posts that the rules read. */
  get requiredFields(): ReadonlySet<PostField> {
    return this.#expressions.requiredFields()
  }

  /** The resources that the rules use. */
  get usage(): RuleMatcherUsage {
    const { blocks, capacity } = this.#arena
    return { terms: this.#terms.size, expressions: this.#expressions.size, blocks, capacity }
  }

  /** Adds a rule. Returns its number. Numbers of rules are dense and reused after removal; those of owners must be dense too. */
  add(rule: Rule, owner = 0): number {
    const root = this.#expressions.rootOf(rule)
    const number = this.#newNumber()
    this.#owners.set(number, owner)
    if (owner >= this.#spent.length) this.#spent = new Float64Array(owner * 2)
    const first = this.#arena.read(root, rootSlot.rule)
    const next = first === noRule ? noRule : first >> 1
    this.#links.set(number * 2, next)
    this.#links.set(number * 2 + 1, ~root)
    this.#setFirst(root, number)
    if (next === noRule) this.#filing.file(root)
    else {
      this.#links.set(next * 2 + 1, number)
      this.#filing.share(root)
    }
    this.#size++
    return number
  }

  /** Removes a rule. Returns false if there is no rule with the number. */
  remove(number: number): boolean {
    if (!Number.isInteger(number) || number < 0 || number >= this.#numbers) return false
    const before = this.#links.get(number * 2 + 1)
    if (before === isFree) return false
    this.#unlink(before, this.#links.get(number * 2))
    this.#links.set(number * 2, this.#free)
    this.#links.set(number * 2 + 1, isFree)
    this.#free = number
    this.#size--
    if (this.#size === 0) this.#resetNumbers()
    return true
  }

  /** Numbers of the rules that hold of the post, each once, in no particular order. Without the rules that `skippedRules` counts. */
  match(post: PostFacts): number[] {
    const postTerms = this.#postTerms
    postTerms.read(post)
    this.#evaluation.begin(post)
    const { present, presentCount } = postTerms
    const before = this.#candidates
    this.#entriesCount = 0
    this.#spent.fill(0)
    if (this.#skipped.size > 0) this.#skipped.clear()
    this.#prefetchLists(present, presentCount)
    const numbers: number[] = []
    for (let index = 0; index < presentCount; index++) this.#collect(present[index] ?? 0, numbers)
    this.#collect(always, numbers)
    this.#prefetchRoots()
    for (let index = 0; index < this.#entriesCount; index++) this.#evaluateRoot(this.#entries[index] ?? 0, numbers)
    this.#filing.queueReviews(postTerms.dueTerms)
    this.#filing.review(this.#candidates - before)
    return numbers
  }

  /** Collects the rules and roots that are filed under the term and whose guard is a term of the post. */
  #collect(term: number, numbers: number[]): void {
    const record = this.#terms.slots.pages[(term << termBits) >>> pageBits] ?? noPage
    const at = (term << termBits) & pageMask
    const count = record[at + termSlot.postingsCount] ?? 0
    if (count === 0) return
    this.#candidates += count
    const { bits } = this.#postTerms
    const least = this.#entriesCount + count
    if (least > this.#entries.length) this.#entries = longer(this.#entries, least)
    if (count === 1) {
      const guard = record[at + termSlot.guard] ?? 0
      if (((bits[guard >>> 5] ?? 0) & (1 << guard)) !== 0) this.#addEntry(record[at + termSlot.postings] ?? 0, numbers)
      return
    }
    const { pages } = this.#arena
    let pairs = pairsOfFirst(count)
    for (let chunk = record[at + termSlot.postings] ?? 0; chunk !== 0;) {
      const page = pages[chunk >>> pageBits] ?? noPage
      const begin = chunk & pageMask
      const end = begin + chunkSlot.pairs + pairs * 2
      for (let pair = begin + chunkSlot.pairs; pair < end; pair += 2) {
        const guard = page[pair + 1] ?? 0
        if (((bits[guard >>> 5] ?? 0) & (1 << guard)) !== 0) this.#addEntry(page[pair] ?? 0, numbers)
      }
      chunk = page[begin + chunkSlot.next] ?? 0
      pairs = chunkPairs
    }
  }

  #addEntry(entry: number, numbers: number[]): void {
    if (isRule(entry)) numbers.push(ruleOf(entry))
    else this.#entries[this.#entriesCount++] = entry
  }

  /** Reads the beginnings of the posting lists, so that the waiting times for memory overlap. */
  #prefetchLists(terms: Int32Array, count: number): void {
    const { pages } = this.#arena
    const { slots } = this.#terms
    let prefetched = 0
    for (let index = 0; index < count; index++) {
      const term = terms[index] ?? 0
      const page = slots.pages[(term << termBits) >>> pageBits] ?? noPage
      const at = (term << termBits) & pageMask
      const chunk = (page[at + termSlot.postingsCount] ?? 0) > 1 ? (page[at + termSlot.postings] ?? 0) : 0
      if (chunk !== 0) prefetched ^= (pages[chunk >>> pageBits] ?? noPage)[chunk & pageMask] ?? 0
    }
    this.prefetched ^= prefetched
  }

  /** Likewise for the roots to evaluate. */
  #prefetchRoots(): void {
    const { pages } = this.#arena
    const entries = this.#entries
    let prefetched = 0
    for (let index = 0; index < this.#entriesCount; index++) {
      const root = rootOf(entries[index] ?? 0)
      prefetched ^= (pages[root >>> pageBits] ?? noPage)[root & pageMask] ?? 0
    }
    this.prefetched ^= prefetched
  }

  #evaluateRoot(entry: number, numbers: number[]): void {
    const root = rootOf(entry)
    const page = this.#arena.pages[root >>> pageBits] ?? noPage
    const at = root & pageMask
    if ((page[at + rootSlot.filing] ?? 0) < 0) {
      if (page[at + rootSlot.posting] === this.#evaluation.stamp) {
        this.#candidates--
        return
      }
      page[at + rootSlot.posting] = this.#evaluation.stamp
    }
    const first = page[at + rootSlot.rule] ?? noRule
    if (!isExactRoot(entry) && !this.#rootHolds(page, at, first)) return
    numbers.push(first >> 1)
    if ((first & 1) === 0) return
    const links = this.#links
    for (let number = links.get((first >> 1) * 2); number !== noRule; number = links.get(number * 2))
      numbers.push(number)
  }

  /** Whether the root holds. Charged to the first of its owners with enough steps left. */
  #rootHolds(page: Int32Array, at: number, first: number): boolean {
    let rule = first >> 1
    const hasMore = (first & 1) !== 0
    do {
      const owner = this.#owners.get(rule)
      const left = this.#ownerStepsMax - (this.#spent[owner] ?? 0)
      if (left > 0) {
        const before = this.#evaluation.steps
        const holds = this.#evaluation.rootHolds(page, at, left)
        this.#spent[owner] = (this.#spent[owner] ?? 0) + this.#evaluation.steps - before
        if (!this.#evaluation.isAborted) return holds
      }
      rule = hasMore ? this.#links.get(rule * 2) : noRule
    } while (rule !== noRule)
    this.#noteSkipped(first >> 1, hasMore)
    return false
  }

  #noteSkipped(first: number, hasMore: boolean): void {
    for (let rule = first; rule !== noRule; rule = hasMore ? this.#links.get(rule * 2) : noRule) {
      const owner = this.#owners.get(rule)
      this.#skipped.set(owner, (this.#skipped.get(owner) ?? 0) + 1)
    }
  }

  /** Removes the rule between `before`, a rule or `~` the root, and `next`, a rule or `noRule`. */
  #unlink(before: number, next: number): void {
    if (next !== noRule) this.#links.set(next * 2 + 1, before)
    if (before >= 0) {
      this.#links.set(before * 2, next)
      const beforeThat = this.#links.get(before * 2 + 1)
      if (beforeThat < 0) this.#setFirst(~beforeThat, before)
    } else if (next !== noRule) this.#setFirst(~before, next)
    else {
      this.#filing.unfile(~before)
      this.#expressions.dropRoot(~before)
    }
  }

  #setFirst(root: number, number: number): void {
    const hasMore = this.#links.get(number * 2) !== noRule
    this.#arena.write(root, rootSlot.rule, (number << 1) | (hasMore ? 1 : 0))
  }

  #newNumber(): number {
    const number = this.#free
    if (number === noRule) return this.#numbers++
    this.#free = this.#links.get(number * 2)
    return number
  }

  #resetNumbers(): void {
    this.#owners.clear()
    this.#links.clear()
    this.#numbers = 0
    this.#free = noRule
  }
}
