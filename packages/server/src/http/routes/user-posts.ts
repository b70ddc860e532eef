import { pageSizes, paths } from "@sluice/api"
import { PostsBody, UserParams, UserPostsQuery } from "@sluice/api/schemas"
import type { Static } from "typebox"
import { asId, type PostId, type UserId } from "../../model/ids.ts"
import type { UserPostsRequest } from "../../queries/user-posts.ts"
import { appOf } from "../auth.ts"
import { clientLeft, releaseWhen } from "../connections/client-left.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentPostsPage, presentUnknownUser } from "../present/user-posts.ts"
import { boundParameters, postsRoute, responseSelectionOf } from "./route-schema.ts"
import { sendPosts } from "./send-posts.ts"

/** Users' timelines. */
export function userPostRoutes(server: HttpServer, { userPosts, usage }: Pick<HttpDeps, "userPosts" | "usage">): void {
  /** GET /2/users/:id/tweets: a page of a user's posts, in the names of the request. An unknown user is an error within a 200. */
  server.get(
    paths.userPosts,
    postsRoute("List the posts of a user", PostsBody, { params: UserParams, querystring: UserPostsQuery }),
    async (request, reply) => {
      const { id } = request.params
      const { query } = request
      const left = clientLeft(reply.raw)
      const pageRequest = {
        filter: filterOf(asId(id), query),
        limit: query.max_results ?? pageSizes.userPosts.default,
        token: query.pagination_token,
        selection: responseSelectionOf(query),
        parameters: boundParameters(query),
      }
      const outcome = await userPosts.page(appOf(request).id, pageRequest, left)
      if (outcome.kind === "unknown-user") return presentUnknownUser(id)
      releaseWhen(left, outcome.release)
      return sendPosts({ request, reply, usage }, outcome.posts, presentPostsPage(outcome))
    },
  )
}

type Query = Static<typeof UserPostsQuery>

function filterOf(
  userId: UserId,
  { since_id, until_id, start_time, end_time, exclude = [] }: Query,
): UserPostsRequest["filter"] {
  return {
    userId,
    ...(since_id !== undefined && { sinceId: asId<PostId>(since_id) }),
    ...(until_id !== undefined && { untilId: asId<PostId>(until_id) }),
    ...(start_time !== undefined && { startMs: Date.parse(start_time) }),
    ...(end_time !== undefined && { endMs: Date.parse(end_time) }),
    excludeReplies: exclude.includes("replies"),
    excludeReposts: exclude.includes("retweets"),
  }
}
