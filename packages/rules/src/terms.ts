/**
 * Terms: the texts under which rules are filed and posts are indexed. A word of a post's own text stands
 * for itself; everything else has its zone or operator before a colon, which no token holds.
 */

import type { KeyName, Zone } from "./rule.ts"

/** The term of a folded word in a zone. */
export function wordTerm(zone: Zone, word: string): string {
  return zone === "text" ? word : `${zone}:${word}`
}

/** The term of a key. */
export function keyTerm(name: KeyName, key: string): string {
  return `${name}:${key}`
}
