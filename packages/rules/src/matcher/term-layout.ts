/** Terms as integers: the fields in which they are searched for, and the record that the matcher keeps of each. */

import { comparedFields, zones, type ComparedField } from "../language/rule.ts"

/**
 * A field of posts that has terms. Two are none: the terms of `operator` identify operators, and those of `pair` are
 * two words of a zone that follow each other, by their terms.
 */
export type TermField = ComparedField | "operator" | "pair"

/** Fields by their number. */
export const termFields: readonly TermField[] = [...comparedFields, "operator", "pair"]

/** Number of zones. Fields with a smaller number are zones. */
export const zonesCount = new Set(Object.values(zones)).size

/** Number of a field. */
export function fieldNumber(field: TermField): number {
  return fieldNumbers.get(field) ?? 0
}

const fieldNumbers = new Map(termFields.map((field, number) => [field, number]))

/** The term that every post contains. A rule that requires no other term is filed under it. */
export const always = 0

/**
 * Layout of a term's record: 64 bytes, the size of a cache line, because reading memory is most of the cost of a
 * look-up.
 */
export const termSlot = {
  next: 0,
  /** Length, whether it is a stopword, field. */
  info: 1,
  /**
   * The characters, two in each integer. A text that is too long has its first ones here, and its address in the last
   * slot.
   */
  text: 2,
  /** Number of posts that contained it since it was made. Halved from time to time. */
  seen: 8,
  uses: 9,
  /** Its posting list, for `PostingLists`. */
  postingsCount: 10,
  postings: 11,
  guard: 12,
  mask: 13,
  /** Number of the post after which `seen` counts, modulo 2³². */
  since: 14,
  hash: 15,
} as const

/** A term's record begins at its number shifted left by so many bits. */
export const termBits = 4

/** Number of integers of a text in the record. */
export const textSlots = termSlot.seen - termSlot.text

/** The slot of the address of a long text. */
export const addressSlot = termSlot.seen - 1

/** Bits of `info`: the field below this bit, which says that the text is a stopword, and the length above it. */
export const stopwordBit = 1 << 5

/** Bits of `info` below the length. */
export const lengthShift = 6
