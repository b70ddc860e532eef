/**
 * The walk over a line of JSON, for `src/walk/json-tape.ts`, which says what is taken and what a node is.
 *
 * WebAssembly, because sixteen bytes of a string are looked at in one step, and names are compared likewise: it takes a
 * third of the time of the same loops in JavaScript. Compiled by `npm run build:walk`.
 *
 * Nothing here allocates. The line lies at `line`, with a 0 after it, the nodes are written from `nodes` on, and texts
 * from `units` on.
 */

const kindObject: i32 = 0
const kindArray: i32 = 1
const kindNumber: i32 = 2
const kindTrue: i32 = 3
const kindFalse: i32 = 4
const kindNull: i32 = 5
const kindPlain: i32 = 6
const kindUtf8: i32 = 7
const kindEscaped: i32 = 8
const kindUnusual: i32 = 9

const depthMax: i32 = 64
const unknownMax: i32 = 64
const numberBytesMax: usize = 200
const exponentDigitsMax: usize = 2
const namesMax: i32 = 256
const unknownName: i32 = namesMax - 1
/** The first of the known names: that of the post. */
const dataName: i32 = 1
const slotsMask: u32 = 1023

/** Bytes of a known name, with zeros after it. */
const nameBytes: usize = 32

// Where the tables and the line lie.
const names: usize = 1024
const nameLengths: usize = 9216
const nextNames: usize = 9472
const firstNames: usize = 9728
/** The last object of each depth that had the name. */
const seen: usize = 12288
const unknown: usize = 78848
/** For each length up to 16 the mask of so many bytes. */
const masks: usize = 79104
/** For each name the node of the member of the post that has it; 0 if there is none. */
export const dataMembers: usize = 79872
/** For each name 1 if a member of the line has it, otherwise 0. */
export const presentNames: usize = 80896
/**
 * For each name the one that followed it last, and then for each name of an object its first: senders write members in one
 * order, and a name that is expected needs one comparison.
 */
const following: usize = 81152
export const line: usize = 81920
export const lineBytesMax: usize = 1 << 20
export const nodes: usize = 1130560
/** Texts in UTF-16, for whatever reads them. */
export const units: usize = 9520256
/** More than the texts of a post and of its links can have, each of them written once or twice. */
export const unitsMax: usize = 4 << 20

const notTaken: usize = 0

let nodesEnd: usize = nodes
let objects: i32 = 0
let unknownCount: i32 = 0
let hasNulls: i32 = 0
let hasLineBreaks: i32 = 0

/** Makes a name known. Its bytes lie at `line`. Names are numbered from 1 on, below `unknownName`. */
export function addName(number: i32, length: i32): void {
  if (number === 1) makeMasks()
  const to = names + usize(number) * nameBytes
  memory.fill(to, 0, nameBytes)
  memory.copy(to, line, usize(length))
  store<u8>(nameLengths + usize(number), u8(length))
  const slot = firstNames + usize(hashOf(line, usize(length)) & slotsMask)
  store<u8>(nextNames + usize(number), load<u8>(slot))
  store<u8>(slot, u8(number))
}

function makeMasks(): void {
  for (let length: usize = 0; length <= 16; length++) {
    memory.fill(masks + length * 16, 0, 16)
    memory.fill(masks + length * 16, 0xff, length)
  }
}

