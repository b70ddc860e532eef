/** Posts: pages of them, the stream, and ingest. */
import { Type, type Static } from "typebox"
import { ownPageSizes, backfillMinutesMax, pageSizes } from "../limits.ts"
import type { Envelope, Post } from "../envelope.ts"
import {
  Id,
  Instant,
  Errors,
  PageMeta,
  query,
  listOf,
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

/** The rules that a post matched, oldest first. */
const MatchingRules = Type.Array(
  Type.Object({ id: Id, tag: Type.String({ description: "Empty for a rule without one." }) }),
)

/** A line of the stream. Keep-alives are empty lines; what ends the connection comes as `errors`. */
export const StreamedBody = Type.Object(
  {
    data: Type.Optional(OpenPost),
    includes: Type.Optional(Type.Object({}, { additionalProperties: true })),
    matching_rules: Type.Optional(MatchingRules),
    errors: Errors,
  },
  { description: "One of the lines, which end with CR LF." },
)

/** A line of the stream, or the body of a delivery. `matching_rules_omitted`: how many more rules matched. */
export type StreamedBody = WithPosts<Static<typeof StreamedBody>, Post> & {
  readonly matching_rules_omitted?: number
}

/** Answer of `POST /sluice/v1/posts`, and of each batch of it. `rejected` holds the first hundred. */
export const IngestedBody = Type.Object({
  lines: Type.Integer({ description: "Lines that this answer is about." }),
  done: Type.Optional(Type.Boolean({ description: "With ack=batch: true on the last line of the answer." })),
  accepted: Type.Integer(),
  duplicates: Type.Integer(),
  rejected: Type.Array(Type.Object({ line: Type.Integer(), title: Type.String(), detail: Type.String() })),
  rejected_count: Type.Integer(),
  undelivered: Type.Optional(
    Type.Integer({
      description:
        "With deliver=false: matches of the accepted posts with rules of the app, or of all apps for an operator. Absent for a token that only sends posts.",
    }),
  ),
})
export type IngestedBody = Static<typeof IngestedBody>

/** The response to a body of posts with `ack=batch`. */
export const AcknowledgedLines = Type.String({
  description:
    "With ack=batch: lines of JSON, each as the response without it, for a batch that is durable. The last has the counts of the whole body and done, or is the error that ended it.",
})

/** Path parameters of routes about one user. */
export const UserParams = exactly({ id: Id })

/** Where the stream begins and ends, and what it shows of posts. */
export const StreamQuery = Type.Object(
  {
    backfill_minutes: Type.Optional(Type.Integer({ minimum: 0, maximum: backfillMinutesMax, default: 0 })),
    start_time: optionalInstant(
      "RFC 3339, within the last 24 hours, inclusive. The stream holds the matches made from then on until end_time, and ends.",
    ),
    end_time: optionalInstant("RFC 3339, exclusive; now without it. Only with start_time."),
    ...selection,
  },
  { ...query, "x-ordered": [["start_time", "end_time"]] },
)

/** Which posts of a user to return, and what to show of them. */
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

/** How to acknowledge posts, and whether their matches are delivered. */
export const IngestQuery = queryOf({
  ack: Type.Optional(Type.String({ enum: ["batch"], description: "One line of answer for each durable batch." })),
  deliver: Type.Optional(
    Type.Boolean({
      default: true,
      description: "false stores and matches the posts, and delivers no match: none is appended to a match log.",
    }),
  ),
})

/** Body of `POST /sluice/v1/posts`: one envelope a line. */
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

/** Which of the stored posts to return. */
export const StoredPostsQuery = queryOf({
  max_results: pageSize(ownPageSizes.posts),
  pagination_token: PaginationToken,
})

/** A match of a post: an entry of an app's match log. */
export const MatchOfPost = Type.Object({
  application_id: Id,
  position: Type.Integer({ description: "In the app's match log, from 1." }),
  matched_at: Instant,
  matching_rules: MatchingRules,
  matching_rules_omitted: Type.Optional(Type.Integer({ description: "How many more rules matched." })),
})
export type MatchOfPost = Static<typeof MatchOfPost>

/** A post as it is stored, and what it matched. An app sees its own matches, an operator those of all apps. */
export const StoredPostBody = Type.Object({ data: StoredEnvelope, matches: Type.Array(MatchOfPost) })
export type StoredPostBody = { readonly data: Envelope; readonly matches: readonly MatchOfPost[] }

/** Path parameters of routes about one post. */
export const PostParams = exactly({ post_id: Id })

/** Where the matches begin. */
export const MatchesQuery = queryOf({
  after: Type.Optional(
    Type.Integer({ minimum: 0, description: "A position: the matches after it, those that are still stored." }),
  ),
  recent: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 100, default: 0, description: "Begins with so many of the newest matches." }),
  ),
})

/** A line of `GET /sluice/v1/matches`. Keep-alives are empty lines; what ends the connection comes as `errors`. */
export const MatchLine = Type.Object(
  {
    position: Type.Optional(Type.Integer({ description: "In the app's match log, from 1." })),
    matched_at: Type.Optional(Instant),
    data: Type.Optional(OpenPost),
    includes: Type.Optional(Type.Object({}, { additionalProperties: true })),
    matching_rules: Type.Optional(MatchingRules),
    matching_rules_omitted: Type.Optional(Type.Integer()),
    errors: Errors,
  },
  { description: "One of the lines, which end with CR LF. The post is shown whole." },
)
export type MatchLine = WithPosts<Static<typeof MatchLine>, Post>
