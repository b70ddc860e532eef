/**
 * The layout of the memory into which the walk writes, for its readers. `assembly/` has the same numbers, in a file
 * that `npm run build:walk` writes from these.
 */

/** Kinds of values. */
export const jsonKind = {
  object: 0,
  array: 1,
  number: 2,
  true: 3,
  false: 4,
  null: 5,
  /** A string of ASCII without escapes, which is its own text. Kinds from here on are strings. */
  plain: 6,
  /** A string without escapes. */
  utf8: 7,
  /** A string with the escapes that `JSON.stringify` writes and no others. */
  escaped: 8,
  /** A string with other escapes. */
  unusual: 9,
} as const

/** A node begins at its number shifted left by so many bits, in integers. */
export const nodeShift = 2

/** Integers of a node. The quotes of a string are left out. */
export const nodeSlot = { kindAndName: 0, begin: 1, end: 2, next: 3 } as const

/** The kind is in the bits below this one, the name in those from it on. */
export const nameShift = 4
export const kindMask = (1 << nameShift) - 1

/** Counts, and notes that are 0 or 1. */
export const counted = {
  units: 0,
  tokens: 1,
  queries: 2,
  positions: 3,
  passages: 4,
  isFull: 5,
  /** Those before are counted anew when the terms of a post are read; these belong to the line. */
  sources: 6,
  isUncertain: 7,
  linkTexts: 8,
  links: 9,
} as const

/** Number of 0 units after each text, so that a reader may look ahead. */
export const unitsAfter = 2

/**
 * Integers of a token: where its text begins; where it ends, shifted left by one, with whether it is glued; where its
 * toneless text ends.
 */
export const tokenSlot = { begin: 0, end: 1, tonelessEnd: 2 } as const
export const tokenSlots = 3

/** Integers of a passage: its field, its first token and the one after its last. */
export const passageSlot = { field: 0, from: 1, to: 2 } as const
export const passageSlots = 3

/** Integers of a text of a link. */
export const textSlot = { begin: 0, end: 1 } as const
export const textSlots = 2

/**
 * Integers of a link: its first target, the first text that readers see, the text after the last, the node of X's
 * description or 0, and the id of the post that is quoted where the link stands or 0.
 */
export const linkSlot = { from: 0, displayedFrom: 1, to: 2, node: 3, quotedId: 4 } as const
export const linkSlots = 5
