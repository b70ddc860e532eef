/**
 * Posts, users and the objects that they refer to, as responses show them: each is declared once under its old names, and
 * its type under the new names is made with `newNames`.
 *
 * A response has the members that its request chooses, as far as the stored object has them, so all but the default ones
 * are optional. Source: docs.x.com, "Data dictionary", and X's OpenAPI document 2.167.
 */
import type { ReferencedPost } from "./envelope.ts"
import type { newNames, Vocabulary } from "./fields.ts"

/** A post under the names of a vocabulary. */
export type PostIn<In extends Vocabulary> = In extends "old" ? PostInOldNames : PostInNewNames

/** A user under the names of a vocabulary. */
export type UserIn<In extends Vocabulary> = In extends "old" ? UserInOldNames : UserInNewNames

/** Objects that the data of a response refers to, each at most once, under the names of a vocabulary. */
export type IncludesIn<In extends Vocabulary> = In extends "old" ? IncludesInOldNames : IncludesInNewNames

// Interfaces, because messages of compilers name them.
interface PostInOldNames extends PostMembers<Partial<PostCounts>> {}
interface PostInNewNames extends Renamed<PostMembers<Renamed<PostCounts, "postMetrics">>, "post"> {}
interface UserInOldNames extends UserMembers<Partial<UserCounts>> {}
interface UserInNewNames extends Renamed<UserMembers<Renamed<UserCounts, "userMetrics">>, "user"> {}
interface IncludesInOldNames extends IncludedLists<"old"> {}
interface IncludesInNewNames extends Renamed<IncludedLists<"new">, "includes"> {}

/** The members by their new names. Members without one keep their names. */
type Renamed<Members, Kind extends keyof typeof newNames> = {
  [Name in keyof Members as NewName<Name, (typeof newNames)[Kind]>]: Members[Name]
}

type NewName<Name, Names> = {
  [New in keyof Names]: Names[New] extends Name ? New : never
}[keyof Names] extends infer New
  ? [New] extends [never]
    ? Name
    : New & string
  : never

interface IncludedLists<In extends Vocabulary> {
  readonly users?: readonly UserIn<In>[]
  readonly tweets?: readonly PostIn<In>[]
  readonly media?: readonly Media[]
  readonly places?: readonly Place[]
  readonly polls?: readonly Poll[]
}

interface PostMembers<PublicMetrics> {
  readonly id: string
  readonly text: string
  readonly article?: unknown
  readonly article_title?: unknown
  readonly attachments?: Attachments
  readonly author_id?: string
  readonly card_uri?: string
  readonly community_id?: string
  readonly context_annotations?: readonly ContextAnnotation[]
  readonly conversation_id?: string
  /** RFC 3339. */
  readonly created_at?: string
  /** Begin and end, exclusive. */
  readonly display_text_range?: readonly number[]
  readonly edit_controls?: EditControls
  /** Ids of all versions of the post, oldest first. */
  readonly edit_history_tweet_ids?: readonly string[]
  readonly entities?: Entities
  readonly geo?: Geo
  readonly in_reply_to_user_id?: string
  /** BCP 47. */
  readonly lang?: string
  readonly matched_media_notes?: unknown
  readonly media_metadata?: unknown
  readonly non_public_metrics?: unknown
  readonly note_request_suggestions?: unknown
  /** The whole text of a post that is longer than `text`. */
  readonly note_tweet?: { readonly text: string; readonly entities?: Entities }
  readonly organic_metrics?: unknown
  readonly paid_partnership?: boolean
  readonly possibly_sensitive?: boolean
  readonly promoted_metrics?: unknown
  readonly public_metrics?: PublicMetrics
  readonly referenced_tweets?: readonly ReferencedPost[]
  readonly reply_settings?: string
  readonly scopes?: { readonly followers?: boolean }
  readonly source?: string
  /** The name of the post in the network that it is from; absent from posts of X. Ours. */
  readonly source_uri?: string
  readonly suggested_source_links?: unknown
  readonly suggested_source_links_with_counts?: unknown
  readonly withheld?: Withheld
}

