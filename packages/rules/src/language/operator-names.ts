/** Other names of operators: aliases, and X's operators that Sluice does not have, with what to use instead. */

/** Aliases by name. Source: docs.x.com, operators of the filtered stream and of search, "available alias". */
export const aliases: Readonly<Record<string, string>> = {
  in_reply_to_status_id: "in_reply_to_tweet_id",
  retweets_of_status_id: "retweets_of_tweet_id",
  quotes_of_status_id: "quotes_of_tweet_id",
  statuses_count: "tweets_count",
  friends_count: "following_count",
  geo_bounding_box: "bounding_box",
  retweets_of_user: "retweets_of",
  user_bio: "bio",
  user_bio_location: "bio_location",
  user_in_lists_count: "listed_count",
  within_url_title: "url_title",
  within_url_description: "url_description",
}

/** Operators of PowerTrack and of X's search on the web that Sluice does not have. */
export const unavailableNames: ReadonlySet<string> = new Set(
  `bio_contains bio_lang bio_name_contains bio_location_contains place_contains country_code profile_country
  profile_region profile_locality profile_subregion profile_bounding_box profile_point_radius contains keyword
  list time_zone twitter_lang
  filter include min_faves min_retweets since until since_id max_id since_time until_time within_time near within
  geocode card_name card_domain quoted_tweet_id quoted_user_id`.split(/\s+/),
)

/** Replacements for some of these operators. */
export const suggestedNames: Readonly<Record<string, string>> = {
  min_faves: "min_likes",
  min_retweets: "min_reposts",
  quoted_tweet_id: "quotes_of_tweet_id",
}

/** Replacements for values of PowerTrack. The last two have none, though other values resemble them. */
export const suggestedValues: Readonly<Record<string, string | undefined>> = {
  "has:symbols": "has:cashtags",
  "has:native_video": "has:video_link",
  "has:profile_geo": undefined,
  "has:lang": undefined,
}
