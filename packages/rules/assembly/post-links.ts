/**
 * The links of a post, for `src/walk/walked-links.ts`: where they lead, and what readers see of them, as texts among the
 * units. A text is named by its number, a link by the texts that are its own.
 */

import {
  countOf,
  isUncertain,
  isFull,
  ofLinks,
  ofLinkTexts,
  ofSources,
  ofTokens,
  setCount,
} from "./counts"
import { writeUnits } from "./json-units"
import { nameDisplayUrl, nameExpandedUrl, nameUnwoundUrl, nameUrl } from "./known-names"
import { classes, linkBytes, links, linksMax, linkTexts, linkTextsMax, passageBegins, passageTexts, units } from "./memory"
import { beginOf, endOf, filled, itemsEnd, nextOf, string } from "./post-nodes"
import { addTextOf } from "./post-terms"
import { addPassage } from "./term-queries"
import { addTokens, isSurrogate, separator } from "./unit-tokens"

/** Writes where an earlier post says that the link with the hash leads. Returns the number of the text; -1 if none says so. */
@external("rare", "addDestination")
declare function addDestination(text: i32, hash: i32): i32

/** Where the text without its scheme begins. */
@external("rare", "schemeEnd")
declare function rareSchemeEnd(begin: i32, end: i32): i32

/** Texts of links that are compared with each other. A post with more is left to the plain reader. Ours. */
const comparedMax: i32 = 64

const ellipsis: u16 = 0x2026

/** Texts that have become passages of the list that is added. */
let passagesCount: i32 = 0

/** Adds the links that X lists for a text. */
export function addListedLinks(list: i32, quotedId: i32): void {
  const end = itemsEnd(list)
  for (let item = list + 1; item < end; item = nextOf(item)) addListed(item, quotedId)
}

function addListed(item: i32, quotedId: i32): void {
  const expanded = filled(item, nameExpandedUrl)
  const unwound = filled(item, nameUnwoundUrl)
  const short = string(item, nameUrl)
  // Without a target the short form counts as one, if X did not make it.
  if (expanded === 0 && unwound === 0 && short !== 0) setCount(isUncertain, 1)
  const from = countOf(ofLinkTexts)
  if (from > comparedMax) return setCount(isUncertain, 1)
  writeNode(expanded)
  writeNode(unwound)
  const displayedFrom = countOf(ofLinkTexts)
  writeNode(filled(item, nameUrl))
  writeNode(filled(item, nameDisplayUrl))
  if (countOf(ofLinkTexts) > from) addLink(from, displayedFrom, item, quotedId)
}

function writeNode(node: i32): void {
  if (node === 0) return
  const begin = countOf(ofSources)
  const end = writeUnits(beginOf(node), endOf(node), begin)
  setCount(ofSources, end + 2)
  addLinkText(begin, end)
}

/** Adds a text of the units. Returns its number; -1 if it has no room. */
export function addLinkText(begin: i32, end: i32): i32 {
  const text = countOf(ofLinkTexts)
  if (text === linkTextsMax) {
    setCount(isUncertain, 1)
    return -1
  }
  const slot = linkTexts + (usize(text) << 3)
  store<i32>(slot, begin)
  store<i32>(slot, end, 4)
  setCount(ofLinkTexts, text + 1)
  return text
}

/** Adds a link of the last texts: from these on its targets, and then what readers see; with X's description of it, or 0. */
export function addLink(from: i32, displayedFrom: i32, node: i32, quotedId: i32): void {
  const link = countOf(ofLinks)
  if (link === linksMax) return setCount(isUncertain, 1)
  const slot = links + usize(link) * linkBytes
  store<i32>(slot, from)
  store<i32>(slot, displayedFrom, 4)
  store<i32>(slot, countOf(ofLinkTexts), 8)
  store<i32>(slot, node, 12)
  store<i32>(slot, quotedId, 16)
  setCount(ofLinks, link + 1)
}

/** Adds a member of X's descriptions of the links as passages. */
export function addPages(field: i32, name: i32): void {
  const count = countOf(ofLinks)
  for (let link = 0; link < count; link++) addTextOf(field, string(load<i32>(links + usize(link) * linkBytes, 12), name))
}

/** Adds where the links lead as passages of both fields, with this gap after those of the first; -1 is no field. */
export function addTargets(field: i32, gap: i32, otherField: i32): void {
  passagesCount = 0
  const count = countOf(ofLinks)
  for (let link = 0; link < count; link++) {
    const slot = links + usize(link) * linkBytes
    const from = load<i32>(slot)
    const to = load<i32>(slot, 4)
    for (let text = from; text < to; text++) addText(text)
    for (let text = from; text < to; text++) {
      const destination = addDestination(text, hashOf(text))
      if (destination >= 0) addText(destination)
    }
  }
  if (field >= 0) addPassages(field, gap)
  if (otherField >= 0) addPassages(otherField, 1)
}

