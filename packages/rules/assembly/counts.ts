/** Counts of the parts of a post's texts, and a note that one had no room, which leaves the post to `PostFacts`. */

import * as layout from "./layout"
import { counts, termUnitsMax } from "./memory"

export function countOf(slot: usize): i32 {
  return load<i32>(counts + slot)
}

export function setCount(slot: usize, count: i32): void {
  store<i32>(counts + slot, count)
}

/** True if so many units have room. If not, it is noted. */
export function haveRoom(count: i32): bool {
  if (count <= termUnitsMax - countOf(layout.countedUnits)) return true
  setCount(layout.countedIsFull, 1)
  return false
}
