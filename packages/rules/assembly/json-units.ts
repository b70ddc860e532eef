/** Texts of the line in UTF-16. */

import * as character from "./characters"
import { line, units } from "./memory"

/**
 * Writes the text of a string of the line, whose quotes are left out, from the unit `to` on, and two zeros after it.
 * Returns its end. The string must have been read.
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
    const others = i8x16.bitmask(
      v128.or(i8x16.eq(bytes, i8x16.splat(character.backslash)), i8x16.lt_s(bytes, i8x16.splat(0))),
    )
    const count = min<usize>(others === 0 ? 16 : usize(ctz(others)), last - at)
    at += count
    unit += count << 1
    if (count === 16) continue
    // Most others follow each other.
    while (at < last) {
      const byte = load<u8>(at)
      if (byte < character.beyondAscii) {
        if (byte !== character.backslash) break
        store<u16>(unit, escapedUnit(at))
        unit += 2
        at += load<u8>(at, 1) === character.smallU ? 6 : 2
      } else if (byte < character.leadOfThreeBytes) {
        store<u16>(unit, (u16(byte & 0x1f) << 6) | continued(at + 1))
        unit += 2
        at += 2
      } else if (byte < character.leadOfFourBytes) {
        store<u16>(unit, (u16(byte & 0x0f) << 12) | (continued(at + 1) << 6) | continued(at + 2))
        unit += 2
        at += 3
      } else {
        const high = (u32(byte & 0x07) << 18) | (u32(continued(at + 1)) << 12)
        const point = high | (u32(continued(at + 2)) << 6) | u32(continued(at + 3))
        store<u16>(unit, u16(character.highSurrogate + ((point - 0x10000) >> 10)))
        store<u16>(unit, u16(character.lowSurrogate | (point & 0x3ff)), 2)
        unit += 4
        at += 4
      }
    }
  }
  store<u32>(unit, 0)
  return i32((unit - units) >> 1)
}

function continued(at: usize): u16 {
  return u16(load<u8>(at) & 0x3f)
}

/** The unit of the escape that begins here. */
function escapedUnit(at: usize): u16 {
  const letter = load<u8>(at, 1)
  switch (letter) {
    case character.smallB:
      return character.backspace
    case character.smallF:
      return character.formFeed
    case character.smallN:
      return character.lineFeed
    case character.smallR:
      return character.carriageReturn
    case character.smallT:
      return character.tab
    case character.smallU:
      return (digitAt(at + 2) << 12) | (digitAt(at + 3) << 8) | (digitAt(at + 4) << 4) | digitAt(at + 5)
    default:
      return u16(letter)
  }
}

function digitAt(at: usize): u16 {
  const byte = load<u8>(at)
  return u16(byte <= character.nine ? byte - character.zero : (byte | character.caseBit) - character.smallA + 10)
}
