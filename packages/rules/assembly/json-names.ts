/** The names of members: those of X as numbers, found by a hash of up to 32 bytes, and others by a hash alone. */

import * as layout from "./layout"
import { firstNames, line, masks, nameBytes, nameLengths, names, nextNames, unknown } from "./memory"

export const unknownName: i32 = layout.namesMax - 1
const slotsMask: u32 = 1023
const unknownMax: i32 = 64

let unknownCount: i32 = 0

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

/** Number of names of open objects that are not known. */
export function countUnknown(): i32 {
  return unknownCount
}

/** Forgets those after the first so many. */
export function forgetUnknown(left: i32): void {
  unknownCount = left
}

/** Hash of the length and the bytes of a name. */
export function hashOf(begin: usize, length: usize): u32 {
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
export function nameAt(begin: usize, length: usize, hash: u32): i32 {
  for (
    let name = usize(load<u8>(firstNames + usize(hash & slotsMask)));
    name !== 0;
    name = usize(load<u8>(nextNames + name))
  )
    if (usize(load<u8>(nameLengths + name)) === length && isName(begin, length, names + name * nameBytes))
      return i32(name)
  return unknownName
}

export function isName(begin: usize, length: usize, name: usize): bool {
  const first = v128.and(v128.load(begin), v128.load(masks + (min(length, 16) << 4)))
  if (v128.any_true(v128.xor(first, v128.load(name)))) return false
  if (length <= 16) return true
  const second = v128.and(v128.load(begin + 16), v128.load(masks + ((length - 16) << 4)))
  return !v128.any_true(v128.xor(second, v128.load(name + 16)))
}

/** True if an unknown name of the object has the hash. Two names may be taken for one. */
export function isUnknownTwice(hash: u32, from: i32): bool {
  if (unknownCount === unknownMax) return true
  for (let at = from; at < unknownCount; at++) if (load<u32>(unknown + (usize(at) << 2)) === hash) return true
  store<u32>(unknown + (usize(unknownCount++) << 2), hash)
  return false
}
