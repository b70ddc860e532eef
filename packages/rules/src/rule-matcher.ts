/**
 * Finds the rules that hold of a post without asking each of them.
 *
 *     rule   cat (dog OR "hot dog") -fish
 *     terms  cat · dog · hot · fish             every word or value the rule names, interned
 *     cover  { cat }  or  { dog, dog }          a matching post must hold one of these
 *
 *     post ──► its terms that some rule names ──► rules filed under them ──► do they hold?
 *
 * A rule is filed under a cover: of an AND the cheapest cover among its clauses, of an OR the covers
 * of all its branches together; a negation has none. This reaches the same rules as normal form
 * would, without its blow-up. A rule without a cover is on the scan list and is asked every time;
 * `parseRule` refuses such rules, so the list stays empty but for trees built by hand.
 *
 * Cheap means rare. What is rare is learned from the posts that pass: each term counts how often it
 * comes. A rule that keeps being asked in vain looks again for a cheaper cover, so rules filed before
 * the first post, or before a word became common, move by themselves, one at a time.
 *
 * Asking is cheap too: the terms of the post are stamped with the number of the match, so that a
 * one-word clause is one comparison and only phrases look at the text again.
 */

import { fold } from "./fold.ts"
import { languageKey } from "./languages.ts"
import { hasPhrase } from "./phrase.ts"
import type { PostFacts, UserNames } from "./post-facts.ts"
import type { Operator, Rule, Word } from "./rule.ts"
import { isStopword } from "./stopwords.ts"

type TermKind = "word" | "link" | Exclude<Operator["kind"], "keyword" | "phrase" | "url">

/** A word or value that at least one rule names. */
type Term = {
  readonly kind: TermKind
  readonly text: string
  /** Clauses that name it; at 0 it is forgotten. */
  uses: number
  /** Number of the last match whose post held it. */
  stamp: number
  /** Posts that held it, among those since `since`. */
  seen: number
  since: number
  readonly filings: Filing[]
}

/** A rule under one term of its cover. `place` is its index there. */
type Filing = { readonly filed: Filed<unknown>; readonly term: Term; place: number }

type Filed<Key> = {
  readonly key: Key
  readonly test: Test
  readonly terms: readonly Term[]
  filings: readonly Filing[]
  /** Index in the scan list; -1 when filed under terms. */
  scanPlace: number
  /** Number of the last match that asked the rule. */
  asked: number
  /** Times asked in vain since it was filed. */
  misses: number
  /** Misses at which to look for a cheaper cover. */
  patience: number
}

/** A rule over terms instead of text. */
type Test =
  | { readonly kind: "term"; readonly term: Term }
  | {
      readonly kind: "phrase"
      readonly terms: readonly Term[]
      readonly words: readonly Word[]
      readonly isLink: boolean
    }
  | { readonly kind: "not"; readonly test: Test }
  | { readonly kind: "any" | "all"; readonly tests: readonly Test[] }

const firstPatience = 64

/** Posts after which a term's count is halved, so that it follows the day. */
const memoryPosts = 1_000_000

/** Posts that the guess about a new term is worth. */
const guessWeight = 1000

