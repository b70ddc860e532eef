/**
 * Text into the tokens that keywords and phrases are compared with.
 *
 *     "Zoë's #HAPPY_DAY 東京へ👍🏽!"  ──►  zoë s happy day 東 京 へ 👍🏽
 *
 * A token is a run of letters, digits and marks of one script. `_` and everything else separates,
 * and so does a change of script: X splits there (measured over its search results). Scripts that
 * write no spaces give one token per letter; `glued` remembers which of them touch, so that a
 * keyword of three such letters is found anywhere inside a run, yet not across a space or comma.
 * A dictionary that cuts such runs into words would answer the same question less predictably.
 *
 * Joiners, soft hyphens and marks of direction within a word are read and not compared: nobody sees them.
 *
 * An emoji is one token however many code points it takes, also when it touches letters or other
 * emoji. It has two names: with its skin tone and without, so that 👍 finds 👍🏽 and not the reverse.
 *
 * Links that X shortened are skipped: nobody wrote `https t co`. They leave a gap, which no phrase
 * reaches over.
 */

import { codeAt } from "./code-at.ts"
import {
  anyScript,
  classOf,
  digit,
  firstScript,
  mark,
  pictograph,
  separator,
  unsegmented,
} from "./character-class.ts"
import { fold, foldsToItself } from "./fold.ts"

/** A token of a text. */
export type Token = {
  /** Case-folded; "" is a gap that nothing matches. */
  readonly text: string
  /** The emoji without its skin tone, where it has one. */
  readonly toneless?: string | undefined
  /** Touches the token before it, both being letters of an unsegmented script. */
  readonly glued: boolean
  /** First code point in the text that was read. */
  readonly start: number
  /** Code point after the last. */
  readonly end: number
}

/** What the text is, because that decides what counts as written. */
export type TextKind =
  /** A rule: characters as they are. */
  | "rule"
  /** A post: `&amp;`, `&lt;` and `&gt;` are one character each, links to t.co are skipped. */
  | "post"

/** The tokens of the text, in order; none when it has no letter, digit or emoji. */
export function tokenise(text: string, kind: TextKind): readonly Token[] {
  const tokens: Token[] = []
  const length = text.length
  let index = 0
  // Code points before `index`, which is in UTF-16 units.
  let point = 0
  let unsegmentedEnd = -1
  while (index < length) {
    const code = codeAt(text, index)
    if (code < 0x80) {
      // Most texts are this and little else. A run that goes on in other characters is left to what follows.
      const end = asciiRunEnd(text, index)
      if (end > index) {
        const link = kind === "post" && codeAt(text, end) === 0x3a ? shortLinkAt(text, index) : 0
        const word = link > 0 ? "" : asciiWord(text, index, end)
        const width = link > 0 ? link : end - index
        tokens.push(newToken(word, undefined, false, point, point + width))
        index += width
        point += width
        continue
      }
      if (end === index && !(code === 0x26 && kind === "post")) {
        index += 1
        point += 1
        continue
      }
    }
    const codePoint = isHighSurrogate(code) ? (text.codePointAt(index) ?? code) : code
    const width = codePoint > 0xffff ? 2 : 1
    const kindOfCharacter = classOf(codePoint)

    const emoji = mayBeginEmoji(kindOfCharacter, text, index, width) ? emojiAt(text, index) : ""
    if (emoji !== "") {
      const end = point + countPoints(emoji)
      tokens.push(emojiToken(emoji, point, end))
      index += emoji.length
      point = end
      continue
    }

    if (kindOfCharacter <= mark || kindOfCharacter === pictograph) {
      const skipped = kind === "post" && code === 0x26 ? escapeAt(text, index) : 0
      index += skipped > 0 ? skipped : width
      point += skipped > 0 ? skipped : 1
      continue
    }

    const from = index
    const start = point
    index += width
    point += 1
    if (kindOfCharacter === unsegmented) {
      while (index < length && isMarkAt(text, index)) {
        index += widthAt(text, index)
        point += 1
      }
      const letter = text.slice(from, index)
      const isFolded = letter.length === 1 && code < 0xf900
      tokens.push(
        newToken(isFolded ? letter : normal(letter), undefined, unsegmentedEnd === from, start, point),
      )
      unsegmentedEnd = index
      continue
    }

    let script = kindOfCharacter >= firstScript ? kindOfCharacter : 0
    let isFolded = foldsToItself(code)
    while (index < length) {
      const unit = codeAt(text, index)
      const next = isHighSurrogate(unit) ? (text.codePointAt(index) ?? 0) : unit
      const nextClass = classOf(next)
      if (nextClass === separator || nextClass === pictograph || nextClass === unsegmented) break
      if (nextClass === digit && isKeycapAt(text, index)) break
      if (nextClass >= firstScript) {
        if (script !== 0 && script !== nextClass) break
        script = nextClass
      } else if (nextClass === anyScript) {
        if (isTypographyEmojiAt(text, index)) break
      } else if (nextClass !== digit && nextClass !== mark) break
      if (isFolded) isFolded = nextClass !== mark && foldsToItself(unit)
      index += next > 0xffff ? 2 : 1
      point += 1
    }
    const word = text.slice(from, index)
    tokens.push(newToken(isFolded ? word : normal(word), undefined, false, start, point))
  }
  return tokens
}

