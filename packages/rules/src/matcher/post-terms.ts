/**
 * The terms of a post and the positions of its words, as integers.
 *
 * A term that no rule contains does not exist here, and a field that no rule searches is not read.
 */

import type { PostFacts } from "../post/post-facts.ts"
import { longer, noPage, pageBits, pageMask } from "./paged-ints.ts"
import type { KeyName, Zone } from "../language/rule.ts"
import { always, termBits, termSlot, termFields, zonesCount } from "./term-layout.ts"
import type { TermTable } from "./term-table.ts"
import { textGap, WordPositions } from "./word-positions.ts"

/** Whether a term that was seen so often is due for a review of its rules: at powers of four from 64 on. */
function isDue(seen: number): boolean {
  return (seen & (seen - 1)) === 0 && (seen & 0x5555_5540) !== 0
}

const fields = termFields.map((field, number) => ({ field, number }))
const zoneFields = fields.slice(0, zonesCount) as { readonly field: Zone; readonly number: number }[]
const keyFields = fields.slice(zonesCount, fields.length - 1) as {
  readonly field: KeyName
  readonly number: number
}[]

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

  /** Reads the post. */
  read(post: PostFacts): void {
    this.#clear()
    const terms = this.#terms
    terms.countPost()
    let queries = 0
    for (const { field, number } of zoneFields)
      if (terms.sizeOf(number) > 0) queries = this.#readZone(post, field, number, queries)
    for (const { field, number } of keyFields)
      if (terms.sizeOf(number) > 0) for (const { key } of post.keys(field)) queries = terms.query(number, key)
    const found = terms.findAll()
    for (let query = 1; query <= queries; query++) this.#add(found[query] ?? 0)
    this.#resolveTokens(found)
    this.positions.begin(this.#tokens, this.#tokensLength, this.#present, this.#presentCount)
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
  #readZone(post: PostFacts, zone: Zone, number: number, before: number): number {
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

  /** Replaces the queries of tokens by their terms. 0 is neither a query nor a term. */
  #resolveTokens(found: Int32Array): void {
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
    if (this.#presentCount === this.#present.length) this.#present = longer(this.#present)
    this.#present[this.#presentCount++] = term
    const page = this.#terms.slots.pages[(term << termBits) >>> pageBits] ?? noPage
    const at = (term << termBits) & pageMask
    const seen = (page[at + termSlot.seen] ?? 0) + 1
    page[at + termSlot.seen] = seen
    if (isDue(seen)) this.dueTerms.push(term)
  }

  #makeRoom(length: number): void {
    while (this.#tokensLength + length > this.#tokens.length) this.#tokens = longer(this.#tokens)
  }
}
