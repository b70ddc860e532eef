/**
 * The words and keys of the parts of a post, for `src/walk/walked-terms.ts`, which says which parts a field has.
 *
 * Here, because a post has dozens of such strings: of each its object is searched, and its text is written, cut into words
 * and hashed, without a step in JavaScript.
 */

import { countOf, ofSources, ofTokens } from "./counts"
import { writeUnits } from "./json-units"
import {
  nameAnnotations,
  nameContextAnnotations,
  nameDomain,
  nameEntities,
  nameEntity,
  nameId,
  nameName,
  nameNormalizedText,
  nameUsername,
  nameUsers,
} from "./known-names"
import { array, beginOf, endOf, filled, id, included, itemsEnd, nextOf, object, string } from "./post-nodes"
import { addFoldedKey, addKeyOfTokens, addPassage, addPairKey } from "./term-queries"
import { addTokens } from "./unit-tokens"

/** Adds the text of these units as a passage, with a gap of so many positions after it. */
export function addText(field: i32, begin: i32, end: i32, gap: i32): void {
  const from = countOf(ofTokens)
  addTokens(begin, end, 1)
  addPassage(field, from, countOf(ofTokens), gap)
}

/** Adds a member that is a text as a passage. */
export function addTextOf(field: i32, node: i32, name: i32): void {
  const text = string(node, name)
  if (text === 0) return
  const from = countOf(ofTokens)
  addTokensOf(text, 1)
  addPassage(field, from, countOf(ofTokens), 1)
}

/** Adds the string, folded, as a key, unless it is empty. */
export function addStringKey(field: i32, node: i32): void {
  if (node !== 0) addBytesKey(field, beginOf(node), endOf(node))
}

/** Likewise the string of these bytes. */
export function addBytesKey(field: i32, begin: i32, end: i32): void {
  if (begin !== end) addFoldedKey(field, begin, end)
}

/** Adds the words of a name as one key. A name without words has an empty key, or none. */
export function addWords(field: i32, node: i32, mayBeEmpty: i32): void {
  if (node === 0) return
  const from = countOf(ofTokens)
  addTokensOf(node, 0)
  if (mayBeEmpty !== 0 || countOf(ofTokens) > from) addKeyOfTokens(field, from)
}

/** Adds the names in a list of X's, and the ids if those count too. */
export function addMarks(field: i32, entities: i32, list: i32, name: i32, haveIds: i32): void {
  const items = array(entities, list)
  const end = itemsEnd(items)
  for (let item = items + 1; item < end; item = nextOf(item)) {
    addStringKey(field, filled(item, name))
    if (haveIds !== 0) addStringKey(field, filled(item, nameId))
  }
}

/** Adds id and username of the user; the other name if the user is not included. */
export function addUser(field: i32, includes: i32, userId: i32, otherName: i32): void {
  addStringKey(field, userId)
  const user = included(includes, nameUsers, userId)
  const username = string(user, nameUsername)
  addStringKey(field, username === 0 ? otherName : username)
}

/** For each annotation the pair of domain and entity, and either half with `*` for the other. */
export function addContexts(field: i32, post: i32): void {
  const list = array(post, nameContextAnnotations)
  const end = itemsEnd(list)
  for (let item = list + 1; item < end; item = nextOf(item)) {
    const domain = id(object(item, nameDomain), nameId)
    const entity = id(object(item, nameEntity), nameId)
    if (domain === 0 || entity === 0) continue
    addPair(field, domain, entity)
    addPair(field, domain, 0)
    addPair(field, 0, entity)
  }
}

function addPair(field: i32, domain: i32, entity: i32): void {
  addPairKey(
    field,
    domain === 0 ? 0 : beginOf(domain),
    domain === 0 ? 0 : endOf(domain),
    entity === 0 ? 0 : beginOf(entity),
    entity === 0 ? 0 : endOf(entity),
  )
}

/** The names of annotated entities. */
export function addEntities(field: i32, post: i32): void {
  const contexts = array(post, nameContextAnnotations)
  const contextsEnd = itemsEnd(contexts)
  for (let item = contexts + 1; item < contextsEnd; item = nextOf(item))
    addWords(field, filled(object(item, nameEntity), nameName), 1)
  const annotations = array(object(post, nameEntities), nameAnnotations)
  const end = itemsEnd(annotations)
  for (let item = annotations + 1; item < end; item = nextOf(item))
    addWords(field, filled(item, nameNormalizedText), 1)
}

/** The tokens of a string, whose text is written after those that are kept. */
function addTokensOf(node: i32, isPost: i32): void {
  const begin = countOf(ofSources)
  addTokens(begin, writeUnits(beginOf(node), endOf(node), begin), isPost)
}
