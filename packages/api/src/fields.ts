/**
 * Fields that a caller may select for each kind of object, and related objects to include.
 *
 * Source: docs.x.com, "Fields" and "Expansions", and X's OpenAPI document 2.159 and 2.167, which name some
 * of them differently: both names are accepted and mean the same.
 */

/** Values of `tweet.fields`, also called `post.fields`. */
export const postFields = [
  "article",
  "article_title",
  "attachments",
  "author_id",
  "card_uri",
  "community_id",
  "context_annotations",
  "conversation_id",
  "created_at",
  "display_text_range",
  "edit_controls",
  "edit_history_tweet_ids",
  "entities",
  "geo",
  "id",
  "in_reply_to_user_id",
  "lang",
  "matched_media_notes",
  "media_metadata",
  "non_public_metrics",
  "note_request_suggestions",
  "note_tweet",
  "organic_metrics",
  "paid_partnership",
  "possibly_sensitive",
  "promoted_metrics",
  "public_metrics",
  "referenced_tweets",
  "reply_settings",
  "scopes",
  "source",
  "suggested_source_links",
  "suggested_source_links_with_counts",
  "text",
  "withheld",
] as const

/** Values of `user.fields`. */
export const userFields = [
  "affiliation",
  "confirmed_email",
  "connection_status",
  "created_at",
  "description",
  "entities",
  "id",
  "is_identity_verified",
  "location",
  "most_recent_tweet_id",
  "name",
  "parody",
  "pinned_tweet_id",
  "profile_banner_url",
  "profile_image_url",
  "protected",
  "public_metrics",
  "receives_your_dm",
  "subscribes_to_you",
  "subscription",
  "subscription_type",
  "url",
  "username",
  "verified",
  "verified_followers_count",
  "verified_type",
  "withheld",
] as const

/** Values of `media.fields`. */
export const mediaFields = [
  "alt_text",
  "duration_ms",
  "height",
  "media_key",
  "non_public_metrics",
  "organic_metrics",
  "preview_image_url",
  "promoted_metrics",
  "public_metrics",
  "type",
  "url",
  "variants",
  "width",
] as const

/** Values of `place.fields`. */
export const placeFields = [
  "contained_within",
  "country",
  "country_code",
  "full_name",
  "geo",
  "id",
  "name",
  "place_type",
] as const

/** Values of `poll.fields`. */
export const pollFields = ["duration_minutes", "end_datetime", "id", "options", "voting_status"] as const

/** Values of `webhook_config.fields`: the members of a webhook, all of which a response always has. */
export const webhookConfigFields = ["created_at", "id", "url", "valid"] as const

/** Values of `rules_count.fields`: the members of an app's rule counts, all of which a response always has. */
export const rulesCountFields = [
  "all_project_client_apps",
  "cap_per_client_app",
  "cap_per_project",
  "client_app_rules_count",
  "project_rules_count",
] as const

/** Values of `expansions`. */
export const expansions = [
  "article.cover_media",
  "article.media_entities",
  "attachments.media_keys",
  "attachments.media_source_tweet",
  "attachments.poll_ids",
  "author_id",
  "edit_history_tweet_ids",
  "entities.mentions.username",
  "geo.place_id",
  "in_reply_to_user_id",
  "entities.note.mentions.username",
  "referenced_tweets.id",
  "referenced_tweets.id.attachments.media_keys",
  "referenced_tweets.id.author_id",
] as const

/** A value of `expansions`, by its older name. */
export type Expansion = (typeof expansions)[number]

/**
 * The post field that an expansion follows. It is shown with the expansion: a reader needs it to find the included object.
 * Source: docs.x.com, "Expansions", whose responses show these fields.
 */
export const expandedFields: Readonly<Partial<Record<Expansion, (typeof postFields)[number]>>> = {
  "article.cover_media": "article",
  "article.media_entities": "article",
  "attachments.media_keys": "attachments",
  "attachments.media_source_tweet": "attachments",
  "attachments.poll_ids": "attachments",
  author_id: "author_id",
  "entities.mentions.username": "entities",
  "entities.note.mentions.username": "note_tweet",
  "geo.place_id": "geo",
  in_reply_to_user_id: "in_reply_to_user_id",
  "referenced_tweets.id": "referenced_tweets",
  "referenced_tweets.id.attachments.media_keys": "referenced_tweets",
  "referenced_tweets.id.author_id": "referenced_tweets",
}

/**
 * Other names of expansions and those that they stand for: the newer ones of X's OpenAPI document 2.167, and
 * `referenced_tweets`, which X was seen to accept in 2026-08.
 */
export const expansionAliases = {
  edit_history_post_ids: "edit_history_tweet_ids",
  referenced_posts: "referenced_tweets.id",
  referenced_tweets: "referenced_tweets.id",
  username: "entities.mentions.username",
} as const satisfies Readonly<Record<string, Expansion>>

/**
 * Other names of post fields and those that they stand for: the newer ones of X's OpenAPI document 2.167, and `rest_id` and
 * `username`, which X was seen to accept in 2026-08. `username` shows what the expansion of that name follows.
 */
export const postFieldAliases = {
  edit_history_post_ids: "edit_history_tweet_ids",
  note_post: "note_tweet",
  referenced_posts: "referenced_tweets",
  rest_id: "id",
  username: "entities",
} as const satisfies Readonly<Record<string, (typeof postFields)[number]>>

/** Default fields of each kind of object, shown when nothing is selected. Source: docs.x.com, "Fields", defaults. */
export const defaultFields = {
  post: ["id", "text", "edit_history_tweet_ids"],
  user: ["id", "name", "username"],
  media: ["media_key", "type"],
  place: ["id", "full_name"],
  poll: ["id", "options"],
} as const

/** Names of the query parameters that choose fields and expansions. */
export const selectionParameters = [
  "tweet.fields",
  "post.fields",
  "user.fields",
  "media.fields",
  "place.fields",
  "poll.fields",
  "expansions",
] as const
