/** The bodies that the server reads: JSON for the routes that declare one, and nothing else unless a route adds a parser. */
import type { FastifyRequest } from "fastify"
import type { IncomingMessage } from "node:http"
import { invalidRequests, type Problem } from "../../model/problem.ts"
import type { BodyReader } from "./body-reader.ts"
import type { HttpServer } from "../deps.ts"
import { unsupportedMediaType } from "../problems.ts"
import { parseJson } from "./strict-json.ts"

/** Adds the parsers. Throws what `BodyReader` throws, 415 for other types, and 400 for an unexpected body. */
export function addBodyParsers(server: HttpServer, bodies: BodyReader): void {
  server.removeAllContentTypeParsers()
  server.addContentTypeParser("application/json", async (request: FastifyRequest, payload: IncomingMessage) =>
    bodies.read(payload, { bytesMax: request.routeOptions.bodyLimit }),
  )
  // A body of any other type may only be empty, which for a chunked one shows at its end.
  server.addContentTypeParser("*", async (request: FastifyRequest, payload: IncomingMessage) =>
    bodies.read(payload, { bytesMax: 0, tooLarge: () => unsupportedMediaType(bodyTypesOf(request)) }),
  )
  server.addHook("preValidation", (request, reply, done) => {
    bodies.holdUntilSent(request.raw, reply.raw)
    done(isUnexpectedBody(request) ? unexpectedBody() : undefined)
  })
}

/** The content types of the bodies that the request's route reads. */
export function bodyTypesOf({ routeOptions }: FastifyRequest): readonly string[] {
  const body = routeOptions?.schema?.body as { readonly content?: object } | undefined
  return body === undefined ? [] : Object.keys(body.content ?? { "application/json": {} })
}

/** True if a route without a body got one. `{}` and `null` are accepted, as some clients always send them. */
function isUnexpectedBody({ body, routeOptions }: FastifyRequest): boolean {
  if (!Buffer.isBuffer(body) || body.length === 0 || routeOptions.schema?.body !== undefined) return false
  const value = parseJson(body)
  return typeof value !== "object" || (value !== null && Object.keys(value).length > 0)
}

/** Refused rather than ignored: a client that sends fields in a body would believe that they are used. */
function unexpectedBody(): Problem {
  return invalidRequests([
    {
      message: "This route takes no body",
      parameters: {},
      detail: "Its parameters stand in the path and in the query string.",
    },
  ])
}
