/**
 * The operators: what each takes, and which of X's are not to be had yet.
 *
 * A conjunction-required operator narrows nothing down on its own: half of all posts have links.
 * It needs a standalone one beside it, and `parse-rule.ts` sees to that.
 * Source: docs.x.com, "Filtered stream operators".
 */

import { fold } from "./fold.ts"
import { isLanguage, nearestLanguage } from "./languages.ts"
import type { Clause } from "./lexemes.ts"
import { nearest } from "./near-miss.ts"
import type { Part, RuleProblem } from "./rule-problem.ts"
import {
  strayCharacter,
  strayInput,
  unavailableOperator,
  unknownOperator,
  unknownValue,
} from "./rule-problem.ts"
import type { HasValue, IsValue, Operator } from "./rule.ts"
import { hasValues, isValues, wordsOf, wordsOfLink } from "./rule.ts"
import { isStopword } from "./stopwords.ts"

/** How much an operator narrows the stream down. */
type Standing =
  /** Enough to be a rule. */
  | "standalone"
  /** Needs a standalone operator beside it. */
  | "conjunction"
  /** A keyword that X does not index. */
  | "stopword"

/** A clause after judgement; without an operator, its problems have been reported. */
export type Judged = { readonly standing: Standing; readonly operator?: Operator }

type Verdict = Judged & { readonly problems?: readonly RuleProblem[] }

/** Makes the operator that the clause says; problems are added to the list. */
export function readOperator(clause: Clause, problems: RuleProblem[]): Judged {
  const verdict = judge(clause)
  if (verdict.problems) problems.push(...verdict.problems)
  return verdict
}

function judge(clause: Clause): Verdict {
  const { body } = clause
  switch (body.kind) {
    case "broken":
      return { standing: "standalone" }
    case "word":
      return judgeText("keyword", body.text, wholeOf(clause))
    case "quote":
      return body.proximity
        ? refused(unavailableOperator("~", body.proximity))
        : judgeText("phrase", body.text, wholeOf(clause))
    case "sigil":
      return judgeEntity(body.sigil, body.value)
    case "operator":
      return judgeNamed(body.name, body, wholeOf(clause))
  }
}

function judgeText(kind: "keyword" | "phrase", value: string, whole: Part): Verdict {
  const words = wordsOf(value)
  if (words.length === 0) return refused(strayInput(whole, "It has no letter, digit or emoji to find"))
  // Quotation marks say that the stopword is meant: X's own advice for `or`.
  const isIdle = kind === "keyword" && words.every((word) => isStopword(word.text))
  const standing = isIdle ? "stopword" : "standalone"
  return { standing, operator: { kind, value, words } }
}

const entities = {
  "#": {
    kind: "hashtag",
    pattern: /^(?:[\p{L}\p{N}\p{M}_\u00B7\u30FB]|\u200C|\u200D)+/u,
    needs: /[\p{L}\p{M}]/u,
  },
  "@": {
    kind: "mention",
    pattern: /^[\p{L}\p{N}_](?:[\p{L}\p{N}_.-]*[\p{L}\p{N}_])?(?:@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)?/iu,
    needs: /./u,
  },
  $: { kind: "cashtag", pattern: /^[a-z][a-z0-9]{0,14}(?:[._][a-z]{1,2})?/i, needs: /./u },
} as const

function judgeEntity(sigil: keyof typeof entities, value: Part): Verdict {
  const { kind, pattern, needs } = entities[sigil]
  const good = pattern.exec(value.text)?.[0] ?? ""
  const whole = { text: sigil + value.text, position: value.position - 1 }
  if (good === "") return refused(strayCharacter({ text: sigil, position: whole.position }))
  if (good !== value.text) {
    const rest = Array.from(value.text.slice(good.length))
    const position = value.position + Array.from(good).length
    return refused(strayCharacter({ text: rest[0] ?? "", position }, `A ${kind} ends before it`))
  }
  if (!needs.test(good)) return refused(strayInput(whole, "A hashtag has a letter"))
  return { standing: "standalone", operator: { kind, value: value.text } }
}

const names = new Set(["from", "to", "retweets_of", "conversation_id", "lang", "url", "is", "has"])

