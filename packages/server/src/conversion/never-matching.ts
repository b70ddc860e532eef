/**
 * Operators that can match no post of a source, with the reason. People who write a rule should know, since a rule with such
 * a clause never finds a post. `is:nullcast` is left out: a rule can only negate it.
 *
 * The converters decide it: a test converts posts and finds for every other operator one that it matches.
 */

/** The kind of a source, and those of its settings that decide. */
export type MatchedSource =
  | {
      readonly kind: "bluesky"
      readonly takesReposts: boolean
      readonly takesProfiles: boolean
      readonly looksUpProfiles: boolean
    }
  | { readonly kind: "mastodon"; readonly takesReblogs: boolean }

/** An operator that never matches. */
export interface NeverMatching {
  /** Its name, as in the guide of operators. */
  readonly operator: string
  /** The only value with which it never matches, of `is:` and `has:`; absent when it matches with no value. */
  readonly value?: string
  /** Why, as a whole sentence. */
  readonly reason: string
}

/** The operators that can match no post of the source. */
export function neverMatching(source: MatchedSource): readonly NeverMatching[] {
  return source.kind === "bluesky" ? [...everywhere, ...ofBluesky(source)] : [...everywhere, ...ofMastodon(source)]
}

function named(operators: readonly string[], reason: string): readonly NeverMatching[] {
  return operators.map((written) => {
    const [operator = "", value] = written.split(":")
    return value === undefined ? { operator, reason } : { operator, value, reason }
  })
}

const everywhere: readonly NeverMatching[] = [
  ...named(["place", "place_country", "point_radius", "bounding_box", "has:geo"], "These posts have no place."),
  ...named(["context", "entity"], "X alone annotates posts with entities."),
  ...named(["from_affiliate_of", "to_affiliate_of"], "X alone has affiliated accounts."),
  ...named(["is:verified"], "X alone gives its badge."),
  ...named(["bio_location"], "These users have no location."),
]

const reposts = ["is:retweet", "retweets_of", "retweets_of_tweet_id"]

function ofBluesky({
  takesReposts,
  takesProfiles,
  looksUpProfiles,
}: Extract<MatchedSource, { readonly kind: "bluesky" }>): readonly NeverMatching[] {
  return [
    ...named(["source"], "Posts of Bluesky do not name the application."),
    ...named(["listed_count"], "Bluesky does not count the lists that a user is on."),
    ...(looksUpProfiles
      ? []
      : named(
          ["followers_count", "following_count", "tweets_count", "min_followers"],
          "Records of Bluesky hold no counts of users, and the source does not look up profiles.",
        )),
    ...named(
      ["min_likes", "min_replies", "min_reposts"],
      "A post of Bluesky comes when it is written, without counts.",
    ),
    ...(takesProfiles || looksUpProfiles ? [] : named(["bio"], "The source does not take profiles.")),
    ...(takesReposts ? [] : named(reposts, "The source does not take reposts.")),
  ]
}

function ofMastodon({ takesReblogs }: Extract<MatchedSource, { readonly kind: "mastodon" }>): readonly NeverMatching[] {
  return [
    ...named(["listed_count"], "Mastodon does not count the lists that a user is on, so the number is always 0."),
    ...(takesReblogs ? [] : named(reposts, "The source does not take reblogs.")),
  ]
}
