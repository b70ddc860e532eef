/**
 * The names of X's members as small numbers.
 *
 * All names that X uses are here, and not only those that are read: of a known name it costs one comparison to see that
 * it does not stand twice in its object.
 */

/** One more than the greatest number of a name: 255 stands for all that are unknown. */
export const namesMax = 256

/** Names by number, from 1 on. At most 254, of at most 32 bytes. The first is that of the post. */
export const knownNames = `
  data includes id text author_id created_at lang conversation_id in_reply_to_user_id referenced_tweets type entities
  hashtags mentions cashtags urls annotations tag username start end url expanded_url display_url unwound_url title
  description normalized_text probability attachments media_keys public_metrics retweet_count reply_count like_count
  quote_count impression_count bookmark_count possibly_sensitive reply_settings source withheld geo place_id coordinates
  context_annotations domain entity name edit_history_tweet_ids users tweets media places polls media_key verified
  followers_count following_count tweet_count listed_count media_count protected location affiliation user_id
  full_name country_code country place_type bbox properties edit_controls edits_remaining is_edit_eligible
  editable_until width height profile_image_url profile_banner_url pinned_tweet_id preview_image_url duration_ms
  alt_text copyright country_codes scope poll_ids view_count position label votes options voting_status
  duration_minutes end_datetime verified_type status images variants bit_rate content_type matching_rules
  edit_history most_recent_tweet_id subscription_type note_tweet
`
  .trim()
  .split(/\s+/) as readonly MemberName[]

/** A member that is read. The others are known so that they are quickly skipped. */
export type MemberName =
  | "affiliation"
  | "annotations"
  | "attachments"
  | "author_id"
  | "bbox"
  | "cashtags"
  | "context_annotations"
  | "conversation_id"
  | "coordinates"
  | "country_code"
  | "created_at"
  | "data"
  | "description"
  | "display_url"
  | "domain"
  | "edit_history_tweet_ids"
  | "entities"
  | "entity"
  | "expanded_url"
  | "followers_count"
  | "following_count"
  | "full_name"
  | "geo"
  | "hashtags"
  | "id"
  | "in_reply_to_user_id"
  | "includes"
  | "lang"
  | "like_count"
  | "listed_count"
  | "location"
  | "media"
  | "media_key"
  | "media_keys"
  | "mentions"
  | "name"
  | "normalized_text"
  | "place_id"
  | "places"
  | "public_metrics"
  | "referenced_tweets"
  | "reply_count"
  | "retweet_count"
  | "source"
  | "tag"
  | "text"
  | "title"
  | "tweet_count"
  | "tweets"
  | "type"
  | "unwound_url"
  | "url"
  | "urls"
  | "username"
  | "users"
  | "verified"

/** The number of a name. */
export function nameNumber(name: MemberName): number {
  return knownNames.indexOf(name) + 1
}
