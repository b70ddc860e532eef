/** How many of each part of a post's texts are in use, and whether any had no room: then the post is for the plain reader. */

import { counts, termUnitsMax } from "./memory"

export const ofUnits: usize = 0
export const ofTokens: usize = 4
export const ofQueries: usize = 8
/** Of their integers. */
export const ofPositions: usize = 12
export const ofPassages: usize = 16
export const isFull: usize = 20
/** The texts of the line that are kept, in units: where the next one is written. */
export const ofSources: usize = 24
/** Whether something was found that the walk does not decide: then too the post is for the plain reader. */
export const isUncertain: usize = 28
export const ofLinkTexts: usize = 32
export const ofLinks: usize = 36

@inline
export function countOf(slot: usize): i32 {
  return load<i32>(counts + slot)
}

@inline
export function setCount(slot: usize, count: i32): void {
  store<i32>(counts + slot, count)
}

/** Whether so many units have room. If not, it is noted. */
export function haveRoom(count: i32): bool {
  if (count <= termUnitsMax - countOf(ofUnits)) return true
  setCount(isFull, 1)
  return false
}
