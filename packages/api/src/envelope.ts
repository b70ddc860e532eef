/**
 * A post as X streams it, and as Sluice takes it in: one line of NDJSON.
 *
 * Only the members that the server relies on are typed; all others are kept as they came.
 */
export interface Envelope {
  readonly data: Post
  readonly includes?: Includes
}

/** A post object. Source: docs.x.com, "Data dictionary: Post". */
export interface Post {
  readonly id: string
  readonly text: string
  readonly author_id?: string
  /** RFC 3339. */
  readonly created_at?: string
  readonly edit_history_tweet_ids?: readonly string[]
  readonly in_reply_to_user_id?: string
  readonly referenced_tweets?: readonly ReferencedPost[]
  /** The name of the post in the network that it is from, if that is not X. Ours. */
  readonly source_uri?: string
  /** `edit_history_tweet_ids` in a response under the new names. */
  readonly edit_history_post_ids?: readonly string[]
  /** `referenced_tweets` in a response under the new names. */
  readonly referenced_posts?: readonly ReferencedPost[]
  readonly [member: string]: unknown
}

/** A user object. Source: docs.x.com, "Data dictionary: User". */
export interface User {
  readonly id: string
  readonly name: string
  readonly username: string
  readonly pinned_tweet_id?: string
  /** `pinned_tweet_id` in a response under the new names. */
  readonly pinned_post_id?: string
  readonly [member: string]: unknown
}

/** A post's relation to another. Source: docs.x.com, "Data dictionary: Post", `referenced_tweets`. */
export interface ReferencedPost {
  readonly type: "retweeted" | "quoted" | "replied_to"
  readonly id: string
}

/** Objects that posts of the same response refer to, each at most once. */
export interface Includes {
  readonly users?: readonly IncludedObject[]
  readonly tweets?: readonly IncludedObject[]
  /** `tweets` in a response under the new names. */
  readonly posts?: readonly IncludedObject[]
  readonly media?: readonly IncludedObject[]
  readonly places?: readonly IncludedObject[]
  readonly polls?: readonly IncludedObject[]
}

/** A user, post, medium, place or poll that a post refers to. */
export type IncludedObject = Readonly<Record<string, unknown>>

/** A rule that a post matched, as deliveries name it. `tag` is empty when the rule has none. Source: recorded streams. */
export interface MatchingRule {
  readonly id: string
  readonly tag: string
  /** With `embedding:`: the post's similarity, -1 to 1, and the least that matches. Source: docs.x.com, "Operators". */
  readonly embedding_similarity?: number
  readonly embedding_threshold?: number
}
