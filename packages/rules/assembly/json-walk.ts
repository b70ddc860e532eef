/**
 * The walk over a line of JSON, for `src/walk/json-tape.ts`, which defines supported lines and nodes.
 *
 * WebAssembly, because sixteen bytes of a string are looked at in one step, and names are compared likewise: it takes a
 * third of the time of the same loops in JavaScript. Compiled by `npm run build:walk`.
 *
 * Nothing here allocates. The line lies at `line`, with a 0 after it, and the nodes are written from `nodes` on.
 */

import {
  backslash,
  beyondAscii,
  bytesFals,
  bytesNull,
  bytesTrue,
  carriageReturn,
  caseBit,
  closeBrace,
  closeBracket,
  colon,
  comma,
  dot,
  hyphen,
  kindArray,
  kindEscaped,
  kindFalse,
  kindNull,
  kindNumber,
  kindObject,
  kindPlain,
  kindTrue,
  kindUnusual,
  kindUtf8,
  lineFeed,
  nameData,
  nameShift,
  namesMax,
  nodeBegin,
  nodeEnd,
  nodeKindAndName,
  nodeNext,
  nodeShift,
  openBrace,
  openBracket,
  plus,
  quote,
  slash,
  smallA,
  smallB,
  smallE,
  smallF,
  smallN,
  smallR,
  smallT,
  smallU,
  space,
  tab,
  zero,
} from "./constants"
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
  memory.fill(dataMembers, 0, usize(namesMax) * 5)
  forgetUnknown(0)
  hasNulls = hasLineBreaks = dataNode = 0
  if (objects > 0x3fff_0000) {
    objects = 0
    memory.fill(seen, 0, usize(depthMax + 1) * usize(namesMax) * 4)
  }
  const begin = skipSpace(line)
  if (load<u8>(begin) !== openBrace) return -1
  const at = object(begin, 0, 1)
  if (at === unsupported || skipSpace(at) !== end) return -1
  return (i32((nodesEnd - nodes) >> nodeShift) << 2) | (hasNulls << 1) | hasLineBreaks
}

function value(at: usize, name: i32, depth: i32): usize {
  const first = load<u8>(at)
  if (first === quote) return text(at + 1, name)
  if (first === openBrace) return object(at, name, depth + 1)
  if (first === openBracket) return array(at, name, depth + 1)
  if (first === hyphen || isDigit(first)) return number(at, name)
  return literal(at, name)
}

function object(begin: usize, name: i32, depth: i32): usize {
  if (depth > depthMax) return unsupported
  const node = open(kindObject, name, begin)
  const serial = ++objects
  const isData = depth === 2 && name === nameData
  if (isData) dataNode = i32((node - nodes) >> nodeShift)
  const unknownBefore = countUnknown()
  let at = skipSpace(begin + 1)
  if (load<u8>(at) === closeBrace) return close(node, at + 1)
  let before = following + namesMax + usize(name)
  while (true) {
    if (load<u8>(at) !== quote) return unsupported
    const nameBegin = at + 1
    let member = i32(load<u8>(before))
    const expected = usize(load<u8>(nameLengths + usize(member)))
    if (
      expected !== 0 &&
      load<u8>(nameBegin + expected) === quote &&
      isName(nameBegin, expected, names + usize(member) * nameBytes)
    )
      at = nameBegin + expected
    else {
      at = ordinaryEnd(nameBegin)
      if (load<u8>(at) !== quote) return unsupported
      const length = at - nameBegin
      const hash = hashOf(nameBegin, length)
      member = nameAt(nameBegin, length, hash)
      if (member === unknownName) {
        if (isUnknownTwice(hash, unknownBefore)) return unsupported
      } else store<u8>(before, u8(member))
    }
    before = following + usize(member)
    if (member !== unknownName) {
      const slot = seen + ((usize(depth) * usize(namesMax) + usize(member)) << 2)
      if (load<i32>(slot) === serial) return unsupported
      store<i32>(slot, serial)
      store<u8>(presentNames + usize(member), 1)
      if (isData) store<i32>(dataMembers + (usize(member) << 2), i32((nodesEnd - nodes) >> nodeShift))
    }
    at = skipSpace(at + 1)
    if (load<u8>(at) !== colon) return unsupported
    at = value(skipSpace(at + 1), member, depth)
    if (at === unsupported) return unsupported
    at = skipSpace(at)
    if (load<u8>(at) !== comma) break
    at = skipSpace(at + 1)
  }
  if (load<u8>(at) !== closeBrace) return unsupported
  forgetUnknown(unknownBefore)
  return close(node, at + 1)
}

