/**
 * The terms of a post for an index of stored posts.
 *
 *     "Two Cats 👍🏽 #Owl", by @wren    ──►    t:two  t:cats  t:👍🏽  t:👍  t:owl  #:owl  f:wren  has:hashtags
 *
 * They are the tokens and the keys that operators compare, from the same facts: a tokeniser of the index's own would
 * decide anew which posts a search finds. `index-query.ts` says which of them a rule requires.
 *
 * An index pays for every term of every post, so two kinds are left out. A word of a link is one of the text already,
 * unless only readers see it, as the end of a short link. The author's description, name and location would be a fifth
 * of all terms, the same ones in every post of the author, for three operators that X's search does not have. Without
 * both, an index in SQLite takes 90 bytes instead of 129 for a recorded post with every field.
 */

import { keyNames, type KeyName, type Zone } from "../language/rule.ts"
import { EarlierPosts } from "../post/earlier-posts.ts"
import { readPost, type Facts } from "../post/post-facts.ts"
import type { RuleEnvelope } from "../post/post-objects.ts"
import { termsOfIncluded } from "./included-terms.ts"

/**
 * Changes with the terms, those of one post alone included. An index with terms of another version is to be built
 * again.
 */
export const indexTermsVersion = 4

/**
 * Maximum number of terms of a post. Ours: a long post of 25,000 characters in English or Japanese has about 2,000, and
 * so many of them are less than the megabyte that PostgreSQL allows for the words of a text.
 */
export const indexTermsMax = 5_000

/** The only term of a post that has more than `indexTermsMax`, but for those of its `includes`. Every query proposes it. */
export const cutTerm = "*"

/**
 * A post that has only the id of its place has this term. Its name is in other posts, maybe in later ones, so no term of
 * the post can say it, and every query for a place proposes such a post.
 */
export const openPlaceTerm = "open:place"

/** Maximum length of the text in a term, in UTF-16 units. Ours: few words are longer, and many indexes bound a term. */
const termUnitsMax = 64

/** The parts of a post that have terms. */
export type IndexedField = Exclude<Zone, "bio" | "name" | "location"> | KeyName

/** The beginning of a term, before the colon. Short, because an index may keep it with every term of every post. */
const fieldCodes: Readonly<Record<IndexedField, string>> = {
  text: "t",
  link: "l",
  title: "lt",
  description: "ld",
  hashtag: "#",
  mention: "@",
  cashtag: "$",
  from: "f",
  to: "to",
  retweets_of: "ro",
  from_affiliate_of: "fa",
  to_affiliate_of: "ta",
  context: "x",
  entity: "e",
  conversation_id: "c",
  in_reply_to_tweet_id: "ir",
  retweets_of_tweet_id: "rt",
  quotes_of_tweet_id: "qt",
  place: "p",
  place_country: "pc",
  source: "s",
  lang: "la",
  is: "is",
  has: "has",
}

/**
 * The distinct terms of the post, at most `indexTermsMax`; only `cutTerm` if there were more. A term may contain spaces,
 * and has neither control characters nor halves of surrogate pairs.
 *
 * A search finds what the terms say. So a post must be indexed as it will be evaluated: in the mode `search`, and with
 * the same knowledge of earlier posts.
 */
export function indexTerms(post: Facts): readonly string[] {
  const terms = new Set<string>()
  for (const word of wordsOfZone(post, "text")) terms.add(termOf("text", word))
  for (const word of wordsOfZone(post, "link")) if (!terms.has(termOf("text", word))) terms.add(termOf("link", word))
  for (const zone of ["title", "description"] as const)
    for (const word of wordsOfZone(post, zone)) terms.add(termOf(zone, word))
  for (const name of keyNames) for (const { key } of post.keys(name)) terms.add(termOf(name, key))
  return terms.size > indexTermsMax ? [cutTerm] : Array.from(terms)
}

/**
 * The terms of the post in an envelope, as it is alone, with `openPlaceTerm` if that is its due, and those of its
 * `includes`, which a post with too many others has, too.
 */
export function indexTermsOf(envelope: RuleEnvelope): readonly string[] {
  places.isOpen = false
  const terms = indexTerms(readPost(envelope, { mode: "search", earlier: places }))
  const open = places.isOpen && terms[0] !== cutTerm ? [openPlaceTerm] : []
  return [...terms, ...open, ...termsOfIncluded(envelope)]
}

/** Earlier posts that say nothing, and whether a place was needed. */
class OpenPlaces extends EarlierPosts {
  isOpen = false

  override placeOf(): undefined {
    this.isOpen = true
  }
}

/** One for all posts: each has 64 KiB for links. */
const places = new OpenPlaces()

/** The tokens of the zone, also without their skin tones. */
function* wordsOfZone(post: Facts, zone: Zone): Iterable<string> {
  for (const { tokens } of post.passages(zone))
    for (const { text, toneless } of tokens) {
      if (text !== "") yield text
      if (toneless !== undefined) yield toneless
    }
}

/** True if the zone has terms. The words of a link have those of the text, or else of the link. */
export function isIndexed(zone: Zone): zone is IndexedField & Zone {
  return Object.hasOwn(fieldCodes, zone)
}

/** The term of a token or key. Texts that are not whole in it may share it with others. */
export function termOf(field: IndexedField, text: string): string {
  const shown = isWholeInTerm(text) ? text : text.slice(0, termUnitsMax).replaceAll(unsafe, "\uFFFD")
  return `${fieldCodes[field]}:${shown}`
}

/** True if no other text has the term of this one. */
export function isWholeInTerm(text: string): boolean {
  return text.length < termUnitsMax && text.search(unsafe) < 0
}

/** Characters that a store may refuse or change, and their substitute. No rule's words and keys have any. */
const unsafe = /[\p{Cc}\p{Cs}\uFFFD]/gu
