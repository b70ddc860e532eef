/**
 * A rule as a tree.
 *
 * The leaves are of few kinds, since most operators ask the same of a post in another place: words in a row
 * (`cat`, `url:`, `bio:`), an exact value (`#cat`, `from:`, `is:reply`), a number (`followers_count:`). What a
 * leaf compares is folded and cut once, when it is made; what was written is kept beside it for printing.
 */

import type { Area } from "./area.ts"

/** A rule: what must hold of a post. Source: docs.x.com, "Build a rule". */
export type Rule =
  /** At least one holds. Two or more when parsed. */
  | { readonly kind: "any"; readonly rules: readonly Rule[] }
  /** All hold. Two or more when parsed. */
  | { readonly kind: "all"; readonly rules: readonly Rule[] }
  | { readonly kind: "not"; readonly rule: Rule }
  | Operator

/** A leaf of a rule: one fact about a post. */
export type Operator =
  /** The words follow each other in one text of the zone that the name stands for. */
  | {
      readonly kind: "words"
      readonly name: WordsName
      readonly value: string
      readonly words: readonly Word[]
    }
  /** The words stand in one text, at most so many moves of one token away from following each other. */
  | {
      readonly kind: "near"
      readonly value: string
      readonly words: readonly Word[]
      readonly distance: number
    }
  /** The post has the key. `value` is as written, without `#`, `@` or `$`. */
  | { readonly kind: "key"; readonly name: KeyName; readonly value: string; readonly key: string }
  /** A link holds the text, folded. */
  | { readonly kind: "contains"; readonly value: string; readonly text: string }
  /** The number is known and within the bounds, both inclusive. */
  | { readonly kind: "count"; readonly name: CountName; readonly least: number; readonly most?: number }
  /** The post was sent from a place that meets the area. `value` is as written, in brackets. */
  | { readonly kind: "area"; readonly value: string; readonly area: Area }
  /** The post is among so many of a hundred, chosen by its id. */
  | { readonly kind: "sample"; readonly percent: number }
  /** The post means something similar to the text: cosine of at least the threshold. */
  | { readonly kind: "embedding"; readonly value: string; readonly threshold: number }

/** Operators that look for words, and the zone in which each looks. */
export const zones = {
  keyword: "text",
  phrase: "text",
  url: "link",
  url_title: "title",
  url_description: "description",
  bio: "bio",
  bio_name: "name",
  bio_location: "location",
} as const

/** An operator that looks for words in a row. */
export type WordsName = keyof typeof zones

/** A part of a post in which words are looked for. */
export type Zone = (typeof zones)[WordsName]

/** Operators that compare one value with those of the post. */
export const keyNames = [
  "hashtag",
  "mention",
  "cashtag",
  "from",
  "to",
  "retweets_of",
  "from_affiliate_of",
  "to_affiliate_of",
  "context",
  "entity",
  "conversation_id",
  "in_reply_to_tweet_id",
  "retweets_of_tweet_id",
  "quotes_of_tweet_id",
  "place",
  "place_country",
  "source",
  "lang",
  "is",
  "has",
] as const

/** An operator that compares one value with those of the post. */
export type KeyName = (typeof keyNames)[number]

/** The keys of `is:`. */
export const isValues = ["retweet", "reply", "quote", "verified", "nullcast"] as const

/** The keys of `has:`. */
export const hasValues = [
  "hashtags",
  "cashtags",
  "links",
  "mentions",
  "media",
  "images",
  "video_link",
  "geo",
] as const

/** Numbers of a post and its author; those that begin with `min_` have a lower bound only. */
export const countNames = [
  "followers_count",
  "following_count",
  "tweets_count",
  "listed_count",
  "min_likes",
  "min_replies",
  "min_reposts",
  "min_quotes",
] as const

/** A number of a post or its author. */
export type CountName = (typeof countNames)[number]

/** Similarity from which a post is found when the rule has no `embedding_threshold:`. Ours. */
export const embeddingThreshold = 0.5

/** One token of a keyword, phrase or link. */
export type Word = {
  /** Folded. */
  readonly text: string
  /** Must touch the word before it. */
  readonly glued: boolean
}
