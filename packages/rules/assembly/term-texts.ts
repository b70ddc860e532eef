/**
 * The words and keys of a post, for `src/walk/term-texts.ts`, which says what they are and how they lie in memory.
 *
 * Here, because eight units of a word are classified and folded in one step, and hashed where they are. What begins
 * beyond ASCII, or goes on there, is left to `src/walk/unit-tokens.ts`, and so are links and escapes.
 */

import { line, units, unitsMax } from "./json-walk"

/** The folded texts in UTF-16. Each begins at an even unit, and one of an odd length has a 0 after it. */
export const termUnits: usize = units + (unitsMax << 1)
export const termUnitsMax: i32 = 1 << 21
/** Bytes that are written beyond the end of a text. */
const written: usize = 64

/** Begin, end and toneless end of each token. */
export const tokens: usize = termUnits + (usize(termUnitsMax) << 1) + written
export const tokensMax: i32 = 1 << 18
const tokenBytes: usize = 12

/** Hashes, then infos, then begins: an array of `queriesMax` integers each. Number 0 is none. */
export const queries: usize = tokens + usize(tokensMax) * tokenBytes
export const queriesMax: i32 = 1 << 19

/** Two integers for each token of a passage, and for each gap after one. */
export const positions: usize = queries + usize(queriesMax) * 12
export const positionsMax: i32 = 1 << 20

/** Field, first token and the one after the last of each passage. */
export const passages: usize = positions + (usize(positionsMax) << 2)
export const passagesMax: i32 = 1 << 12

/** How many of each are in use: units, tokens, queries, integers of positions, passages; and whether any had no room. */
export const counts: usize = passages + usize(passagesMax) * 12

/** A bit for each hash that is known to have no term, see `src/walk/absent-hashes.ts`. */
export const absentHashes: usize = counts + 64
export const absentHashesBits: i32 = 1 << 20
export const memoryEnd: usize = absentHashes + usize(absentHashesBits >> 3)

const ofUnits: usize = 0
const ofTokens: usize = 4
const ofQueries: usize = 8
const ofPositions: usize = 12
const ofPassages: usize = 16
const isFull: usize = 20

/** Bits of an info below the length. Like `lengthShift` of the matcher's `term-layout.ts`. */
const lengthShift: i32 = 6

@inline
function countOf(slot: usize): i32 {
  return load<i32>(counts + slot)
}

@inline
function setCount(slot: usize, count: i32): void {
  store<i32>(counts + slot, count)
}

/** Whether so many units have room. If not, it is noted that the post is for the plain reader. */
function haveRoom(count: i32): bool {
  if (count <= termUnitsMax - countOf(ofUnits)) return true
  setCount(isFull, 1)
  return false
}

/** Which of eight units are ASCII letters and digits, from the units and the same in lower case. */
@inline
function wordMask(found: v128, lower: v128): i32 {
  const letters = i16x8.lt_u(i16x8.sub(lower, i16x8.splat(0x61)), i16x8.splat(26))
  const digits = i16x8.lt_u(i16x8.sub(found, i16x8.splat(0x30)), i16x8.splat(10))
  return i16x8.bitmask(v128.or(letters, digits))
}

/** Dashes, quotation marks, the ellipsis and their like, which words of ASCII mostly end with if not with ASCII. Separators. */
@inline
function isPunctuation(unit: u16): bool {
  return unit >= 0x2010 && unit <= 0x2027
}

/**
 * Adds the tokens of the units from `begin` to `end`, after which there is a 0, as far as they are of ASCII. Returns
 * where it stops: at `end`, or at the begin of what it leaves to others.
 */
export function addAsciiTokens(begin: i32, end: i32, isPost: i32): i32 {
  // A token is followed by a separator, which leaves room for its 0.
  if (!haveRoom(end - begin + 1)) return end
  if (((end - begin) >> 1) + 1 > tokensMax - countOf(ofTokens)) {
    setCount(isFull, 1)
    return end
  }
  let at = units + (usize(begin) << 1)
  const last = units + (usize(end) << 1)
  let to = termUnits + (usize(countOf(ofUnits)) << 1)
  let token = tokens + usize(countOf(ofTokens)) * tokenBytes
  while (at < last) {
    let found = v128.load(at)
    // Digits stay what they are.
    let lower = v128.or(found, i16x8.splat(0x20))
    let mask = wordMask(found, lower)
    if ((mask & 1) === 0) {
      const unit = load<u16>(at)
      if ((unit >= 0x80 && !isPunctuation(unit)) || (unit === 0x26 && isPost !== 0)) break
      // These, and punctuation before a sign of an emoji, may begin an emoji.
      if ((unit === 0x23 || unit === 0x2a || unit >= 0x80) && load<u16>(at, 2) >= 0x80) break
      at += 2
      continue
    }
    const from = at
    const textBegin = to
    v128.store(to, lower)
    while (mask === 0xff) {
      at += 16
      to += 16
      found = v128.load(at)
      lower = v128.or(found, i16x8.splat(0x20))
      mask = wordMask(found, lower)
      v128.store(to, lower)
    }
    const width = usize(ctz(~mask)) << 1
    at += width
    to += width
    const next = load<u16>(at)
    const length = to - textBegin
    if ((next >= 0x80 && !isPunctuation(next)) || (next === 0x3a && isPost !== 0 && (length === 8 || length === 10))) {
      at = from
      to = textBegin
      break
    }
    const textEnd = i32((to - termUnits) >> 1)
    store<i32>(token, i32((textBegin - termUnits) >> 1))
    store<i32>(token, textEnd << 1, 4)
    store<i32>(token, textEnd, 8)
    token += tokenBytes
    to = endOfText(to)
  }
  setCount(ofUnits, i32((to - termUnits) >> 1))
  setCount(ofTokens, i32((token - tokens) / tokenBytes))
  return i32((at - units) >> 1)
}

