/** Expressions as integers: references to their parts, and the blocks in which they are stored. */

/** Kinds of expressions. */
export const kinds = {
  /** At least one part holds. Without parts: never. */
  any: 0,
  /** All parts hold. Without parts: always. */
  all: 1,
  /**
   * Words of one zone follow each other there. The parts are the terms of their pairs, which must be present, and then the
   * terms of the words. The lowest bit of a word: it is glued.
   */
  phrase: 2,
  /** An operator that is evaluated itself. The first part is a term that identifies it; the other terms must be present. */
  operator: 3,
} as const

/** Layout of an expression. */
export const nodeSlot = {
  next: 0,
  /** Number of parts, whether it is a root, kind. */
  header: 1,
  /** Result of the last evaluation: the stamp of the post, plus 1 if the expression held. */
  memo: 2,
  uses: 3,
  parts: 4,
} as const

/** Layout of a root. The first two slots are those of any expression. */
export const rootSlot = {
  next: 0,
  header: 1,
  /** Its only rule, or the list of its rules (`rule-numbers.ts`). */
  rules: 2,
  /** The term that it is filed under; if it is not exactly one, `~` the address of the list of its terms. Or `unfiled`. */
  filing: 3,
  /** The address of its posting; if it is not filed under exactly one term, the stamp of the last post that evaluated it. */
  posting: 4,
  parts: 5,
} as const

/** Bits of a header that contain the kind. */
export const kindMask = 3

/** Bit of a header that is set for a root. */
export const rootBit = 4

/** Bits of a header below the number of parts. */
export const countShift = 3

/** Number of pairs among the parts of a phrase. */
export function pairsOf(parts: number): number {
  return parts >> 1
}

/** A root without rules. */
export const noRule = -1

/** In the place of the term of a root that is not filed. Greater than every term. */
export const unfiled = 0x7fff_ffff

/** The reference of a term. */
export function termRef(term: number, isNegated = false): number {
  return (term << 1) | (isNegated ? 1 : 0)
}

/** The reference of the expression at the address. */
export function nodeRef(address: number): number {
  return ~(address << 1)
}

/** The reference, negated. */
export function negation(ref: number): number {
  return ref ^ 1
}

/** The slot of the first part. */
export function partsSlot(header: number): number {
  return (header & rootBit) === 0 ? nodeSlot.parts : rootSlot.parts
}
