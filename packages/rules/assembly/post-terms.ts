/**
 * The words and keys of the parts of a post, for `src/walk/walked-terms.ts` and `src/walk/term-keys.ts`, which say which
 * parts a field has.
 *
 * In WebAssembly, because a post has dozens of such strings, and each is written, cut into words and hashed in one call.
 */

import { countedSources, countedTokens } from "./constants"
import { countOf } from "./counts"
import { writeUnits } from "./json-units"
import { beginOf, endOf } from "./post-nodes"
import { addFoldedKey, addIdPair, addKeyOfTokens, addPassage } from "./term-queries"
import { addTokens } from "./unit-tokens"

/** Adds the text of these units as a passage, with a gap of so many positions after it. */
export function addText(field: i32, begin: i32, end: i32, gap: i32): void {
  const from = countOf(countedTokens)
  addTokens(begin, end, 1)
  addPassage(field, from, countOf(countedTokens), gap)
}

/** Adds the string as a passage, unless it is absent. */
export function addTextOf(field: i32, text: i32): void {
  if (text === 0) return
  const from = countOf(countedTokens)
  addTokensOf(text, 1)
  addPassage(field, from, countOf(countedTokens), 1)
}

/** Adds the string, folded, as a key, unless it is empty. */
export function addStringKey(field: i32, node: i32): void {
  const begin = beginOf(node)
  const end = endOf(node)
  if (begin !== end) addFoldedKey(field, begin, end)
}

/** Adds the words of a name as one key, unless it has none. */
export function addWords(field: i32, name: i32): void {
  const from = countOf(countedTokens)
  addTokensOf(name, 0)
  if (countOf(countedTokens) > from) addKeyOfTokens(field, from)
}

/** Adds a key with both ids and a dot between them. `*` stands for an absent one. */
export function addPairKey(field: i32, domain: i32, entity: i32): void {
  addIdPair(
    field,
    domain === 0 ? 0 : beginOf(domain),
    domain === 0 ? 0 : endOf(domain),
    entity === 0 ? 0 : beginOf(entity),
    entity === 0 ? 0 : endOf(entity),
  )
}

/** The tokens of a string, whose text is written after those that are kept. */
function addTokensOf(node: i32, isPost: i32): void {
  const begin = countOf(countedSources)
  addTokens(begin, writeUnits(beginOf(node), endOf(node), begin), isPost)
}
