/**
 * Hashtags, mentions, cashtags and links in plain text, as X finds them.
 *
 *     text ──► links ─────────────────────────────┐
 *          ──► hashtags, mentions, cashtags ──────┴─► by position, no two overlapping ──► code points
 *
 * The rules are those of twitter-text, whose conformance cases `text-conformance.test.ts` runs. Names are found by
 * regular expressions without nested repetition, links by `links-in-text.ts`. So the time is linear in the text.
 */

import { codePointAt } from "./code-at.ts"
import { accented, directional, linksInText } from "./links-in-text.ts"

/** An entity in a text. Offsets are code points, end exclusive, and include the sign of a name. */
export type TextEntity = {
  /** A name without its `#`, `@` or `$`; a link as written, with or without protocol. */
  readonly value: string
  readonly start: number
  readonly end: number
}

/** The entities of a text by kind, in the order of the text. No two entities overlap. */
export type TextEntities = {
  readonly hashtags: readonly TextEntity[]
  /** For a list (`@ann/friends`), its owner. Names end after 20 characters, as in X. */
  readonly mentions: readonly TextEntity[]
  readonly cashtags: readonly TextEntity[]
  readonly links: readonly TextEntity[]
}

const noEntities: TextEntities = { hashtags: [], mentions: [], cashtags: [], links: [] }

/**
 * Finds the entities in time linear in the text. HTML escapes are not decoded: `&#39;` is no hashtag because of its
 * `&`. Source: twitter-text 3 and its conformance cases.
 */
export function entitiesInText(text: string): TextEntities {
  const found: Found[] = []
  for (const link of linksInText(text)) found.push({ kind: "links", ...link })
  if (text.includes("#") || text.includes("＃")) findNames(text, "hashtags", found)
  if (text.includes("@") || text.includes("＠")) findNames(text, "mentions", found)
  if (text.includes("$")) findNames(text, "cashtags", found)
  return found.length === 0 ? noEntities : inCodePoints(text, found)
}

/** Positions in UTF-16 units. */
type Found = {
  readonly kind: keyof TextEntities
  readonly value: string
  readonly start: number
  readonly end: number
}

/** The earlier of two overlapping entities is kept: `#answer` is a part of the link `a.com/#answer`. */
function inCodePoints(text: string, found: readonly Found[]): TextEntities {
  const entities = {
    hashtags: [] as TextEntity[],
    mentions: [] as TextEntity[],
    cashtags: [] as TextEntity[],
    links: [] as TextEntity[],
  }
  let index = 0
  let point = 0
  for (const { kind, value, start, end } of found.toSorted((one, other) => one.start - other.start)) {
    if (start < index) continue
    point += pointsIn(text, index, start)
    const endPoint = point + pointsIn(text, start, end)
    entities[kind].push({ value, start: point, end: endPoint })
    index = end
    point = endPoint
  }
  return entities
}

function pointsIn(text: string, start: number, end: number): number {
  let count = 0
  for (let index = start; index < end; count++) index += codePointAt(text, index) > 0xffff ? 2 : 1
  return count
}

/**
 * Characters of hashtags other than letters, marks, digits and `_`: joiners, the Cyrillic kavyka, Hebrew and Tibetan
 * punctuation within words, full-width and wave dash, Japanese sound and repetition marks, the Catalan dot.
 */
const inTags =
  "\\u200C\\u200D\\uA67E\\u05BE\\u05F3\\u05F4\\u0F0B\\u0F0C\\uFF5E\\u301C\\u309B\\u309C\\u30A0\\u30FB\\u3003\\u00B7"
const tagCharacter = `\\p{L}\\p{M}\\p{Nd}_${inTags}`

/**
 * The pattern of a name, and what may not follow it. The sign comes first in the pattern, because signs are rare. The
 * characters that may not follow are tested separately, because a name must not become shorter to match: `#http://…` is not the hashtag
 * `htt`.
 */
const names = {
  hashtags: {
    // A variation selector after an emoji is a mark, but not part of a word. `#` before a variation selector is an emoji.
    pattern: new RegExp(
      `[#＃](?<=(?:^|[\\uFE0E\\uFE0F]|[^&${tagCharacter}])[#＃])(?![\\uFE0F\\u20E3])([${tagCharacter}]+)`,
      "gu",
    ),
    needs: /[\p{L}\p{M}]/u,
    rejectedBefore: /[#＃]|:\/\//y,
  },
  mentions: {
    // The slug of a list is matched to test what follows it: `@ann/friends@example.com` is no mention.
    pattern: /[@＠](?<=(?:^|[^\w!#$%&*@＠]|(?:^|[^\w+~.-])rt)[@＠])(\w{1,20})(?:\/[a-z][\w-]{0,24})?/gi,
    needs: /./,
    rejectedBefore: new RegExp(`[@＠${accented}]|://`, "y"),
  },
  cashtags: {
    pattern: new RegExp(
      `\\$(?<=(?:^|[\\s\\u0085\\u180E${directional}])\\$)([a-z]{1,6}(?:[._][a-z]{1,2})?)(?=$|[\\s!-/:-@[-\`{-~])`,
      "gi",
    ),
    needs: /./,
    rejectedBefore: /(?!)/y,
  },
} as const

function findNames(text: string, kind: keyof typeof names, found: Found[]): void {
  const { pattern, needs, rejectedBefore } = names[kind]
  for (const match of text.matchAll(pattern)) {
    const [whole, value = ""] = match
    const end = match.index + whole.length
    rejectedBefore.lastIndex = end
    if (!needs.test(value) || rejectedBefore.test(text)) continue
    found.push({ kind, value, start: match.index, end: match.index + 1 + value.length })
  }
}
