/**
 * The terms of a post and the positions of its words, as integers.
 *
 * A term that no rule contains does not exist here, and a field that no rule searches is not read.
 */

import type { Facts } from "../post/post-facts.ts"
import type { TermTexts } from "../walk/term-texts.ts"
import { longer } from "./flat-ints.ts"
import { comparedFields, type KeyName, type Zone } from "../language/rule.ts"
import { always, fieldNumber, termBits, termSlot, termFields, zonesCount } from "./term-layout.ts"
import type { TermTable } from "./term-table.ts"
import { textGap } from "../text/near.ts"
import { WordPositions } from "./word-positions.ts"

/** True if a term that was seen so often is due for a review of its rules: at powers of four from 64 on. */
function isDue(seen: number): boolean {
  return (seen & (seen - 1)) === 0 && (seen & 0x5555_5540) !== 0
}

const fields = termFields.map((field, number) => ({ field, number }))
const zoneFields = fields.slice(0, zonesCount) as { readonly field: Zone; readonly number: number }[]
const keyFields = fields.slice(zonesCount, fields.length - 2) as {
  readonly field: KeyName
  readonly number: number
}[]

const pairField = fieldNumber("pair")

/** The terms of the post read last. */
export class PostTerms {
  readonly #terms: TermTable
  /** A bit for each term: 200,000 of them fit into the first-level cache. */
  #bits = new Int32Array(32)
  #present = new Int32Array(64)
  #presentCount = 0
  /** Two integers for each token of the zones: its term with whether it is glued, and its term without skin tone. */
  #tokens = new Int32Array(256)
  #tokensLength = 0
  /** The positions of the post's words. */
  readonly positions = new WordPositions()
  readonly #wanted = new Uint8Array(comparedFields.length)
  /** Terms of the post that are due for a review of the rules filed under them. */
  readonly dueTerms: number[] = []

  constructor(terms: TermTable) {
    this.#terms = terms
  }

  /** Bit `term & 31` of integer `term >>> 5` is set if the post contains the term. */
  get bits(): Int32Array {
    return this.#bits
  }

  /** The terms of the post; the first `presentCount` integers are in use. */
  get present(): Int32Array {
    return this.#present
  }

  get presentCount(): number {
    return this.#presentCount
  }

  /** By the number of each field that posts are compared in: 1 if it has terms, otherwise 0. */
  get wanted(): Uint8Array {
    const wanted = this.#wanted
    for (let number = 0; number < wanted.length; number++) wanted[number] = this.#terms.sizeOf(number) > 0 ? 1 : 0
    return wanted
  }

  /** Reads the post; if it was walked, its texts, which must be those that are wanted. */
  read(post: Facts, texts?: TermTexts): void {
    this.#clear()
    const terms = this.#terms
    terms.countPost()
    const queries = texts === undefined ? this.#readFacts(post) : texts.queriesCount
    const found = texts === undefined ? terms.findAll() : terms.findThose(texts)
    for (let query = 1; query <= queries; query++) this.#add(found[query] ?? 0)
    const tokens = texts === undefined ? this.#tokens : texts.positions
    const length = texts === undefined ? this.#tokensLength : texts.positionsCount
    resolveTokens(tokens, length, found)
    if (terms.sizeOf(pairField) > 0) this.#addPairs(tokens, length)
    this.positions.begin(tokens, length, this.#present, this.#presentCount)
  }

  /** Adds the queries of the post. Returns the number of the last. */
  #readFacts(post: Facts): number {
    const terms = this.#terms
    let queries = 0
    for (const { field, number } of zoneFields)
      if (terms.sizeOf(number) > 0) queries = this.#readZone(post, field, number, queries)
    for (const { field, number } of keyFields)
      if (terms.sizeOf(number) > 0) for (const { key } of post.keys(field)) queries = terms.query(number, key)
    return queries
  }

  /** Called before a post is read and not after it, so that a post whose reading throws leaves nothing behind. */
  #clear(): void {
    const present = this.#present
    for (let index = 0; index < this.#presentCount; index++) this.#bits[(present[index] ?? 0) >>> 5] = 0
    this.#presentCount = 0
    this.#tokensLength = 0
    this.dueTerms.length = 0
    const words = (this.#terms.numbers >>> 5) + 1
    if (this.#bits.length < words) this.#bits = new Int32Array(words * 2)
    this.#bits[0] = 1 << always
  }

  /** Adds the tokens with the numbers of their queries. Returns the last number. */
  #readZone(post: Facts, zone: Zone, number: number, before: number): number {
    const terms = this.#terms
    let queries = before
    for (const { tokens } of post.passages(zone)) {
      // Positions without a term, so that no phrase or proximity spans two texts.
      const gap = zone === "text" ? textGap : 1
      this.#makeRoom((tokens.length + gap) * 2)
      const ids = this.#tokens
      let at = this.#tokensLength
      for (const { text, toneless, glued } of tokens) {
        queries = terms.query(number, text)
        ids[at++] = (queries << 1) | (glued ? 1 : 0)
        if (toneless !== undefined) queries = terms.query(number, toneless)
        ids[at++] = toneless === undefined ? 0 : queries
      }
      ids.fill(0, at, at + gap * 2)
      this.#tokensLength = at + gap * 2
    }
    return queries
  }

  /** Adds the pairs of words that follow each other. There is a gap between two texts, and so no pair. */
  #addPairs(tokens: Int32Array, length: number): void {
    const terms = this.#terms
    let queries = 0
    let first = 0
    let firstToneless = 0
    for (let at = 0; at < length; at += 2) {
      const second = (tokens[at] ?? 0) >>> 1
      const secondToneless = tokens[at + 1] ?? 0
      if (first !== 0 && second !== 0) queries = terms.queryPair(first, second)
      if ((firstToneless | secondToneless) !== 0) {
        if (first !== 0 && secondToneless !== 0) queries = terms.queryPair(first, secondToneless)
        if (firstToneless !== 0 && second !== 0) queries = terms.queryPair(firstToneless, second)
        if (firstToneless !== 0 && secondToneless !== 0) queries = terms.queryPair(firstToneless, secondToneless)
      }
      first = second
      firstToneless = secondToneless
    }
    const found = terms.findAll()
    for (let query = 1; query <= queries; query++) this.#add(found[query] ?? 0)
  }

  #add(term: number): void {
    const bits = this.#bits
    if (term === 0 || ((bits[term >>> 5] ?? 0) & (1 << term)) !== 0) return
    bits[term >>> 5] = (bits[term >>> 5] ?? 0) | (1 << term)
    if (this.#presentCount === this.#present.length) this.#present = longer(this.#present)
    this.#present[this.#presentCount++] = term
    const { ints } = this.#terms.slots
    const at = (term << termBits) + termSlot.seen
    const seen = (ints[at] ?? 0) + 1
    ints[at] = seen
    if (isDue(seen)) this.dueTerms.push(term)
  }

  #makeRoom(length: number): void {
    while (this.#tokensLength + length > this.#tokens.length) this.#tokens = longer(this.#tokens)
  }
}

/** Replaces the queries of tokens by their terms. 0 is neither a query nor a term. */
function resolveTokens(tokens: Int32Array, length: number, found: Int32Array): void {
  found[0] = 0
  for (let at = 0; at < length; at += 2) {
    const token = tokens[at] ?? 0
    tokens[at] = ((found[token >>> 1] ?? 0) << 1) | (token & 1)
    tokens[at + 1] = found[tokens[at + 1] ?? 0] ?? 0
  }
}
