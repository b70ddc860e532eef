/** Search over stored posts, and counts of what it finds. */
import { pageSizes, paths } from "@sluice/api"
import { CountsBody, CountsQuery, PostsBody, SearchAllQuery, SearchRecentQuery } from "@sluice/api/schemas"
import type { FastifyReply, FastifyRequest } from "fastify"
import type { Static } from "typebox"
import { checkWindow, countedTimes, recentMs, searchSpan, spanOf } from "../../queries/search-window.ts"
import { appOf } from "../auth.ts"
import { clientLeft, releaseWhen } from "../connections/client-left.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentCounts } from "../present/search.ts"
import { presentPostsPage } from "../present/user-posts.ts"
import { bearerRoute, boundParameters, pageTokenOf, postsRoute, responseSelectionOf } from "./route-schema.ts"
import { sendPosts } from "./send-posts.ts"

/** How far back a search reaches; `undefined`: to the first post. */
type Reach = number | undefined

/** Search and counts. */
export function searchRoutes(
  server: HttpServer,
  {
    postSearches,
    searchCounts,
    searchedRules,
    usage,
    limits,
    clock,
  }: Pick<HttpDeps, "postSearches" | "searchCounts" | "searchedRules" | "usage" | "limits" | "clock">,
): void {
  const isAsX = limits.profile !== "none"
  const searchAt =
    (endpoint: typeof paths.searchRecent | typeof paths.searchAll, defaultSize: number, reachMs: Reach) =>
    async (request: FastifyRequest<{ Querystring: Static<typeof SearchRecentQuery> }>, reply: FastifyReply) => {
      const { query } = request
      const nowMs = clock.nowMs()
      const left = clientLeft(reply.raw)
      const pageToken = pageTokenOf(query)
      const pageRequest = {
        endpoint,
        rule: searchedRules.parse(query.query),
        span: searchSpan(query, nowMs, { reachMs, isAsX, isContinued: pageToken.token !== undefined }),
        isRanked: query.sort_order === "relevancy",
        leadsBack: false,
        limit: query.max_results ?? defaultSize,
        ...pageToken,
        selection: responseSelectionOf(query),
        parameters: boundParameters(query),
      }
      const page = await postSearches.page(appOf(request).id, pageRequest, left)
      releaseWhen(left, page.release)
      return sendPosts({ request, reply, usage }, page.posts, presentPostsPage(page))
    }

  const countsAt =
    (endpoint: typeof paths.countsRecent | typeof paths.countsAll, reachMs: Reach) =>
    async (request: FastifyRequest<{ Querystring: Static<typeof CountsQuery> }>, reply: FastifyReply) => {
      const { query } = request
      const nowMs = clock.nowMs()
      const rule = searchedRules.parse(query.query)
      const pageToken = pageTokenOf(query)
      checkWindow(query, nowMs, { reachMs, isAsX, isContinued: pageToken.token !== undefined })
      const countsRequest = {
        endpoint,
        rule,
        span: spanOf(query),
        granularity: query.granularity ?? "hour",
        ...countedTimes(query, nowMs, { reachMs, isAsX }),
        ...pageToken,
        parameters: boundParameters(query),
      }
      return presentCounts(await searchCounts.page(appOf(request).id, countsRequest, clientLeft(reply.raw)))
    }

  /** GET /2/tweets/search/recent: posts of the last seven days that a query matches. */
  server.get(
    paths.searchRecent,
    postsRoute("Search the posts of the last seven days", PostsBody, { querystring: SearchRecentQuery }),
    searchAt(paths.searchRecent, pageSizes.searchRecent.default, recentMs),
  )
  /** GET /2/tweets/search/all: all stored posts that a query matches. */
  server.get(
    paths.searchAll,
    postsRoute("Search all stored posts", PostsBody, { querystring: SearchAllQuery }),
    searchAt(paths.searchAll, pageSizes.searchAll.default, undefined),
  )
  /** GET /2/tweets/counts/recent: how many posts of the last seven days a query matches, by intervals. */
  server.get(
    paths.countsRecent,
    bearerRoute("Count the posts of the last seven days", CountsBody, { querystring: CountsQuery }),
    countsAt(paths.countsRecent, recentMs),
  )
  /** GET /2/tweets/counts/all: how many stored posts a query matches, by intervals. */
  server.get(
    paths.countsAll,
    bearerRoute("Count all stored posts", CountsBody, { querystring: CountsQuery }),
    countsAt(paths.countsAll, undefined),
  )
}
