/**
 * The walk over a line of JSON, for `src/walk/json-tape.ts`, which defines supported lines and nodes.
 *
 * WebAssembly, because sixteen bytes of a string are looked at in one step, and names are compared likewise: it takes a
 * third of the time of the same loops in JavaScript. Compiled by `npm run build:walk`.
 *
 * Nothing here allocates. The line lies at `line`, with a 0 after it, and the nodes are written from `nodes` on.
 */

import * as character from "./characters"
import * as layout from "./layout"
import { countUnknown, forgetUnknown, hashOf, isName, isUnknownTwice, nameAt, unknownName } from "./json-names"
import {
  dataMembers,
  depthMax,
  following,
  line,
  nameBytes,
  nameLengths,
  names,
  nodes,
  presentNames,
  seen,
} from "./memory"

const numberBytesMax: usize = 200
const exponentDigitsMax: usize = 2
const unsupported: usize = 0

let nodesEnd: usize = nodes
let objects: i32 = 0
/** The post, if it is an object. */
export let dataNode: i32 = 0
let hasNulls: i32 = 0
let hasLineBreaks: i32 = 0

/**
 * Walks over the line. Returns -1 if it is not supported; otherwise the number of nodes × 4, + 2 for nulls, + 1 for
 * line breaks.
 */
export function walk(length: i32): i32 {
  const end = line + usize(length)
  store<u8>(end, 0)
  nodesEnd = nodes
  memory.fill(dataMembers, 0, usize(layout.namesMax) * 5)
  forgetUnknown(0)
  hasNulls = hasLineBreaks = dataNode = 0
  if (objects > 0x3fff_0000) {
    objects = 0
    memory.fill(seen, 0, usize(depthMax + 1) * usize(layout.namesMax) * 4)
  }
  const begin = skipSpace(line)
  if (load<u8>(begin) !== character.openBrace) return -1
  const at = object(begin, 0, 1)
  if (at === unsupported || skipSpace(at) !== end) return -1
  return (i32((nodesEnd - nodes) >> layout.nodeShift) << 2) | (hasNulls << 1) | hasLineBreaks
}

function value(at: usize, name: i32, depth: i32): usize {
  const first = load<u8>(at)
  if (first === character.quote) return text(at + 1, name)
  if (first === character.openBrace) return object(at, name, depth + 1)
  if (first === character.openBracket) return array(at, name, depth + 1)
  if (first === character.hyphen || isDigit(first)) return number(at, name)
  return literal(at, name)
}

function object(begin: usize, name: i32, depth: i32): usize {
  if (depth > depthMax) return unsupported
  const node = open(layout.kindObject, name, begin)
  const serial = ++objects
  const isData = depth === 2 && name === layout.nameData
  if (isData) dataNode = i32((node - nodes) >> layout.nodeShift)
  const unknownBefore = countUnknown()
  let at = skipSpace(begin + 1)
  if (load<u8>(at) === character.closeBrace) return close(node, at + 1)
  let before = following + layout.namesMax + usize(name)
  while (true) {
    if (load<u8>(at) !== character.quote) return unsupported
    const nameBegin = at + 1
    let member = i32(load<u8>(before))
    const expected = usize(load<u8>(nameLengths + usize(member)))
    if (
      expected !== 0 &&
      load<u8>(nameBegin + expected) === character.quote &&
      isName(nameBegin, expected, names + usize(member) * nameBytes)
    )
      at = nameBegin + expected
    else {
      at = ordinaryEnd(nameBegin)
      if (load<u8>(at) !== character.quote) return unsupported
      const length = at - nameBegin
      const hash = hashOf(nameBegin, length)
      member = nameAt(nameBegin, length, hash)
      if (member === unknownName) {
        if (isUnknownTwice(hash, unknownBefore)) return unsupported
      } else store<u8>(before, u8(member))
    }
    before = following + usize(member)
    if (member !== unknownName) {
      const slot = seen + ((usize(depth) * usize(layout.namesMax) + usize(member)) << 2)
      if (load<i32>(slot) === serial) return unsupported
      store<i32>(slot, serial)
      store<u8>(presentNames + usize(member), 1)
      if (isData) store<i32>(dataMembers + (usize(member) << 2), i32((nodesEnd - nodes) >> layout.nodeShift))
    }
    at = skipSpace(at + 1)
    if (load<u8>(at) !== character.colon) return unsupported
    at = value(skipSpace(at + 1), member, depth)
    if (at === unsupported) return unsupported
    at = skipSpace(at)
    if (load<u8>(at) !== character.comma) break
    at = skipSpace(at + 1)
  }
  if (load<u8>(at) !== character.closeBrace) return unsupported
  forgetUnknown(unknownBefore)
  return close(node, at + 1)
}

function array(begin: usize, name: i32, depth: i32): usize {
  if (depth > depthMax) return unsupported
  const node = open(layout.kindArray, name, begin)
  let at = skipSpace(begin + 1)
  if (load<u8>(at) === character.closeBracket) return close(node, at + 1)
  while (true) {
    at = value(at, 0, depth)
    if (at === unsupported) return unsupported
    at = skipSpace(at)
    if (load<u8>(at) !== character.comma) break
    at = skipSpace(at + 1)
  }
  return load<u8>(at) === character.closeBracket ? close(node, at + 1) : unsupported
}

