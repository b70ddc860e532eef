import { paths } from "@sluice/api"
import { CreateDeletionsBody, DeletionsBody, PostByIdParams, PostDeletedBody } from "@sluice/api/schemas"
import type { DeletionRequest } from "../../model/deletion.ts"
import { asId, type PostId, type UserId } from "../../model/ids.ts"
import { invalidRequest } from "../../model/problem.ts"
import { actorOf } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentDeletions, presentPostDeleted } from "../present/deletions.ts"
import { bearerRoute } from "./route-schema.ts"

/** Posts that their authors delete. */
export function ownPostDeletionRoutes(server: HttpServer, { deletions }: Pick<HttpDeps, "deletions">): void {
  /** DELETE /2/tweets/:id: deletes a post of the user for whom the request is made, with all its versions. */
  server.delete(
    paths.postById,
    bearerRoute("Delete a post", PostDeletedBody, { params: PostByIdParams }),
    async (request) => {
      const id = asId<PostId>(request.params.id)
      const { app, userId } = actorOf(request)
      return presentPostDeleted(id, await deletions.deleteOwn(id, { appId: app.id, userId }))
    },
  )
}

/** Posts and users that the operator, or a source of posts, deletes. */
export function deletionRoutes(server: HttpServer, { deletions }: Pick<HttpDeps, "deletions">): void {
  /** POST /sluice/v1/deletions: deletes posts and users, and does not store them again for a time. */
  server.post(
    paths.deletions,
    bearerRoute("Delete posts and users", DeletionsBody, { body: CreateDeletionsBody }),
    async ({ body: { post_ids: postIds = [], user_ids: userIds = [] } }) => {
      if (postIds.length + userIds.length === 0) throw invalidRequest("Give `post_ids`, `user_ids` or both.")
      const requests: readonly DeletionRequest[] = [
        ...[...new Set(postIds.map(asId<PostId>))].map((id) => ({ kind: "post", id }) as const),
        ...[...new Set(userIds.map(asId<UserId>))].map((id) => ({ kind: "user", id }) as const),
      ]
      return presentDeletions(requests, await deletions.delete(requests))
    },
  )
}
