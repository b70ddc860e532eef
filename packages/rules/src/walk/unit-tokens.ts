/**
 * The tokens of a text in UTF-16 units, exactly as `tokenise` finds them, without a string or an object for any of them.
 *
 * Most of ASCII is left to the walk's module, and what is rare to `text/tokenise.ts`, which defines all of it: emoji of several code points, and words that need
 * more than a folding unit by unit, such as letters with combining marks.
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
import { foldedUnit, needsWholeFold } from "../text/fold.ts"
import {
  emojiAt,
  isKeycapAt,
  isTypographyEmojiAt,
  normalised,
  withoutSelectors,
  withoutTone,
  type TextKind,
} from "../text/tokenise.ts"
import { textOfUnits } from "./json-units.ts"
import type { TermTexts } from "./term-texts.ts"

/** Adds the tokens of the sources of the texts from `begin` to `end`, after which there must be two zeros. */
export function addTokens(begin: number, end: number, kind: TextKind, texts: TermTexts): void {
  reader.read(begin, end, kind, texts)
}

const capital = 1
const small = 2
const asciiClasses = Uint8Array.from({ length: 0x80 }, (_, code) => {
  const character = String.fromCharCode(code)
  return /[A-Z]/.test(character) ? capital : /[a-z0-9]/.test(character) ? small : 0
})

/** Reads one text after the other; all that is about one text stands in its members. */
class TokenReader {
  #units: Uint16Array = new Uint16Array(0)
  #begin = 0
  #end = 0
  #texts!: TermTexts
  /** The text as a string, made when it is first needed. */
  #text: string | undefined

  read(begin: number, end: number, kind: TextKind, texts: TermTexts): void {
    const units = texts.sources
    this.#units = units
    this.#begin = begin
    this.#end = end
    this.#texts = texts
    this.#text = undefined
    const isPost = kind === "post"
    let unsegmentedEnd = -1
    for (let at = begin; at < end;) {
      if ((units[at] ?? 0) < 0x80) at = texts.addAsciiTokens(at, end, isPost)
      if (at >= end) return
      const unit = units[at] ?? 0
      if (unit < 0x80) {
        const runEnd = this.#writeAscii(at)
        if (runEnd > at) {
          const link = isPost && units[runEnd] === 0x3a ? this.#shortLinkEnd(at, runEnd) : 0
          texts.addToken(link > 0 ? texts.unitsCount : texts.unitsCount + runEnd - at)
          at = link > 0 ? link : runEnd
          continue
        }
        if (runEnd === at && !(unit === 0x26 && isPost)) {
          at++
          continue
        }
      }
      const point = pointAt(units, at)
      const width = point > 0xffff ? 2 : 1
      const kindOfCharacter = classOf(point)
      const emojiEnd = this.#emojiEnd(kindOfCharacter, at, width)
      if (emojiEnd > at) at = emojiEnd
      else if (kindOfCharacter <= mark || kindOfCharacter === pictograph)
        at += isPost && unit === 0x26 ? this.#escapeWidth(at) : width
      else if (kindOfCharacter === unsegmented) {
        const isGlued = unsegmentedEnd === at
        at = unsegmentedEnd = this.#addLetter(at, width, isGlued)
      } else at = this.#addWord(at, width, kindOfCharacter)
    }
  }

