/**
 * Finds the rules that match a post without evaluating each of them.
 *
 *     rule ──► root, shared by rules with the same meaning ──► filed under its rarest required term, with guard and
 * mask
 *
 *     post ──► its terms ──► roots filed under them, whose guard and mask the post satisfies ──► evaluation
 *
 * `expressions.ts` stores the rules as integers, `cover.ts` and `rule-filing.ts` decide where each is filed,
 * `post-terms.ts` reads a post, and `evaluation.ts` evaluates the remaining candidates. Two words that follow each
 * other are a term too. The guard is another term, the mask contains flags (`flag-masks.ts`). A rule of one or two
 * terms, an OR of terms and flags needs no evaluation: term, guard and mask decide. A root that requires no selective
 * term is filed under the term that every post contains. These roots are the scan list; `parseRule` rejects most such
 * rules.
 *
 * Rules have owners. The steps that the rules of one owner may take for a post are bounded. The rules beyond the bound
 * are skipped and counted, and those of other owners are evaluated. The steps of a root with several owners are charged
 * to one that has steps left. Reading posting lists is not charged: the cost of rules (`rule-cost.ts`) bounds it.
 *
 * The integers are stored in arrays that grow without copying (`flat-ints.ts`), and the tables grow by one bucket at a
 * time. So adding or removing a rule takes microseconds, however many rules there are.
 */

import { Evaluation } from "./evaluation.ts"
import { noRule, rootSlot } from "./expression-layout.ts"
import { Expressions } from "./expressions.ts"
import { IntArena } from "./int-arena.ts"
import type { HashKey } from "./keyed-hash.ts"
import type { PostField } from "./operator-registry.ts"
import { FlatInts, longer } from "./flat-ints.ts"
import type { Facts, PostFacts } from "../post/post-facts.ts"
import { excludedMask } from "./flag-masks.ts"
import { chunkPostings, chunkSlot, postingLength, postingSlot, postingsOfFirst } from "./posting-lists.ts"
import { PostTerms } from "./post-terms.ts"
import { prefetchLists, prefetchRoots } from "./prefetching.ts"
import { isExactRoot, isRule, rootOf, RuleFiling, ruleOf } from "./rule-filing.ts"
import { isList, listOf, listSlot, onlyRuleOf, RuleNumbers } from "./rule-numbers.ts"
import type { Rule } from "../language/rule.ts"
import { TermTable } from "./term-table.ts"
import type { WalkedPost } from "../walk/walked-post.ts"
import { always, termBits, termSlot } from "./term-layout.ts"

/** Resources in use. */
type RuleMatcherUsage = {
  readonly terms: number
  /** Distinct expressions; each distinct rule is one. */
  readonly expressions: number
  /** Allocated blocks of integers. */
  readonly blocks: number
  /** Integers in memory for rules and terms, used or not. */
  readonly capacity: number
}

/** Options of a matcher. */
type RuleMatcherOptions = {
  /** Maximum steps of the rules of one owner for a post; a single operator may exceed it. Default: unlimited. */
  readonly ownerStepsMax?: number
  /**
   * Must be random where others choose the rules: with a known key they could make each addition take long. Default:
   * fixed.
   */
  readonly hashKey?: HashKey
  /** Number of posts that the matcher counts as seen. For tests. */
  readonly postsBefore?: number
}

/** The number of rules of one owner that were skipped. */
type SkippedRules = { readonly owner: number; readonly rules: number }

const none: readonly never[] = []

/** Rules by number, and the matching of posts with them. */
export class RuleMatcher {
  readonly #arena = new IntArena()
  readonly #terms = new TermTable(this.#arena)
  readonly #expressions: Expressions
  readonly #rules = new RuleNumbers(this.#arena)
  readonly #filing = new RuleFiling(this.#arena, this.#terms, this.#rules)
  readonly #postTerms = new PostTerms(this.#terms)
  readonly #evaluation: Evaluation
  #asked = 0
  #candidates = 0
  /** Entries of the posting lists to evaluate for the current post. */
  #entries = new Int32Array(64)
  #entriesCount = 0
  /** Result of prefetching, kept so that the engine does not remove it as dead code. */
  protected prefetched = 0

  readonly #ownerStepsMax: number
  /** Owner of each rule. */
  readonly #owners = new FlatInts()
  /** Steps for the current post, by owner. */
  #spent = new Float64Array(4)
  readonly #skipped = new Map<number, number>()

