/**
 * The words and keys of a post as queries, for `src/walk/term-texts.ts`, which says what they are and how they lie in memory.
 *
 * Here, because they are hashed where they are, and most of them are known not to be a term.
 */

import * as character from "./characters"
import * as layout from "./layout"
import { addKey as addRareKey } from "./rare"
import { writeUnits } from "./json-units"
import { countOf, haveRoom, setCount } from "./counts"
import {
  absentHashes,
  absentHashesBits,
  foldedUnits,
  line,
  passages,
  passagesMax,
  positions,
  positionsMax,
  queries,
  queriesMax,
  termUnits,
  termUnitsMax,
  tokens,
  units,
} from "./memory"
import { endOfText } from "./unit-tokens"

/** Like `mixed` of the matcher's `chained-table.ts`. */
function mixed(hash: u32, value: u32): u32 {
  const product = (hash ^ value) * layout.hashMultiplier
  return product ^ (product >> layout.hashShift)
}

/** Adds a query for the text of these units. Returns its number; 0 if there is no such term. */
function addQuery(field: i32, begin: i32, end: i32): i32 {
  let hash: u32 = field
  let at = termUnits + (usize(begin) << 1)
  const textEnd = termUnits + (usize(end) << 1)
  for (; at < textEnd; at += 4) hash = mixed(hash, load<u32>(at))
  const bit = hash & u32(absentHashesBits - 1)
  if (((load<u32>(absentHashes + (usize(bit >> 5) << 2)) >> (bit & 31)) & 1) !== 0) return 0
  const query = countOf(layout.countedQueries) + 1
  if (query >= queriesMax) {
    setCount(layout.countedIsFull, 1)
    return 0
  }
  const slot = queries + (usize(query) << 2)
  store<u32>(slot, hash)
  store<i32>(slot + (usize(queriesMax) << 2), ((end - begin) << layout.lengthShift) | field)
  store<i32>(slot + (usize(queriesMax) << 3), begin >> 1)
  setCount(layout.countedQueries, query)
  return query
}

/** Adds a passage of the tokens from `from` to `to`, with a gap of so many positions after it. */
export function addPassage(field: i32, from: i32, to: i32, gap: i32): void {
  const count = (to - from + gap) * 2
  const passage = countOf(layout.countedPassages)
  if (count > positionsMax - countOf(layout.countedPositions) || passage >= passagesMax) {
    setCount(layout.countedIsFull, 1)
    return
  }
  const slot = passages + usize(passage) * layout.passageBytes
  store<i32>(slot, field, layout.passageField)
  store<i32>(slot, from, layout.passageFrom)
  store<i32>(slot, to, layout.passageTo)
  setCount(layout.countedPassages, passage + 1)
  let position = positions + (usize(countOf(layout.countedPositions)) << 2)
  for (let token = from; token < to; token++) {
    const at = tokens + usize(token) * layout.tokenBytes
    const begin = load<i32>(at, layout.tokenBegin)
    const end = load<i32>(at, layout.tokenEnd) >> 1
    const tonelessEnd = load<i32>(at, layout.tokenTonelessEnd)
    store<i32>(position, end > begin ? (addQuery(field, begin, end) << 1) | (load<i32>(at, layout.tokenEnd) & 1) : 0)
    // The toneless text begins at an even unit.
    store<i32>(position, tonelessEnd > end ? addQuery(field, (end + 1) & ~1, tonelessEnd) : 0, 4)
    position += 8
  }
  memory.fill(position, 0, usize(gap) << 3)
  setCount(layout.countedPositions, countOf(layout.countedPositions) + count)
}

/** Adds a key of the units from the ones in use up to `end`. */
export function addKey(field: i32, end: i32): void {
  const begin = countOf(layout.countedUnits)
  if (end > termUnitsMax) {
    setCount(layout.countedIsFull, 1)
    return
  }
  setCount(layout.countedUnits, i32((endOfText(termUnits + (usize(end) << 1)) - termUnits) >> 1))
  addQuery(field, begin, end)
}

