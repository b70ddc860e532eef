/**
 * Fields that a caller may select for each kind of object, and related objects to include.
 *
 * Source: docs.x.com, "Fields" and "Expansions", and X's OpenAPI document 2.159 and 2.167, which name some
 * of them differently: `newNames` has both vocabularies.
 */

/** Fields of posts, by their older names. All are X's but `source_uri`, the name of a post in the network that it is from. */
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
  "source_uri",
  "suggested_source_links",
  "suggested_source_links_with_counts",
  "text",
  "withheld",
] as const

/** Fields of users, by their older names. */
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

/** Values of `usage.fields`: the members of usage. Without the parameter, those of the project. */
export const usageFields = [
  "cap_reset_day",
  "daily_client_app_usage",
  "daily_project_usage",
  "project_cap",
  "project_id",
  "project_usage",
] as const

/** Expansions of posts, by their older names. */
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

/** Expansions of users, by their older names. */
export const userExpansions = ["affiliation.user_id", "most_recent_tweet_id", "pinned_tweet_id"] as const

/** A value of `expansions` where users are the data, by its older name. */
export type UserExpansion = (typeof userExpansions)[number]

/** The user field that an expansion of users follows, which is shown with it. */
export const expandedUserFields: Readonly<Record<UserExpansion, (typeof userFields)[number]>> = {
  "affiliation.user_id": "affiliation",
  most_recent_tweet_id: "most_recent_tweet_id",
  pinned_tweet_id: "pinned_tweet_id",
}

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
 * The two vocabularies of the dialect: each new name with the old one that it stands for. A request that has `post.fields`,
 * or an expansion by one of these names, is answered in the new names, and any other in the old ones; streams, deliveries
 * and all that is stored have the old ones. Source: X's OpenAPI document 2.167, and X's answers of 2026-09.
 */
