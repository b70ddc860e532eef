/**
 * A rule as a tree.
 *
 * The leaves are of few kinds, because most operators make the same comparison with another field of a post: consecutive
 * words (`cat`, `url:`, `bio:`), an exact value (`#cat`, `from:`, `is:reply`), a number (`followers_count:`). A leaf's
 * text is folded and tokenised once, when the leaf is made. The original text is kept for printing.
 */

import type { Word } from "../text/words.ts"
import type { Area } from "./area.ts"

/** A rule: a condition on posts. Source: docs.x.com, "Build a rule". */
export type Rule =
  /** At least one holds. A parsed rule has two or more. */
  | { readonly kind: "any"; readonly rules: readonly Rule[] }
  /** All hold. A parsed rule has two or more. */
  | { readonly kind: "all"; readonly rules: readonly Rule[] }
  | { readonly kind: "not"; readonly rule: Rule }
  | Operator

/** A leaf of a rule: one comparison with a post. */
export type Operator =
  /** The words follow each other in one text of the zone that the name stands for. */
  | {
      readonly kind: "words"
      readonly name: WordsName
      readonly value: string
      readonly words: readonly Word[]
    }
  /** The words occur in one text, at most `distance` moves of one token away from following each other (`near.ts`). */
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
  /** The post was sent from within the area. `value` is as written, in brackets. */
  | { readonly kind: "area"; readonly value: string; readonly area: Area }
  /** The post is in a sample of so many per cent, chosen by its id. */
  | { readonly kind: "sample"; readonly percent: number }
  /** The post is similar in meaning to the text: the cosine of their embeddings is at least the threshold. */
  | { readonly kind: "embedding"; readonly value: string; readonly threshold: number }

/** Operators that search for words, and the zone that each searches. */
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

/** An operator that searches for consecutive words. */
export type WordsName = keyof typeof zones

/** A part of a post that is searched for words. */
export type Zone = (typeof zones)[WordsName]

/** Operators that compare one value with the values of the post. */
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

/** An operator that compares one value with the values of the post. */
export type KeyName = (typeof keyNames)[number]

/** A part of a post that is compared with terms: one that is searched for words, or one that has keys. */
export type ComparedField = Zone | KeyName

/** These parts; the position of each is its number. The zones come first. */
export const comparedFields: readonly ComparedField[] = [...new Set(Object.values(zones)), ...keyNames]

/** The keys of `is:`. */
export const isValues = ["retweet", "reply", "quote", "verified", "nullcast"] as const

/** The keys of `has:`. */
export const hasValues = ["hashtags", "cashtags", "links", "mentions", "media", "images", "video_link", "geo"] as const

/** Numbers of a post and its author. Those of a post begin with `min_` and have a lower bound only. */
export const countNames = [
  "followers_count",
  "following_count",
  "tweets_count",
  "listed_count",
  "min_likes",
  "min_replies",
  "min_reposts",
] as const

/** A number of a post or its author. */
export type CountName = (typeof countNames)[number]

/** Threshold of an `embedding:` without `embedding_threshold:`. Source: docs.x.com, "Operators". */
export const embeddingThreshold = 0.3
