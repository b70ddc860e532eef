/**
 * The operators: what each takes, and which of X's are not to be had here.
 *
 * A conjunction-required operator narrows nothing down on its own: half of all posts have links.
 * It needs a standalone one beside it, and `parse-rule.ts` sees to that.
 * Source: docs.x.com, "Filtered stream operators" and "Search operators".
 */

import { readArea } from "./area-text.ts"
import { isCountry, nearestCountry } from "./countries.ts"
import { fold } from "./fold.ts"
import { isLanguage, languageKey, nearestLanguage } from "./languages.ts"
import type { Clause } from "./lexemes.ts"
import { foldFor } from "./mode.ts"
import type { Mode } from "./mode.ts"
import { nearest } from "./near-miss.ts"
import { nearDistanceMax, nearWordsMax } from "./near.ts"
import type { Part, RuleProblem } from "./rule-problem.ts"
import {
  strayCharacter,
  strayInput,
  unavailableOperator,
  unknownOperator,
  unknownValue,
} from "./rule-problem.ts"
import type { CountName, KeyName, Operator, WordsName } from "./rule.ts"
import { embeddingThreshold, hasValues, isValues } from "./rule.ts"
import { isStopword } from "./stopwords.ts"
import { keyOfWords, wordsOf, wordsOfLink } from "./words.ts"

/** How much an operator narrows the stream down. */
type Standing =
  /** Enough to be a rule. */
  | "standalone"
  /** Needs a standalone operator beside it. */
  | "conjunction"
  /** A keyword that X does not index. */
  | "stopword"

/** A clause after judgement; without operator and threshold, its problems have been reported. */
export type Judged = {
  readonly standing: Standing
  readonly operator?: Operator
  /** Of an `embedding_threshold:`, which belongs to the `embedding:` beside it. */
  readonly threshold?: number
}

/** What there is to judge by. */
export type Dialect = {
  readonly mode: Mode
  /** Whether similarities can be had. */
  readonly hasEmbeddings: boolean
}

type Verdict = Judged & { readonly problems?: readonly RuleProblem[] }

/** Makes the operator that the clause says; problems are added to the list. */
export function readOperator(clause: Clause, dialect: Dialect, problems: RuleProblem[]): Judged {
  const verdict = judge(clause, dialect)
  if (verdict.problems) problems.push(...verdict.problems)
  return verdict
}

function judge(clause: Clause, dialect: Dialect): Verdict {
  const { body } = clause
  const whole = { text: clause.raw, position: clause.at }
  switch (body.kind) {
    case "broken":
      return { standing: "standalone" }
    case "word":
      return judgeText("keyword", body.text, whole, dialect)
    case "quote":
      return body.proximity
        ? judgeNear(body.text, body.proximity, whole, dialect)
        : judgeText("phrase", body.text, whole, dialect)
    case "sigil":
      return judgeMark(body.sigil, body.value, whole, dialect)
    case "operator":
      return judgeNamed(body.name, { ...body, whole, dialect })
  }
}

function judgeText(name: "keyword" | "phrase", value: string, whole: Part, { mode }: Dialect): Verdict {
  const words = wordsOf(value, mode)
  if (words.length === 0) return refused(strayInput(whole, noWords))
  // Quotation marks say that the stopword is meant: X's own advice for `or`.
  const isIdle = name === "keyword" && words.every((word) => isStopword(word.text))
  return { standing: isIdle ? "stopword" : "standalone", operator: { kind: "words", name, value, words } }
}

const noWords = "It has no letter, digit or emoji to find"

function judgeNear(value: string, proximity: Part, whole: Part, { mode }: Dialect): Verdict {
  const distance = Number(proximity.text.slice(1))
  const words = wordsOf(value, mode)
  if (words.length < 2) return refused(strayInput(whole, "Two words or more are expected before ~"))
  if (words.length > nearWordsMax) {
    return refused(strayInput(whole, `At most ${nearWordsMax} words may stand before ~`))
  }
  if (!(distance >= 1 && distance <= nearDistanceMax)) {
    return refused(strayInput(proximity, `A distance of 1 to ${nearDistanceMax} is expected after ~`))
  }
  return { standing: "standalone", operator: { kind: "near", value, words, distance } }
}

