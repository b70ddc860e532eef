import { ownPageSizes, paths } from "@sluice/api"
import { PostParams, StoredPostBody, StoredPostsBody, StoredPostsQuery } from "@sluice/api/schemas"
import { asId, type PostId } from "../../model/ids.ts"
import { invalidRequest, notFound } from "../../model/problem.ts"
import { scopeOf } from "../auth.ts"
import { clientLeft, releaseWhen } from "../connections/client-left.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentOnlyPost, presentStoredPost, presentStoredPosts } from "../present/stored-posts.ts"
import { allApps, bearerRoute } from "./route-schema.ts"
import { sendJson } from "./send-json.ts"

/** Posts as they are stored. Posts belong to no app; which rules a post matched is shown to the app of the rules. */
export function storedPostRoutes(server: HttpServer, { storedPosts }: Pick<HttpDeps, "storedPosts">): void {
  /** GET /sluice/v1/posts: pages, newest first; or the post of a name, alone. */
  server.get(
    paths.posts,
    bearerRoute("List stored posts", StoredPostsBody, { querystring: StoredPostsQuery }),
    async (request, reply) => {
      const { max_results: limit = ownPageSizes.posts.default, pagination_token: token, uri } = request.query
      if (uri !== undefined) {
        requireAlone(request.query)
        const post = await storedPosts.named(uri, scopeOf(request) ?? allApps)
        if (post === undefined) throw notFound("post", "uri", uri)
        return sendJson(reply, presentOnlyPost(post))
      }
      const left = clientLeft(reply.raw)
      const page = await storedPosts.page(scopeOf(request) ?? allApps, { limit, token }, left)
      releaseWhen(left, page.release)
      return sendJson(reply, presentStoredPosts(page))
    },
  )

  /** GET /sluice/v1/posts/:post_id: the post and what it matched. */
  server.get(
    paths.post,
    bearerRoute("Get a stored post and its matches", StoredPostBody, { params: PostParams }),
    async (request, reply) => {
      const id = asId<PostId>(request.params.post_id)
      const found = await storedPosts.one(id, scopeOf(request))
      if (found === undefined) throw notFound("post", "post_id", id)
      return sendJson(reply, presentStoredPost(found.post, found.matches))
    },
  )
}

function requireAlone({ uri: _uri, ...others }: StoredPostsQuery): void {
  const [other] = Object.entries(others)
  if (other === undefined) return
  const [name, value] = other
  throw invalidRequest("`uri` finds one post: leave the other parameters out.", { [name]: [String(value)] })
}
