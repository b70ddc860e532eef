/**
 * Which terms a post holds, and where its words stand, as integers.
 *
 * Terms that no rule names do not exist here, and places of a post in which no term is looked for are not read.
 */

import type { PostFacts } from "./post-facts.ts"
import { pageBits, noPage, pageMask } from "./paged-ints.ts"
import type { KeyName, Zone } from "./rule.ts"
import { always, termBits, termField, termPlaces, zonesCount } from "./term-table.ts"
import type { TermTable } from "./term-table.ts"

/** Powers of four from 64 on: how often a term was seen when it is time to look at what is filed under it. */
function isDue(seen: number): boolean {
  return (seen & (seen - 1)) === 0 && (seen & 0x5555_5540) !== 0
}

const places = termPlaces.map((place, number) => ({ place, number }))
const zonePlaces = places.slice(0, zonesCount) as { readonly place: Zone; readonly number: number }[]
const keyPlaces = places.slice(zonesCount, places.length - 1) as {
  readonly place: KeyName
  readonly number: number
}[]

/** The terms of the post read last. */
export class PostTerms {
  readonly #terms: TermTable
  /** A bit for each term: 200,000 of them fit the nearest cache. */
  #bits = new Int32Array(32)
  #present = new Int32Array(64)
  #presentCount = 0
  /** Two integers for each token of the zones: its term and whether it is glued, and its term without skin tone. */
  #tokens = new Int32Array(256)
  #tokensLength = 0
  /** Where the tokens of each zone begin and end. */
  readonly #from = new Int32Array(zonesCount)
  readonly #to = new Int32Array(zonesCount)
  /** Terms that have been seen so often now that it is time to look at what is filed under them. */
  readonly dueTerms: number[] = []

  constructor(terms: TermTable) {
    this.#terms = terms
  }

  /** Bit `term & 31` of number `term >>> 5` says whether the post holds the term. */
  get bits(): Int32Array {
    return this.#bits
  }

  /** The terms held, of which `presentCount` count. */
  get present(): Int32Array {
    return this.#present
  }

  get presentCount(): number {
    return this.#presentCount
  }

  /** Reads the post. */
  read(post: PostFacts): void {
    this.#clear()
    const terms = this.#terms
    terms.countPost()
    let queries = 0
    for (const { place, number } of zonePlaces)
      if (terms.sizeOf(number) > 0) queries = this.#readZone(post, place, number, queries)
    for (const { place, number } of keyPlaces)
      if (terms.sizeOf(number) > 0) for (const { key } of post.keys(place)) queries = terms.query(number, key)
    const found = terms.findAll()
    for (let query = 1; query <= queries; query++) this.#add(found[query] ?? 0)
    this.#nameTokens(found)
  }

  /** Whether the words stand in a row somewhere in their zone: as `hasPhrase`. They are `count` integers of the page. */
  hasPhrase(page: Int32Array, begin: number, count: number): boolean {
    const zone = this.#terms.placeOf((page[begin] ?? 0) >>> 1)
    const tokens = this.#tokens
    const first = page[begin] ?? 0
    const last = (this.#to[zone] ?? 0) - count * 2
    for (let at = this.#from[zone] ?? 0; at <= last; at += 2) {
      if (!isFound(first, tokens[at] ?? 0, tokens[at + 1] ?? 0)) continue
      let index = 1
      while (
        index < count &&
        isFound(page[begin + index] ?? 0, tokens[at + index * 2] ?? 0, tokens[at + index * 2 + 1] ?? 0)
      )
        index++
      if (index === count) return true
    }
    return false
  }

  /** At the beginning of the next post rather than at the end, so that a post that throws leaves nothing behind. */
  #clear(): void {
    const present = this.#present
    for (let index = 0; index < this.#presentCount; index++) this.#bits[(present[index] ?? 0) >>> 5] = 0
    this.#presentCount = 0
    this.#tokensLength = 0
    this.#from.fill(0)
    this.#to.fill(0)
    this.dueTerms.length = 0
    const words = (this.#terms.numbers >>> 5) + 1
    if (this.#bits.length < words) this.#bits = new Int32Array(words * 2)
    this.#bits[0] = 1 << always
  }

  /** Takes note of the tokens, by the numbers of their queries. Returns the last of these. */
  #readZone(post: PostFacts, zone: Zone, number: number, before: number): number {
    const terms = this.#terms
    let queries = before
    this.#from[number] = this.#tokensLength
    for (const { tokens } of post.passages(zone)) {
      this.#makeRoom((tokens.length + 1) * 2)
      const ids = this.#tokens
      let at = this.#tokensLength
      for (const { text, toneless, glued } of tokens) {
        queries = terms.query(number, text)
        ids[at++] = (queries << 1) | (glued ? 1 : 0)
        if (toneless !== undefined) queries = terms.query(number, toneless)
        ids[at++] = toneless === undefined ? 0 : queries
      }
      // A word that nobody looks for, so that no phrase reaches over the end of a text.
      ids[at++] = 0
      ids[at++] = 0
      this.#tokensLength = at
    }
    this.#to[number] = this.#tokensLength
    return queries
  }

  /** Puts the terms of tokens in place of their queries. No query has the number 0, and no term. */
  #nameTokens(found: Int32Array): void {
    const ids = this.#tokens
    found[0] = 0
    for (let at = 0; at < this.#tokensLength; at += 2) {
      const token = ids[at] ?? 0
      ids[at] = ((found[token >>> 1] ?? 0) << 1) | (token & 1)
      ids[at + 1] = found[ids[at + 1] ?? 0] ?? 0
    }
  }

  #add(term: number): void {
    const bits = this.#bits
    if (term === 0 || ((bits[term >>> 5] ?? 0) & (1 << term)) !== 0) return
    bits[term >>> 5] = (bits[term >>> 5] ?? 0) | (1 << term)
    if (this.#presentCount === this.#present.length) this.#present = doubled(this.#present)
    this.#present[this.#presentCount++] = term
    const page = this.#terms.fields.pages[(term << termBits) >>> pageBits] ?? noPage
    const at = (term << termBits) & pageMask
    const seen = (page[at + termField.seen] ?? 0) + 1
    page[at + termField.seen] = seen
    if (isDue(seen)) this.dueTerms.push(term)
  }

  #makeRoom(length: number): void {
    while (this.#tokensLength + length > this.#tokens.length) this.#tokens = doubled(this.#tokens)
  }
}

/** Whether a token is the word. As `isFound` of `phrase.ts`. */
function isFound(word: number, token: number, toneless: number): boolean {
  return (token >>> 1 === word >>> 1 || toneless === word >>> 1) && (token & 1) >= (word & 1)
}

function doubled(ints: Int32Array): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(ints.length * 2)
  copy.set(ints)
  return copy
}
