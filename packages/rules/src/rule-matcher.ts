/**
 * Finds the rules that hold of a post without asking each of them.
 *
 *     rule ──► root, shared by rules that say the same ──► filed under its rarest required term, with a guard
 *
 *     post ──► the terms that it holds ──► roots filed under them whose guard it holds too ──► do they hold?
 *
 * `expressions.ts` has the rules as integers, `cover.ts` and `rule-filing.ts` say where each is filed, `post-terms.ts`
 * reads a post and `evaluation.ts` asks what is left to ask. Rules of one or two plain terms are answered by term and
 * guard alone. A root that requires no selective term is filed under the term that every post holds: these are the
 * scan list. `parseRule` refuses most such rules.
 *
 * The integers lie in pages, which grow without copying: rules are added and removed one at a time, in microseconds,
 * however many there are.
 */

import type { Ask } from "./asks.ts"
import { Evaluation } from "./evaluation.ts"
import { Expressions, noRule, rootField } from "./expressions.ts"
import { IntArena } from "./int-arena.ts"
import { noPage, pageBits, PagedInts, pageMask } from "./paged-ints.ts"
import type { PostFacts } from "./post-facts.ts"
import { chunkField, pairsOfFirst, chunkPairs } from "./posting-lists.ts"
import { PostTerms } from "./post-terms.ts"
import { isExactRoot, isRule, rootOf, RuleFiling, ruleOf } from "./rule-filing.ts"
import type { Rule } from "./rule.ts"
import { always, termBits, termField, TermTable } from "./term-table.ts"

/** What rules take up, to see that nothing is left behind. */
export type RuleMatcherUse = {
  readonly terms: number
  /** Distinct expressions, of which each distinct rule is one. */
  readonly expressions: number
  /** Blocks of integers in use. */
  readonly blocks: number
  /** Integers in the pages of the blocks, used or not. */
  readonly capacity: number
}

/** A number that no rule has: it is free. In place of the number of the rule before it. */
const isFree = -0x80000000

/** Rules by number, and which of them hold of a post. */
export class RuleMatcher {
  readonly #arena = new IntArena()
  readonly #terms = new TermTable(this.#arena)
  readonly #expressions = new Expressions(this.#arena, this.#terms)
  readonly #filing = new RuleFiling(this.#arena, this.#terms, (rule) => ~this.#links.get(rule * 2 + 1))
  readonly #postTerms = new PostTerms(this.#terms)
  readonly #evaluation: Evaluation
  /**
   * Two integers for each rule: the next rule of its root, or `noRule`; and the one before, or `~` the root when
   * it is the first.
   */
  readonly #links = new PagedInts()
  /** Numbers given so far. */
  #numbers = 0
  /** First number that is free again; its next is another. */
  #free = noRule
  #size = 0
  #candidates = 0
  /** Entries of the lists that are to be asked for the post at hand. */
  #entries = new Int32Array(64)
  #entriesCount = 0
  /** What was fetched early, kept so that the engine does not leave out the fetching. */
  protected fetched = 0

  /** `postsBefore`: as if the matcher had seen so many posts, which tests need. */
  constructor({ postsBefore = 0 }: { readonly postsBefore?: number } = {}) {
    this.#evaluation = new Evaluation(this.#arena, this.#expressions, this.#postTerms, (postsBefore * 2) | 0)
  }

  /** Rules held. */
  get size(): number {
    return this.#size
  }

  /** Distinct rules that every post is compared with, because no term is required by them. */
  get scanListLength(): number {
    return this.#filing.lists.countOf(always)
  }

  /** Distinct rules compared with a post, over all posts so far. One that the post reached by two terms may count twice. */
  get candidatesTotal(): number {
    return this.#candidates
  }

  /** Evaluations of operators that are no terms (phrases, areas …) over all posts so far: each distinct one at most once a post. */
  get evaluationsTotal(): number {
    return this.#evaluation.evaluations
  }

  /** What the rules look at, of posts. */
  get asks(): ReadonlySet<Ask> {
    return this.#expressions.asks()
  }

