/** Posts: pages of them, the stream, and ingest. */
import { Type, type Static } from "typebox"
import {
  ownPageSizes,
  backfillMinutesMax,
  compliancePartitions,
  pageSizes,
  postIdsMax,
  samplePartitions,
} from "../limits.ts"
import type { Envelope, Post } from "../envelope.ts"
import {
  Id,
  Instant,
  Errors,
  PageMeta,
  query,
  listOf,
  oneOf,
  selection,
  PaginationToken,
  pageSize,
  type WithPosts,
  exactly,
  queryOf,
  OpenPost,
  optionalInstant,
} from "./common.ts"

/** A page of posts. `data` is spliced from stored bytes, so its items are not checked on the way out. */
export const PostsBody = Type.Object({
  data: Type.Optional(Type.Array(OpenPost)),
  includes: Type.Optional(Type.Object({}, { additionalProperties: true })),
  meta: Type.Optional(PageMeta),
  errors: Errors,
})

export type PostsBody = WithPosts<Static<typeof PostsBody>, readonly Post[]>

/** Posts by their ids, in the order of the request. `data` is absent when none was found, and `errors` when all were. */
export const PostsByIdBody = Type.Object({
  data: Type.Optional(Type.Array(OpenPost)),
  includes: Type.Optional(Type.Object({}, { additionalProperties: true })),
  errors: Errors,
})
export type PostsByIdBody = WithPosts<Static<typeof PostsByIdBody>, readonly Post[]>

/** A post by its id. `data` is absent when it was not found; then `errors` says so. */
export const PostByIdBody = Type.Object({
  data: Type.Optional(OpenPost),
  includes: Type.Optional(Type.Object({}, { additionalProperties: true })),
  errors: Errors,
})
export type PostByIdBody = WithPosts<Static<typeof PostByIdBody>, Post>

/** The rules that a post matched, oldest first. */
const MatchingRules = Type.Array(
  Type.Object({ id: Id, tag: Type.String({ description: "The rule's tag; empty if it has none." }) }),
)

/** A line of the stream. Keep-alives are empty lines; a disconnect message has `errors`. */
export const StreamedBody = Type.Object(
  {
    data: Type.Optional(OpenPost),
    includes: Type.Optional(Type.Object({}, { additionalProperties: true })),
    matching_rules: Type.Optional(MatchingRules),
    errors: Errors,
  },
  { description: "One line; lines end with CR LF." },
)

/** A line of the stream, or the body of a delivery. `matching_rules_omitted`: the number of further rules that matched. */
export type StreamedBody = WithPosts<Static<typeof StreamedBody>, Post> & {
  readonly matching_rules_omitted?: number
}

/** Response of `POST /sluice/v1/posts`, or the line of one batch. `rejected` holds the first hundred rejected lines. */
export const IngestedBody = Type.Object({
  lines: Type.Integer({ description: "Lines that this response covers." }),
  done: Type.Optional(Type.Boolean({ description: "With ack=batch: true on the last line of the response." })),
  accepted: Type.Integer(),
  duplicates: Type.Integer({ description: "Posts that are stored already, or deleted." }),
  rejected: Type.Array(Type.Object({ line: Type.Integer(), title: Type.String(), detail: Type.String() })),
  rejected_count: Type.Integer(),
  deleted: Type.Optional(Type.Integer({ description: "Lines that ask for deletions. Absent when none does." })),
  undelivered: Type.Optional(
    Type.Integer({
      description:
        "With deliver=false: matches of the accepted posts with the rules of the app, or of all apps for an operator. Absent for an ingest token.",
    }),
  ),
})
export type IngestedBody = Static<typeof IngestedBody>

/** The response to a body of posts with `ack=batch`. */
export const AcknowledgedLines = Type.String({
  description:
    "With ack=batch: lines of JSON in the form of the response without it, one for each durable batch. The last line has the counts of the whole body and done, or is the error that ended it.",
})

/** Path parameters of routes about one user. */
export const UserParams = exactly({ id: Id })

/** The beginning and the end of a stream. */
const streamSpan = {
  backfill_minutes: Type.Optional(Type.Integer({ minimum: 0, maximum: backfillMinutesMax, default: 0 })),
  start_time: optionalInstant(
    "RFC 3339, within the last 24 hours, inclusive. The stream sends what came from then until end_time, and ends.",
  ),
  end_time: optionalInstant("RFC 3339, exclusive; now without it. Only with start_time."),
}

