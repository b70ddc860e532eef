/** The members of X's envelope that hold the numbers that operators compare. */

import type { CountName } from "../language/rule.ts"
import type { names } from "./member-names.ts"

/** For each number whose `public_metrics` have it, and the member there. */
export const countMembers = {
  followers_count: { of: "author", member: "followers_count" },
  following_count: { of: "author", member: "following_count" },
  tweets_count: { of: "author", member: "tweet_count" },
  listed_count: { of: "author", member: "listed_count" },
  min_likes: { of: "post", member: "like_count" },
  min_replies: { of: "post", member: "reply_count" },
  min_reposts: { of: "post", member: "retweet_count" },
} as const satisfies Readonly<
  Record<CountName, { readonly of: "author" | "post"; readonly member: keyof typeof names }>
>
