/**
 * Splits text into the tokens that keywords and phrases are compared with.
 *
 *     "Zoë's #HAPPY_DAY 東京へ👍🏽!"  ──►  zoë s happy day 東 京 へ 👍🏽
 *
 * A token is a run of letters, digits and marks of one script. `_` and every other character separates tokens, and so
 * does a change of script, as in X's search results. In scripts without spaces between words every letter is a token;
 * `glued` records which of them touch, so that a keyword of three such letters is found anywhere in a run, but not
 * across a space or comma. Cutting such runs into words with a dictionary would give less predictable results.
 *
 * Joiners, soft hyphens and directional marks within a word are invisible and are not compared.
 *
 * An emoji is one token, however many code points it has, also next to letters or other emoji. It can be found with and
 * without its skin tone: 👍 finds 👍🏽, but 👍🏽 does not find 👍.
 *
 * A short link of X (t.co) is skipped, because the author did not write `https t co`. It leaves a gap that no phrase
 * matches across.
 */

import { codeAt, codePointAt } from "./code-at.ts"
import { anyScript, classOf, digit, firstScript, mark, pictograph, separator, unsegmented } from "./character-class.ts"
import { fold, foldsToItself } from "./fold.ts"

/** A token of a text. */
export type Token = {
  /** Case-folded; "" is a gap, which no word matches. */
  readonly text: string
  /** The emoji without its skin tone, if it has one. */
  readonly toneless?: string | undefined
  /** True if it touches the token before it, and both are letters of an unsegmented script. */
  readonly glued: boolean
  /** Index of its first code point in the text. */
  readonly start: number
  /** Index of the code point after its last one. */
  readonly end: number
}

/** The kind of text, which decides how it is read. */
export type TextKind =
  /** A rule: every character counts as such. */
  | "rule"
  /** A post: `&amp;`, `&lt;` and `&gt;` are one character each, and links to t.co are skipped. */
  | "post"

/** The tokens of the text in order; empty if it has no letter, digit or emoji. */
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
      // Fast path for ASCII. A run that continues in other characters is handled below.
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
    const codePoint = isHighSurrogate(code) ? codePointAt(text, index) : code
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
      tokens.push(newToken(isFolded ? letter : normalised(letter), undefined, unsegmentedEnd === from, start, point))
      unsegmentedEnd = index
      continue
    }

    let script = kindOfCharacter >= firstScript ? kindOfCharacter : 0
    let isFolded = foldsToItself(code)
    while (index < length) {
      const unit = codeAt(text, index)
      const next = isHighSurrogate(unit) ? codePointAt(text, index) : unit
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
    tokens.push(newToken(isFolded ? word : normalised(word), undefined, false, start, point))
  }
  return tokens
}

const wordUnit = 1
const capitalUnit = 2
const asciiClasses = Uint8Array.from({ length: 0x80 }, (_, code) => {
  const character = String.fromCharCode(code)
  return /[A-Z]/.test(character) ? capitalUnit : /[a-z0-9]/.test(character) ? wordUnit : 0
})

/**
 * End of the ASCII letters and digits from the index on; -1 if other characters continue the run or make it an emoji.
 */
function asciiRunEnd(text: string, index: number): number {
  let end = index
  let unit = codeAt(text, end)
  while (unit < 0x80 && asciiClasses[unit] !== 0) unit = codeAt(text, ++end)
  if (unit < 0x80 || end === text.length) {
    if (end > index || (unit !== 0x23 && unit !== 0x2a)) return end
    // `#` and `*` may begin a keycap emoji.
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

/** Makes every token with the same members in the same order, which the engine reads faster. */
function newToken(text: string, toneless: string | undefined, glued: boolean, start: number, end: number): Token {
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

/** True if a digit, `#` or `*` with the sign of a keycap begins here. */
export function isKeycapAt(text: string, index: number): boolean {
  const code = codeAt(text, index)
  if (code !== 0x23 && code !== 0x2a && !(code >= 0x30 && code <= 0x39)) return false
  const next = codeAt(text, index + 1)
  return next === 0x20e3 || (next === 0xfe0f && codeAt(text, index + 2) === 0x20e3)
}

/** True if ©, ®, ™, ‼, ⁉ or ℹ begins here as an emoji: only if a variation selector follows. */
export function isTypographyEmojiAt(text: string, index: number): boolean {
  return codeAt(text, index + 1) === 0xfe0f && codeAt(text, index) > 0x7f && emojiAt(text, index) !== ""
}

function emojiToken(emoji: string, start: number, end: number): Token {
  const text = withoutSelectors(emoji)
  const toneless = withoutTone(text)
  return newToken(text, toneless === text ? undefined : toneless, false, start, end)
}

/** The emoji without variation selectors. */
export function withoutSelectors(emoji: string): string {
  return emoji.replaceAll(/[\uFE0E\uFE0F]/gu, "")
}

/** The emoji without skin tones. */
export function withoutTone(emoji: string): string {
  return emoji.replaceAll(/\p{EMod}/gu, "")
}

/**
 * Length of the HTML escape at this index, if it is one that X writes for `&`, `<` or `>`; otherwise 0. All three are
 * separators.
 */
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

/**
 * Folds the text without variation selectors and joiners, which distinguish glyphs and not letters. NFKC_Casefold
 * removes them too.
 */
export function normalised(text: string): string {
  return fold(text.replaceAll(/[\uFE0E\uFE0F\p{Cf}]/gu, ""))
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

function isMarkAt(text: string, index: number): boolean {
  return classOf(codePointAt(text, index)) === mark
}

function widthAt(text: string, index: number): number {
  return codePointAt(text, index) > 0xffff ? 2 : 1
}

function countPoints(text: string): number {
  let count = 0
  for (let index = 0; index < text.length; index += widthAt(text, index)) count++
  return count
}