const ordered = { ...query, "x-ordered": [["start_time", "end_time"]] }

/** Query of the stream: its beginning and end, and the fields of posts to show. */
export const StreamQuery = Type.Object({ ...streamSpan, ...selection }, ordered)

/** Query of a partition of a compliance stream. */
export const ComplianceQuery = Type.Object(
  { partition: Type.Integer({ minimum: 1, maximum: compliancePartitions }), ...streamSpan },
  ordered,
)

const eventAt = { event_at: Instant }

/** A line of a compliance stream: a post or a user that was deleted. */
export const ComplianceBody = Type.Object(
  {
    data: Type.Object({
      delete: Type.Optional(
        Type.Object({
          tweet: Type.Object({
            id: Id,
            author_id: Type.Optional({ ...Id, description: "Absent when the server never had the post." }),
          }),
          ...eventAt,
        }),
      ),
      user_delete: Type.Optional(Type.Object({ user: Type.Object({ id: Id }), ...eventAt })),
    }),
  },
  { description: "One line; lines end with CR LF." },
)
export type ComplianceBody = Static<typeof ComplianceBody>

/** Query of the 1 % sample. */
export const SampleQuery = queryOf({
  backfill_minutes: Type.Optional(Type.Integer({ minimum: 0, maximum: backfillMinutesMax, default: 0 })),
  ...selection,
})

/** Query of a partition of the 10 % sample. */
export const Sample10Query = queryOf({
  partition: Type.Integer({ minimum: 1, maximum: samplePartitions }),
  ...SampleQuery.properties,
})

/** Query of a user's posts: the posts to return, and the fields to show. */
export const UserPostsQuery = Type.Object(
  {
    max_results: pageSize(pageSizes.userPosts),
    pagination_token: PaginationToken,
    since_id: Type.Optional(Id),
    until_id: Type.Optional(Id),
    start_time: optionalInstant("RFC 3339. Inclusive."),
    end_time: optionalInstant("RFC 3339. Exclusive."),
    exclude: listOf(["replies", "retweets"]),
    ...selection,
  },
  {
    ...query,
    "x-ordered": [
      ["since_id", "until_id"],
      ["start_time", "end_time"],
    ],
  },
)
export type UserPostsQuery = Static<typeof UserPostsQuery>

/** Query of posts by their ids: which, and the fields to show. */
export const PostsByIdQuery = queryOf({
  ids: Type.Array(Id, { minItems: 1, maxItems: postIdsMax, description: "Comma-separated." }),
  ...selection,
})
export type PostsByIdQuery = Static<typeof PostsByIdQuery>

/** Query of a post by its id: the fields to show. */
export const PostByIdQuery = queryOf(selection)
export type PostByIdQuery = Static<typeof PostByIdQuery>

/** Body of `POST /2/tweets`. X takes more members; a post has no media, poll, place or audience of its own here. */
export const CreatePostBody = exactly({
  text: Type.String({
    description: "At most 280 characters as X counts them: a link is 23, an emoji or a Chinese letter 2.",
  }),
  reply: Type.Optional(
    exactly({
      in_reply_to_tweet_id: Id,
      exclude_reply_user_ids: Type.Optional(
        Type.Array(Id, { maxItems: 100, description: "Without effect: a reply names no users by itself." }),
      ),
    }),
  ),
  quote_tweet_id: Type.Optional(Id),
  edit_options: Type.Optional(exactly({ previous_post_id: Id })),
})
export type CreatePostBody = Static<typeof CreatePostBody>

/** A post that was written. */
export const CreatedPostBody = Type.Object({
  data: Type.Object({ id: Id, text: Type.String(), edit_history_tweet_ids: Type.Array(Id) }),
})
export type CreatedPostBody = Static<typeof CreatedPostBody>

/** The response to the deletion of a post: without `data` when it was not there. */
export const PostDeletedBody = Type.Object({
  data: Type.Optional(Type.Object({ deleted: Type.Boolean() })),
  errors: Errors,
})
export type PostDeletedBody = Static<typeof PostDeletedBody>

/** Most posts and users that one request deletes. Ours. */
const deletedMax = 1_000

/** Body of `POST /sluice/v1/deletions`: at least one id. */
export const CreateDeletionsBody = exactly({
  post_ids: Type.Optional(Type.Array(Id, { minItems: 1, maxItems: deletedMax })),
  user_ids: Type.Optional(Type.Array(Id, { minItems: 1, maxItems: deletedMax })),
})
export type CreateDeletionsBody = Static<typeof CreateDeletionsBody>