const marks = {
  "#": {
    name: "hashtag",
    // Not a mark first: with it, the sign would be another character.
    pattern: /^(?!\p{M})(?:[\p{L}\p{N}\p{M}_\u00B7\u30FB]|\u200C|\u200D)+/u,
    needs: /[\p{L}\p{M}]/u,
  },
  "@": {
    name: "mention",
    pattern: /^[\p{L}\p{N}_](?:[\p{L}\p{N}_.-]*[\p{L}\p{N}_])?(?:@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)?/iu,
    needs: /./u,
  },
  $: { name: "cashtag", pattern: /^[a-z][a-z0-9]{0,14}(?:[._][a-z]{1,2})?/i, needs: /./u },
} as const

function judgeMark(sigil: keyof typeof marks, value: Part, whole: Part, { mode }: Dialect): Verdict {
  const { name, pattern, needs } = marks[sigil]
  const good = pattern.exec(value.text)?.[0] ?? ""
  if (good === "") {
    // As it is written: the sign may be a wide one.
    const sign = whole.text.slice(0, whole.text.length - value.text.length)
    return refused(strayCharacter({ text: sign, position: whole.position }))
  }
  if (good !== value.text) {
    const rest = Array.from(value.text.slice(good.length))
    const position = value.position + Array.from(good).length
    return refused(strayCharacter({ text: rest[0] ?? "", position }, `A ${name} ends before it`))
  }
  if (!needs.test(good)) return refused(strayInput(whole, "A hashtag has a letter"))
  return keyed(name, value.text, foldFor(mode, value.text))
}

/** An operator with a name, as it stands in the rule. */
type Written = {
  /** Without quotes and escapes. */
  readonly value: string
  /** As it stands. */
  readonly valuePart: Part
  readonly whole: Part
  readonly dialect: Dialect
}

type Reader = (written: Written) => Verdict

const readers: Readonly<Record<string, Reader>> = {
  from: user("from"),
  to: user("to"),
  retweets_of: user("retweets_of"),
  from_affiliate_of: user("from_affiliate_of"),
  to_affiliate_of: user("to_affiliate_of"),
  url: inZone("url"),
  url_title: inZone("url_title"),
  url_description: inZone("url_description"),
  bio: inZone("bio"),
  bio_name: inZone("bio_name"),
  bio_location: inZone("bio_location"),
  url_contains: ({ value, dialect }) =>
    standalone({ kind: "contains", value, text: foldFor(dialect.mode, value) }),
  context: annotation,
  entity: wholeName("entity"),
  place: wholeName("place"),
  source: (written) => ({ ...wholeName("source")(written), standing: "conjunction" }),
  conversation_id: id("conversation_id"),
  in_reply_to_tweet_id: id("in_reply_to_tweet_id"),
  retweets_of_tweet_id: id("retweets_of_tweet_id"),
  quotes_of_tweet_id: id("quotes_of_tweet_id"),
  place_country: country,
  point_radius: area("circle"),
  bounding_box: area("box"),
  lang: language,
  is: flag("is", isValues, {}),
  has: flag("has", hasValues, { videos: "video_link", media_link: "media" }),
  sample,
  followers_count: range("followers_count"),
  following_count: range("following_count"),
  tweets_count: range("tweets_count"),
  listed_count: range("listed_count"),
  min_followers: minimum("followers_count"),
  min_likes: minimum("min_likes"),
  min_replies: minimum("min_replies"),
  min_reposts: minimum("min_reposts"),
  min_quotes: minimum("min_quotes"),
  embedding: ({ value, whole }) =>
    value.trim() === ""
      ? refused(strayInput(whole, noWords))
      : standalone({ kind: "embedding", value, threshold: embeddingThreshold }),
  embedding_threshold: similarity,
}