  constructor({ postsBefore = 0, ownerStepsMax = Infinity, hashKey = [0, 0] }: RuleMatcherOptions = {}) {
    this.#ownerStepsMax = ownerStepsMax
    this.#expressions = new Expressions(this.#arena, this.#terms, hashKey)
    this.#evaluation = new Evaluation(this.#arena, this.#expressions, this.#postTerms, (postsBefore * 2) | 0)
  }

  /** Number of rules. */
  get size(): number {
    return this.#rules.size
  }

  /** Number of distinct rules that every post is compared with, because they require no term. */
  get scanListLength(): number {
    return this.#filing.lists.countOf(always)
  }

  /**
   * Number of distinct rules compared with a post, over all posts. A rule reached by two terms of a post may count
   * twice.
   */
  get candidatesTotal(): number {
    return this.#candidates
  }

  /**
   * Number of distinct rules that had to be evaluated, over all posts; the others were decided by term, guard and mask.
   */
  get askedTotal(): number {
    return this.#asked
  }

  /**
   * Number of evaluations of operators other than terms (phrases, areas …), over all posts: at most one per post for
   * each distinct operator.
   */
  get evaluationsTotal(): number {
    return this.#evaluation.evaluations
  }

  /** Number of steps charged to owners, over all posts. */
  get ownerStepsTotal(): number {
    return this.#evaluation.steps
  }

  /** The rules that were skipped for the last post, because their owner had no steps left. Usually empty. */
  get skippedRules(): readonly SkippedRules[] {
    return this.#skipped.size === 0 ? none : Array.from(this.#skipped, ([owner, rules]) => ({ owner, rules }))
  }

  /** The fields of posts that the rules read. */
  get requiredFields(): ReadonlySet<PostField> {
    return this.#expressions.requiredFields()
  }

