/** Stream endpoints by the names that X's connections have for them. */

/**
 * All stream endpoints of X, in X's order. Sluice serves the first three and the two compliance streams of posts and users, and
 * lists no connections to the others. Source: X's OpenAPI document 2.167.
 */
export const streamEndpoints = [
  "filtered_stream",
  "sample_stream",
  "sample10_stream",
  "firehose_stream",
  "tweets_compliance_stream",
  "users_compliance_stream",
  "tweet_label_stream",
  "firehose_stream_lang_en",
  "firehose_stream_lang_ja",
  "firehose_stream_lang_ko",
  "firehose_stream_lang_pt",
  "likes_firehose_stream",
  "likes_sample10_stream",
  "likes_compliance_stream",
] as const

/** A stream endpoint, as `endpoint_id` has it. */
export type StreamEndpoint = (typeof streamEndpoints)[number]

/** States by which connections are listed. Source: X's OpenAPI document 2.167. */
export const connectionStates = ["active", "inactive", "all"] as const

/** Members of a connection that `connection.fields` chooses. Source: X's OpenAPI document 2.167. */
export const connectionFields = [
  "client_ip",
  "connected_at",
  "disconnect_reason",
  "disconnected_at",
  "endpoint_name",
  "id",
] as const

/** A member of a connection. */
export type ConnectionField = (typeof connectionFields)[number]
