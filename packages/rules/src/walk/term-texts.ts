/**
 * The words and keys of one post, folded, as integers: what the matcher looks up.
 *
 *     units     c a t d o g 👍🏽 👍 c a t l o v e r      folded texts, one after the other
 *     tokens    [0,3) [3,6) [6,10)…                     with what the word is besides
 *     passages  text: tokens 0 to 3                     in the order of `PostFacts.passages`
 *     keys      hashtag: [13,21)
 *
 * It is kept from post to post, and so is its memory.
 */

/** Integers of a token: its begin; its end, shifted left by one, with whether it is glued; the end of its toneless text. */
export const tokenSlots = 3

/** Integers of a passage, a field, its first token and the one after its last, and of a key: a field, its begin and end. */
export const passageSlots = 3

/** Texts of one post after the other. */
export class TermTexts {
  #units = new Uint16Array(4096)
  #unitsCount = 0
  #tokens = new Int32Array(1024)
  #tokensCount = 0
  #passages = new Int32Array(96)
  #passagesCount = 0
  #keys = new Int32Array(192)
  #keysCount = 0

  /** The folded texts. */
  get units(): Uint16Array {
    return this.#units
  }

  /** Number of units in use. */
  get unitsCount(): number {
    return this.#unitsCount
  }

  /**
   * `tokenSlots` integers for each token. Its toneless text, of an emoji with a skin tone, follows its text; without one
   * both ends are the same. A token without a text is a gap.
   */
  get tokens(): Int32Array {
    return this.#tokens
  }

  /** Number of tokens. */
  get tokensCount(): number {
    return this.#tokensCount / tokenSlots
  }

  /** `passageSlots` integers for each passage. */
  get passages(): Int32Array {
    return this.#passages
  }

  /** Number of integers of passages. */
  get passagesCount(): number {
    return this.#passagesCount
  }

  /** `passageSlots` integers for each key. */
  get keys(): Int32Array {
    return this.#keys
  }

  /** Number of integers of keys. */
  get keysCount(): number {
    return this.#keysCount
  }

  /** Forgets the post before. */
  clear(): void {
    this.#unitsCount = this.#tokensCount = this.#passagesCount = this.#keysCount = 0
  }

  /** Makes room for so many units, and returns the units. */
  roomFor(count: number): Uint16Array {
    const least = this.#unitsCount + count
    if (least <= this.#units.length) return this.#units
    const larger = new Uint16Array(least * 2)
    larger.set(this.#units)
    this.#units = larger
    return larger
  }

  /** Adds a token of the units from the ones in use up to `end`. */
  addToken(end: number, isGlued = false): void {
    this.#addToken(end, end, isGlued)
  }

  /** Adds a token with this text, and one without a skin tone if it has one. */
  addTokenText(text: string, toneless = "", isGlued = false): void {
    const end = this.#write(text, this.#unitsCount)
    this.#addToken(end, toneless === "" ? end : this.#write(toneless, end), isGlued)
  }

  /** Removes the last token, if there is one after `from`. */
  dropToken(from: number): void {
    if (this.tokensCount > from) this.#tokensCount -= tokenSlots
  }

  /** Adds a passage of the tokens from the `from`-th up to `to`, by default the last. */
  addPassage(field: number, from: number, to = this.tokensCount): void {
    if (this.#passagesCount + passageSlots > this.#passages.length) this.#passages = longer(this.#passages)
    const passages = this.#passages
    passages[this.#passagesCount++] = field
    passages[this.#passagesCount++] = from
    passages[this.#passagesCount++] = to
  }

  /** Adds a key of the units from the ones in use up to `end`. */
  addKey(field: number, end: number): void {
    this.addKeyAt(field, this.#unitsCount, end)
    this.#unitsCount = end
  }

  /** Adds a key of units that are in use. */
  addKeyAt(field: number, begin: number, end: number): void {
    if (this.#keysCount + passageSlots > this.#keys.length) this.#keys = longer(this.#keys)
    const keys = this.#keys
    keys[this.#keysCount++] = field
    keys[this.#keysCount++] = begin
    keys[this.#keysCount++] = end
  }

  /** Adds a key with this text, which is folded. */
  addKeyText(field: number, key: string): void {
    this.addKey(field, this.#write(key, this.#unitsCount))
  }

  /** Takes the tokens from `from` on as one key: their texts, with spaces between them. */
  addKeyOfTokens(field: number, from: number): void {
    const tokens = this.#tokens
    const begin = this.#unitsCount
    const first = (tokens[from * tokenSlots] ?? 0) - 1
    const units = this.roomFor(begin - first + this.tokensCount)
    let at = begin
    for (let slot = from * tokenSlots; slot < this.#tokensCount; slot += tokenSlots) {
      if (at > begin) units[at++] = 0x20
      const textEnd = (tokens[slot + 1] ?? 0) >>> 1
      for (let unit = tokens[slot] ?? 0; unit < textEnd; unit++) units[at++] = units[unit] ?? 0
    }
    this.#tokensCount = from * tokenSlots
    this.addKey(field, at)
  }

  #addToken(end: number, tonelessEnd: number, isGlued: boolean): void {
    if (this.#tokensCount + tokenSlots > this.#tokens.length) this.#tokens = longer(this.#tokens)
    const tokens = this.#tokens
    tokens[this.#tokensCount++] = this.#unitsCount
    tokens[this.#tokensCount++] = (end << 1) | (isGlued ? 1 : 0)
    tokens[this.#tokensCount++] = tonelessEnd
    this.#unitsCount = tonelessEnd
  }

  /** Writes the text at the unit. Returns its end. */
  #write(text: string, at: number): number {
    const units = this.roomFor(at - this.#unitsCount + text.length)
    for (let index = 0; index < text.length; index++) units[at + index] = text.charCodeAt(index)
    return at + text.length
  }
}

function longer(integers: Int32Array): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(integers.length * 2)
  copy.set(integers)
  return copy
}