/** Takes the tokens from `from` on as one key: their texts, with spaces between them. */
export function addKeyOfTokens(field: i32, from: i32): void {
  const count = countOf(layout.countedTokens)
  let to = termUnits + (usize(countOf(layout.countedUnits)) << 1)
  for (let token = from; token < count; token++) {
    const at = tokens + usize(token) * layout.tokenBytes
    const begin = load<i32>(at, layout.tokenBegin)
    const length = (load<i32>(at, layout.tokenEnd) >> 1) - begin
    if (i32((to - termUnits) >> 1) + length + 1 > termUnitsMax) {
      setCount(layout.countedIsFull, 1)
      return
    }
    if (token > from) {
      store<u16>(to, character.space)
      to += 2
    }
    memory.copy(to, termUnits + (usize(begin) << 1), usize(length) << 1)
    to += usize(length) << 1
  }
  setCount(layout.countedTokens, from)
  addKey(field, i32((to - termUnits) >> 1))
}

/** Adds a key with the bytes of the line from `begin` to `end`, folded. */
export function addFoldedKey(field: i32, begin: i32, end: i32): void {
  if (!haveRoom(end - begin)) return
  const from = line + usize(begin)
  const last = line + usize(end)
  const first = termUnits + (usize(countOf(layout.countedUnits)) << 1)
  for (let at = from; at < last; at += 16) {
    const bytes = v128.load(at)
    // Bytes beyond ASCII are negative.
    const others = i8x16.bitmask(
      v128.or(i8x16.eq(bytes, i8x16.splat(character.backslash)), i8x16.lt_s(bytes, i8x16.splat(0))),
    )
    if (others !== 0 && usize(ctz(others)) < last - at) return addFoldedUnits(field, begin, end)
    const capitals = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(character.capitalA)), i8x16.splat(26))
    const folded = v128.or(bytes, v128.and(capitals, i8x16.splat(character.caseBit)))
    const to = first + ((at - from) << 1)
    v128.store(to, i16x8.extend_low_i8x16_u(folded))
    v128.store(to, i16x8.extend_high_i8x16_u(folded), 16)
  }
  addKey(field, countOf(layout.countedUnits) + end - begin)
}

/** Likewise, of other characters or with escapes. */
function addFoldedUnits(field: i32, begin: i32, end: i32): void {
  const from = countOf(layout.countedSources)
  const to = writeUnits(begin, end, from)
  const first = countOf(layout.countedUnits)
  for (let unit = from; unit < to; unit++) {
    const folded = load<u16>(foldedUnits + (usize(load<u16>(units + (usize(unit) << 1))) << 1))
    if (folded === 0 || folded === character.needsWholeFold) return addRareKey(field, from, to)
    store<u16>(termUnits + (usize(first + unit - from) << 1), folded)
  }
  addKey(field, first + to - from)
}

/** Adds a key with both ids, which are bytes of the line, and a dot between them. For one without bytes `*` stands. */
export function addIdPair(field: i32, begin: i32, end: i32, otherBegin: i32, otherEnd: i32): void {
  if (!haveRoom(end - begin + otherEnd - otherBegin + 3)) return
  let to = writeId(begin, end, termUnits + (usize(countOf(layout.countedUnits)) << 1))
  store<u16>(to, character.dot)
  to = writeId(otherBegin, otherEnd, to + 2)
  addKey(field, i32((to - termUnits) >> 1))
}

/** Returns its end. */
function writeId(begin: i32, end: i32, to: usize): usize {
  if (begin === end) {
    store<u16>(to, character.asterisk)
    return to + 2
  }
  const last = line + usize(end)
  for (let at = line + usize(begin); at < last; at++) {
    store<u16>(to, load<u8>(at))
    to += 2
  }
  return to
}