const unavailableNames = new Set(
  `from_affiliate_of to_affiliate_of url_title url_description url_contains context entity bio bio_name bio_location
  bio_contains bio_lang bio_name_contains bio_location_contains place place_contains place_country country_code
  point_radius bounding_box profile_country profile_region profile_locality profile_subregion profile_bounding_box
  profile_point_radius sample source embedding embedding_threshold followers_count friends_count following_count
  tweets_count statuses_count listed_count min_followers min_likes min_replies min_reposts min_retweets min_quotes
  in_reply_to_tweet_id in_reply_to_status_id retweets_of_tweet_id retweets_of_status_id quotes_of_tweet_id
  quotes_of_status_id contains keyword list time_zone twitter_lang`.split(/\s+/),
)

const conjunctionNames = new Set(["is", "has", "lang", "sample", "source", "embedding_threshold"])

const unavailableValues = new Set(
  "is:nullcast has:geo has:videos has:video_link has:native_video has:symbols has:profile_geo has:lang".split(
    " ",
  ),
)

type Value = { readonly value: string; readonly valuePart: Part }

function judgeNamed(written: string, { value, valuePart }: Value, whole: Part): Verdict {
  const name = fold(written)
  const namePart = { text: written, position: whole.position }
  const standing: Standing = conjunctionNames.has(name) ? "conjunction" : "standalone"
  if (unavailableNames.has(name)) return { standing, problems: [unavailableOperator(written, namePart)] }
  if (!names.has(name)) {
    const isLink = /^https?$/.test(name) && value.startsWith("//")
    if (isLink) return refused(...unknownOperator(written, whole, `url:"${whole.text}"`))
    return refused(...unknownOperator(written, namePart, nearest(name, names)))
  }
  if (value === "")
    return { standing, problems: [strayInput(whole, "A value follows the colon, without a space")] }
  switch (name) {
    case "from":
    case "to":
    case "retweets_of":
      return judgeUser(name, value, valuePart)
    case "conversation_id":
      if (!/^\d{1,19}$/.test(value))
        return refused(strayInput(valuePart, "An id of 1 to 19 digits is expected"))
      return { standing, operator: { kind: name, value } }
    case "url":
      return judgeLink(value, whole)
    case "lang":
      if (isLanguage(value)) return { standing, operator: { kind: name, value } }
      return { standing, problems: [unknownValue(whole, prefixed("lang", nearestLanguage(value)))] }
    case "is":
      return judgeFlag("is", value, whole, isValues, (known) => ({ kind: "is", value: known }))
    default:
      return judgeFlag("has", value, whole, hasValues, (known) => ({ kind: "has", value: known }))
  }
}

function judgeUser(kind: "from" | "to" | "retweets_of", value: string, valuePart: Part): Verdict {
  const user = value.replace(/^[@＠]/u, "")
  const pattern = entities["@"].pattern.exec(user)?.[0]
  if (pattern !== user) return refused(strayInput(valuePart, "A username or a numeric id is expected"))
  return { standing: "standalone", operator: { kind, value: user } }
}

function judgeLink(value: string, whole: Part): Verdict {
  const words = wordsOfLink(value)
  if (words.length === 0) return refused(strayInput(whole, "It has no letter, digit or emoji to find"))
  return { standing: "standalone", operator: { kind: "url", value, words } }
}

function judgeFlag<Flag extends IsValue | HasValue>(
  name: "is" | "has",
  value: string,
  whole: Part,
  values: readonly Flag[],
  make: (value: Flag) => Operator,
): Verdict {
  const wanted = fold(value)
  const known = values.find((one) => one === wanted)
  if (known !== undefined) return { standing: "conjunction", operator: make(known) }
  if (unavailableValues.has(`${name}:${wanted}`)) {
    const suggestion = wanted === "symbols" ? "has:cashtags" : undefined
    return { standing: "conjunction", problems: [unavailableOperator(whole.text, whole, suggestion)] }
  }
  return { standing: "conjunction", problems: [unknownValue(whole, prefixed(name, nearest(wanted, values)))] }
}

function prefixed(name: string, value: string | undefined): string | undefined {
  return value === undefined ? undefined : `${name}:${value}`
}

function wholeOf(clause: Clause): Part {
  return { text: clause.raw, position: clause.at }
}

function refused(...problems: readonly RuleProblem[]): Verdict {
  return { standing: "standalone", problems }
}