function array(begin: usize, name: i32, depth: i32): usize {
  if (depth > depthMax) return unsupported
  const node = open(kindArray, name, begin)
  let at = skipSpace(begin + 1)
  if (load<u8>(at) === closeBracket) return close(node, at + 1)
  while (true) {
    at = value(at, 0, depth)
    if (at === unsupported) return unsupported
    at = skipSpace(at)
    if (load<u8>(at) !== comma) break
    at = skipSpace(at + 1)
  }
  return load<u8>(at) === closeBracket ? close(node, at + 1) : unsupported
}

/** The first byte from here on that does not stand for itself in a string, or is beyond ASCII. */
function ordinaryEnd(begin: usize): usize {
  let at = begin
  while (true) {
    const bytes = v128.load(at)
    const ends = v128.or(
      v128.or(i8x16.eq(bytes, i8x16.splat(quote)), i8x16.eq(bytes, i8x16.splat(backslash))),
      // As signed bytes those beyond ASCII are negative, and so below the space too.
      i8x16.lt_s(bytes, i8x16.splat(space)),
    )
    const found = i8x16.bitmask(ends)
    if (found !== 0) return at + usize(ctz(found))
    at += 16
  }
}

/** A string from after its quote on. */
function text(begin: usize, name: i32): usize {
  let kind = kindPlain
  let at = begin
  while (true) {
    at = ordinaryEnd(at)
    const byte = load<u8>(at)
    if (byte === quote) {
      add(kind, name, begin, at)
      return at + 1
    }
    if (byte === backslash) {
      const end = escapeEnd(at)
      if (end === unsupported) return unsupported
      const isUnusual = end - at > 2 || load<u8>(at, 1) === slash
      kind = isUnusual ? kindUnusual : max(kind, kindEscaped)
      at = end
    } else if (byte >= beyondAscii) {
      // Most others follow each other.
      at = sequencesEnd(at)
      if (at === unsupported) return unsupported
      kind = max(kind, kindUtf8)
    } else return unsupported
  }
}

function escapeEnd(at: usize): usize {
  switch (load<u8>(at, 1)) {
    case quote:
    case backslash:
    case slash:
    case smallB:
    case smallF:
    case smallN:
    case smallR:
    case smallT:
      return at + 2
    case smallU:
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
  } while (load<u8>(at) >= beyondAscii)
  return at
}

function number(begin: usize, name: i32): usize {
  let at = load<u8>(begin) === hyphen ? begin + 1 : begin
  const whole = at
  at = skipDigits(at)
  if (at === whole || (load<u8>(whole) === zero && at > whole + 1)) return unsupported
  if (load<u8>(at) === dot) {
    const fraction = at + 1
    at = skipDigits(fraction)
    if (at === fraction) return unsupported
  }
  if ((load<u8>(at) | caseBit) === smallE) {
    at += load<u8>(at, 1) === plus || load<u8>(at, 1) === hyphen ? 2 : 1
    const exponent = at
    at = skipDigits(at)
    if (at === exponent || at - exponent > exponentDigitsMax) return unsupported
  }
  if (at - begin > numberBytesMax) return unsupported
  add(kindNumber, name, begin, at)
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
  if (letters === bytesTrue) kind = kindTrue
  else if (letters === bytesNull) {
    kind = kindNull
    // Within an array it is an item.
    if (name !== 0) hasNulls = 1
  } else if (letters === bytesFals && load<u8>(end) === smallE) {
    kind = kindFalse
    end++
  } else return unsupported
  add(kind, name, at, end)
  return end
}

function skipSpace(at: usize): usize {
  return load<u8>(at) > space ? at : spaceEnd(at)
}

function spaceEnd(at: usize): usize {
  while (true) {
    const byte = load<u8>(at)
    if (byte === lineFeed || byte === carriageReturn) hasLineBreaks = 1
    else if (byte !== space && byte !== tab) return at
    at++
  }
}

function open(kind: i32, name: i32, begin: usize): usize {
  const node = nodesEnd
  nodesEnd += 1 << nodeShift
  store<i32>(node, (name << nameShift) | kind, nodeKindAndName)
  store<i32>(node, i32(begin - line), nodeBegin)
  return node
}

function close(node: usize, end: usize): usize {
  store<i32>(node, i32(end - line), nodeEnd)
  store<i32>(node, i32((nodesEnd - nodes) >> nodeShift), nodeNext)
  return end
}

function add(kind: i32, name: i32, begin: usize, end: usize): void {
  const node = open(kind, name, begin)
  close(node, end)
}

function isDigit(byte: u8): bool {
  return u8(byte - zero) < 10
}

function isHex(byte: u8): bool {
  return isDigit(byte) || u8((byte | caseBit) - smallA) < 6
}