/** Other names of the same. Source: X's changelog of 2022, docs.x.com, "Search operators". */
const aliases: Readonly<Record<string, string>> = {
  in_reply_to_status_id: "in_reply_to_tweet_id",
  retweets_of_status_id: "retweets_of_tweet_id",
  quotes_of_status_id: "quotes_of_tweet_id",
  statuses_count: "tweets_count",
  friends_count: "following_count",
  geo_bounding_box: "bounding_box",
  min_retweets: "min_reposts",
}

/** Only a stream has them. Source: they are missing in docs.x.com, "Search operators". */
const streamNames = new Set([
  "sample",
  "bio",
  "bio_name",
  "bio_location",
  "min_likes",
  "min_replies",
  "min_reposts",
  "min_quotes",
])

/** X's, of PowerTrack and other products; not here. */
const unavailableNames = new Set(
  `bio_contains bio_lang bio_name_contains bio_location_contains place_contains country_code profile_country
  profile_region profile_locality profile_subregion profile_bounding_box profile_point_radius contains keyword
  list time_zone twitter_lang`.split(/\s+/),
)

const conjunctionNames = new Set(["is", "has", "lang", "sample", "source", "embedding_threshold"])

const unavailableValues: Readonly<Record<string, string | undefined>> = {
  "has:symbols": "has:cashtags",
  "has:native_video": "has:video_link",
  "has:profile_geo": undefined,
  "has:lang": undefined,
}

function judgeNamed(written: string, rest: Written): Verdict {
  const { value, whole, dialect } = rest
  const folded = fold(written)
  const name = Object.hasOwn(aliases, folded) ? (aliases[folded] ?? folded) : folded
  const namePart = { text: written, position: whole.position }
  const standing: Standing = conjunctionNames.has(name) ? "conjunction" : "standalone"
  if (unavailableNames.has(name) || !isAvailable(name, dialect)) {
    return { standing, problems: [unavailableOperator(written, namePart)] }
  }
  const read = Object.hasOwn(readers, name) ? readers[name] : undefined
  if (read === undefined) {
    const isLink = /^https?$/.test(name) && value.startsWith("//")
    if (isLink) return refused(...unknownOperator(written, whole, `url:"${whole.text}"`))
    const candidates = [...Object.keys(readers), ...Object.keys(aliases)].filter((candidate) =>
      isAvailable(aliases[candidate] ?? candidate, dialect),
    )
    return refused(...unknownOperator(written, namePart, nearest(name, candidates)))
  }
  if (value === "")
    return { standing, problems: [strayInput(whole, "A value follows the colon, without a space")] }
  return read(rest)
}

function isAvailable(name: string, { mode, hasEmbeddings }: Dialect): boolean {
  if (mode === "search" && streamNames.has(name)) return false
  return hasEmbeddings || !name.startsWith("embedding")
}

function user(name: KeyName): Reader {
  return ({ value, valuePart }) => {
    const username = value.replace(/^[@＠]/u, "")
    const pattern = marks["@"].pattern.exec(username)?.[0]
    if (pattern !== username) return refused(strayInput(valuePart, "A username or a numeric id is expected"))
    return keyed(name, username, fold(username))
  }
}

function id(name: KeyName): Reader {
  return ({ value, valuePart }) =>
    /^\d{1,19}$/.test(value)
      ? keyed(name, value, value)
      : refused(strayInput(valuePart, "An id of 1 to 19 digits is expected"))
}

function inZone(name: WordsName): Reader {
  return ({ value, whole, dialect }) => {
    const found = name === "url" ? wordsOfLink(value, dialect.mode) : wordsOf(value, dialect.mode)
    if (found.length === 0) return refused(strayInput(whole, noWords))
    return standalone({ kind: "words", name, value, words: found })
  }
}

function wholeName(name: KeyName): Reader {
  return ({ value, whole, dialect }) => {
    const key = keyOfWords(value, dialect.mode)
    return key === "" ? refused(strayInput(whole, noWords)) : keyed(name, value, key)
  }
}

