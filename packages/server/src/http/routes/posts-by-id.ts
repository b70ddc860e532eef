import { paths } from "@sluice/api"
import { PostByIdBody, PostByIdParams, PostByIdQuery, PostsByIdBody, PostsByIdQuery } from "@sluice/api/schemas"
import type { FastifyReply } from "fastify"
import type { FieldSelection } from "../../model/field-selection.ts"
import { asId, type AppId, type PostId } from "../../model/ids.ts"
import type { FoundPosts } from "../../queries/posts-by-id.ts"
import { appOf } from "../auth.ts"
import { clientLeft, releaseWhen } from "../connections/client-left.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentPostById, presentPostsById } from "../present/posts-by-id.ts"
import { postsRoute, responseSelectionOf } from "./route-schema.ts"
import { sendPosts } from "./send-posts.ts"

/** Look-ups of posts, which belong to no app. A post that is not there is an error within a 200. */
export function postByIdRoutes(server: HttpServer, { postsById, usage }: Pick<HttpDeps, "postsById" | "usage">): void {
  /** GET /2/tweets: posts in the order of their ids, each once. */
  server.get(
    paths.postsById,
    postsRoute("Get posts by their ids", PostsByIdBody, { querystring: PostsByIdQuery }),
    async (request, reply) => {
      const { query } = request
      const ids = [...new Set(query.ids.map((id) => asId<PostId>(id)))]
      const found = await find(reply, appOf(request).id, { ids, selection: responseSelectionOf(query) })
      return sendPosts({ request, reply, usage }, found.posts, presentPostsById(found))
    },
  )

  /** GET /2/tweets/:id: one post. */
  server.get(
    paths.postById,
    postsRoute("Get a post by its id", PostByIdBody, { params: PostByIdParams, querystring: PostByIdQuery }),
    async (request, reply) => {
      const ids = [asId<PostId>(request.params.id)]
      const found = await find(reply, appOf(request).id, { ids, selection: responseSelectionOf(request.query) })
      return sendPosts({ request, reply, usage }, found.posts, presentPostById(found))
    },
  )

  /** Finds posts, whose memory is given back when the client has received the response or has left. */
  async function find(
    reply: Pick<FastifyReply, "raw">,
    appId: AppId,
    request: { readonly ids: readonly PostId[]; readonly selection: FieldSelection },
  ): Promise<FoundPosts> {
    const left = clientLeft(reply.raw)
    const found = await postsById.find(appId, request, left)
    releaseWhen(left, found.release)
    return found
  }
}
