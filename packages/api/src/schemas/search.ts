/** Search over stored posts, and counts of what it finds. */
import { Type, type Static } from "typebox"
import { pageSizes, searchQueryCharactersMax } from "../limits.ts"
import {
  Errors,
  Id,
  Instant,
  listOf,
  oneOf,
  PaginationToken,
  optionalInstant,
  pageSize,
  query,
  queryOf,
  selection,
} from "./common.ts"

const spanParameters = {
  start_time: optionalInstant(
    "RFC 3339, inclusive: by the time in a post's id. Not together with since_id or until_id.",
  ),
  end_time: optionalInstant("RFC 3339, exclusive. Not together with since_id or until_id."),
  since_id: Type.Optional(Id),
  until_id: Type.Optional(Id),
  next_token: PaginationToken,
  pagination_token: PaginationToken,
}

/** Pairs of which the first must not come after the second. */
const ordered = {
  ...query,
  "x-ordered": [
    ["since_id", "until_id"],
    ["start_time", "end_time"],
  ],
} as const

const Query = Type.String({
  // X has words of its own for a query that is empty.
  minLength: 0,
  maxLength: searchQueryCharactersMax,
  description: "A rule, with the operators of search.",
})

const searchQuery = (sizes: { min: number; max: number; default: number }) =>
  Type.Object(
    {
      query: Query,
      max_results: pageSize(sizes),
      sort_order: Type.Optional(
        oneOf(["recency", "relevancy"], { default: "recency", description: "Newest first, or best first." }),
      ),
      ...spanParameters,
      ...selection,
    },
    ordered,
  )

/** Query of recent search. */
export const SearchRecentQuery = searchQuery(pageSizes.searchRecent)
export type SearchRecentQuery = Static<typeof SearchRecentQuery>

/** Query of full search. */
export const SearchAllQuery = searchQuery(pageSizes.searchAll)
export type SearchAllQuery = Static<typeof SearchAllQuery>

/** Query of counts, recent or of all. */
export const CountsQuery = Type.Object(
  {
    query: Query,
    granularity: Type.Optional(oneOf(["minute", "hour", "day"], { default: "hour" })),
    ...spanParameters,
    "search_count.fields": listOf(["end", "post_count", "start", "tweet_count"], {
      description: "Comma-separated. A response always has all of them.",
    }),
  },
  ordered,
)
export type CountsQuery = Static<typeof CountsQuery>

const Count = Type.Integer({ minimum: 0 })

/** Counts of the posts of a query by intervals, ascending, under both of X's names. */
export const CountsBody = Type.Object({
  data: Type.Array(Type.Object({ end: Instant, start: Instant, tweet_count: Count, post_count: Count })),
  meta: Type.Object({
    total_tweet_count: Count,
    total_post_count: Count,
    next_token: Type.Optional(Type.String()),
  }),
  errors: Errors,
})
export type CountsBody = Static<typeof CountsBody>

/** Query of the posts that mention a user. */
export const MentionsQuery = Type.Object(
  {
    max_results: pageSize(pageSizes.mentions),
    pagination_token: PaginationToken,
    since_id: Type.Optional(Id),
    until_id: Type.Optional(Id),
    start_time: optionalInstant("RFC 3339, inclusive: by the time in a post's id."),
    end_time: optionalInstant("RFC 3339, exclusive."),
    ...selection,
  },
  ordered,
)
export type MentionsQuery = Static<typeof MentionsQuery>

/** Query of the posts that quote a post. */
export const QuotesQuery = queryOf({
  max_results: pageSize(pageSizes.quotes),
  pagination_token: PaginationToken,
  exclude: listOf(["replies", "retweets"]),
  ...selection,
})
export type QuotesQuery = Static<typeof QuotesQuery>

/** Query of the reposts of a post. */
export const RepostsQuery = queryOf({
  max_results: pageSize(pageSizes.reposts),
  pagination_token: PaginationToken,
  ...selection,
})
export type RepostsQuery = Static<typeof RepostsQuery>
