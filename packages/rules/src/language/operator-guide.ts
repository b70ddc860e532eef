/**
 * The table of the named operators: what each finds, an example for people who write a rule, and where X has it. An
 * entry without a reader in `operators.ts` does not compile. `docs/rules.md` says more.
 */

import type { Mode } from "../text/mode.ts"
import { hasValues, isValues } from "./rule.ts"

/** A named operator. */
export type OperatorGuide = {
  /** Without the colon. */
  readonly name: string
  /** The posts that it finds, after "posts …". */
  readonly finds: string
  /** As it is written in a rule; one that is not standalone needs another clause next to it. */
  readonly example: string
  /** The values that it takes, when they are few. */
  readonly values?: readonly string[]
  /** True if a rule may consist of it alone. */
  readonly isStandalone: boolean
  /** The modes in which X has it. The strict dialect has it in no other. */
  readonly modesOfX: readonly Mode[]
  /** True if the server needs an endpoint for embeddings. */
  readonly needsEmbeddings: boolean
}

type Entry = Pick<OperatorGuide, "finds" | "example" | "values"> &
  Partial<Pick<OperatorGuide, "isStandalone" | "modesOfX" | "needsEmbeddings">>

const streamOnly: readonly Mode[] = ["stream"]
const searchOnly: readonly Mode[] = ["search"]

/**
 * The named operators, those that people use most first. Without other words an operator is standalone, and X has it in
 * streams and searches alike. Source: docs.x.com, "Operators" and "Search operators"; its changelog of 2026-01-19 for the
 * minimums, which the stream keeps.
 */
const table = {
  from: { finds: "by the user, by name or id; their reposts too", example: "from:wren" },
  to: { finds: "that reply to the user", example: "to:wren" },
  retweets_of: { finds: "that repost the user", example: "retweets_of:wren" },
  is: {
    finds: "of a kind: reposts, replies, quotes, by verified users, advertising",
    example: "is:retweet",
    values: isValues,
    isStandalone: false,
  },
  has: {
    finds: "with hashtags, links, mentions, media or a place",
    example: "has:images",
    values: hasValues,
    isStandalone: false,
  },
  lang: { finds: "in the language, by X's codes", example: "lang:en", isStandalone: false },
  url: { finds: "with a link in which these tokens follow each other", example: "url:example.com" },
  url_contains: {
    finds: "with a link that contains the text as written",
    example: 'url_contains:"/cats?"',
    modesOfX: streamOnly,
  },
  url_title: {
    finds: "with a link to a page whose title has the words",
    example: "url_title:cat",
    modesOfX: streamOnly,
  },
  url_description: {
    finds: "with a link to a page whose description has the words",
    example: "url_description:cat",
    modesOfX: streamOnly,
  },
  bio: { finds: "by a user whose description has the words", example: "bio:bird", modesOfX: streamOnly },
  bio_name: { finds: "by a user whose name has the words", example: "bio_name:wren", modesOfX: streamOnly },
  bio_location: {
    finds: "by a user whose location has the words",
    example: 'bio_location:"oat fell"',
    modesOfX: streamOnly,
  },
  from_affiliate_of: {
    finds: "by an account that is affiliated with the user",
    example: "from_affiliate_of:oatfell",
    modesOfX: streamOnly,
  },
  to_affiliate_of: {
    finds: "in reply to an account that is affiliated with the user",
    example: "to_affiliate_of:oatfell",
    modesOfX: streamOnly,
  },
  context: { finds: "that X annotated with the entity of the domain; * for either half", example: "context:65.123" },
  entity: { finds: "with an annotated entity of that name", example: 'entity:"Oatfell"' },
  conversation_id: { finds: "in the conversation", example: "conversation_id:1" },
  in_reply_to_tweet_id: { finds: "that reply to the post", example: "in_reply_to_tweet_id:1" },
  retweets_of_tweet_id: { finds: "that repost the post", example: "retweets_of_tweet_id:1" },
  quotes_of_tweet_id: { finds: "that quote the post", example: "quotes_of_tweet_id:1", modesOfX: searchOnly },
  place: { finds: "from the place, by name, full name or id", example: 'place:"Berlin, Germany"' },
  place_country: { finds: "from the country, by its ISO 3166-1 code", example: "place_country:DE" },
  point_radius: {
    finds: "from within the circle: longitude, latitude, at most 25mi",
    example: "point_radius:[13.4 52.5 10km]",
  },
  bounding_box: {
    finds: "from within the box: west, south, east, north",
    example: "bounding_box:[13.2 52.4 13.5 52.5]",
  },
  source: {
    finds: "sent with the application, by its full name",
    example: 'source:"Twitter Web App"',
    isStandalone: false,
    modesOfX: streamOnly,
  },
  sample: {
    finds: "in a sample of so many per cent, the same posts for everybody",
    example: "sample:10",
    isStandalone: false,
    modesOfX: streamOnly,
  },
  followers_count: {
    finds: "by a user with so many followers, or more",
    example: "followers_count:100..999",
    modesOfX: streamOnly,
  },
  following_count: {
    finds: "by a user who follows so many, or more",
    example: "following_count:100",
    modesOfX: streamOnly,
  },
  tweets_count: { finds: "by a user with so many posts, or more", example: "tweets_count:1000", modesOfX: streamOnly },
  listed_count: { finds: "by a user on so many lists, or more", example: "listed_count:10", modesOfX: streamOnly },
  min_followers: {
    finds: "by a user with at least so many followers",
    example: "min_followers:100",
    modesOfX: streamOnly,
  },
  min_likes: { finds: "with at least so many likes when ingested", example: "min_likes:10" },
  min_replies: { finds: "with at least so many replies when ingested", example: "min_replies:10" },
  min_reposts: { finds: "with at least so many reposts when ingested", example: "min_reposts:10" },
  embedding: {
    finds: "that are similar in meaning",
    example: 'embedding:"lost pets"',
    needsEmbeddings: true,
    modesOfX: streamOnly,
  },
  embedding_threshold: {
    finds: "with at least this similarity, beside an embedding:",
    example: "embedding_threshold:0.6",
    isStandalone: false,
    needsEmbeddings: true,
    modesOfX: streamOnly,
  },
} as const satisfies Readonly<Record<string, Entry>>

/** The name of an operator, without the colon. */
export type OperatorName = keyof typeof table

/** Every named operator, those that people use most first. */
export const operatorGuides: readonly OperatorGuide[] = Object.entries<Entry>(table).map(([name, entry]) => ({
  name,
  isStandalone: true,
  modesOfX: ["stream", "search"],
  needsEmbeddings: false,
  ...entry,
}))

/** Operators that need a standalone operator next to them. */
export const conjunctionNames = namesOf((guide) => !guide.isStandalone)

/** The modes in which X has proximity, `"hot dog"~3`, which has no name. */
export const proximityModesOfX = streamOnly

/** By mode, the operators that X does not have in it. */
export const absentNames: Readonly<Record<Mode, ReadonlySet<string>>> = {
  stream: namesOf(({ modesOfX }) => !modesOfX.includes("stream")),
  search: namesOf(({ modesOfX }) => !modesOfX.includes("search")),
}

/** Operators that need an endpoint for embeddings. */
export const embeddingNames = namesOf((guide) => guide.needsEmbeddings)

function namesOf(isOne: (guide: OperatorGuide) => boolean): ReadonlySet<string> {
  return new Set(operatorGuides.filter(isOne).map(({ name }) => name))
}
