/**
 * The emoji of one code point, with the selector and the skin tone that may follow it, and flags. Those that are joined
 * of several are left to `src/walk/rare-tokens.ts`, which has the whole pattern.
 */

import * as character from "./characters"

/** The first half of skin tones and of the letters of flags. */
const highHalf: u16 = 0xd83c
/** The first half of tags. */
const tagsHalf: u16 = 0xdb40

/** The end of the emoji that begins here with a pictograph of so many bytes; 0 if it is a rare one. */
export function emojiEnd(at: usize, width: usize): usize {
  if (isFlagLetter(at)) return isFlagLetter(at + 4) ? at + 8 : at + 4
  let end = selectorEnd(at + width)
  if (isTone(end)) end += 4
  const next = load<u16>(end)
  return next === character.joiner || next === tagsHalf ? 0 : end
}

/** Writes the emoji without its selector. Returns the end of the text. */
export function writeEmoji(at: usize, width: usize, end: usize, to: usize): usize {
  if (isFlagLetter(at)) {
    store<u64>(to, load<u64>(at))
    return to + (end - at)
  }
  store<u32>(to, load<u32>(at))
  if (end - at < width + 4) return to + width
  store<u32>(to + width, load<u32>(end - 4))
  return to + width + 4
}

/** The end of the variation selector at `at`; `at` when there is none. */
function selectorEnd(at: usize): usize {
  const unit = load<u16>(at)
  return unit === character.textSelector || unit === character.emojiSelector ? at + 2 : at
}

function isTone(at: usize): bool {
  return load<u16>(at) === highHalf && isWithin(load<u16>(at, 2), 0xdffb, 0xdfff)
}

/** True if a regional indicator begins here: two of them are a flag. */
export function isFlagLetter(at: usize): bool {
  return load<u16>(at) === highHalf && isWithin(load<u16>(at, 2), 0xdde6, 0xddff)
}

function isWithin(unit: u16, first: u16, last: u16): bool {
  return unit >= first && unit <= last
}
