/**
 * The flags of a post, `is:`, `has:` and the most frequent values of `lang:`, as bits of one integer.
 *
 *     posting   has:media -is:retweet lang:en   ──► mask with a bit for each
 *     post      its flags                       ──► a bit for each that it has, and for each that it has not
 *
 * Rules rarely have no flag at all, and a rule is never filed under one: too many posts have it. A mask next to the
 * guard decides them all in one comparison. Each flag is a term of a fixed number, so the first integer of the bits of
 * a post's terms contains its flags already.
 */

import { hasValues, isValues } from "../language/rule.ts"
import { fieldNumber } from "./term-layout.ts"

/** Languages that have a bit: those that most posts are written in. A language has none for its absence. Ours. */
const languages = ["en", "ja", "es", "pt", "ar"]

/** Flags that also have a bit for their absence; their terms are 1, 2, 3 … */
const deniable = isValues.length + hasValues.length

/** Flags have the terms from 1 to this one. */
export const flagTermMax = deniable + languages.length

/** Bits of the flags that a post has, and how far to the left those for absent ones are. */
const heldBits = (1 << (flagTermMax + 1)) - 1
const absentShift = flagTermMax

const flagTerms = new Map<string, number>()
for (const [field, values] of [
  ["is", isValues],
  ["has", hasValues],
  ["lang", languages],
] as const)
  for (const value of values) flagTerms.set(`${fieldNumber(field)}:${value}`, flagTerms.size + 1)

const firstFlagField = Math.min(fieldNumber("is"), fieldNumber("has"), fieldNumber("lang"))

/** The term of the flag; 0 if the text in the field is none. */
export function flagTermOf(field: number, text: string): number {
  return field < firstFlagField ? 0 : (flagTerms.get(`${field}:${text}`) ?? 0)
}

/** The mask of a flag that must be present or absent; 0 if the term has no such bit. */
export function maskOf(term: number, isNegated: boolean): number {
  if (term > (isNegated ? deniable : flagTermMax)) return 0
  return 1 << (isNegated ? term + absentShift : term)
}

/**
 * The bits that no mask of a rule may have if the rule is to hold of a post, from the first integer of its terms' bits.
 */
export function excludedMask(firstBits: number): number {
  return ~((firstBits & heldBits) | (~firstBits << absentShift))
}
