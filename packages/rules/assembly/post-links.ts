/**
 * The links of a post, for `src/walk/walked-links.ts`: where they lead, and what readers see of them, as texts among
 * the units. A text is named by its number, a link by the texts that are its own.
 */

import * as character from "./characters"
import * as layout from "./layout"
import { addDestination, schemeEnd as rareSchemeEnd } from "./rare"
import { countOf, setCount } from "./counts"
import { writeUnits } from "./json-units"
import { classes, links, linksMax, linkTexts, linkTextsMax, passageBegins, passageTexts, units } from "./memory"
import { beginOf, endOf, filled, itemsEnd, nextOf, string } from "./post-nodes"
import { addTextOf } from "./post-terms"
import { addPassage } from "./term-queries"
import { addTokens, isSurrogate } from "./unit-tokens"

/** Texts of links that are compared with each other. A post with more is left to `PostFacts`. Ours. */
const comparedMax: i32 = 64

/** Texts that have become passages of the list that is added. */
let passagesCount: i32 = 0

/** Adds the links that X lists for a text. */
export function addListedLinks(list: i32, quotedId: i32): void {
  const end = itemsEnd(list)
  for (let item = list + 1; item < end; item = nextOf(item)) addListed(item, quotedId)
}

function addListed(item: i32, quotedId: i32): void {
  const expanded = filled(item, layout.nameExpandedUrl)
  const unwound = filled(item, layout.nameUnwoundUrl)
  const short = string(item, layout.nameUrl)
  // Without a target the short form counts as one, if X did not make it.
  if (expanded === 0 && unwound === 0 && short !== 0) setCount(layout.countedIsUncertain, 1)
  const from = countOf(layout.countedLinkTexts)
  if (from > comparedMax) return setCount(layout.countedIsUncertain, 1)
  writeNode(expanded)
  writeNode(unwound)
  const displayedFrom = countOf(layout.countedLinkTexts)
  writeNode(filled(item, layout.nameUrl))
  writeNode(filled(item, layout.nameDisplayUrl))
  if (countOf(layout.countedLinkTexts) > from) addLink(from, displayedFrom, item, quotedId)
}

function writeNode(node: i32): void {
  if (node === 0) return
  const begin = countOf(layout.countedSources)
  const end = writeUnits(beginOf(node), endOf(node), begin)
  setCount(layout.countedSources, end + layout.unitsAfter)
  addLinkText(begin, end)
}

/** Adds a text of the units. Returns its number; -1 if it has no room. */
export function addLinkText(begin: i32, end: i32): i32 {
  const text = countOf(layout.countedLinkTexts)
  if (text === linkTextsMax) {
    setCount(layout.countedIsUncertain, 1)
    return -1
  }
  const slot = linkTexts + usize(text) * layout.textBytes
  store<i32>(slot, begin, layout.textBegin)
  store<i32>(slot, end, layout.textEnd)
  setCount(layout.countedLinkTexts, text + 1)
  return text
}

/**
 * Adds a link of the last texts: from these on its targets, and then what readers see; with X's description of it, or
 * 0.
 */
export function addLink(from: i32, displayedFrom: i32, node: i32, quotedId: i32): void {
  const link = countOf(layout.countedLinks)
  if (link === linksMax) return setCount(layout.countedIsUncertain, 1)
  const slot = links + usize(link) * layout.linkBytes
  store<i32>(slot, from, layout.linkFrom)
  store<i32>(slot, displayedFrom, layout.linkDisplayedFrom)
  store<i32>(slot, countOf(layout.countedLinkTexts), layout.linkTo)
  store<i32>(slot, node, layout.linkNode)
  store<i32>(slot, quotedId, layout.linkQuotedId)
  setCount(layout.countedLinks, link + 1)
}

/** Adds a member of X's descriptions of the links as passages. */
export function addPages(field: i32, name: i32): void {
  const count = countOf(layout.countedLinks)
  for (let link = 0; link < count; link++)
    addTextOf(field, string(load<i32>(links + usize(link) * layout.linkBytes, layout.linkNode), name))
}

