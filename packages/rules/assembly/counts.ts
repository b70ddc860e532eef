/** How many of each part of a post's texts are in use, and whether any had no room: then the post is for the plain reader. */

import { countedIsFull, countedUnits } from "./constants"
import { counts, termUnitsMax } from "./memory"

export function countOf(slot: usize): i32 {
  return load<i32>(counts + slot)
}

export function setCount(slot: usize, count: i32): void {
  store<i32>(counts + slot, count)
}

/** Whether so many units have room. If not, it is noted. */
export function haveRoom(count: i32): bool {
  if (count <= termUnitsMax - countOf(countedUnits)) return true
  setCount(countedIsFull, 1)
  return false
}
