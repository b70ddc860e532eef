/**
 * The operators: the values that each accepts, and the leaf of the rule that it becomes.
 *
 * A conjunction-required operator does not select enough by itself: half of all posts have links. It needs a standalone
 * operator next to it, which `parse-rule.ts` checks.
 * Source: docs.x.com, "Filtered stream operators" and "Search operators".
 */

import { readArea } from "./area-text.ts"
import { isCountry, nearestCountry } from "./countries.ts"
import { fold } from "../text/fold.ts"
import { isLanguage, languageKey, nearestLanguage } from "./languages.ts"
import type { ClauseLexeme } from "./lexemes.ts"
import { foldFor, type Mode } from "../text/mode.ts"
import { nearest } from "./near-miss.ts"
import { nearDistanceMax, nearWordsMax } from "../text/near.ts"
import {
  strayCharacter,
  strayInput,
  unavailableOperator,
  unknownOperator,
  type Part,
  type RuleProblem,
} from "./rule-problem.ts"
import {
  embeddingThreshold,
  hasValues,
  isValues,
  type CountName,
  type KeyName,
  type Operator,
  type WordsName,
} from "./rule.ts"
import {
  conjunctionNames,
  embeddingNames,
  proximityModesOfX,
  absentNames,
  type OperatorName,
} from "./operator-guide.ts"
import { aliases, suggestedNames, suggestedValues, unavailableNames } from "./operator-names.ts"
import { isStopword } from "./stopwords.ts"
import { usernameAtStart } from "./usernames.ts"
import { keyOfWords, wordsOf, wordsOfLink } from "../text/words.ts"

/** How much an operator selects. */
export type Selectivity =
  /** Enough to be a rule. */
  | "standalone"
  /** Needs a standalone operator next to it. */
  | "conjunction"
  /** A keyword that X does not index. */
  | "stopword"

/** A validated clause. Without operator and threshold, its problems have been reported. */
type OperatorResult = {
  readonly selectivity: Selectivity
  readonly operator?: Operator
  /** The value of an `embedding_threshold:`, which belongs to the `embedding:` next to it. */
  readonly threshold?: number
}

/** The settings that decide which operators are available. */
export type Dialect = {
  readonly mode: Mode
  /** True if only operators that X has in the mode are available. */
  readonly isStrict: boolean
  /** True if the server has an endpoint for embeddings. */
  readonly hasEmbeddings: boolean
}

type Reading = OperatorResult & { readonly problems?: readonly RuleProblem[] }

/** The operator of the clause. Problems are added to the list. */
export function readOperator(clause: ClauseLexeme, dialect: Dialect, problems: RuleProblem[]): OperatorResult {
  const reading = readClause(clause, dialect)
  if (reading.problems) problems.push(...reading.problems)
  return reading
}

function readClause(clause: ClauseLexeme, dialect: Dialect): Reading {
  const { body } = clause
  const whole = { text: clause.raw, position: clause.at }
  switch (body.kind) {
    case "broken":
      return { selectivity: "standalone" }
    case "word":
      return readText("keyword", body.text, whole, dialect)
    case "quote":
      return body.proximity
        ? readNear(body.text, body.proximity, whole, dialect)
        : readText("phrase", body.text, whole, dialect)
    case "sigil":
      return readMark(body.sigil, body.value, whole, dialect)
    case "operator":
      return readNamed(body.name, { ...body, whole, dialect })
  }
}

function readText(name: "keyword" | "phrase", value: string, whole: Part, { mode }: Dialect): Reading {
  const words = wordsOf(value, mode)
  if (words.length === 0) return rejected(strayInput(whole, noWords))
  // A stopword in quotation marks is intended. Source: X's own advice for `or`.
  const isStop = name === "keyword" && words.every((word) => isStopword(word.text))
  return { selectivity: isStop ? "stopword" : "standalone", operator: { kind: "words", name, value, words } }
}

const noWords = "It has no letter, digit or emoji to find"

function readNear(value: string, proximity: Part, whole: Part, { mode, isStrict }: Dialect): Reading {
  if (isStrict && !proximityModesOfX.includes(mode)) return rejected(unavailableOperator(proximity.text, proximity))
  const distance = Number(proximity.text.slice(1))
  const words = wordsOf(value, mode)
  if (words.length < 2) return rejected(strayInput(whole, "Two words or more are expected before ~"))
  if (words.length > nearWordsMax) {
    return rejected(strayInput(whole, `At most ${nearWordsMax} words may stand before ~`))
  }
  if (!(distance >= 1 && distance <= nearDistanceMax)) {
    return rejected(strayInput(proximity, `A distance of 1 to ${nearDistanceMax} is expected after ~`))
  }
  return { selectivity: "standalone", operator: { kind: "near", value, words, distance } }
}