  /** The resources that the rules use. */
  get usage(): RuleMatcherUsage {
    const { blocks } = this.#arena
    const parts = [this.#arena, this.#terms, this.#expressions, this.#rules]
    const capacity = parts.reduce((sum, part) => sum + part.capacity, this.#owners.ints.length)
    return { terms: this.#terms.size, expressions: this.#expressions.size, blocks, capacity }
  }

  /**
   * Adds a rule. Returns its number. Numbers of rules are dense and reused after removal; those of owners must be dense
   * too.
   */
  add(rule: Rule, owner = 0): number {
    const root = this.#expressions.rootOf(rule)
    const number = this.#rules.add(root)
    this.#owners.set(number, owner)
    if (owner >= this.#spent.length) this.#spent = new Float64Array(owner * 2)
    this.#filing.file(root)
    return number
  }

  /**
   * Leaves rules that are added to `fileDeferred`, so that their terms can be counted first. Matching files them all.
   */
  deferFiling(): void {
    this.#filing.defer()
  }

  /** Counts the terms of the post, as matching it would. */
  count(post: PostFacts): void {
    this.#postTerms.read(post)
  }

  /** Likewise of a post that was walked. */
  countWalked(post: WalkedPost): void {
    this.#terms.hashes.keep(post.absentHashes)
    this.#postTerms.read(post, post.texts(this.#postTerms.wanted))
  }

  /** Files the next `rulesMax` of the rules that were left, and defers no others. Returns whether all are filed. */
  fileDeferred(rulesMax: number): boolean {
    return this.#filing.fileDeferred(rulesMax)
  }

  /** Removes a rule. Returns false if there is no rule with the number. */
  remove(number: number): boolean {
    if (!this.#rules.has(number)) return false
    const root = this.#rules.rootOf(number)
    if (this.#rules.remove(number)) {
      this.#filing.unfile(root)
      this.#expressions.dropRoot(root)
    }
    if (this.#rules.size === 0) this.#owners.clear()
    return true
  }

  /**
   * Numbers of the rules that hold of the post, each once, in no particular order. Without the rules that
   * `skippedRules` counts.
   */
  match(post: PostFacts): number[] {
    this.count(post)
    return this.#matchTerms(post)
  }

  /** Likewise of a post that was walked, for rules of streams. */
  matchWalked(post: WalkedPost): number[] {
    this.countWalked(post)
    return this.#matchTerms(post)
  }

  #matchTerms(post: Facts): number[] {
    const postTerms = this.#postTerms
    if (!this.#filing.isComplete) this.#filing.fileDeferred(Infinity)
    this.#evaluation.begin(post)
    const { present, presentCount } = postTerms
    const before = this.#candidates
    this.#entriesCount = 0
    this.#spent.fill(0)
    if (this.#skipped.size > 0) this.#skipped.clear()
    const { ints } = this.#arena
    this.prefetched ^= prefetchLists(this.#terms.slots.ints, ints, present, presentCount)
    const numbers: number[] = []
    for (let index = 0; index < presentCount; index++) this.#collect(present[index] ?? 0, numbers)
    this.#collect(always, numbers)
    this.prefetched ^= prefetchRoots(this.#owners.ints, ints, this.#entries, this.#entriesCount)
    for (let index = 0; index < this.#entriesCount; index++) this.#evaluateRoot(this.#entries[index] ?? 0, numbers)
    this.#filing.queueReviews(postTerms.dueTerms)
    this.#filing.review(this.#candidates - before)
    return numbers
  }

  /** Collects the rules and roots that are filed under the term and whose guard is a term of the post. */
  #collect(term: number, numbers: number[]): void {
    const record = this.#terms.slots.ints
    const at = term << termBits
    const count = record[at + termSlot.postingsCount] ?? 0
    if (count === 0) return
    this.#candidates += count
    const { bits } = this.#postTerms
    const least = this.#entriesCount + count
    if (least > this.#entries.length) this.#entries = longer(this.#entries, least)
    const excluded = excludedMask(bits[0] ?? 0)
    if (count === 1) {
      const guard = record[at + termSlot.guard] ?? 0
      const isExcluded = ((record[at + termSlot.mask] ?? 0) & excluded) !== 0
      if (!isExcluded && ((bits[guard >>> 5] ?? 0) & (1 << guard)) !== 0)
        this.#addEntry(record[at + termSlot.postings] ?? 0, numbers)
      return
    }
    const { ints } = this.#arena
    let postings = postingsOfFirst(count)
    for (let chunk = record[at + termSlot.postings] ?? 0; chunk !== 0;) {
      const begin = chunk + chunkSlot.postings
      const end = begin + postings * postingLength
      for (let posting = begin; posting < end; posting += postingLength) {
        const guard = ints[posting + postingSlot.guard] ?? 0
        // One branch for both: hardly a posting passes, but which of the two rejects it cannot be predicted.
        const isAbsent = ~((bits[guard >>> 5] ?? 0) >>> guard) & 1
        if ((((ints[posting + postingSlot.mask] ?? 0) & excluded) | isAbsent) === 0)
          this.#addEntry(ints[posting] ?? 0, numbers)
      }
      chunk = ints[chunk + chunkSlot.next] ?? 0
      postings = chunkPostings
    }
  }

  #addEntry(entry: number, numbers: number[]): void {
    if (isRule(entry)) numbers.push(ruleOf(entry))
    else this.#entries[this.#entriesCount++] = entry
  }

  #evaluateRoot(entry: number, numbers: number[]): void {
    const root = rootOf(entry)
    const { ints } = this.#arena
    if ((ints[root + rootSlot.filing] ?? 0) < 0) {
      if (ints[root + rootSlot.posting] === this.#evaluation.stamp) {
        this.#candidates--
        return
      }
      ints[root + rootSlot.posting] = this.#evaluation.stamp
    }
    const rules = ints[root + rootSlot.rules] ?? noRule
    if (!isExactRoot(entry) && !this.#rootHolds(root, rules)) return
    if (!isList(rules)) numbers.push(onlyRuleOf(rules))
    else {
      const list = listOf(rules)
      const end = list + listSlot.rules + (ints[list + listSlot.count] ?? 0)
      for (let at = list + listSlot.rules; at < end; at++) numbers.push(ints[at] ?? 0)
    }
  }

  /** True if the root holds. Charged to the first of its owners with enough steps left. */
  #rootHolds(root: number, rules: number): boolean {
    this.#asked++
    const count = isList(rules) ? this.#arena.read(listOf(rules), listSlot.count) : 1
    for (let index = 0; index < count; index++) {
      const owner = this.#ownerOf(rules, index)
      const left = this.#ownerStepsMax - (this.#spent[owner] ?? 0)
      if (left <= 0) continue
      const before = this.#evaluation.steps
      const holds = this.#evaluation.rootHolds(root, left)
      this.#spent[owner] = (this.#spent[owner] ?? 0) + this.#evaluation.steps - before
      if (!this.#evaluation.isAborted) return holds
    }
    for (let index = 0; index < count; index++) {
      const owner = this.#ownerOf(rules, index)
      this.#skipped.set(owner, (this.#skipped.get(owner) ?? 0) + 1)
    }
    return false
  }

  /** Owner of one of the rules of a root. */
  #ownerOf(rules: number, index: number): number {
    const rule = isList(rules) ? this.#arena.read(listOf(rules), listSlot.rules + index) : onlyRuleOf(rules)
    return this.#owners.get(rule)
  }
}