/** The first byte from here on that does not stand for itself in a string, or is beyond ASCII. */
function ordinaryEnd(begin: usize): usize {
  let at = begin
  while (true) {
    const bytes = v128.load(at)
    const ends = v128.or(
      v128.or(i8x16.eq(bytes, i8x16.splat(character.quote)), i8x16.eq(bytes, i8x16.splat(character.backslash))),
      // As signed bytes those beyond ASCII are negative, and so below the space too.
      i8x16.lt_s(bytes, i8x16.splat(character.space)),
    )
    const found = i8x16.bitmask(ends)
    if (found !== 0) return at + usize(ctz(found))
    at += 16
  }
}

/** A string from after its quote on. */
function text(begin: usize, name: i32): usize {
  let kind = layout.kindPlain
  let at = begin
  while (true) {
    at = ordinaryEnd(at)
    const byte = load<u8>(at)
    if (byte === character.quote) {
      add(kind, name, begin, at)
      return at + 1
    }
    if (byte === character.backslash) {
      const end = escapeEnd(at)
      if (end === unsupported) return unsupported
      const isUnusual = end - at > 2 || load<u8>(at, 1) === character.slash
      kind = isUnusual ? layout.kindUnusual : max(kind, layout.kindEscaped)
      at = end
    } else if (byte >= character.beyondAscii) {
      // Most others follow each other.
      at = sequencesEnd(at)
      if (at === unsupported) return unsupported
      kind = max(kind, layout.kindUtf8)
    } else return unsupported
  }
}

function escapeEnd(at: usize): usize {
  switch (load<u8>(at, 1)) {
    case character.quote:
    case character.backslash:
    case character.slash:
    case character.smallB:
    case character.smallF:
    case character.smallN:
    case character.smallR:
    case character.smallT:
      return at + 2
    case character.smallU:
      for (let digit = at + 2; digit < at + 6; digit++) if (!isHex(load<u8>(digit))) return unsupported
      return at + 6
    default:
      return unsupported
  }
}

/**
 * The end of the characters of several bytes that begin here. Source: Unicode, table 3-7, "Well-Formed UTF-8". Four
 * bytes are looked at together; the first of them is the lowest.
 */
function sequencesEnd(begin: usize): usize {
  let at = begin
  do {
    const word = load<u32>(at)
    if ((word & 0x00c0c0f0) === 0x008080e0) {
      const bits = word & 0x200f
      // Too long for what it says, or half of a surrogate pair.
      if (bits === 0 || bits === 0x200d) return unsupported
      at += 3
    } else if ((word & 0xc0e0) === 0x80c0) {
      if ((word & 0x1e) === 0) return unsupported
      at += 2
    } else {
      const lead = word & 7
      if ((word & 0xc0c0c0f8) !== 0x808080f0 || lead > 4) return unsupported
      const isBeyond = (word & 0x3000) !== 0
      if (lead === 0 ? !isBeyond : lead === 4 && isBeyond) return unsupported
      at += 4
    }
  } while (load<u8>(at) >= character.beyondAscii)
  return at
}

function number(begin: usize, name: i32): usize {
  let at = load<u8>(begin) === character.hyphen ? begin + 1 : begin
  const whole = at
  at = skipDigits(at)
  if (at === whole || (load<u8>(whole) === character.zero && at > whole + 1)) return unsupported
  if (load<u8>(at) === character.dot) {
    const fraction = at + 1
    at = skipDigits(fraction)
    if (at === fraction) return unsupported
  }
  if ((load<u8>(at) | character.caseBit) === character.smallE) {
    at += load<u8>(at, 1) === character.plus || load<u8>(at, 1) === character.hyphen ? 2 : 1
    const exponent = at
    at = skipDigits(at)
    if (at === exponent || at - exponent > exponentDigitsMax) return unsupported
  }
  if (at - begin > numberBytesMax) return unsupported
  add(layout.kindNumber, name, begin, at)
  return at
}

function skipDigits(at: usize): usize {
  while (isDigit(load<u8>(at))) at++
  return at
}

function literal(at: usize, name: i32): usize {
  const letters = load<u32>(at)
  let kind: i32
  let end = at + 4
  if (letters === character.bytesTrue) kind = layout.kindTrue
  else if (letters === character.bytesNull) {
    kind = layout.kindNull
    // Within an array it is an item.
    if (name !== 0) hasNulls = 1
  } else if (letters === character.bytesFals && load<u8>(end) === character.smallE) {
    kind = layout.kindFalse
    end++
  } else return unsupported
  add(kind, name, at, end)
  return end
}

function skipSpace(at: usize): usize {
  return load<u8>(at) > character.space ? at : spaceEnd(at)
}

function spaceEnd(at: usize): usize {
  while (true) {
    const byte = load<u8>(at)
    if (byte === character.lineFeed || byte === character.carriageReturn) hasLineBreaks = 1
    else if (byte !== character.space && byte !== character.tab) return at
    at++
  }
}

function open(kind: i32, name: i32, begin: usize): usize {
  const node = nodesEnd
  nodesEnd += 1 << layout.nodeShift
  store<i32>(node, (name << layout.nameShift) | kind, layout.nodeKindAndName)
  store<i32>(node, i32(begin - line), layout.nodeBegin)
  return node
}

function close(node: usize, end: usize): usize {
  store<i32>(node, i32(end - line), layout.nodeEnd)
  store<i32>(node, i32((nodesEnd - nodes) >> layout.nodeShift), layout.nodeNext)
  return end
}

function add(kind: i32, name: i32, begin: usize, end: usize): void {
  const node = open(kind, name, begin)
  close(node, end)
}

function isDigit(byte: u8): bool {
  return u8(byte - character.zero) < 10
}

function isHex(byte: u8): bool {
  return isDigit(byte) || u8((byte | character.caseBit) - character.smallA) < 6
}
