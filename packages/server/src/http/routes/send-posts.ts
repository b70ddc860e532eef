import type { FastifyReply, FastifyRequest } from "fastify"
import type { UsageCounts } from "../../control/limits/usage.ts"
import type { RenderedPosts } from "../../model/render-post.ts"
import { appOf } from "../auth.ts"
import { sendJson } from "./send-json.ts"

/** Sends a body of posts as `sendJson` does, and counts the posts of its `data` for the app. The one place that counts pages. */
export function sendPosts(
  { request, reply, usage }: SendingPosts,
  { ids }: Pick<RenderedPosts, "ids">,
  body: string,
): never {
  // The answer to HEAD has no posts.
  if (request.method !== "HEAD") usage.count(appOf(request).id, ids)
  return sendJson(reply, body)
}

/** The request that the posts are for. */
export interface SendingPosts {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly usage: Pick<UsageCounts, "count">
}
