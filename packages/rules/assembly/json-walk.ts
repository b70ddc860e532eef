/**
 * The walk over a line of JSON, for `src/walk/json-tape.ts`, which says what is taken and what a node is.
 *
 * WebAssembly, because sixteen bytes of a string are looked at in one step, and names are compared likewise: it takes a
 * third of the time of the same loops in JavaScript. Compiled by `npm run build:walk`.
 *
 * Nothing here allocates. The line lies at `line`, with a 0 after it, and the nodes are written from `nodes` on.
 */

import {
  countUnknown,
  forgetUnknown,
  hashOf,
  isName,
  isUnknownTwice,
  nameAt,
  unknownName,
} from "./json-names"
import {
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
  nameShift,
} from "./kinds"
import { nameData } from "./known-names"
import {
  dataMembers,
  depthMax,
  following,
  line,
  nameBytes,
  nameLengths,
  names,
  namesMax,
  nodes,
  presentNames,
  seen,
} from "./memory"

const numberBytesMax: usize = 200
const exponentDigitsMax: usize = 2
const notTaken: usize = 0

let nodesEnd: usize = nodes
let objects: i32 = 0
/** The post, if it is an object. */
export let dataNode: i32 = 0
let hasNulls: i32 = 0
let hasLineBreaks: i32 = 0

/** Walks over the line. Returns -1 if it is not taken; otherwise the number of nodes × 4, + 2 for nulls, + 1 for line breaks. */
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
  if (load<u8>(begin) !== 0x7b) return -1
  const at = object(begin, 0, 1)
  if (at === notTaken || skipSpace(at) !== end) return -1
  return (i32((nodesEnd - nodes) >> 4) << 2) | (hasNulls << 1) | hasLineBreaks
}

function value(at: usize, name: i32, depth: i32): usize {
  const first = load<u8>(at)
  if (first === 0x22) return text(at + 1, name)
  if (first === 0x7b) return object(at, name, depth + 1)
  if (first === 0x5b) return array(at, name, depth + 1)
  if (first === 0x2d || isDigit(first)) return number(at, name)
  return literal(at, name)
}

function object(begin: usize, name: i32, depth: i32): usize {
  if (depth > depthMax) return notTaken
  const node = open(kindObject, name, begin)
  const serial = ++objects
  const isData = depth === 2 && name === nameData
  if (isData) dataNode = i32((node - nodes) >> 4)
  const unknownBefore = countUnknown()
  let at = skipSpace(begin + 1)
  if (load<u8>(at) === 0x7d) return close(node, at + 1)
  let before = following + namesMax + usize(name)
  while (true) {
    if (load<u8>(at) !== 0x22) return notTaken
    const nameBegin = at + 1
    let member = i32(load<u8>(before))
    const expected = usize(load<u8>(nameLengths + usize(member)))
    if (expected !== 0 && load<u8>(nameBegin + expected) === 0x22 && isName(nameBegin, expected, names + usize(member) * nameBytes))
      at = nameBegin + expected
    else {
      at = ordinaryEnd(nameBegin)
      if (load<u8>(at) !== 0x22) return notTaken
      const length = at - nameBegin
      const hash = hashOf(nameBegin, length)
      member = nameAt(nameBegin, length, hash)
      if (member === unknownName) {
        if (isUnknownTwice(hash, unknownBefore)) return notTaken
      } else store<u8>(before, u8(member))
    }
    before = following + usize(member)
    if (member !== unknownName) {
      const slot = seen + ((usize(depth) * usize(namesMax) + usize(member)) << 2)
      if (load<i32>(slot) === serial) return notTaken
      store<i32>(slot, serial)
      store<u8>(presentNames + usize(member), 1)
      if (isData) store<i32>(dataMembers + (usize(member) << 2), i32((nodesEnd - nodes) >> 4))
    }
    at = skipSpace(at + 1)
    if (load<u8>(at) !== 0x3a) return notTaken
    at = value(skipSpace(at + 1), member, depth)
    if (at === notTaken) return notTaken
    at = skipSpace(at)
    if (load<u8>(at) !== 0x2c) break
    at = skipSpace(at + 1)
  }
  if (load<u8>(at) !== 0x7d) return notTaken
  forgetUnknown(unknownBefore)
  return close(node, at + 1)
}

function array(begin: usize, name: i32, depth: i32): usize {
  if (depth > depthMax) return notTaken
  const node = open(kindArray, name, begin)
  let at = skipSpace(begin + 1)
  if (load<u8>(at) === 0x5d) return close(node, at + 1)
  while (true) {
    at = value(at, 0, depth)
    if (at === notTaken) return notTaken
    at = skipSpace(at)
    if (load<u8>(at) !== 0x2c) break
    at = skipSpace(at + 1)
  }
  return load<u8>(at) === 0x5d ? close(node, at + 1) : notTaken
}

