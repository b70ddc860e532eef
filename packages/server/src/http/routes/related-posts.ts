/** Mentions of a user; quotes and reposts of a post, and who reposted it. An unknown user or post is an error within a 200, as in timelines. */
import { pageSizes, paths, pathOf } from "@sluice/api"
import {
  MentionsQuery,
  PostByIdParams,
  PostsBody,
  QuotesQuery,
  RepostersQuery,
  RepostsQuery,
  UserParams,
  UsersPageBody,
} from "@sluice/api/schemas"
import type { FastifyReply, FastifyRequest } from "fastify"
import type { Static } from "typebox"
import { asId, type PostId, type UserId } from "../../model/ids.ts"
import { notFound, type Problem } from "../../model/problem.ts"
import type { PostSearchPage } from "../../queries/post-searches.ts"
import type { RelatedPostsRequest } from "../../queries/related-posts.ts"
import type { RepostersPage } from "../../queries/reposters.ts"
import { spanOf } from "../../queries/search-window.ts"
import { appOf } from "../auth.ts"
import { clientLeft, releaseWhen } from "../connections/client-left.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentPostsPage } from "../present/user-posts.ts"
import { presentReposters } from "../present/users.ts"
import { presentErrors } from "../problems.ts"
import { bearerRoute, boundParameters, postsRoute, responseSelectionOf } from "./route-schema.ts"
import { sendJson } from "./send-json.ts"
import { sendPosts } from "./send-posts.ts"
import { userSelectionOf } from "./users.ts"

/** Lists of posts that refer to a user or to a post, and of their authors. */
export function relatedPostRoutes(
  server: HttpServer,
  { relatedPosts, reposters, usage }: Pick<HttpDeps, "relatedPosts" | "reposters" | "usage">,
): void {
  const sendPage = (request: FastifyRequest, reply: FastifyReply) => (page: PostSearchPage) =>
    sendPosts({ request, reply, usage }, page.posts, presentPostsPage(page))

  /** GET /2/users/:id/mentions: a page of the posts that mention a user. */
  server.get(
    paths.mentions,
    postsRoute("List the posts that mention a user", PostsBody, { params: UserParams, querystring: MentionsQuery }),
    async (request, reply) => {
      const { id } = request.params
      const page = requestOf(pathOf(paths.mentions, { id }), request.query, pageSizes.mentions.default)
      return respond<PostSearchPage>(reply, notFound("user", "id", id), sendPage(request, reply), (left) =>
        relatedPosts.mentions(appOf(request).id, asId<UserId>(id), page, left),
      )
    },
  )
  /** GET /2/tweets/:id/quote_tweets: a page of the posts that quote a post. */
  server.get(
    paths.quotes,
    postsRoute("List the posts that quote a post", PostsBody, { params: PostByIdParams, querystring: QuotesQuery }),
    async (request, reply) => {
      const { id } = request.params
      const { exclude = [] } = request.query
      const page = { ...requestOf(pathOf(paths.quotes, { id }), request.query, pageSizes.quotes.default), exclude }
      return respond<PostSearchPage>(reply, notFound("tweet", "id", id), sendPage(request, reply), (left) =>
        relatedPosts.quotes(appOf(request).id, asId<PostId>(id), page, left),
      )
    },
  )
  /** GET /2/tweets/:id/retweets: a page of the reposts of a post. */
  server.get(
    paths.reposts,
    postsRoute("List the reposts of a post", PostsBody, { params: PostByIdParams, querystring: RepostsQuery }),
    async (request, reply) => {
      const { id } = request.params
      const page = requestOf(pathOf(paths.reposts, { id }), request.query, pageSizes.reposts.default)
      return respond<PostSearchPage>(reply, notFound("tweet", "id", id), sendPage(request, reply), (left) =>
        relatedPosts.reposts(appOf(request).id, asId<PostId>(id), page, left),
      )
    },
  )
  /** GET /2/tweets/:id/retweeted_by: a page of the users who reposted a post. */
  server.get(
    paths.reposters,
    bearerRoute("List the users who reposted a post", UsersPageBody, {
      params: PostByIdParams,
      querystring: RepostersQuery,
    }),
    async (request, reply) => {
      const { id } = request.params
      const { query } = request
      const page = {
        ...pageOf(pathOf(paths.reposters, { id }), query, pageSizes.reposts.default),
        selection: userSelectionOf(query),
      }
      return respond<RepostersPage>(
        reply,
        notFound("tweet", "id", id),
        (found) => sendJson(reply, presentReposters(found)),
        (left) => reposters.page(appOf(request).id, asId<PostId>(id), page, left),
      )
    },
  )
}

/** Sends the page that is found, or responds with a problem when the user or the post is not known. */
async function respond<Page extends { readonly release: () => void }>(
  reply: FastifyReply,
  unknown: Problem,
  send: (page: Page) => never,
  find: (left: AbortSignal) => Promise<Page | "unknown">,
) {
  const left = clientLeft(reply.raw)
  const outcome = await find(left)
  if (outcome === "unknown") return presentErrors([unknown])
  releaseWhen(left, outcome.release)
  return send(outcome)
}

type Query = Static<typeof MentionsQuery>

function requestOf(endpoint: string, query: Query, defaultSize: number): RelatedPostsRequest {
  return { ...pageOf(endpoint, query, defaultSize), selection: responseSelectionOf(query) }
}

function pageOf(
  endpoint: string,
  query: Pick<Query, "max_results" | "pagination_token" | "start_time" | "end_time" | "since_id" | "until_id">,
  defaultSize: number,
): Omit<RelatedPostsRequest, "selection"> {
  return {
    endpoint,
    span: spanOf(query),
    limit: query.max_results ?? defaultSize,
    token: query.pagination_token,
    parameters: boundParameters(query),
  }
}