const wordUnit = 1
const capitalUnit = 2
const asciiClasses = Uint8Array.from({ length: 0x80 }, (_, code) => {
  const character = String.fromCharCode(code)
  return /[A-Z]/.test(character) ? capitalUnit : /[a-z0-9]/.test(character) ? wordUnit : 0
})

/** Where the letters and digits from the index on end; -1 when they go on in, or are made an emoji by, other characters. */
function asciiRunEnd(text: string, index: number): number {
  let end = index
  let unit = codeAt(text, end)
  while (unit < 0x80 && asciiClasses[unit] !== 0) unit = codeAt(text, ++end)
  if (unit < 0x80 || end === text.length) {
    if (end > index || (unit !== 0x23 && unit !== 0x2a)) return end
    // `#` and `*` begin keycaps.
    return codeAt(text, end + 1) < 0x80 || end + 1 === text.length ? end : -1
  }
  return end > index && classOf(unit) === separator && unit !== 0x20e3 && unit !== 0xfe0f ? end : -1
}

function asciiWord(text: string, from: number, to: number): string {
  const word = text.slice(from, to)
  for (let index = from; index < to; index++)
    if (asciiClasses[codeAt(text, index)] === capitalUnit) return word.toLowerCase()
  return word
}

/** All tokens are made here, with the same members in the same order: the engine reads them faster so. */
function newToken(
  text: string,
  toneless: string | undefined,
  glued: boolean,
  start: number,
  end: number,
): Token {
  return { text, toneless, glued, start, end }
}

/** The emoji that begins at this UTF-16 index, or "". */
export function emojiAt(text: string, index: number): string {
  emojiPattern.lastIndex = index
  return emojiPattern.exec(text)?.[0] ?? ""
}

const emojiPattern =
  /(?:\p{RI}{1,2}|[0-9#*]\uFE0F?\u20E3|\p{Extended_Pictographic}[\uFE0E\uFE0F]?\p{EMod}?[\u{E0020}-\u{E007F}]*(?:\u200D\p{Extended_Pictographic}[\uFE0E\uFE0F]?\p{EMod}?)*)/uy

function mayBeginEmoji(kindOfCharacter: number, text: string, index: number, width: number): boolean {
  if (kindOfCharacter === pictograph) return true
  if (kindOfCharacter === unsegmented || kindOfCharacter >= firstScript) return false
  const next = codeAt(text, index + width)
  return (next === 0xfe0f || next === 0x20e3) && (isKeycapAt(text, index) || isTypographyEmojiAt(text, index))
}

function isKeycapAt(text: string, index: number): boolean {
  const code = codeAt(text, index)
  if (code !== 0x23 && code !== 0x2a && !(code >= 0x30 && code <= 0x39)) return false
  const next = codeAt(text, index + 1)
  return next === 0x20e3 || (next === 0xfe0f && codeAt(text, index + 2) === 0x20e3)
}

/** ©, ®, ™, ‼, ⁉ and ℹ are emoji only when a variation selector says so. */
function isTypographyEmojiAt(text: string, index: number): boolean {
  return codeAt(text, index + 1) === 0xfe0f && codeAt(text, index) > 0x7f && emojiAt(text, index) !== ""
}

function emojiToken(emoji: string, start: number, end: number): Token {
  const text = emoji.replaceAll(/[\uFE0E\uFE0F]/gu, "")
  const toneless = text.replaceAll(/\p{EMod}/gu, "")
  return newToken(text, toneless === text ? undefined : toneless, false, start, end)
}

/** Units of the HTML escape at this index that X writes for `&`, `<` and `>`: all of them separators. */
function escapeAt(text: string, index: number): number {
  if (text.startsWith("amp;", index + 1)) return 5
  return text.startsWith("lt;", index + 1) || text.startsWith("gt;", index + 1) ? 4 : 0
}

const shortLink = /https?:\/\/t\.co(?:\/[a-z0-9]*|(?![a-z0-9.-]))/iy

function shortLinkAt(text: string, index: number): number {
  if (!text.startsWith("://", index + 4) && !text.startsWith("://", index + 5)) return 0
  shortLink.lastIndex = index
  return shortLink.exec(text)?.[0].length ?? 0
}

/** Variation selectors and joiners tell glyphs apart, not letters. NFKC_Casefold leaves them out too. */
function normal(text: string): string {
  return fold(text.replaceAll(/[\uFE0E\uFE0F\p{Cf}]/gu, ""))
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

function isMarkAt(text: string, index: number): boolean {
  return classOf(text.codePointAt(index) ?? 0) === mark
}

function widthAt(text: string, index: number): number {
  return (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1
}

function countPoints(text: string): number {
  let count = 0
  for (let index = 0; index < text.length; index += widthAt(text, index)) count++
  return count
}