export const newNames = {
  expansions: {
    edit_history_post_ids: "edit_history_tweet_ids",
    referenced_posts: "referenced_tweets.id",
    username: "entities.mentions.username",
  },
  includes: { posts: "tweets" },
  post: {
    edit_history_post_ids: "edit_history_tweet_ids",
    note_post: "note_tweet",
    referenced_posts: "referenced_tweets",
  },
  postMetrics: { repost_count: "retweet_count" },
  user: { most_recent_post_id: "most_recent_tweet_id", pinned_post_id: "pinned_tweet_id" },
  userExpansions: {
    affiliation: "affiliation.user_id",
    most_recent_post_id: "most_recent_tweet_id",
    pinned_post_id: "pinned_tweet_id",
  },
  userMetrics: { post_count: "tweet_count" },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>> & {
  readonly expansions: Readonly<Record<string, Expansion>>
  readonly post: Readonly<Record<string, (typeof postFields)[number]>>
  readonly user: Readonly<Record<string, (typeof userFields)[number]>>
  readonly userExpansions: Readonly<Record<string, UserExpansion>>
}

/** The names of a response: those of the older or of the newer vocabulary. */
export type Vocabulary = "old" | "new"

/**
 * Members that an object must have under the new names, and their values where they are unknown: by the kind of object,
 * then by the member that holds them. Source: `required` in X's OpenAPI document 2.167, which X's client for Python checks.
 */
export const requiredMembers = {
  post: {
    public_metrics: {
      repost_count: 0,
      reply_count: 0,
      like_count: 0,
      quote_count: 0,
      bookmark_count: 0,
      impression_count: 0,
    },
    scopes: { followers: false },
    withheld: { copyright: false, country_codes: [] },
  },
  user: {
    public_metrics: { followers_count: 0, following_count: 0, post_count: 0, listed_count: 0 },
    subscription: { subscribes_to_you: false },
  },
  media: { public_metrics: { view_count: 0 } },
} as const

/** Names that X was seen to accept in 2026-08, and those that they stand for. They belong to both vocabularies. */
const seenExpansions = { referenced_tweets: "referenced_tweets.id" } as const satisfies Readonly<
  Record<string, Expansion>
>
/** `username` shows what the expansion of that name follows. */
const seenPostFields = { rest_id: "id", username: "entities" } as const satisfies Readonly<
  Record<string, (typeof postFields)[number]>
>

/** The names that a parameter takes that chooses fields or expansions. */
export interface SelectableNames<Name extends string = string> {
  /** The kind of object whose fields the names choose, or expansions. */
  readonly chooses: "post" | "user" | "media" | "place" | "poll" | "expansions"
  /** The parameter's own names, which a refusal lists. */
  readonly listed: readonly string[]
  /** Every name that is accepted, and the older name of the same. */
  readonly meanings: Readonly<Record<Name, string>>
}

/** The fields that X has. A refusal is in its words, which list them. */
const postFieldsOfX = postFields.filter((name) => name !== "source_uri")

/** Names of each query parameter that chooses fields and expansions. */
export const selectableNames = {
  "tweet.fields": selectable("post", postFieldsOfX, {
    ...meaningThemselves(postFields),
    ...newNames.post,
    ...seenPostFields,
  }),
  "post.fields": selectable("post", inNewNames(postFieldsOfX), {
    ...meaningThemselves(postFields),
    ...newNames.post,
    ...seenPostFields,
  }),
  "user.fields": selectable("user", [...userFields, ...namesOf(newNames.user)].toSorted(), newNames.user),
  "media.fields": selectable("media", mediaFields, {}),
  "place.fields": selectable("place", placeFields, {}),
  "poll.fields": selectable("poll", pollFields, {}),
  expansions: selectable("expansions", [...expansions, ...namesOf(newNames.expansions)].toSorted(), {
    ...newNames.expansions,
    ...seenExpansions,
  }),
} as const satisfies Readonly<Record<string, SelectableNames>>

/** Names of `expansions` where users are the data. */
export const selectableUserExpansions = selectable(
  "expansions",
  [...userExpansions, ...namesOf(newNames.userExpansions)].toSorted(),
  newNames.userExpansions,
)

/** A query parameter that chooses fields or expansions. */
export type SelectionParameter = keyof typeof selectableNames

/** Names of the query parameters that choose fields and expansions. */
export const selectionParameters = Object.keys(selectableNames) as readonly SelectionParameter[]

const newExpansions: ReadonlySet<string> = new Set(
  [newNames.expansions, newNames.userExpansions].flatMap((names) => Object.keys(names)),
)

/** The vocabulary in which a request is answered. When it has names of both, it is the new one. */
export function vocabularyOf(request: {
  readonly "post.fields"?: readonly string[] | undefined
  readonly expansions?: readonly string[] | undefined
}): Vocabulary {
  const { expansions: expanded = [] } = request
  const isNew = request["post.fields"] !== undefined || expanded.some((name) => newExpansions.has(name))
  return isNew ? "new" : "old"
}

/** A name that only the newer vocabulary has for an expansion. */
type NewExpansion = keyof (typeof newNames)["expansions"] | keyof (typeof newNames)["userExpansions"]

/**
 * The vocabulary in which a request of this type is answered, as `vocabularyOf` decides it: both when the type leaves it open,
 * because `post.fields` may be absent or the names of the expansions are not known.
 */
export type VocabularyOf<Request> = ByFields<MemberOf<Request, "post.fields">, MemberOf<Request, "expansions">>

type MemberOf<Request, Name> = Name extends keyof Request ? Request[Name] : undefined

type ByFields<Fields, Expanded> = Fields extends undefined ? ByExpansions<Expanded> : "new"

type ByExpansions<Expanded> = Expanded extends readonly (infer Name)[]
  ? string extends Name
    ? Vocabulary
    : [Extract<Name, NewExpansion>] extends [never]
      ? "old"
      : // A list of unknown length may be without them.
        number extends Expanded["length"]
        ? Vocabulary
        : "new"
  : "old"

function selectable<Listed extends string, Other extends string>(
  chooses: SelectableNames["chooses"],
  listed: readonly Listed[],
  others: Readonly<Record<Other, string>>,
): SelectableNames<Listed | Other> {
  const meanings: Readonly<Record<Listed | Other, string>> = { ...meaningThemselves(listed), ...others }
  return { chooses, listed, meanings }
}

function meaningThemselves<Name extends string>(names: readonly Name[]): Readonly<Record<Name, string>> {
  return Object.fromEntries<string>(names.map((name) => [name, name])) as Record<Name, string>
}

function namesOf<Name extends string>(names: Readonly<Record<Name, string>>): readonly Name[] {
  return Object.keys(names) as Name[]
}

type PostField = (typeof postFields)[number]

/** The fields of a post by their newer names. */
function inNewNames(fields: readonly PostField[]): readonly (PostField | keyof typeof newNames.post)[] {
  const newer = new Map<PostField, keyof typeof newNames.post>(
    namesOf(newNames.post).map((name) => [newNames.post[name], name]),
  )
  return fields.map((name) => newer.get(name) ?? name).toSorted()
}

/** Default fields of each kind of object, shown when nothing is selected. Source: docs.x.com, "Fields", defaults. */
export const defaultFields = {
  post: ["id", "text", "edit_history_tweet_ids"],
  user: ["id", "name", "username"],
  media: ["media_key", "type"],
  place: ["id", "full_name"],
  poll: ["id", "options"],
} as const
