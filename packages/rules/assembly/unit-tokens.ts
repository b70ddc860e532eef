/**
 * The tokens of a text in UTF-16 units, exactly as `tokenise` of `src/text/tokenise.ts` finds them.
 *
 * Eight units of ASCII are classified and folded in one step. Others are looked up in tables, by unit and code point,
 * which `src/walk/rare-tokens.ts` fills as they come. Rare ones are left to it: emoji of several code points, and words
 * that need more than a folding unit by unit.
 */

import * as character from "./characters"
import * as layout from "./layout"
import { addToken as addRareToken } from "./rare"
import { emojiEnd, isFlagLetter, writeEmoji } from "./emoji"
import { countOf, haveRoom, setCount } from "./counts"
import { classedMax, classes, foldedUnits, termUnits, termUnitsMax, tokens, tokensMax, units } from "./memory"

/** The class of a character that `src/walk/rare-tokens.ts` has not met. */
const unmet: u32 = 0

/** Bits that are the same in both halves of all surrogate pairs, and those of a pair in one integer. */
const surrogateMask: u16 = 0xf800
const pairMask: u32 = 0xfc00fc00
const pairBits: u32 = 0xdc00d800

/** From this unit on, letters of scripts without spaces have compatibility forms, which fold to others. */
const compatibilityForms: u16 = 0xf900

/** From the hyphen to the hyphenation point: dashes, quotation marks, the ellipsis. */
const firstPunctuation: u16 = 0x2010
const lastPunctuation: u16 = 0x2027

/** The text that is read, by a number of its own. */
let textNumber: i32 = 0
let firstUnit: i32 = 0
let lastUnit: usize = 0
/** The end of the last letter of a script without spaces. */
let unsegmentedEnd: usize = 0

/**
 * Adds the tokens of the units from `begin` to `end`, after which there are two zeros. In a post, `&amp;` and its like
 * are one character each, and links of X are gaps.
 */
export function addTokens(begin: i32, end: i32, isPost: i32): void {
  // A token of ASCII is followed by a separator, which leaves room for its 0.
  if (!haveRoom(end - begin + 1)) return
  let at = units + (usize(begin) << 1)
  const last = units + (usize(end) << 1)
  textNumber++
  firstUnit = begin
  lastUnit = last
  unsegmentedEnd = 0
  let to = termUnits + (usize(countOf(layout.countedUnits)) << 1)
  let token = tokens + usize(countOf(layout.countedTokens)) * layout.tokenBytes
  const tokensEnd = tokens + usize(tokensMax) * layout.tokenBytes
  while (at < last) {
    let found = v128.load(at)
    // Digits stay what they are.
    let lower = v128.or(found, i16x8.splat(character.caseBit))
    let mask = wordMask(found, lower)
    if ((mask & 1) === 0) {
      const unit = load<u16>(at)
      if (unit < character.beyondAscii) {
        if (unit === character.ampersand && isPost !== 0) {
          at += escapeWidth(at)
          continue
        }
        // These may begin an emoji.
        if (
          (unit !== character.numberSign && unit !== character.asterisk) ||
          load<u16>(at, 2) < character.beyondAscii
        ) {
          at += 2
          continue
        }
      }
    } else {
      const from = at
      const wordBegin = to
      v128.store(to, lower)
      while (mask === 0xff) {
        at += 16
        to += 16
        found = v128.load(at)
        lower = v128.or(found, i16x8.splat(character.caseBit))
        mask = wordMask(found, lower)
        v128.store(to, lower)
      }
      const width = usize(ctz(~mask)) << 1
      at += width
      to += width
      const next = load<u16>(at)
      if (next < character.beyondAscii || isPunctuation(next) || isSurrogate(next)) {
        if (token === tokensEnd) return setCount(layout.countedIsFull, 1)
        if (next === character.colon && isPost !== 0) {
          const linkEnd = shortLinkEnd(at, wordBegin, to - wordBegin)
          if (linkEnd !== 0) {
            at = linkEnd
            to = wordBegin
          }
        }
        writeToken(token, wordBegin, to, 0)
        token += layout.tokenBytes
        to = endOfText(to)
        continue
      }
      at = from
      to = wordBegin
    }
    setCount(layout.countedUnits, i32((to - termUnits) >> 1))
    setCount(layout.countedTokens, i32((token - tokens) / layout.tokenBytes))
    at = other(at, last, to, token)
    if (at === 0) return setCount(layout.countedIsFull, 1)
    to = termUnits + (usize(countOf(layout.countedUnits)) << 1)
    token = tokens + usize(countOf(layout.countedTokens)) * layout.tokenBytes
  }
  setCount(layout.countedUnits, i32((to - termUnits) >> 1))
  setCount(layout.countedTokens, i32((token - tokens) / layout.tokenBytes))
}