const marks = {
  "#": {
    name: "hashtag",
    // The first character is not a combining mark: it would change the sign itself.
    pattern: /^(?!\p{M})(?:[\p{L}\p{N}\p{M}_\u00B7\u30FB]|\u200C|\u200D)+/u,
    needs: /[\p{L}\p{M}]/u,
  },
  /** Without a pattern of its own: `usernames.ts` reads the name. */
  "@": { name: "mention", pattern: undefined, needs: /./u },
  $: { name: "cashtag", pattern: /^[a-z][a-z0-9]{0,14}(?:[._][a-z]{1,2})?/i, needs: /./u },
} as const

function readMark(sigil: keyof typeof marks, value: Part, whole: Part, dialect: Dialect): Reading {
  const { name, pattern, needs } = marks[sigil]
  const good = pattern === undefined ? usernameAtStart(value.text, dialect) : (pattern.exec(value.text)?.[0] ?? "")
  if (good === "") {
    // As written: the sign may be a full-width one.
    const sign = whole.text.slice(0, whole.text.length - value.text.length)
    return rejected(strayCharacter({ text: sign, position: whole.position }))
  }
  if (good !== value.text) {
    const [text = ""] = value.text.slice(good.length)
    const position = value.position + good.length
    return rejected(strayCharacter({ text, position }, `A ${name} ends before it`))
  }
  if (!needs.test(good)) return rejected(strayInput(whole, "A hashtag has a letter"))
  return keyed(name, value.text, foldFor(dialect.mode, value.text))
}

/** A named operator as written in the rule. */
type NamedOperator = {
  /** Without quotes and escapes. */
  readonly value: string
  /** As written. */
  readonly valuePart: Part
  readonly whole: Part
  readonly dialect: Dialect
}

type Reader = (operator: NamedOperator) => Reading

const readers: Readonly<Record<OperatorName, Reader>> = {
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
  url_contains: ({ value, dialect }) => standalone({ kind: "contains", value, text: foldFor(dialect.mode, value) }),
  context: formed(
    /^(?:\d{1,19}\.(?:\d{1,19}|\*)|\*\.\d{1,19})$/,
    "A domain and an entity are expected, such as 66.961961812492148736, or * for either",
    (value) => keyed("context", value, value),
  ),
  entity: wholeName("entity"),
  place: wholeName("place"),
  source: wholeName("source"),
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
  embedding: ({ value, whole }) =>
    value.trim() === ""
      ? rejected(strayInput(whole, noWords))
      : standalone({ kind: "embedding", value, threshold: embeddingThreshold }),
  embedding_threshold: formed(
    /^(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?)$/,
    "A number from 0 to 1, such as 0.45, is expected",
    (value) => ({ selectivity: "standalone", threshold: Number(value) }),
  ),
}

function readNamed(written: string, operator: NamedOperator): Reading {
  const folded = fold(written)
  const name = Object.hasOwn(aliases, folded) ? (aliases[folded] ?? folded) : folded
  const reading = readValue(written, name, operator)
  return conjunctionNames.has(name) ? { ...reading, selectivity: "conjunction" } : reading
}

/** Reads the operator as a standalone one. `written` may be an alias of `name`. */
function readValue(written: string, name: string, operator: NamedOperator): Reading {
  const { value, whole, dialect } = operator
  const namePart = { text: written, position: whole.position }
  if (unavailableNames.has(name) || !isAvailable(name, dialect))
    return rejected(unavailableOperator(written, namePart, suggestedNames[name]))
  const read = isOperator(name) ? readers[name] : undefined
  if (read === undefined) {
    const isLink = /^https?$/.test(name) && value.startsWith("//")
    if (isLink) return rejected(...unknownOperator(written, whole, `url:"${whole.text}"`))
    const candidates = [...Object.keys(readers), ...Object.keys(aliases)].filter((candidate) =>
      isAvailable(aliases[candidate] ?? candidate, dialect),
    )
    return rejected(...unknownOperator(written, namePart, nearest(name, candidates)))
  }
  if (value === "") return rejected(strayInput(whole, "A value follows the colon, without a space"))
  return read(operator)
}

function isOperator(name: string): name is OperatorName {
  return Object.hasOwn(readers, name)
}