  /** Writes the ASCII letters and digits that begin here, folded. Returns what `asciiRunEnd` of `tokenise.ts` does. */
  #writeAscii(from: number): number {
    const [units, texts] = [this.#units, this.#texts]
    const room = texts.roomFor(this.#end - from)
    let to = texts.unitsCount
    let at = from
    let unit = units[at] ?? 0
    for (; unit < 0x80; unit = units[++at] ?? 0) {
      const kind = asciiClasses[unit] ?? 0
      if (kind === 0) break
      // A capital is a small letter without this bit.
      room[to++] = kind === capital ? unit | 0x20 : unit
    }
    if (unit >= 0x80) return at > from && classOf(unit) === separator && unit !== 0x20e3 && unit !== 0xfe0f ? at : -1
    if (at > from || (unit !== 0x23 && unit !== 0x2a)) return at
    return (units[at + 1] ?? 0) < 0x80 ? at : -1
  }

  /** The end of the emoji that begins here, which is added; `at` if there is none. */
  #emojiEnd(kind: number, at: number, width: number): number {
    const next = this.#units[at + width] ?? 0
    if (kind === pictograph) {
      if (!continuesEmoji(next) && !isRegionalIndicator(this.#units, at)) return this.#addUnits(at, at + width)
    } else {
      if (kind === unsegmented || kind >= firstScript || (next !== 0xfe0f && next !== 0x20e3)) return at
      const index = at - this.#begin
      if (!isKeycapAt(this.#string(), index) && !isTypographyEmojiAt(this.#string(), index)) return at
    }
    const emoji = emojiAt(this.#string(), at - this.#begin)
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
    while (at < this.#end && classOf(pointAt(units, at)) === mark) at += pointAt(units, at) > 0xffff ? 2 : 1
    if (at === from + 1 && (units[from] ?? 0) < 0xf900) return this.#addUnits(from, at, isGlued)
    this.#texts.addTokenText(normalised(textOfUnits(units, from, at)), undefined, isGlued)
    return at
  }

  /** A word of other letters than ASCII, or of ASCII with others. Returns its end. */
  #addWord(from: number, width: number, kind: number): number {
    const [units, texts] = [this.#units, this.#texts]
    let script = kind >= firstScript ? kind : 0
    let folded = width === 1 ? foldedUnit(units[from] ?? 0) : needsWholeFold
    let isWhole = folded === needsWholeFold
    let at = from + width
    let room = texts.roomFor(at - from)
    let end = texts.unitsCount
    room[end++] = folded
    while (at < this.#end) {
      const next = pointAt(units, at)
      const nextKind = classOf(next)
      if (nextKind === separator || nextKind === pictograph || nextKind === unsegmented) break
      if (nextKind === digit && this.#isKeycap(at)) break
      if (nextKind >= firstScript) {
        if (script !== 0 && script !== nextKind) break
        script = nextKind
      } else if (nextKind === anyScript) {
        if (units[at + 1] === 0xfe0f && isTypographyEmojiAt(this.#string(), at - this.#begin)) break
      }
      if (!isWhole) {
        folded = next > 0xffff || nextKind === mark ? needsWholeFold : foldedUnit(next)
        isWhole = folded === needsWholeFold
        room = texts.roomFor(at - from + 1)
        room[end++] = folded
      }
      at += next > 0xffff ? 2 : 1
    }
    if (isWhole) texts.addTokenText(normalised(textOfUnits(units, from, at)))
    else texts.addToken(end)
    return at
  }

  #addUnits(from: number, to: number, isGlued = false): number {
    const texts = this.#texts
    const room = texts.roomFor(to - from)
    const end = texts.unitsCount
    for (let at = from; at < to; at++) room[end + at - from] = this.#units[at] ?? 0
    texts.addToken(end + to - from, isGlued)
    return to
  }

  #isKeycap(at: number): boolean {
    const next = this.#units[at + 1] ?? 0
    return (next === 0x20e3 || next === 0xfe0f) && isKeycapAt(this.#string(), at - this.#begin)
  }

  /** Width of the `&`, with what follows it if X wrote it for `&`, `<` or `>`. */
  #escapeWidth(at: number): number {
    const units = this.#units
    const isAnd = units[at + 1] === 0x61 && units[at + 2] === 0x6d && units[at + 3] === 0x70 && units[at + 4] === 0x3b
    if (isAnd) return 5
    const isAngle =
      (units[at + 1] === 0x6c || units[at + 1] === 0x67) && units[at + 2] === 0x74 && units[at + 3] === 0x3b
    return isAngle ? 4 : 1
  }

  /** The end of the short link of X that begins here with the run, or 0. Like `shortLink` of `tokenise.ts`. */
  #shortLinkEnd(from: number, runEnd: number): number {
    const units = this.#units
    if (runEnd - from !== 4 && runEnd - from !== 5) return 0
    if (units[runEnd + 1] !== 0x2f || units[runEnd + 2] !== 0x2f) return 0
    if (!this.#isText("http", from) || (runEnd - from === 5 && !this.#isText("s", from + 4))) return 0
    let at = runEnd + 3
    if (!this.#isText("t.co", at)) return 0
    at += 4
    if (units[at] !== 0x2f) {
      const next = units[at] ?? 0
      return asciiClassOf(next) !== 0 || next === 0x2e || next === 0x2d ? 0 : at
    }
    at++
    while (asciiClassOf(units[at] ?? 0) !== 0) at++
    return at
  }

  /** Whether the units are these small letters and signs, in upper or lower case. */
  #isText(text: string, from: number): boolean {
    for (let index = 0; index < text.length; index++) {
      const unit = this.#units[from + index] ?? 0
      const lower = unit < 0x80 && asciiClasses[unit] === capital ? unit | 0x20 : unit
      if (lower !== text.charCodeAt(index)) return false
    }
    return true
  }

  #string(): string {
    return (this.#text ??= textOfUnits(this.#units, this.#begin, this.#end))
  }
}

const reader = new TokenReader()

/** The code point at the index: a lone half of a surrogate pair as such. */
function pointAt(units: Uint16Array, at: number): number {
  const unit = units[at] ?? 0
  if (unit < 0xd800 || unit > 0xdbff) return unit
  const next = units[at + 1] ?? 0
  return next >= 0xdc00 && next <= 0xdfff ? ((unit - 0xd800) << 10) + (next - 0xdc00) + 0x10000 : unit
}

/** Whether a unit after a pictograph may belong to its emoji: selectors, the joiner, skin tones and tags. */
function continuesEmoji(unit: number): boolean {
  return unit === 0x200d || unit === 0xfe0e || unit === 0xfe0f || unit === 0xd83c || unit === 0xdb40
}

function isRegionalIndicator(units: Uint16Array, at: number): boolean {
  const low = units[at + 1] ?? 0
  return units[at] === 0xd83c && low >= 0xdde6 && low <= 0xddff
}

function asciiClassOf(unit: number): number {
  return unit < 0x80 ? (asciiClasses[unit] ?? 0) : 0
}