/** The first byte from here on that does not stand for itself in a string, or is beyond ASCII. */
@inline
function ordinaryEnd(begin: usize): usize {
  let at = begin
  while (true) {
    const bytes = v128.load(at)
    const ends = v128.or(
      v128.or(i8x16.eq(bytes, i8x16.splat(0x22)), i8x16.eq(bytes, i8x16.splat(0x5c))),
      // As signed bytes those beyond ASCII are negative, and so below the space too.
      i8x16.lt_s(bytes, i8x16.splat(0x20)),
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
    if (byte === 0x22) {
      add(kind, name, begin, at)
      return at + 1
    }
    if (byte === 0x5c) {
      const end = escapeEnd(at)
      if (end === notTaken) return notTaken
      const isUnusual = end - at > 2 || load<u8>(at, 1) === 0x2f
      kind = isUnusual ? kindUnusual : max(kind, kindEscaped)
      at = end
    } else if (byte >= 0x80) {
      // Most others follow each other.
      at = sequencesEnd(at)
      if (at === notTaken) return notTaken
      kind = max(kind, kindUtf8)
    } else return notTaken
  }
}

function escapeEnd(at: usize): usize {
  switch (load<u8>(at, 1)) {
    case 0x22: // "
    case 0x5c: // \
    case 0x2f: // /
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return at + 2
    case 0x75: // u
      for (let digit = at + 2; digit < at + 6; digit++) if (!isHex(load<u8>(digit))) return notTaken
      return at + 6
    default:
      return notTaken
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
      if (bits === 0 || bits === 0x200d) return notTaken
      at += 3
    } else if ((word & 0xc0e0) === 0x80c0) {
      if ((word & 0x1e) === 0) return notTaken
      at += 2
    } else {
      const lead = word & 7
      if ((word & 0xc0c0c0f8) !== 0x808080f0 || lead > 4) return notTaken
      const isBeyond = (word & 0x3000) !== 0
      if (lead === 0 ? !isBeyond : lead === 4 && isBeyond) return notTaken
      at += 4
    }
  } while (load<u8>(at) >= 0x80)
  return at
}

function number(begin: usize, name: i32): usize {
  let at = load<u8>(begin) === 0x2d ? begin + 1 : begin
  const whole = at
  at = skipDigits(at)
  if (at === whole || (load<u8>(whole) === 0x30 && at > whole + 1)) return notTaken
  if (load<u8>(at) === 0x2e) {
    const fraction = at + 1
    at = skipDigits(fraction)
    if (at === fraction) return notTaken
  }
  if ((load<u8>(at) | 0x20) === 0x65) {
    at += load<u8>(at, 1) === 0x2b || load<u8>(at, 1) === 0x2d ? 2 : 1
    const exponent = at
    at = skipDigits(at)
    if (at === exponent || at - exponent > exponentDigitsMax) return notTaken
  }
  if (at - begin > numberBytesMax) return notTaken
  add(kindNumber, name, begin, at)
  return at
}

@inline
function skipDigits(at: usize): usize {
  while (isDigit(load<u8>(at))) at++
  return at
}

function literal(at: usize, name: i32): usize {
  const letters = load<u32>(at)
  let kind: i32
  let end = at + 4
  if (letters === 0x65757274) kind = kindTrue
  else if (letters === 0x6c6c756e) {
    kind = kindNull
    // Within an array it is an item.
    if (name !== 0) hasNulls = 1
  } else if (letters === 0x736c6166 && load<u8>(end) === 0x65) {
    kind = kindFalse
    end++
  } else return notTaken
  add(kind, name, at, end)
  return end
}

@inline
function skipSpace(at: usize): usize {
  return load<u8>(at) > 0x20 ? at : spaceEnd(at)
}

function spaceEnd(at: usize): usize {
  while (true) {
    const byte = load<u8>(at)
    if (byte === 0x0a || byte === 0x0d) hasLineBreaks = 1
    else if (byte !== 0x20 && byte !== 0x09) return at
    at++
  }
}

@inline
function open(kind: i32, name: i32, begin: usize): usize {
  const node = nodesEnd
  nodesEnd += 16
  store<i32>(node, (name << nameShift) | kind)
  store<i32>(node, i32(begin - line), 4)
  return node
}

@inline
function close(node: usize, end: usize): usize {
  store<i32>(node, i32(end - line), 8)
  store<i32>(node, i32((nodesEnd - nodes) >> 4), 12)
  return end
}

@inline
function add(kind: i32, name: i32, begin: usize, end: usize): void {
  const node = open(kind, name, begin)
  close(node, end)
}

@inline
function isDigit(byte: u8): bool {
  return u8(byte - 0x30) < 10
}

function isHex(byte: u8): bool {
  return isDigit(byte) || u8((byte | 0x20) - 0x61) < 6
}
