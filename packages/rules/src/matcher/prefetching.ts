/**
 * Reads memory before it is needed, so that the waiting times overlap. The results are to be kept somewhere, so that the
 * engine does not remove the reads as dead code.
 */

import { countShift, noRule, rootSlot } from "./expression-layout.ts"
import { chunkSlot, postingLength, postingsOfFirst } from "./posting-lists.ts"
import { rootOf } from "./rule-filing.ts"
import { isList, onlyRuleOf } from "./rule-numbers.ts"
import { termBits, termSlot } from "./term-layout.ts"

/** Integers of a cache line. */
const cacheLine = 16

/** Reads the first chunks of the posting lists of these terms. `records` are those of all terms, `ints` the arena. */
export function prefetchLists(records: Int32Array, ints: Int32Array, terms: Int32Array, count: number): number {
  let prefetched = 0
  for (let index = 0; index < count; index++) {
    const at = (terms[index] ?? 0) << termBits
    const postings = records[at + termSlot.postingsCount] ?? 0
    if (postings < 2) continue
    const chunk = records[at + termSlot.postings] ?? 0
    const end = chunk + chunkSlot.postings + postingsOfFirst(postings) * postingLength
    for (let line = chunk; line < end; line += cacheLine) prefetched ^= ints[line] ?? 0
  }
  return prefetched
}

/** Reads the roots of these entries, and then what their evaluation reads first: an owner, and an expression. */
export function prefetchRoots(owners: Int32Array, ints: Int32Array, entries: Int32Array, count: number): number {
  let prefetched = 0
  for (let index = 0; index < count; index++) prefetched ^= ints[rootOf(entries[index] ?? 0)] ?? 0
  for (let index = 0; index < count; index++) {
    const root = rootOf(entries[index] ?? 0)
    const rules = ints[root + rootSlot.rules] ?? noRule
    if (!isList(rules)) prefetched ^= owners[onlyRuleOf(rules)] ?? 0
    // Expressions stand behind the terms.
    const last = ints[root + rootSlot.parts + ((ints[root + rootSlot.header] ?? 0) >>> countShift) - 1] ?? 0
    if (last < 0) prefetched ^= ints[~last >>> 1] ?? 0
  }
  return prefetched
}