function isAvailable(name: string, { mode, isStrict, hasEmbeddings }: Dialect): boolean {
  if (isStrict && absentNames[mode].has(name)) return false
  return hasEmbeddings || !embeddingNames.has(name)
}

/** Reads values of one form. */
function formed(form: RegExp, reason: string, read: (value: string) => Reading): Reader {
  return ({ value, valuePart }) => (form.test(value) ? read(value) : rejected(strayInput(valuePart, reason)))
}

function user(name: KeyName): Reader {
  return ({ value, valuePart, dialect }) => {
    const username = value.replace(/^[@＠]/u, "")
    const isOne = username !== "" && usernameAtStart(username, dialect) === username
    if (!isOne) return rejected(strayInput(valuePart, "A username or a numeric id is expected"))
    return keyed(name, username, fold(username))
  }
}

function id(name: KeyName): Reader {
  return formed(/^\d{1,19}$/, "An id of 1 to 19 digits is expected", (value) => keyed(name, value, value))
}

function inZone(name: WordsName): Reader {
  return ({ value, whole, dialect }) => {
    const found = name === "url" ? wordsOfLink(value, dialect.mode) : wordsOf(value, dialect.mode)
    if (found.length === 0) return rejected(strayInput(whole, noWords))
    return standalone({ kind: "words", name, value, words: found })
  }
}

function wholeName(name: KeyName): Reader {
  return ({ value, whole, dialect }) => {
    const key = keyOfWords(value, dialect.mode)
    return key === "" ? rejected(strayInput(whole, noWords)) : keyed(name, value, key)
  }
}

function country({ value, valuePart, whole }: NamedOperator): Reading {
  if (isCountry(value)) return keyed("place_country", value, fold(value))
  const suggestion = prefixed("place_country", nearestCountry(value))
  const part = suggestion === undefined ? valuePart : whole
  return rejected(strayInput(part, "A country code of two letters (ISO 3166-1) is expected", suggestion))
}

function area(kind: "circle" | "box"): Reader {
  return ({ value, valuePart }) => {
    const read = readArea(kind, value)
    if (typeof read === "string") return rejected(strayInput(valuePart, read))
    return standalone({ kind: "area", value, area: read })
  }
}

function language({ value, whole }: NamedOperator): Reading {
  if (isLanguage(value)) return keyed("lang", value, languageKey(value))
  return rejected(unavailableOperator(whole.text, whole, prefixed("lang", nearestLanguage(value))))
}

function flag(name: "is" | "has", values: readonly string[], others: Readonly<Record<string, string>>): Reader {
  const known = [...values, ...Object.keys(others)]
  return ({ value, whole }) => {
    const folded = fold(value)
    const wanted = Object.hasOwn(others, folded) ? (others[folded] ?? folded) : folded
    if (values.includes(wanted)) return keyed(name, wanted, wanted)
    const full = `${name}:${wanted}`
    const suggestion = Object.hasOwn(suggestedValues, full)
      ? suggestedValues[full]
      : prefixed(name, nearest(wanted, known))
    return rejected(unavailableOperator(whole.text, whole, suggestion))
  }
}

function sample({ value, valuePart }: NamedOperator): Reading {
  const percent = Number(value)
  return /^\d{1,3}$/.test(value) && percent >= 1 && percent <= 100
    ? standalone({ kind: "sample", percent })
    : rejected(strayInput(valuePart, "A percentage of 1 to 100 is expected"))
}

function range(name: CountName): Reader {
  return ({ value, valuePart }) => {
    const [, least, most] = /^(\d{1,15})(?:\.\.(\d{1,15}))?$/.exec(value) ?? []
    if (least === undefined || (most !== undefined && Number(most) < Number(least))) {
      return rejected(strayInput(valuePart, "A number or a range such as 1000..10000 is expected"))
    }
    const bounds = most === undefined ? { least: Number(least) } : { least: Number(least), most: Number(most) }
    return standalone({ kind: "count", name, ...bounds })
  }
}

function minimum(name: CountName): Reader {
  const read = (value: string): Reading => standalone({ kind: "count", name, least: Number(value) })
  return formed(/^\d{1,15}$/, "A number is expected", read)
}

function keyed(name: KeyName, value: string, key: string): Reading {
  return standalone({ kind: "key", name, value, key })
}

function standalone(operator: Operator): Reading {
  return { selectivity: "standalone", operator }
}

function prefixed(name: string, value: string | undefined): string | undefined {
  return value === undefined ? undefined : `${name}:${value}`
}

function rejected(...problems: readonly RuleProblem[]): Reading {
  return { selectivity: "standalone", problems }
}
