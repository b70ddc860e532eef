/**
 * The words and keys of one post, folded, as integers: what the matcher looks up.
 *
 *     units      c a t 0 d o g 0 👍🏽 👍 l o v e r 0      folded texts, one after the other, each from an even unit on
 *     tokens     [0,3) [4,7) [8,12)…                    with the toneless form, if it has one
 *     passages   text: tokens 0 to 3                    in the order of `PostFacts.passages`
 *     queries    text: cat, text: dog, …, hashtag: lover      hashed, those of a passage and those of keys
 *     positions  1 2 3 - -                              the query of each token of a passage, and a gap after it
 *
 * They lie in the memory of the walk's module, which adds nearly all of them (`assembly/term-queries.ts`), and are kept
 * from post to post. A text that is known to be no term (`absent-hashes.ts`) has no query. A post with more of them
 * than have room there is left to `PostFacts`.
 */

import type { TextKind } from "../text/tokenise.ts"
import { counted, passageSlots, tokenSlot, tokenSlots } from "./walk-layout.ts"
import { countsOf, type Walk } from "./walk-module.ts"

/** Texts of one post after the other. */
export class TermTexts {
  readonly #walk: Walk
  readonly #counts: Int32Array
  /** The folded texts. */
  readonly units: Uint16Array
  /** The same, two units in each integer. */
  readonly packed: Int32Array
  /**
   * `tokenSlots` integers for each token. Its toneless text, of an emoji with a skin tone, follows its text; without
   * one both ends are the same. A token without a text is a gap.
   */
  readonly tokens: Int32Array
  /** `passageSlots` integers for each passage. */
  readonly passages: Int32Array
  /**
   * For each token of a passage its query, shifted left by one, with whether it is glued; and that of its toneless
   * text; 0 if there is none.
   */
  readonly positions: Int32Array
  /** For each query, from 1 on, the hash of its field and text, */
  readonly hashes: Int32Array
  /** the length of its text and its field, as in a term's record, */
  readonly infos: Int32Array
  /** and where its text begins in `packed`. */
  readonly begins: Int32Array
  /** The texts of the walk, of which tokens are made. */
  readonly sources: Uint16Array

  constructor(walk: Walk) {
    const { buffer } = walk.memory
    const ints = (at: number, length: number): Int32Array => new Int32Array(buffer, at, length)
    const [queries, queriesMax] = [walk.queries.value, walk.queriesMax.value]
    this.#walk = walk
    this.#counts = countsOf(walk)
    this.units = new Uint16Array(buffer, walk.termUnits.value, walk.termUnitsMax.value)
    this.packed = ints(walk.termUnits.value, walk.termUnitsMax.value / 2)
    this.tokens = ints(walk.tokens.value, walk.tokensMax.value * tokenSlots)
    this.passages = ints(walk.passages.value, walk.passagesMax.value * passageSlots)
    this.positions = ints(walk.positions.value, walk.positionsMax.value)
    this.hashes = ints(queries, queriesMax)
    this.infos = ints(queries + queriesMax * 4, queriesMax)
    this.begins = ints(queries + queriesMax * 8, queriesMax)
    this.sources = new Uint16Array(buffer, walk.units.value, walk.unitsMax.value)
  }

  /** Number of units in use. */
  get unitsCount(): number {
    return this.#countOf(counted.units)
  }

  /** Number of tokens. */
  get tokensCount(): number {
    return this.#countOf(counted.tokens)
  }

  /** Number of passages. */
  get passagesCount(): number {
    return this.#countOf(counted.passages)
  }

  /** Number of integers of positions. */
  get positionsCount(): number {
    return this.#countOf(counted.positions)
  }

  /** Number of queries, which is the last of them. */
  get queriesCount(): number {
    return this.#countOf(counted.queries)
  }

  /** True if something had no room, and is not there. */
  get isFull(): boolean {
    return this.#countOf(counted.isFull) !== 0
  }

  /** Forgets the post before. */
  clear(): void {
    for (let count = 0; count < counted.sources; count++) this.#counts[count] = 0
  }

  /** The units, to write so many of them after those in use. A text without room is not written. */
  roomFor(count: number): Uint16Array {
    if (this.unitsCount + count > this.units.length) this.#counts[counted.isFull] = 1
    return this.units
  }

  /** Adds the tokens of the sources from `begin` to `end`, after which there must be two zeros. */
  addTokens(begin: number, end: number, kind: TextKind): void {
    this.#walk.addTokens(begin, end, kind === "post" ? 1 : 0)
  }

  /** Adds a token of the units from the ones in use up to `end`. */
  addToken(end: number, isGlued = false): void {
    this.#addToken(end, end, isGlued)
  }

  /** Adds a token with this text, and one without a skin tone if it has one. */
  addTokenText(text: string, toneless = "", isGlued = false): void {
    const end = this.#write(text, this.unitsCount)
    this.#addToken(end, toneless === "" ? end : this.#write(toneless, this.#nextAfter(end)), isGlued)
  }

  /** Removes the last token, if there is one after `from`. */
  dropToken(from: number): void {
    if (this.tokensCount > from) this.#counts[counted.tokens] = this.tokensCount - 1
  }

  /** Adds a passage of the tokens from the `from`-th up to `to`, by default the last. */
  addPassage(field: number, from: number, to = this.tokensCount, gap = 1): void {
    this.#walk.addPassage(field, from, to, gap)
  }

  /** Adds a key of the units from the ones in use up to `end`. */
  addKey(field: number, end: number): void {
    this.#walk.addKey(field, end)
  }

  /** Adds a key with this text, which is folded. */
  addKeyText(field: number, key: string): void {
    this.addKey(field, this.#write(key, this.unitsCount))
  }

  #addToken(end: number, tonelessEnd: number, isGlued: boolean): void {
    const token = this.tokensCount
    const slot = token * tokenSlots
    if (slot >= this.tokens.length || tonelessEnd > this.units.length) {
      this.#counts[counted.isFull] = 1
      return
    }
    this.tokens[slot + tokenSlot.begin] = this.unitsCount
    this.tokens[slot + tokenSlot.end] = (end << 1) | (isGlued ? 1 : 0)
    this.tokens[slot + tokenSlot.tonelessEnd] = tonelessEnd
    this.#counts[counted.tokens] = token + 1
    this.#counts[counted.units] = this.#nextAfter(tonelessEnd)
  }

  /** The even unit from which the next text is written, after one that ends here. */
  #nextAfter(end: number): number {
    if ((end & 1) === 0) return end
    this.units[end] = 0
    return end + 1
  }

  /** Writes the text at the unit. Returns its end. */
  #write(text: string, at: number): number {
    const units = this.roomFor(at - this.unitsCount + text.length)
    for (let index = 0; index < text.length; index++) units[at + index] = text.charCodeAt(index)
    return at + text.length
  }

  #countOf(index: number): number {
    return this.#counts[index] ?? 0
  }
}
