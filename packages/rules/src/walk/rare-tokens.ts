/**
 * The tokens and keys that the walk's module leaves to JavaScript (`assembly/unit-tokens.ts`): emoji of several code
 * points, words that need more than a folding unit by unit, such as letters with combining marks, and all that it meets
 * for the first time. It gets the class and the folded form of each, and adds the next one like it by itself.
 *
 * `text/tokenise.ts` defines tokens.
 */

import {
  anyScript,
  classOf,
  digit,
  firstScript,
  mark,
  pictograph,
  separator,
  unsegmented,
} from "../text/character-class.ts"
import { fold, foldedUnit, needsWholeFold } from "../text/fold.ts"
import {
  emojiAt,
  isKeycapAt,
  isTypographyEmojiAt,
  normalised,
  withoutSelectors,
  withoutTone,
} from "../text/tokenise.ts"
import { textOfUnits } from "./json-units.ts"
import type { TermTexts } from "./term-texts.ts"
import type { Walk } from "./walk-module.ts"

/** Makes the module call for rare tokens and keys of these texts. */
export function readRareTokens(walk: Walk, texts: TermTexts): void {
  const tokens = new RareTokens(walk, texts)
  walk.rare.addToken = (text, begin, at, end, isGlued) => tokens.add(text, begin, at, end, isGlued === 1)
  walk.rare.addKey = (field, begin, end) => tokens.addKey(field, begin, end)
}

/** Handles rare tokens, one text at a time; its fields hold the state of the current text. */
class RareTokens {
  readonly #texts: TermTexts
  readonly #units: Uint16Array
  readonly #classes: Uint8Array
  readonly #foldedUnits: Uint16Array
  /** Number of the text. */
  #text = 0
  #begin = 0
  #end = 0
  /** The text as a string, made when it is first needed. */
  #string: string | undefined

  constructor(walk: Walk, texts: TermTexts) {
    const { buffer } = walk.memory
    this.#texts = texts
    this.#units = texts.sources
    this.#classes = new Uint8Array(buffer, walk.classes.value, walk.classedMax.value)
    this.#foldedUnits = new Uint16Array(buffer, walk.foldedUnits.value, 0x10000)
    for (let unit = 0; unit < 0x80; unit++) {
      this.#classOf(unit)
      this.#foldedUnit(unit)
    }
  }

  /**
   * Adds the token that begins at the unit, if one does. The text of the number has the sources from `begin` to `end`,
   * and zeros after them. Returns the token's end, shifted left by one, with whether it is a letter of a script without
   * spaces.
   */
  add(text: number, begin: number, at: number, end: number, isGlued: boolean): number {
    if (text !== this.#text) this.#string = undefined
    this.#text = text
    this.#begin = begin
    this.#end = end
    const point = pointAt(this.#units, at)
    const width = widthOf(point)
    const kind = this.#classOf(point)
    const emojiEnd = this.#emojiEnd(kind, at, width)
    if (emojiEnd > at) return emojiEnd << 1
    if (kind <= mark || kind === pictograph) return (at + width) << 1
    if (kind === unsegmented) return (this.#addLetter(at, width, isGlued) << 1) | 1
    return this.#addWord(at, width, kind) << 1
  }

  /** Adds a key with the sources from `begin` to `end`, folded. */
  addKey(field: number, begin: number, end: number): void {
    for (let at = begin; at < end; at++) this.#foldedUnit(this.#units[at] ?? 0)
    this.#texts.addKeyText(field, fold(textOfUnits(this.#units, begin, end)))
  }

  /** The end of the emoji that begins here, which is added; `at` if there is none. */
  #emojiEnd(kind: number, at: number, width: number): number {
    const index = at - this.#begin
    if (kind !== pictograph) {
      const next = this.#units[at + width] ?? 0
      if (kind === unsegmented || kind >= firstScript || (next !== 0xfe0f && next !== 0x20e3)) return at
      if (!isKeycapAt(this.#asString(), index) && !isTypographyEmojiAt(this.#asString(), index)) return at
    }
    const emoji = emojiAt(this.#asString(), index)
    if (emoji === "") return at
    const text = withoutSelectors(emoji)
    const toneless = withoutTone(text)
    this.#texts.addTokenText(text, toneless === text ? undefined : toneless)
    return at + emoji.length
  }

  /** A letter of a script without spaces, with its marks. Returns its end. */
  #addLetter(from: number, width: number, isGlued: boolean): number {
    const units = this.#units
    let at = from + width
    while (at < this.#end && this.#classOf(pointAt(units, at)) === mark) at += widthOf(pointAt(units, at))
    const letter = textOfUnits(units, from, at)
    const isFolded = at === from + 1 && (units[from] ?? 0) < 0xf900
    this.#texts.addTokenText(isFolded ? letter : normalised(letter), undefined, isGlued)
    return at
  }

  /** A word of other letters than ASCII, or of ASCII with others. Returns its end. */
  #addWord(from: number, width: number, kind: number): number {
    const units = this.#units
    let script = kind >= firstScript ? kind : 0
    let isWhole = width > 1 || this.#foldedUnit(units[from] ?? 0) === needsWholeFold
    let at = from + width
    while (at < this.#end) {
      const next = pointAt(units, at)
      const nextKind = this.#classOf(next)
      if (nextKind === separator || nextKind === pictograph || nextKind === unsegmented) break
      if (nextKind === digit && this.#isKeycap(at)) break
      if (nextKind >= firstScript) {
        if (script !== 0 && script !== nextKind) break
        script = nextKind
      } else if (nextKind === anyScript) {
        if (units[at + 1] === 0xfe0f && isTypographyEmojiAt(this.#asString(), at - this.#begin)) break
      }
      isWhole ||= next > 0xffff || nextKind === mark || this.#foldedUnit(next) === needsWholeFold
      at += widthOf(next)
    }
    if (isWhole) this.#texts.addTokenText(normalised(textOfUnits(units, from, at)))
    else this.#addFolded(from, at)
    return at
  }

  #addFolded(from: number, to: number): void {
    const room = this.#texts.roomFor(to - from)
    const begin = this.#texts.unitsCount
    for (let at = from; at < to; at++) room[begin + at - from] = foldedUnit(this.#units[at] ?? 0)
    this.#texts.addToken(begin + to - from)
  }

  #isKeycap(at: number): boolean {
    const next = this.#units[at + 1] ?? 0
    return (next === 0x20e3 || next === 0xfe0f) && isKeycapAt(this.#asString(), at - this.#begin)
  }

  #asString(): string {
    return (this.#string ??= textOfUnits(this.#units, this.#begin, this.#end))
  }

  #classOf(point: number): number {
    const found = classOf(point)
    if (point < this.#classes.length) this.#classes[point] = found
    return found
  }

  #foldedUnit(unit: number): number {
    const folded = foldedUnit(unit)
    this.#foldedUnits[unit] = folded
    return folded
  }
}

/** The code point at the index: a lone half of a surrogate pair as such. */
function pointAt(units: Uint16Array, at: number): number {
  const unit = units[at] ?? 0
  if (unit < 0xd800 || unit > 0xdbff) return unit
  const next = units[at + 1] ?? 0
  return next >= 0xdc00 && next <= 0xdfff ? ((unit - 0xd800) << 10) + (next - 0xdc00) + 0x10000 : unit
}

function widthOf(point: number): number {
  return point > 0xffff ? 2 : 1
}