/** Which of eight units are ASCII letters and digits, from the units and the same in lower case. */
function wordMask(found: v128, lower: v128): i32 {
  const letters = i16x8.lt_u(i16x8.sub(lower, i16x8.splat(character.smallA)), i16x8.splat(26))
  const digits = i16x8.lt_u(i16x8.sub(found, i16x8.splat(character.zero)), i16x8.splat(10))
  return i16x8.bitmask(v128.or(letters, digits))
}

/**
 * Dashes, quotation marks, the ellipsis and their like, which words of ASCII mostly end with if not with ASCII.
 * Separators.
 */
function isPunctuation(unit: u16): bool {
  return unit >= firstPunctuation && unit <= lastPunctuation
}

/** Surrogates end a word of ASCII. */
export function isSurrogate(unit: u16): bool {
  return (unit & surrogateMask) === character.highSurrogate
}

/** Width of the `&`, with what follows it if X wrote it for `&`, `<` or `>`. */
function escapeWidth(at: usize): usize {
  const next = load<u32>(at, 2)
  // "am" "p;"
  if (next === character.unitsAm && load<u32>(at, 6) === character.unitsP) return 10
  // "lt" or "gt"
  return (next === character.unitsLt || next === character.unitsGt) && load<u16>(at, 6) === character.semicolon ? 8 : 2
}

/** The end of the short link of X whose scheme, folded at `scheme`, ends here; 0 if there is none. */
function shortLinkEnd(schemeEnd: usize, scheme: usize, schemeBytes: usize): usize {
  if (schemeBytes !== 8 && (schemeBytes !== 10 || load<u16>(scheme, 8) !== character.smallS)) return 0
  // "http"
  if (load<u64>(scheme) !== character.unitsHttp) return 0
  // "://"
  if (load<u32>(schemeEnd) !== character.unitsColonSlash || load<u16>(schemeEnd, 4) !== character.slash) return 0
  // "t.co", in upper or lower case
  if ((load<u64>(schemeEnd, 6) | character.caseBitsOfTco) !== character.unitsTco) return 0
  let at = schemeEnd + 14
  let next = load<u16>(at)
  if (next !== character.slash) return isWordUnit(next) || next === character.dot || next === character.hyphen ? 0 : at
  do next = load<u16>((at += 2))
  while (isWordUnit(next))
  return at
}

function isWordUnit(unit: u16): bool {
  return u16((unit | character.caseBit) - character.smallA) < 26 || u16(unit - character.zero) < 10
}

/** Adds what begins here, beyond ASCII or going on there, if it is a token. Returns its end; 0 if it has no room. */
function other(at: usize, last: usize, to: usize, token: usize): usize {
  // Tokens that follow each other without a separator take more units than are read.
  if (to + (last - at) + 32 > termUnits + (usize(termUnitsMax) << 1)) return 0
  if (token === tokens + usize(tokensMax) * layout.tokenBytes) return 0
  const kind = classAt(at)
  if (kind === unmet) return rare(at)
  const width: usize = isPair(at) ? 4 : 2
  const next = load<u16>(at + width)
  if (kind === character.classPictograph) {
    const end = emojiEnd(at, width)
    return end === 0 ? rare(at) : addEmoji(token, to, writeEmoji(at, width, end, to), width, end)
  }
  if (kind === character.classUnsegmented) {
    if (
      width !== 2 ||
      load<u16>(at) >= compatibilityForms ||
      (next >= character.beyondAscii &&
        classAt(at + 2) <= character.classMark &&
        classAt(at + 2) !== character.classSeparator)
    )
      return rare(at)
    store<u16>(to, load<u16>(at))
    const isGlued = unsegmentedEnd === at ? 1 : 0
    unsegmentedEnd = at + 2
    return add(token, to, 2, isGlued, at + 2)
  }
  if (kind < character.classFirstScript && (next === character.emojiSelector || next === character.keycap))
    return rare(at)
  if (kind <= character.classMark) return at + width
  return word(at, last, to, token, kind)
}