interface PostCounts {
  readonly retweet_count: number
  readonly reply_count: number
  readonly like_count: number
  readonly quote_count: number
  readonly bookmark_count: number
  readonly impression_count: number
}

interface UserMembers<PublicMetrics> {
  readonly id: string
  readonly name: string
  readonly username: string
  readonly affiliation?: unknown
  readonly confirmed_email?: string
  readonly connection_status?: readonly string[]
  /** RFC 3339. */
  readonly created_at?: string
  readonly description?: string
  readonly entities?: { readonly url?: Entities; readonly description?: Entities }
  readonly is_identity_verified?: boolean
  readonly location?: string
  readonly most_recent_tweet_id?: string
  readonly parody?: boolean
  readonly pinned_tweet_id?: string
  readonly profile_banner_url?: string
  readonly profile_image_url?: string
  readonly protected?: boolean
  readonly public_metrics?: PublicMetrics
  readonly receives_your_dm?: boolean
  readonly subscribes_to_you?: boolean
  readonly subscription?: unknown
  readonly subscription_type?: string
  readonly url?: string
  readonly verified?: boolean
  readonly verified_followers_count?: number
  readonly verified_type?: string
  readonly withheld?: Withheld
}

interface UserCounts {
  readonly followers_count: number
  readonly following_count: number
  readonly tweet_count: number
  readonly listed_count: number
}

interface Attachments {
  readonly media_keys?: readonly string[]
  readonly media_source_tweet_id?: readonly string[]
  readonly poll_ids?: readonly string[]
}

interface ContextAnnotation {
  readonly domain: AnnotatedTopic
  readonly entity: AnnotatedTopic
}

interface AnnotatedTopic {
  readonly id?: string
  readonly name?: string
  readonly description?: string
}

interface EditControls {
  readonly edits_remaining?: number
  readonly is_edit_eligible?: boolean
  readonly editable_until?: string
}

interface Entities {
  readonly hashtags?: readonly (Span & { readonly tag: string })[]
  readonly cashtags?: readonly (Span & { readonly tag: string })[]
  readonly mentions?: readonly (Span & { readonly username?: string; readonly id?: string })[]
  readonly urls?: readonly LinkEntity[]
  readonly annotations?: readonly (Span & {
    readonly probability?: number
    readonly type?: string
    readonly normalized_text?: string
  })[]
}

/** A place in a text, in code points; `end` is exclusive, except for annotations. */
interface Span {
  readonly start: number
  readonly end: number
}

interface LinkEntity extends Span {
  readonly url?: string
  readonly expanded_url?: string
  readonly display_url?: string
  readonly unwound_url?: string
  readonly media_key?: string
  readonly title?: string
  readonly description?: string
  readonly status?: number
  readonly images?: readonly { readonly url?: string; readonly width?: number; readonly height?: number }[]
}

interface Geo {
  readonly place_id?: string
  /** Longitude, latitude. */
  readonly coordinates?: { readonly type: string; readonly coordinates: readonly number[] }
}

interface Withheld {
  readonly copyright?: boolean
  readonly country_codes?: readonly string[]
  readonly scope?: string
}

interface Media {
  readonly media_key: string
  readonly type: string
  readonly alt_text?: string
  readonly duration_ms?: number
  readonly height?: number
  readonly non_public_metrics?: unknown
  readonly organic_metrics?: unknown
  readonly preview_image_url?: string
  readonly promoted_metrics?: unknown
  readonly public_metrics?: { readonly view_count?: number }
  readonly url?: string
  readonly variants?: readonly { readonly bit_rate?: number; readonly content_type?: string; readonly url?: string }[]
  readonly width?: number
}

interface Place {
  readonly id: string
  readonly full_name: string
  readonly contained_within?: readonly string[]
  readonly country?: string
  readonly country_code?: string
  readonly geo?: unknown
  readonly name?: string
  readonly place_type?: string
}

interface Poll {
  readonly id: string
  readonly options: readonly { readonly position: number; readonly label: string; readonly votes: number }[]
  readonly duration_minutes?: number
  readonly end_datetime?: string
  readonly voting_status?: string
}
