/** Which bodies the server reads: JSON for the routes that declare one, and nothing else unless a route adds a parser. */
import { bodyBytesMax } from "@sluice/api"
import type { FastifyRequest } from "fastify"
import type { IncomingMessage } from "node:http"
import { invalidRequests, type Problem } from "../model/problem.ts"
import type { HttpServer } from "./deps.ts"
import { plainProblem, unsupportedMediaType } from "./problems.ts"
import { parseJson } from "./strict-json.ts"

/** Adds the parsers. A client has `msMax` to send a body. Throws 408, 413 and 415, and 400 for an unexpected body. */
export function addBodyParsers(server: HttpServer, msMax: number): void {
  server.removeAllContentTypeParsers()
  server.addContentTypeParser("application/json", async (_request: FastifyRequest, payload: IncomingMessage) =>
    readBody(payload, { bytesMax: bodyBytesMax, msMax }),
  )
  // A body of any other type may only be empty, which for a chunked one shows at its end.
  server.addContentTypeParser("*", async (request: FastifyRequest, payload: IncomingMessage) =>
    readBody(payload, { bytesMax: 0, msMax, tooLarge: () => unsupportedMediaType(bodyTypesOf(request)) }),
  )
  server.addHook("preValidation", (request, _reply, done) => {
    done(isUnexpectedBody(request) ? unexpectedBody() : undefined)
  })
}

/** The content types of the bodies that the request's route reads. */
export function bodyTypesOf({ routeOptions }: FastifyRequest): readonly string[] {
  const body = routeOptions?.schema?.body as { readonly content?: object } | undefined
  return body === undefined ? [] : Object.keys(body.content ?? { "application/json": {} })
}

/** Whether a route without a body got one. `{}` and `null` are accepted, as some clients always send them. */
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

/**
 * The bytes of a whole body. Throws `tooLarge()` (default: 413) beyond `bytesMax`, 408 after `msMax`, and 400 when the
 * client disconnects.
 */
export async function readBody(
  request: IncomingMessage,
  limits: { bytesMax: number; msMax: number; tooLarge?: () => Problem },
): Promise<Buffer> {
  const { bytesMax, msMax } = limits
  const { tooLarge = () => plainProblem(413, `The body is larger than ${bytesMax} bytes.`) } = limits
  if (Number(request.headers["content-length"] ?? 0) > bytesMax) throw tooLarge()
  const chunks: Buffer[] = []
  let bytes = 0
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const timer = setTimeout(() => {
    reject(plainProblem(408, `The body did not arrive within ${msMax / 1000} s.`))
  }, msMax)
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length
    if (bytes > bytesMax) reject(tooLarge())
    else chunks.push(chunk)
  }
  const onEnd = (): void => resolve(Buffer.concat(chunks, bytes))
  const onError = (): void => reject(plainProblem(400, "The body ended before it was complete."))
  request.on("data", onData).once("end", onEnd).once("error", onError)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    // The error listener stays: a client that disconnects later must not crash the process.
    request.off("data", onData).off("end", onEnd)
    // Further bytes are discarded until the connection closes.
    request.resume()
  }
}