/** Rules by key, and which of them hold of a post. Rules are added and removed one at a time, without a rebuild. */
export class RuleMatcher<Key> {
  readonly #rules = new Map<Key, Filed<Key>>()
  readonly #terms: Readonly<Record<TermKind, Map<string, Term>>> = {
    word: new Map(),
    link: new Map(),
    hashtag: new Map(),
    mention: new Map(),
    cashtag: new Map(),
    from: new Map(),
    to: new Map(),
    retweets_of: new Map(),
    conversation_id: new Map(),
    lang: new Map(),
    is: new Map(),
    has: new Map(),
  }
  readonly #scanList: Filed<Key>[] = []
  /** Terms of the post at hand under which rules are filed. */
  #present: Term[] = []
  #impatient: Filed<Key>[] = []
  #matches = 0
  #candidates = 0

  /** Rules held. */
  get size(): number {
    return this.#rules.size
  }

  /** Rules that every post is compared with, because no word or value is required by them. */
  get scanListLength(): number {
    return this.#scanList.length
  }

  /** Rules compared with a post, over all posts so far. */
  get candidatesTotal(): number {
    return this.#candidates
  }

  /** Adds a rule; one that was there under the key is replaced. */
  add(key: Key, rule: Rule): void {
    this.remove(key)
    const terms: Term[] = []
    const test = this.#compile(rule, terms)
    const filed: Filed<Key> = {
      key,
      test,
      terms,
      filings: [],
      scanPlace: -1,
      asked: 0,
      misses: 0,
      patience: firstPatience,
    }
    this.#rules.set(key, filed)
    this.#file(filed, coverOf(test, this.#matches))
  }

  /** Removes the key's rule; false when there was none. */
  remove(key: Key): boolean {
    const filed = this.#rules.get(key)
    if (filed === undefined) return false
    this.#rules.delete(key)
    this.#unfile(filed)
    for (const term of filed.terms) this.#release(term)
    return true
  }

  /** Keys of the rules that hold of the post, in no particular order. */
  match(post: PostFacts): Key[] {
    this.#matches++
    this.#stampTerms(post)
    const keys: Key[] = []
    for (const term of this.#present)
      for (const filing of term.filings) this.#ask(filing.filed as Filed<Key>, post, keys)
    for (const filed of this.#scanList) this.#ask(filed, post, keys)
    if (this.#impatient.length > 0) this.#refileImpatient()
    return keys
  }

  #ask(filed: Filed<Key>, post: PostFacts, keys: Key[]): void {
    if (filed.asked === this.#matches) return
    filed.asked = this.#matches
    this.#candidates++
    if (passes(filed.test, post, this.#matches)) keys.push(filed.key)
    else if (++filed.misses === filed.patience) this.#impatient.push(filed)
  }

  #stampTerms(post: PostFacts): void {
    this.#present = []
    const terms = this.#terms
    for (const { tokens } of post.passages) {
      for (const token of tokens) {
        this.#stamp(terms.word.get(token.text))
        if (token.toneless !== undefined) this.#stamp(terms.word.get(token.toneless))
      }
    }
    if (terms.link.size > 0) {
      for (const { tokens } of post.links) {
        for (const token of tokens) {
          this.#stamp(terms.link.get(token.text))
          if (token.toneless !== undefined) this.#stamp(terms.link.get(token.toneless))
        }
      }
    }
    for (const { key } of post.hashtags) this.#stamp(terms.hashtag.get(key))
    for (const { key } of post.mentions) this.#stamp(terms.mention.get(key))
    for (const { key } of post.cashtags) this.#stamp(terms.cashtag.get(key))
    this.#stampUser(terms.from, post.author)
    this.#stampUser(terms.to, post.repliedTo)
    this.#stampUser(terms.retweets_of, post.repostedFrom)
    this.#stamp(terms.conversation_id.get(post.conversationId))
    this.#stamp(terms.lang.get(post.lang))
    for (const value of post.is) this.#stamp(terms.is.get(value))
    for (const value of post.has) this.#stamp(terms.has.get(value))
  }

  #stampUser(terms: ReadonlyMap<string, Term>, user: UserNames): void {
    if (user.id !== undefined) this.#stamp(terms.get(user.id))
    if (user.username !== undefined) this.#stamp(terms.get(user.username))
  }

  #stamp(term: Term | undefined): void {
    if (term === undefined || term.stamp === this.#matches) return
    term.stamp = this.#matches
    term.seen++
    if (term.filings.length > 0) this.#present.push(term)
  }

  #refileImpatient(): void {
    for (const filed of this.#impatient) {
      filed.patience *= 2
      if (filed.scanPlace >= 0) continue
      const cover = coverOf(filed.test, this.#matches)
      const cost = filed.filings.reduce((sum, filing) => sum + frequencyOf(filing.term, this.#matches), 0)
      // Half: moving for less would have rules go back and forth between two equals.
      if (cover === undefined || cover.cost > cost / 2) continue
      this.#unfile(filed)
      this.#file(filed, cover)
    }
    this.#impatient = []
  }

  #file(filed: Filed<Key>, cover: Cover | undefined): void {
    if (cover === undefined) {
      filed.scanPlace = this.#scanList.push(filed) - 1
      return
    }
    filed.filings = Array.from(new Set(cover.terms), (term) => {
      const filing: Filing = { filed, term, place: term.filings.length }
      term.filings.push(filing)
      return filing
    })
  }

  /** The last of each list takes the empty place. */
  #unfile(filed: Filed<Key>): void {
    for (const { term, place } of filed.filings) {
      const last = term.filings.pop()
      if (last === undefined || place === term.filings.length) continue
      term.filings[place] = last
      last.place = place
    }
    filed.filings = []
    if (filed.scanPlace < 0) return
    const last = this.#scanList.pop()
    if (last !== undefined && last !== filed) {
      this.#scanList[filed.scanPlace] = last
      last.scanPlace = filed.scanPlace
    }
    filed.scanPlace = -1
  }

  #compile(rule: Rule, terms: Term[]): Test {
    switch (rule.kind) {
      case "any":
      case "all": {
        const tests = rule.rules.map((one) => this.#compile(one, terms))
        return { kind: rule.kind, tests: tests.toSorted((left, right) => effortOf(left) - effortOf(right)) }
      }
      case "not":
        return { kind: "not", test: this.#compile(rule.rule, terms) }
      case "keyword":
      case "phrase":
        return this.#compileWords("word", rule.words, terms)
      case "url":
        return this.#compileWords("link", rule.words, terms)
      default:
        return { kind: "term", term: this.#intern(rule.kind, keyOf(rule), terms) }
    }
  }

  #compileWords(kind: "word" | "link", words: readonly Word[], terms: Term[]): Test {
    const found = words.map((word) => this.#intern(kind, word.text, terms))
    const [only] = found
    if (only !== undefined && found.length === 1) return { kind: "term", term: only }
    return { kind: "phrase", terms: found, words, isLink: kind === "link" }
  }

  #intern(kind: TermKind, text: string, terms: Term[]): Term {
    let term = this.#terms[kind].get(text)
    if (term === undefined) {
      term = { kind, text, uses: 0, stamp: 0, seen: 0, since: this.#matches, filings: [] }
      this.#terms[kind].set(text, term)
    }
    term.uses++
    terms.push(term)
    return term
  }

  #release(term: Term): void {
    term.uses--
    if (term.uses === 0) this.#terms[term.kind].delete(term.text)
  }
}

function keyOf(operator: Exclude<Operator, { kind: "keyword" | "phrase" | "url" }>): string {
  switch (operator.kind) {
    case "lang":
      return languageKey(operator.value)
    case "conversation_id":
    case "is":
    case "has":
      return operator.value
    default:
      return fold(operator.value)
  }
}

/** Whether the test holds of the post whose terms carry the stamp. */
function passes(test: Test, post: PostFacts, stamp: number): boolean {
  switch (test.kind) {
    case "term":
      return test.term.stamp === stamp
    case "phrase":
      for (const term of test.terms) if (term.stamp !== stamp) return false
      for (const { tokens } of test.isLink ? post.links : post.passages)
        if (hasPhrase(tokens, test.words)) return true
      return false
    case "not":
      return !passes(test.test, post, stamp)
    case "all":
      for (const one of test.tests) if (!passes(one, post, stamp)) return false
      return true
    case "any":
      for (const one of test.tests) if (passes(one, post, stamp)) return true
      return false
  }
}

function effortOf(test: Test): number {
  switch (test.kind) {
    case "term":
      return 0
    case "not":
      return effortOf(test.test)
    case "phrase":
      return 2
    case "any":
    case "all":
      return 1
  }
}

/** Terms one of which every matching post holds, and the share of posts that hold them, added up. */
type Cover = { readonly terms: readonly Term[]; readonly cost: number }

/** The cheapest cover of the test; undefined when nothing selective is required. */
function coverOf(test: Test, posts: number): Cover | undefined {
  switch (test.kind) {
    case "term":
      return isSelective(test.term) ? { terms: [test.term], cost: frequencyOf(test.term, posts) } : undefined
    case "phrase":
      return cheapest(test.terms.map((term) => ({ terms: [term], cost: frequencyOf(term, posts) })))
    case "not":
      return undefined
    case "all":
      return cheapest(test.tests.map((one) => coverOf(one, posts)))
    case "any":
      return together(test.tests.map((one) => coverOf(one, posts)))
  }
}

function cheapest(covers: readonly (Cover | undefined)[]): Cover | undefined {
  let best: Cover | undefined
  for (const cover of covers) if (cover && (best === undefined || cover.cost < best.cost)) best = cover
  return best
}

function together(covers: readonly (Cover | undefined)[]): Cover | undefined {
  const terms: Term[] = []
  let cost = 0
  for (const cover of covers) {
    if (cover === undefined) return undefined
    for (const term of cover.terms) terms.push(term)
    cost += cover.cost
  }
  return { terms, cost }
}

/** X's conjunction-required operators hold of too many posts to file a rule under. */
function isSelective(term: Term): boolean {
  return term.kind !== "is" && term.kind !== "has" && term.kind !== "lang"
}

/** Share of posts that hold the term: the guess at first, what was seen later. */
function frequencyOf(term: Term, posts: number): number {
  if (posts - term.since > memoryPosts) {
    term.seen /= 2
    term.since += (posts - term.since) / 2
  }
  return (term.seen + guessOf(term) * guessWeight) / (posts - term.since + guessWeight)
}

/** Ours, by the look of the posts at hand: one in so many holds such a term. */
function guessOf({ kind, text }: Term): number {
  switch (kind) {
    case "word":
      return isStopword(text) ? 0.3 : 0.05 / Math.min(text.length, 10)
    case "link":
      return isStopword(text) ? 0.5 : 0.005
    case "hashtag":
    case "mention":
    case "cashtag":
      return 0.001
    default:
      return 0.0001
  }
}