/** How many of the posts and users were there. All are remembered. */
export const DeletionsBody = Type.Object({
  data: Type.Object({
    posts_deleted: Type.Integer({ description: "Posts that were stored, or that others included." }),
    users_deleted: Type.Integer({ description: "Users that were known. Their posts are deleted in the background." }),
  }),
})
export type DeletionsBody = Static<typeof DeletionsBody>

/** Path parameters of a post by its id, as X calls it. */
export const PostByIdParams = exactly({ id: Id })

/** Query of ingest: how to acknowledge posts, and whether to deliver their matches. */
export const IngestQuery = queryOf({
  ack: Type.Optional(oneOf(["batch"], { description: "Responds with a line for each durable batch." })),
  deliver: Type.Optional(
    Type.Boolean({
      default: true,
      description: "False: stores and matches the posts, but appends no match to a match log, so none is delivered.",
    }),
  ),
})
export type IngestQuery = Static<typeof IngestQuery>

/** Body of `POST /sluice/v1/posts`: one envelope on each line. */
export const NdjsonBody = Type.String({
  description: 'Lines of JSON, each an envelope {"data":post,"includes":{…}}.',
})

/** An envelope as it was sent, normalised. */
const StoredEnvelope = Type.Object(
  { data: OpenPost, includes: Type.Optional(Type.Object({}, { additionalProperties: true })) },
  { additionalProperties: true },
)

/** A page of stored posts, newest first. `data` is spliced from stored bytes, so its items are not checked on the way out. */
export const StoredPostsBody = Type.Object({
  data: Type.Array(StoredEnvelope),
  meta: PageMeta,
  errors: Errors,
})
export type StoredPostsBody = Omit<Static<typeof StoredPostsBody>, "data"> & { readonly data: readonly Envelope[] }

/** Longest name of a post, characters. Ours: a URI of AT Protocol has at most 8,192, and in practice fewer than 200. */
const postUriCharactersMax = 8_192

/** Query of a list of stored posts. */
export const StoredPostsQuery = queryOf({
  uri: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: postUriCharactersMax,
      description:
        "The `source_uri` of a post: the response is its newest version alone, or 404. Without other parameters.",
    }),
  ),
  max_results: pageSize(ownPageSizes.posts),
  pagination_token: PaginationToken,
})
export type StoredPostsQuery = Static<typeof StoredPostsQuery>

/** A match of a post: an entry of an app's match log. */
export const MatchOfPost = Type.Object({
  application_id: Id,
  position: Type.Integer({ description: "Position in the app's match log, from 1." }),
  matched_at: Instant,
  matching_rules: MatchingRules,
  matching_rules_omitted: Type.Optional(Type.Integer({ description: "Number of further rules that matched." })),
})
export type MatchOfPost = Static<typeof MatchOfPost>

/** A stored post with its matches. An app sees its own matches, an operator those of all apps. */
export const StoredPostBody = Type.Object({ data: StoredEnvelope, matches: Type.Array(MatchOfPost) })
export type StoredPostBody = { readonly data: Envelope; readonly matches: readonly MatchOfPost[] }

/** Path parameters of routes about one post. */
export const PostParams = exactly({ post_id: Id })

/** Query of the matches as they come: where they begin. */
export const MatchesQuery = queryOf({
  after: Type.Optional(
    Type.Integer({ minimum: 0, description: "Begins after this position, with the matches that are still stored." }),
  ),
  recent: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 100, default: 0, description: "Begins with this many of the newest matches." }),
  ),
})

/** A line of `GET /sluice/v1/matches`. Keep-alives are empty lines; a disconnect message has `errors`. */
export const MatchLine = Type.Object(
  {
    position: Type.Optional(Type.Integer({ description: "Position in the app's match log, from 1." })),
    matched_at: Type.Optional(Instant),
    data: Type.Optional(OpenPost),
    includes: Type.Optional(Type.Object({}, { additionalProperties: true })),
    matching_rules: Type.Optional(MatchingRules),
    matching_rules_omitted: Type.Optional(Type.Integer()),
    errors: Errors,
  },
  { description: "One line; lines end with CR LF. The post is shown whole." },
)
export type MatchLine = WithPosts<Static<typeof MatchLine>, Post>