/** A word that is folded unit by unit. */
function word(begin: usize, last: usize, to: usize, token: usize, kind: u32): usize {
  let script = kind >= character.classFirstScript ? kind : 0
  let at = begin
  let end = to
  let unit = load<u16>(at)
  while (true) {
    const folded = load<u16>(foldedUnits + (usize(unit) << 1))
    if (folded === 0 || folded === character.needsWholeFold) return rare(begin)
    store<u16>(end, folded)
    end += 2
    at += 2
    if (at >= last) break
    unit = load<u16>(at)
    const nextKind = classAt(at)
    if (
      nextKind === character.classSeparator ||
      nextKind === character.classPictograph ||
      nextKind === character.classUnsegmented
    )
      break
    if (nextKind <= character.classMark) return rare(begin)
    if (nextKind >= character.classFirstScript) {
      if (script !== 0 && script !== nextKind) break
      script = nextKind
    } else {
      const sign = load<u16>(at, 2)
      if (sign === character.emojiSelector || sign === character.keycap) return rare(begin)
    }
  }
  return add(token, to, end - to, 0, at)
}

/** Adds the token of so many bytes at `to`. Returns `at`. */
function add(token: usize, to: usize, bytes: usize, isGlued: i32, at: usize): usize {
  writeToken(token, to, to + bytes, isGlued)
  setCount(layout.countedTokens, countOf(layout.countedTokens) + 1)
  setCount(layout.countedUnits, i32((endOfText(to + bytes) - termUnits) >> 1))
  return at
}

/** Adds the emoji at `to`; what is more than its pictograph is a skin tone, unless it is a flag. Returns `at`. */
function addEmoji(token: usize, to: usize, end: usize, width: usize, at: usize): usize {
  writeToken(token, to, end, 0)
  let textsEnd = endOfText(end)
  if (end - to > width && !isFlagLetter(to)) {
    store<u32>(textsEnd, load<u32>(to))
    store<i32>(token, i32((textsEnd + width - termUnits) >> 1), layout.tokenTonelessEnd)
    textsEnd = endOfText(textsEnd + width)
  }
  setCount(layout.countedTokens, countOf(layout.countedTokens) + 1)
  setCount(layout.countedUnits, i32((textsEnd - termUnits) >> 1))
  return at
}

function rare(at: usize): usize {
  const isGlued = unsegmentedEnd === at ? 1 : 0
  const found = addRareToken(textNumber, firstUnit, i32((at - units) >> 1), i32((lastUnit - units) >> 1), isGlued)
  const end = units + (usize(found >> 1) << 1)
  if ((found & 1) !== 0) unsegmentedEnd = end
  return end
}

/** The class of the code point at the unit. */
function classAt(at: usize): u32 {
  const unit = u32(load<u16>(at))
  if (!isSurrogate(u16(unit))) return load<u8>(classes + usize(unit))
  return classOfPair(at, unit)
}

function classOfPair(at: usize, unit: u32): u32 {
  // A lone half of a pair.
  if (!isPair(at)) return character.classSeparator
  const point = ((unit - character.highSurrogate) << 10) + (u32(load<u16>(at, 2)) - character.lowSurrogate) + 0x10000
  return point < classedMax ? load<u8>(classes + usize(point)) : unmet
}

function isPair(at: usize): bool {
  return (load<u32>(at) & pairMask) === pairBits
}

/** Writes a token, which has no toneless text. */
function writeToken(token: usize, begin: usize, end: usize, isGlued: i32): void {
  const endUnit = i32((end - termUnits) >> 1)
  store<i32>(token, i32((begin - termUnits) >> 1), layout.tokenBegin)
  store<i32>(token, (endUnit << 1) | isGlued, layout.tokenEnd)
  store<i32>(token, endUnit, layout.tokenTonelessEnd)
}

/** The begin of the next text after one that ends at `to`. */
export function endOfText(to: usize): usize {
  if (((to - termUnits) & 2) === 0) return to
  store<u16>(to, 0)
  return to + 2
}
