/**
 * The words and keys of the parts of a post, for `src/walk/walked-terms.ts` and `src/walk/term-keys.ts`, which say which
 * parts a field has.
 *
 * In WebAssembly, because a post has dozens of such strings, and each is written, cut into words and hashed in one call.
 */

import * as layout from "./layout"
import { countOf } from "./counts"
import { writeUnits } from "./json-units"
import { beginOf, endOf, id, itemsEnd, member, nextOf, string } from "./post-nodes"
import { addFoldedKey, addIdPair, addKeyOfTokens, addPassage } from "./term-queries"
import { addTokens } from "./unit-tokens"

/** Adds the text of these units as a passage, with a gap of so many positions after it. */
export function addText(field: i32, begin: i32, end: i32, gap: i32): void {
  const from = countOf(layout.countedTokens)
  addTokens(begin, end, 1)
  addPassage(field, from, countOf(layout.countedTokens), gap)
}

/** Adds the string as a passage, unless it is absent. */
export function addTextOf(field: i32, text: i32): void {
  if (text === 0) return
  const from = countOf(layout.countedTokens)
  addTokensOf(text, 1)
  addPassage(field, from, countOf(layout.countedTokens), 1)
}

/** Adds the string, folded, as a key, unless it is absent or empty. */
export function addStringKey(field: i32, node: i32): void {
  if (node === 0) return
  const begin = beginOf(node)
  const end = endOf(node)
  if (begin !== end) addFoldedKey(field, begin, end)
}

/** Adds a string of each item of the list as a key, and the item's id if that counts too. */
export function addMarks(field: i32, list: i32, name: i32, hasIds: i32): void {
  const end = itemsEnd(list)
  for (let item = list + 1; item < end; item = nextOf(item)) {
    addStringKey(field, string(item, name))
    if (hasIds !== 0) addStringKey(field, string(item, layout.nameId))
  }
}

/** Adds for each item of the list the ids of both its objects as a pair, and either half with `*` for the other. */
export function addPairs(field: i32, list: i32, first: i32, second: i32): void {
  const end = itemsEnd(list)
  for (let item = list + 1; item < end; item = nextOf(item)) {
    const one = id(member(item, first), layout.nameId)
    const other = id(member(item, second), layout.nameId)
    if (one === 0 || other === 0) continue
    addPair(field, one, other)
    addPair(field, one, 0)
    addPair(field, 0, other)
  }
}

/** Adds the words of the string that each item of the list has, or an object of the item unless that is 0. */
export function addNames(field: i32, list: i32, object: i32, name: i32): void {
  const end = itemsEnd(list)
  for (let item = list + 1; item < end; item = nextOf(item))
    addWords(field, string(object === 0 ? item : member(item, object), name))
}

/** Adds the words of a name as one key, unless it is absent or has none. */
export function addWords(field: i32, name: i32): void {
  if (name === 0) return
  const from = countOf(layout.countedTokens)
  addTokensOf(name, 0)
  if (countOf(layout.countedTokens) > from) addKeyOfTokens(field, from)
}

/** Adds a key with both ids and a dot between them. `*` stands for an absent one. */
function addPair(field: i32, domain: i32, entity: i32): void {
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
  const begin = countOf(layout.countedSources)
  addTokens(begin, writeUnits(beginOf(node), endOf(node), begin), isPost)
}