/** Walks over the line. Returns -1 if it is not taken; otherwise the number of nodes × 4, + 2 for nulls, + 1 for line breaks. */
export function walk(length: i32): i32 {
  const end = line + usize(length)
  store<u8>(end, 0)
  nodesEnd = nodes
  memory.fill(dataMembers, 0, usize(namesMax) * 5)
  unknownCount = 0
  hasNulls = hasLineBreaks = 0
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
  const isData = depth === 2 && name === dataName
  const unknownBefore = unknownCount
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
  unknownCount = unknownBefore
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

/** Of the length and of up to 32 bytes, or of all if there are more. */
function hashOf(begin: usize, length: usize): u32 {
  if (length > nameBytes) {
    let hash: u32 = u32(length)
    for (let at = begin; at < begin + length; at++) hash = hash * 31 + u32(load<u8>(at))
    return hash
  }
  let bytes = v128.and(v128.load(begin), v128.load(masks + (min(length, 16) << 4)))
  if (length > 16) bytes = v128.xor(bytes, v128.and(v128.load(begin + 16), v128.load(masks + ((length - 16) << 4))))
  const low = u64(i64x2.extract_lane(bytes, 0)) + u64(length)
  const mixed = (low ^ (u64(i64x2.extract_lane(bytes, 1)) * 0x9e3779b97f4a7c15)) * 0xd6e8feb86659fd93
  return u32(mixed >> 32)
}

/** The number of the name, or `unknownName`. */
@inline
function nameAt(begin: usize, length: usize, hash: u32): i32 {
  for (
    let name = usize(load<u8>(firstNames + usize(hash & slotsMask)));
    name !== 0;
    name = usize(load<u8>(nextNames + name))
  )
    if (usize(load<u8>(nameLengths + name)) === length && isName(begin, length, names + name * nameBytes))
      return i32(name)
  return unknownName
}

@inline
function isName(begin: usize, length: usize, name: usize): bool {
  const first = v128.and(v128.load(begin), v128.load(masks + (min(length, 16) << 4)))
  if (v128.any_true(v128.xor(first, v128.load(name)))) return false
  if (length <= 16) return true
  const second = v128.and(v128.load(begin + 16), v128.load(masks + ((length - 16) << 4)))
  return !v128.any_true(v128.xor(second, v128.load(name + 16)))
}

/** Whether an unknown name of the object has the hash. Two names may be taken for one. */
function isUnknownTwice(hash: u32, from: i32): bool {
  if (unknownCount === unknownMax) return true
  for (let at = from; at < unknownCount; at++) if (load<u32>(unknown + (usize(at) << 2)) === hash) return true
  store<u32>(unknown + (usize(unknownCount++) << 2), hash)
  return false
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
  store<i32>(node, (name << 4) | kind)
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

/**
 * Writes the text of a string of the line, whose quotes are left out, from the unit `to` on, and two zeros after it.
 * Returns its end. The string must have been taken.
 */
export function writeUnits(begin: i32, end: i32, to: i32): i32 {
  const last = line + usize(end)
  let at = line + usize(begin)
  let unit = units + (usize(to) << 1)
  while (at < last) {
    const bytes = v128.load(at)
    v128.store(unit, i16x8.extend_low_i8x16_u(bytes))
    v128.store(unit, i16x8.extend_high_i8x16_u(bytes), 16)
    // Bytes beyond ASCII are negative.
    const others = i8x16.bitmask(v128.or(i8x16.eq(bytes, i8x16.splat(0x5c)), i8x16.lt_s(bytes, i8x16.splat(0))))
    const count = min<usize>(others === 0 ? 16 : usize(ctz(others)), last - at)
    at += count
    unit += count << 1
    if (count === 16) continue
    // Most others follow each other.
    while (at < last) {
      const byte = load<u8>(at)
      if (byte < 0x80) {
        if (byte !== 0x5c) break
        store<u16>(unit, escapedUnit(at))
        unit += 2
        at += load<u8>(at, 1) === 0x75 ? 6 : 2
      } else if (byte < 0xe0) {
        store<u16>(unit, (u16(byte & 0x1f) << 6) | continued(at + 1))
        unit += 2
        at += 2
      } else if (byte < 0xf0) {
        store<u16>(unit, (u16(byte & 0x0f) << 12) | (continued(at + 1) << 6) | continued(at + 2))
        unit += 2
        at += 3
      } else {
        const high = (u32(byte & 0x07) << 18) | (u32(continued(at + 1)) << 12)
        const point = high | (u32(continued(at + 2)) << 6) | u32(continued(at + 3))
        store<u16>(unit, u16(0xd7c0 + (point >> 10)))
        store<u16>(unit, u16(0xdc00 | (point & 0x3ff)), 2)
        unit += 4
        at += 4
      }
    }
  }
  store<u32>(unit, 0)
  return i32((unit - units) >> 1)
}

@inline
function continued(at: usize): u16 {
  return u16(load<u8>(at) & 0x3f)
}

/** The unit of the escape that begins here. */
function escapedUnit(at: usize): u16 {
  const letter = load<u8>(at, 1)
  switch (letter) {
    case 0x62: // b
      return 0x08
    case 0x66: // f
      return 0x0c
    case 0x6e: // n
      return 0x0a
    case 0x72: // r
      return 0x0d
    case 0x74: // t
      return 0x09
    case 0x75: // u
      return (digitAt(at + 2) << 12) | (digitAt(at + 3) << 8) | (digitAt(at + 4) << 4) | digitAt(at + 5)
    default:
      return u16(letter)
  }
}

@inline
function digitAt(at: usize): u16 {
  const byte = load<u8>(at)
  return u16(byte < 0x40 ? byte - 0x30 : (byte | 0x20) - 0x57)
}