  /** What the rules take up. */
  get use(): RuleMatcherUse {
    const { blocks, capacity } = this.#arena
    return { terms: this.#terms.size, expressions: this.#expressions.size, blocks, capacity }
  }

  /** Adds a rule and returns its number. Numbers are dense, and one is used again after removal. */
  add(rule: Rule): number {
    const root = this.#expressions.rootOf(rule)
    const number = this.#newNumber()
    const first = this.#arena.read(root, rootField.rule)
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

  /** Removes a rule; false when there is none of the number. */
  remove(number: number): boolean {
    if (!Number.isInteger(number) || number < 0 || number >= this.#numbers) return false
    const before = this.#links.get(number * 2 + 1)
    if (before === isFree) return false
    this.#unlink(before, this.#links.get(number * 2))
    this.#links.set(number * 2, this.#free)
    this.#links.set(number * 2 + 1, isFree)
    this.#free = number
    this.#size--
    if (this.#size === 0) this.#forgetNumbers()
    return true
  }

  /** Numbers of the rules that hold of the post, in no particular order, each once. */
  match(post: PostFacts): number[] {
    const postTerms = this.#postTerms
    postTerms.read(post)
    this.#evaluation.begin(post)
    const { present, presentCount } = postTerms
    const before = this.#candidates
    this.#entriesCount = 0
    this.#fetchLists(present, presentCount)
    const numbers: number[] = []
    for (let index = 0; index < presentCount; index++) this.#collect(present[index] ?? 0, numbers)
    this.#collect(always, numbers)
    this.#fetchRoots()
    for (let index = 0; index < this.#entriesCount; index++) this.#askRoot(this.#entries[index] ?? 0, numbers)
    this.#filing.queueReviews(postTerms.dueTerms)
    this.#filing.review(this.#candidates - before)
    return numbers
  }

  /** Collects the rules and the roots that are filed under the term and whose guard the post holds. */
  #collect(term: number, numbers: number[]): void {
    const fields = this.#terms.fields.pages[(term << termBits) >>> pageBits] ?? noPage
    const field = (term << termBits) & pageMask
    const count = fields[field + termField.postingsCount] ?? 0
    if (count === 0) return
    this.#candidates += count
    const { bits } = this.#postTerms
    if (this.#entriesCount + count > this.#entries.length) this.#makeRoom(count)
    if (count === 1) {
      const guard = fields[field + termField.guard] ?? 0
      if (((bits[guard >>> 5] ?? 0) & (1 << guard)) !== 0)
        this.#keep(fields[field + termField.postings] ?? 0, numbers)
      return
    }
    const { pages } = this.#arena
    let pairs = pairsOfFirst(count)
    for (let chunk = fields[field + termField.postings] ?? 0; chunk !== 0;) {
      const page = pages[chunk >>> pageBits] ?? noPage
      const at = chunk & pageMask
      const end = at + chunkField.pairs + pairs * 2
      for (let pair = at + chunkField.pairs; pair < end; pair += 2) {
        const guard = page[pair + 1] ?? 0
        if (((bits[guard >>> 5] ?? 0) & (1 << guard)) !== 0) this.#keep(page[pair] ?? 0, numbers)
      }
      chunk = page[at + chunkField.next] ?? 0
      pairs = chunkPairs
    }
  }

  #keep(entry: number, numbers: number[]): void {
    if (isRule(entry)) numbers.push(ruleOf(entry))
    else this.#entries[this.#entriesCount++] = entry
  }

  /** Fetches the lists of terms from memory, so that reading one after the other does not wait for each. */
  #fetchLists(terms: Int32Array, count: number): void {
    const { pages } = this.#arena
    const { fields } = this.#terms
    let fetched = 0
    for (let index = 0; index < count; index++) {
      const term = terms[index] ?? 0
      const page = fields.pages[(term << termBits) >>> pageBits] ?? noPage
      const field = (term << termBits) & pageMask
      const chunk =
        (page[field + termField.postingsCount] ?? 0) > 1 ? (page[field + termField.postings] ?? 0) : 0
      if (chunk !== 0) fetched ^= (pages[chunk >>> pageBits] ?? noPage)[chunk & pageMask] ?? 0
    }
    this.fetched ^= fetched
  }

  /** So for the roots that are to be asked. */
  #fetchRoots(): void {
    const { pages } = this.#arena
    const entries = this.#entries
    let fetched = 0
    for (let index = 0; index < this.#entriesCount; index++) {
      const root = rootOf(entries[index] ?? 0)
      fetched ^= (pages[root >>> pageBits] ?? noPage)[root & pageMask] ?? 0
    }
    this.fetched ^= fetched
  }

  #makeRoom(count: number): void {
    const entries = new Int32Array((this.#entriesCount + count) * 2)
    entries.set(this.#entries.subarray(0, this.#entriesCount))
    this.#entries = entries
  }

  #askRoot(entry: number, numbers: number[]): void {
    const root = rootOf(entry)
    const page = this.#arena.pages[root >>> pageBits] ?? noPage
    const at = root & pageMask
    if ((page[at + rootField.filing] ?? 0) < 0) {
      if (page[at + rootField.place] === this.#evaluation.stamp) {
        this.#candidates--
        return
      }
      page[at + rootField.place] = this.#evaluation.stamp
    }
    if (!isExactRoot(entry) && !this.#evaluation.rootHolds(page, at)) return
    const first = page[at + rootField.rule] ?? noRule
    numbers.push(first >> 1)
    if ((first & 1) === 0) return
    const links = this.#links
    for (let number = links.get((first >> 1) * 2); number !== noRule; number = links.get(number * 2))
      numbers.push(number)
  }

  /** Takes out the rule between the two: a rule, or `~` the root; and a rule or `noRule`. */
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
    this.#arena.write(root, rootField.rule, (number << 1) | (hasMore ? 1 : 0))
  }

  #newNumber(): number {
    const number = this.#free
    if (number === noRule) return this.#numbers++
    this.#free = this.#links.get(number * 2)
    return number
  }

  #forgetNumbers(): void {
    this.#links.clear()
    this.#numbers = 0
    this.#free = noRule
  }
}