/** Adds what readers see of the links as passages, unless it is only a part of where the link leads. */
export function addDisplayed(field: i32): void {
  passagesCount = 0
  const count = countOf(ofLinks)
  for (let link = 0; link < count; link++) {
    const slot = links + usize(link) * linkBytes
    const from = load<i32>(slot)
    const displayedFrom = load<i32>(slot, 4)
    const to = load<i32>(slot, 8)
    for (let text = displayedFrom; text < to; text++) {
      let isPart = false
      for (let target = from; target < displayedFrom && !isPart; target++) isPart = isPartOf(text, target)
      if (!isPart) addText(text)
    }
  }
  addPassages(field, 1)
}

function addPassages(field: i32, gap: i32): void {
  // Another list may begin where this one ends.
  store<i32>(passageBegins + (usize(passagesCount) << 2), countOf(ofTokens))
  for (let passage = 0; passage < passagesCount; passage++) {
    const slot = passageBegins + (usize(passage) << 2)
    addPassage(field, load<i32>(slot), load<i32>(slot, 4), gap)
  }
}

/** Adds the tokens of a text unless one like it was added, like `linkPassages` of `src/post/links.ts`. */
function addText(text: i32): void {
  const begin = schemeEnd(text)
  const end = textEnd(text)
  for (let passage = 0; passage < passagesCount; passage++) {
    const slot = passageTexts + (usize(passage) << 3)
    if (areSame(begin, end, load<i32>(slot), load<i32>(slot, 4))) return
  }
  if (passagesCount === linkTextsMax) return setCount(isFull, 1)
  const slot = passageTexts + (usize(passagesCount) << 3)
  store<i32>(slot, begin)
  store<i32>(slot, end, 4)
  const from = countOf(ofTokens)
  store<i32>(passageBegins + (usize(passagesCount++) << 2), from)
  addTokens(begin, end, 0)
  // A displayed link that was cut after a letter or digit: its last token may be half a word.
  const isCut = end > begin + 1 && unitAt(end - 1) === ellipsis && !isSeparator(unitAt(end - 2))
  if (isCut && countOf(ofTokens) > from) setCount(ofTokens, countOf(ofTokens) - 1)
}

/** Whether the unit before an ellipsis ends a word. All that are not marks within an emoji have been met. */
@inline
function isSeparator(unit: u16): bool {
  return isSurrogate(unit) || load<u8>(classes + usize(unit)) === separator
}

/** The begin of the text without its scheme. */
function schemeEnd(text: i32): i32 {
  const begin = textBegin(text)
  const at = units + (usize(begin) << 1)
  const first = load<u16>(at)
  // "http"
  if (load<u64>(at) === 0x0070007400740068) {
    const isSecure = load<u16>(at, 8) === 0x73
    const after = isSecure ? at + 10 : at + 8
    // "://"
    if (load<u32>(after) === 0x002f003a && load<u16>(after, 4) === 0x2f) return isSecure ? begin + 8 : begin + 7
  }
  // All that a scheme can begin with otherwise, white space before it included.
  if (first !== 0x68 && first !== 0x48 && first > 0x20 && first < 0x80) return begin
  return rareSchemeEnd(begin, textEnd(text))
}

/** Like `isPartOf` of `src/post/links.ts`. */
function isPartOf(text: i32, target: i32): bool {
  const begin = textBegin(text)
  const end = textEnd(text)
  const isCut = unitAt(end - 1) === ellipsis
  const stemEnd = isCut ? end - 1 : end
  const from = textBegin(target)
  const to = textEnd(target)
  const length = stemEnd - begin
  for (let at = from; at + length <= to; at++) {
    if (!areSame(at, at + length, begin, stemEnd)) continue
    const before = at === from ? u16(0) : unitAt(at - 1)
    return (at === from || before === 0x2f || before === 0x2e) && (isCut || at + length === to)
  }
  return false
}

/** Like `linkHash` of `src/post/earlier-posts.ts`. */
function hashOf(text: i32): i32 {
  let hash: u32 = 0
  const end = textEnd(text)
  for (let at = textBegin(text); at < end; at++) {
    const product = (hash ^ u32(unitAt(at))) * u32(0x9e3779b1)
    hash = product ^ (product >> 15)
  }
  return i32(hash)
}

function areSame(begin: i32, end: i32, other: i32, otherEnd: i32): bool {
  if (end - begin !== otherEnd - other) return false
  return memory.compare(units + (usize(begin) << 1), units + (usize(other) << 1), usize(end - begin) << 1) === 0
}

@inline
function textBegin(text: i32): i32 {
  return load<i32>(linkTexts + (usize(text) << 3))
}

@inline
function textEnd(text: i32): i32 {
  return load<i32>(linkTexts + (usize(text) << 3), 4)
}

@inline
function unitAt(at: i32): u16 {
  return load<u16>(units + (usize(at) << 1))
}
