import type { FastifyReply } from "fastify"
import type { HeldPages } from "../../queries/held-pages.ts"

/**
 * Responds with JSON text that `make` makes, once there is room for it among the pages that are held. The room is given
 * back when the client has taken the response in, or has left. Throws 503 when too many pages of the app wait.
 */
export async function heldPage(
  reply: FastifyReply,
  heldPages: HeldPages,
  appId: string,
  make: () => Promise<Buffer>,
): Promise<never> {
  const left = new AbortController()
  reply.raw.once("close", () => left.abort())
  const held = await heldPages.hold(appId, left.signal)
  try {
    const body = await make()
    held.resize(body.length)
    if (left.signal.aborted) held.release()
    else left.signal.addEventListener("abort", () => held.release(), { once: true })
    // Text that is JSON already: the schema's types do not know of it.
    return reply.type("application/json; charset=utf-8").send(body) as never
  } catch (error) {
    held.release()
    throw error
  }
}