/** Where the next text begins after one that ends here. */
@inline
function endOfText(to: usize): usize {
  if (((to - termUnits) & 2) === 0) return to
  store<u16>(to, 0)
  return to + 2
}

/** Like `mixed` of the matcher's `chained-table.ts`. */
@inline
function mixed(hash: u32, value: u32): u32 {
  const product = (hash ^ value) * u32(0x9e3779b1)
  return product ^ (product >> 15)
}

/** Adds a query for the text of these units. Returns its number; 0 if there is no such term. */
function addQuery(field: i32, begin: i32, end: i32): i32 {
  let hash: u32 = field
  let at = termUnits + (usize(begin) << 1)
  const textEnd = termUnits + (usize(end) << 1)
  for (; at < textEnd; at += 4) hash = mixed(hash, load<u32>(at))
  const bit = hash & u32(absentHashesBits - 1)
  if (((load<u32>(absentHashes + (usize(bit >> 5) << 2)) >> (bit & 31)) & 1) !== 0) return 0
  const query = countOf(ofQueries) + 1
  if (query >= queriesMax) {
    setCount(isFull, 1)
    return 0
  }
  const slot = queries + (usize(query) << 2)
  store<u32>(slot, hash)
  store<i32>(slot + (usize(queriesMax) << 2), ((end - begin) << lengthShift) | field)
  store<i32>(slot + (usize(queriesMax) << 3), begin >> 1)
  setCount(ofQueries, query)
  return query
}

/** Adds a passage of the tokens from `from` to `to`, with a gap of so many positions after it. */
export function addPassage(field: i32, from: i32, to: i32, gap: i32): void {
  const count = (to - from + gap) * 2
  const passage = countOf(ofPassages)
  if (count > positionsMax - countOf(ofPositions) || passage >= passagesMax) {
    setCount(isFull, 1)
    return
  }
  const slot = passages + usize(passage) * 12
  store<i32>(slot, field)
  store<i32>(slot, from, 4)
  store<i32>(slot, to, 8)
  setCount(ofPassages, passage + 1)
  let position = positions + (usize(countOf(ofPositions)) << 2)
  for (let token = from; token < to; token++) {
    const at = tokens + usize(token) * tokenBytes
    const begin = load<i32>(at)
    const end = load<i32>(at, 4) >> 1
    const tonelessEnd = load<i32>(at, 8)
    store<i32>(position, end > begin ? (addQuery(field, begin, end) << 1) | (load<i32>(at, 4) & 1) : 0)
    // The toneless text begins at an even unit.
    store<i32>(position, tonelessEnd > end ? addQuery(field, (end + 1) & ~1, tonelessEnd) : 0, 4)
    position += 8
  }
  memory.fill(position, 0, usize(gap) << 3)
  setCount(ofPositions, countOf(ofPositions) + count)
}

/** Adds a key of the units from the ones in use up to `end`. */
export function addKey(field: i32, end: i32): void {
  const begin = countOf(ofUnits)
  if (end > termUnitsMax) {
    setCount(isFull, 1)
    return
  }
  setCount(ofUnits, i32((endOfText(termUnits + (usize(end) << 1)) - termUnits) >> 1))
  addQuery(field, begin, end)
}

/** Takes the tokens from `from` on as one key: their texts, with spaces between them. */
export function addKeyOfTokens(field: i32, from: i32): void {
  const count = countOf(ofTokens)
  let to = termUnits + (usize(countOf(ofUnits)) << 1)
  for (let token = from; token < count; token++) {
    const at = tokens + usize(token) * tokenBytes
    const begin = load<i32>(at)
    const length = (load<i32>(at, 4) >> 1) - begin
    if (i32((to - termUnits) >> 1) + length + 1 > termUnitsMax) {
      setCount(isFull, 1)
      return
    }
    if (token > from) {
      store<u16>(to, 0x20)
      to += 2
    }
    memory.copy(to, termUnits + (usize(begin) << 1), usize(length) << 1)
    to += usize(length) << 1
  }
  setCount(ofTokens, from)
  addKey(field, i32((to - termUnits) >> 1))
}

/** Adds a key with the bytes of the line from `begin` to `end`, folded. Returns 0, and adds none, unless all are ASCII without escapes. */
export function addFoldedKey(field: i32, begin: i32, end: i32): i32 {
  if (!haveRoom(end - begin)) return 1
  const from = line + usize(begin)
  const last = line + usize(end)
  const first = termUnits + (usize(countOf(ofUnits)) << 1)
  for (let at = from; at < last; at += 16) {
    const bytes = v128.load(at)
    // Bytes beyond ASCII are negative.
    const others = i8x16.bitmask(v128.or(i8x16.eq(bytes, i8x16.splat(0x5c)), i8x16.lt_s(bytes, i8x16.splat(0))))
    if (others !== 0 && usize(ctz(others)) < last - at) return 0
    const capitals = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x41)), i8x16.splat(26))
    const folded = v128.or(bytes, v128.and(capitals, i8x16.splat(0x20)))
    const to = first + ((at - from) << 1)
    v128.store(to, i16x8.extend_low_i8x16_u(folded))
    v128.store(to, i16x8.extend_high_i8x16_u(folded), 16)
  }
  addKey(field, countOf(ofUnits) + end - begin)
  return 1
}
