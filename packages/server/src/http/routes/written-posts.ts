import { paths } from "@sluice/api"
import { CreatedPostBody, CreatePostBody } from "@sluice/api/schemas"
import { asId } from "../../model/ids.ts"
import { actorOf } from "../auth.ts"
import { clientLeft } from "../connections/client-left.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentWrittenPost } from "../present/written-posts.ts"
import { bearerRoute, problemResponses } from "./route-schema.ts"

/** Posts that apps write. */
export function writtenPostRoutes(server: HttpServer, { postWriter }: Pick<HttpDeps, "postWriter">): void {
  const { schema } = bearerRoute("Write a post", CreatedPostBody, { body: CreatePostBody })

  /** POST /2/tweets: writes a post, a reply, a quote or a newer version, and responds when it is durable. */
  server.post(
    paths.postsById,
    { schema: { ...schema, response: { 201: CreatedPostBody, ...problemResponses } } },
    async (request, reply) => {
      const { text, reply: answer, quote_tweet_id: quoted, edit_options: edit } = request.body
      const written = await postWriter.write(
        actorOf(request),
        {
          text,
          ...(answer !== undefined && { answeredId: asId(answer.in_reply_to_tweet_id) }),
          ...(quoted !== undefined && { quotedId: asId(quoted) }),
          ...(edit !== undefined && { editedId: asId(edit.previous_post_id) }),
        },
        clientLeft(reply.raw),
      )
      void reply.code(201)
      return presentWrittenPost(written)
    },
  )
}