function annotation({ value, valuePart }: Written): Verdict {
  if (!/^(?:\d{1,19}\.(?:\d{1,19}|\*)|\*\.\d{1,19})$/.test(value)) {
    const reason = "A domain and an entity are expected, such as 66.961961812492148736, or * for either"
    return refused(strayInput(valuePart, reason))
  }
  return keyed("context", value, value)
}

function country({ value, valuePart, whole }: Written): Verdict {
  if (isCountry(value)) return keyed("place_country", value, fold(value))
  const suggestion = prefixed("place_country", nearestCountry(value))
  const part = suggestion === undefined ? valuePart : whole
  return refused(strayInput(part, "A country code of two letters (ISO 3166-1) is expected", suggestion))
}

function area(kind: "circle" | "box"): Reader {
  return ({ value, valuePart }) => {
    const read = readArea(kind, value)
    if (typeof read === "string") return refused(strayInput(valuePart, read))
    return standalone({ kind: "area", value, area: read })
  }
}

function language({ value, whole }: Written): Verdict {
  if (isLanguage(value)) return { ...keyed("lang", value, languageKey(value)), standing: "conjunction" }
  return {
    standing: "conjunction",
    problems: [unknownValue(whole, prefixed("lang", nearestLanguage(value)))],
  }
}

function flag(
  name: "is" | "has",
  values: readonly string[],
  others: Readonly<Record<string, string>>,
): Reader {
  const known = [...values, ...Object.keys(others)]
  return ({ value, whole }) => {
    const folded = fold(value)
    const wanted = Object.hasOwn(others, folded) ? (others[folded] ?? folded) : folded
    const standing = "conjunction"
    if (values.includes(wanted)) return { ...keyed(name, wanted, wanted), standing }
    const full = `${name}:${wanted}`
    if (Object.hasOwn(unavailableValues, full)) {
      return { standing, problems: [unavailableOperator(whole.text, whole, unavailableValues[full])] }
    }
    return { standing, problems: [unknownValue(whole, prefixed(name, nearest(wanted, known)))] }
  }
}

function sample({ value, valuePart }: Written): Verdict {
  const percent = Number(value)
  if (!/^\d{1,3}$/.test(value) || percent < 1 || percent > 100) {
    return {
      standing: "conjunction",
      problems: [strayInput(valuePart, "A percentage of 1 to 100 is expected")],
    }
  }
  return { standing: "conjunction", operator: { kind: "sample", percent } }
}

function range(name: CountName): Reader {
  return ({ value, valuePart }) => {
    const [, least, most] = /^(\d{1,15})(?:\.\.(\d{1,15}))?$/.exec(value) ?? []
    if (least === undefined || (most !== undefined && Number(most) < Number(least))) {
      return refused(strayInput(valuePart, "A number or a range such as 1000..10000 is expected"))
    }
    const bounds =
      most === undefined ? { least: Number(least) } : { least: Number(least), most: Number(most) }
    return standalone({ kind: "count", name, ...bounds })
  }
}

function minimum(name: CountName): Reader {
  return ({ value, valuePart }) =>
    /^\d{1,15}$/.test(value)
      ? standalone({ kind: "count", name, least: Number(value) })
      : refused(strayInput(valuePart, "A number is expected"))
}

function similarity({ value, valuePart }: Written): Verdict {
  const threshold = Number(value)
  const standing = "conjunction"
  if (/^(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?)$/.test(value)) return { standing, threshold }
  return { standing, problems: [strayInput(valuePart, "A number from 0 to 1, such as 0.45, is expected")] }
}

function keyed(name: KeyName, value: string, key: string): Verdict {
  return standalone({ kind: "key", name, value, key })
}

function standalone(operator: Operator): Verdict {
  return { standing: "standalone", operator }
}

function prefixed(name: string, value: string | undefined): string | undefined {
  return value === undefined ? undefined : `${name}:${value}`
}

function refused(...problems: readonly RuleProblem[]): Verdict {
  return { standing: "standalone", problems }
}
