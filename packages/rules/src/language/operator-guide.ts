/** The named operators for people who write a rule: what each finds, and an example. `docs/rules.md` says more. */

import { conjunctionNames, streamNames } from "./operator-names.ts"
import { hasValues, isValues } from "./rule.ts"

/** A named operator. */
export type OperatorGuide = {
  /** Without the colon. */
  readonly name: string
  /** What it finds, after "posts …". */
  readonly finds: string
  /** As it is written in a rule; one that is not standalone needs another clause beside it. */
  readonly example: string
  /** The values that it takes, when they are few. */
  readonly values?: readonly string[]
  /** Whether a rule may consist of it alone. */
  readonly isStandalone: boolean
  readonly isStreamOnly: boolean
  /** Whether the server needs an endpoint for embeddings. */
  readonly needsEmbeddings: boolean
}

type Line = readonly [name: string, finds: string, example: string, values?: readonly string[]]

const lines: readonly Line[] = [
  ["from", "by the user, by name or id; their reposts too", "from:wren"],
  ["to", "that reply to the user", "to:wren"],
  ["retweets_of", "that repost the user", "retweets_of:wren"],
  ["is", "of a kind: reposts, replies, quotes, by verified users, advertising", "is:retweet", isValues],
  ["has", "with hashtags, links, mentions, media or a place", "has:images", hasValues],
  ["lang", "in the language, by X's codes", "lang:en"],
  ["url", "with a link in which these tokens follow each other", "url:example.com"],
  ["url_contains", "with a link that contains the text as written", 'url_contains:"/cats?"'],
  ["url_title", "with a link to a page whose title has the words", "url_title:cat"],
  ["url_description", "with a link to a page whose description has the words", "url_description:cat"],
  ["bio", "by a user whose description has the words", "bio:bird"],
  ["bio_name", "by a user whose name has the words", "bio_name:wren"],
  ["bio_location", "by a user whose location has the words", 'bio_location:"oat fell"'],
  ["from_affiliate_of", "by an account that is affiliated with the user", "from_affiliate_of:oatfell"],
  ["to_affiliate_of", "in reply to an account that is affiliated with the user", "to_affiliate_of:oatfell"],
  ["context", "that X annotated with the entity of the domain; * for either half", "context:65.123"],
  ["entity", "with an annotated entity of that name", 'entity:"Oatfell"'],
  ["conversation_id", "in the conversation", "conversation_id:1"],
  ["in_reply_to_tweet_id", "that reply to the post", "in_reply_to_tweet_id:1"],
  ["retweets_of_tweet_id", "that repost the post", "retweets_of_tweet_id:1"],
  ["quotes_of_tweet_id", "that quote the post", "quotes_of_tweet_id:1"],
  ["place", "from the place, by name, full name or id", 'place:"Berlin, Germany"'],
  ["place_country", "from the country, by its ISO 3166-1 code", "place_country:DE"],
  ["point_radius", "from within the circle: longitude, latitude, at most 25mi", "point_radius:[13.4 52.5 10km]"],
  ["bounding_box", "from within the box: west, south, east, north", "bounding_box:[13.2 52.4 13.5 52.5]"],
  ["source", "sent with the application, by its full name", 'source:"Twitter Web App"'],
  ["sample", "in a sample of so many per cent, the same posts for everybody", "sample:10"],
  ["followers_count", "by a user with so many followers, or more", "followers_count:100..999"],
  ["following_count", "by a user who follows so many, or more", "following_count:100"],
  ["tweets_count", "by a user with so many posts, or more", "tweets_count:1000"],
  ["listed_count", "by a user on so many lists, or more", "listed_count:10"],
  ["min_followers", "by a user with at least so many followers", "min_followers:100"],
  ["min_likes", "with at least so many likes when ingested", "min_likes:10"],
  ["min_replies", "with at least so many replies when ingested", "min_replies:10"],
  ["min_reposts", "with at least so many reposts when ingested", "min_reposts:10"],
  ["embedding", "that are similar in meaning", 'embedding:"lost pets"'],
  ["embedding_threshold", "with at least this similarity, beside an embedding:", "embedding_threshold:0.6"],
]

/** Every named operator, those that people use most first. */
export const operatorGuides: readonly OperatorGuide[] = lines.map(([name, finds, example, values]) => ({
  name,
  finds,
  example,
  ...(values !== undefined && { values }),
  isStandalone: !conjunctionNames.has(name),
  isStreamOnly: streamNames.has(name),
  needsEmbeddings: name.startsWith("embedding"),
}))
