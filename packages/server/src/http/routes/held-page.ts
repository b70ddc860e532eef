import type { FastifyReply } from "fastify"
import type { HeldPages } from "../../queries/held-pages.ts"
import { clientLeft, releaseWhen } from "../connections/client-left.ts"
import { sendJson } from "./send-json.ts"

/**
 * Responds with JSON text that `make` makes, once there is room for it among the pages that are held. The room is given
 * back when the client has received the response, or has left. Throws 503 when too many pages of the app wait.
 */
export async function heldPage(
  reply: FastifyReply,
  heldPages: HeldPages,
  appId: string,
  make: () => Promise<Buffer>,
): Promise<never> {
  const left = clientLeft(reply.raw)
  const held = await heldPages.hold(appId, left)
  try {
    const body = await make()
    held.resize(body.length)
    releaseWhen(left, () => held.release())
    return sendJson(reply, body)
  } catch (error) {
    held.release()
    throw error
  }
}