/** Adds where the links lead as passages of both fields, with this gap after those of the first; -1 is no field. */
export function addTargets(field: i32, gap: i32, otherField: i32): void {
  passagesCount = 0
  const count = countOf(layout.countedLinks)
  for (let link = 0; link < count; link++) {
    const slot = links + usize(link) * layout.linkBytes
    const from = load<i32>(slot, layout.linkFrom)
    const to = load<i32>(slot, layout.linkDisplayedFrom)
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
  const count = countOf(layout.countedLinks)
  for (let link = 0; link < count; link++) {
    const slot = links + usize(link) * layout.linkBytes
    const from = load<i32>(slot, layout.linkFrom)
    const displayedFrom = load<i32>(slot, layout.linkDisplayedFrom)
    const to = load<i32>(slot, layout.linkTo)
    for (let text = displayedFrom; text < to; text++) {
      let isPart: bool = false
      for (let target = from; target < displayedFrom && !isPart; target++) isPart = isPartOf(text, target)
      if (!isPart) addText(text)
    }
  }
  addPassages(field, 1)
}

function addPassages(field: i32, gap: i32): void {
  // Another list may begin where this one ends.
  store<i32>(passageBegins + (usize(passagesCount) << 2), countOf(layout.countedTokens))
  for (let passage = 0; passage < passagesCount; passage++) {
    const slot = passageBegins + (usize(passage) << 2)
    addPassage(field, load<i32>(slot), load<i32>(slot, 4), gap)
  }
}

/** Adds the tokens of a text unless one like it was added, like `linkPassages` of `src/post/links.ts`. */
function addText(text: i32): void {
  const begin = schemeEnd(text)
  const end = endOfText(text)
  for (let passage = 0; passage < passagesCount; passage++) {
    const slot = passageTexts + usize(passage) * layout.textBytes
    if (areSame(begin, end, load<i32>(slot, layout.textBegin), load<i32>(slot, layout.textEnd))) return
  }
  if (passagesCount === linkTextsMax) return setCount(layout.countedIsFull, 1)
  const slot = passageTexts + usize(passagesCount) * layout.textBytes
  store<i32>(slot, begin, layout.textBegin)
  store<i32>(slot, end, layout.textEnd)
  const from = countOf(layout.countedTokens)
  store<i32>(passageBegins + (usize(passagesCount++) << 2), from)
  addTokens(begin, end, 0)
  // A displayed link that was cut after a letter or digit: its last token may be half a word.
  const isCut = end > begin + 1 && unitAt(end - 1) === character.ellipsis && !isSeparator(unitAt(end - 2))
  if (isCut && countOf(layout.countedTokens) > from) setCount(layout.countedTokens, countOf(layout.countedTokens) - 1)
}

/** True if the unit before an ellipsis ends a word. All that are not marks within an emoji have been met. */
function isSeparator(unit: u16): bool {
  return isSurrogate(unit) || load<u8>(classes + usize(unit)) === character.classSeparator
}

/** The begin of the text without its scheme. */
function schemeEnd(text: i32): i32 {
  const begin = beginOfText(text)
  const at = units + (usize(begin) << 1)
  const first = load<u16>(at)
  // "http"
  if (load<u64>(at) === character.unitsHttp) {
    const isSecure = load<u16>(at, 8) === character.smallS
    const after = isSecure ? at + 10 : at + 8
    // "://"
    if (load<u32>(after) === character.unitsColonSlash && load<u16>(after, 4) === character.slash)
      return isSecure ? begin + 8 : begin + 7
  }
  // All that a scheme can begin with otherwise, white space before it included.
  if (
    first !== character.smallH &&
    first !== character.capitalH &&
    first > character.space &&
    first < character.beyondAscii
  )
    return begin
  return rareSchemeEnd(begin, endOfText(text))
}

/** Like `isPartOf` of `src/post/links.ts`. */
function isPartOf(text: i32, target: i32): bool {
  const begin = beginOfText(text)
  const end = endOfText(text)
  const isCut = unitAt(end - 1) === character.ellipsis
  const stemEnd = isCut ? end - 1 : end
  const from = beginOfText(target)
  const to = endOfText(target)
  const length = stemEnd - begin
  for (let at = from; at + length <= to; at++) {
    if (!areSame(at, at + length, begin, stemEnd)) continue
    const before = at === from ? u16(0) : unitAt(at - 1)
    return (at === from || before === character.slash || before === character.dot) && (isCut || at + length === to)
  }
  return false
}

/** The hash by which `src/post/earlier-posts.ts` knows a link. */
function hashOf(text: i32): i32 {
  let hash: u32 = 0
  const end = endOfText(text)
  for (let at = beginOfText(text); at < end; at++) {
    const product = (hash ^ u32(unitAt(at))) * layout.hashMultiplier
    hash = product ^ (product >> layout.hashShift)
  }
  return i32(hash)
}

function areSame(begin: i32, end: i32, other: i32, otherEnd: i32): bool {
  if (end - begin !== otherEnd - other) return false
  return memory.compare(units + (usize(begin) << 1), units + (usize(other) << 1), usize(end - begin) << 1) === 0
}

function beginOfText(text: i32): i32 {
  return load<i32>(linkTexts + usize(text) * layout.textBytes, layout.textBegin)
}

function endOfText(text: i32): i32 {
  return load<i32>(linkTexts + usize(text) * layout.textBytes, layout.textEnd)
}

function unitAt(at: i32): u16 {
  return load<u16>(units + (usize(at) << 1))
}
