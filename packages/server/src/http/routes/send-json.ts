import type { FastifyReply } from "fastify"

/** Sends a body that is JSON text already. The result has the type of no body: the schema's types do not know of text. */
export function sendJson(reply: { readonly type: FastifyReply["type"] }, text: string | Buffer): never {
  return reply.type("application/json; charset=utf-8").send(text) as never
}
