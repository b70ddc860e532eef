/** Checks of a request's head that neither Node's parser nor Fastify makes. Source: RFC 9112. */
import type { IncomingMessage } from "node:http"
import type { Problem } from "../../model/problem.ts"
import { plainProblem } from "../problems.ts"

/**
 * Maximum number of headers of a request. Ours: browsers send thirty, and each takes some 64 bytes of memory and its text,
 * so that a head of 16 KiB could take ten times its size.
 */
export const headersMax = 256

/** Maximum size of a request's head, including its first line. Ours. */
export const headBytesMax = 16_384

/** The 431 of a head that is too long or has too many headers. */
export function headTooLarge(): Problem {
  const bounds = `is larger than ${headBytesMax} bytes or has more than ${headersMax} headers`
  return plainProblem(431, `The head of the request ${bounds}.`)
}

/** The path and query of a request that names its whole URL. Source: RFC 9112 §3.2.2: servers accept both forms. */
export function originForm({ url = "/" }: IncomingMessage): string {
  if (url.startsWith("/")) return url
  const path = /^https?:\/\/[^/?#]*([^#]*)/i.exec(url)?.[1]
  if (path === undefined) return url
  return path.startsWith("/") ? path : `/${path}`
}

/**
 * The values of a header, given its name in lower case, in order: Node's `headers` keeps the first of several, and its
 * `headersDistinct` makes a list for every header of a request.
 */
export function headerValues({ rawHeaders }: Pick<IncomingMessage, "rawHeaders">, name: string): readonly string[] {
  const values: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] ?? ""
    if (given.length === name.length && given.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? "")
  }
  return values
}

/** The 400 of a head that Node's parser accepts although HTTP/1.1 forbids it, or this server does not support it. */
export function headProblem(request: IncomingMessage): Problem | undefined {
  const { httpVersion, headers } = request
  if (httpVersion !== "1.1" && httpVersion !== "1.0") {
    return plainProblem(400, "This server speaks HTTP/1.1 and HTTP/1.0.")
  }
  if (httpVersion === "1.1" && headerValues(request, "host").length !== 1) {
    return plainProblem(400, "A request names its host exactly once, in the header `Host`.")
  }
  if (request.rawHeaders.length > 2 * headersMax) {
    return headTooLarge()
  }
  const coding = headers["transfer-encoding"]
  return coding === undefined || coding.toLowerCase() === "chunked"
    ? undefined
    : plainProblem(400, "The only transfer coding that this server reads is chunked.")
}

/** True if the head rules a body out. The content type of an empty body is ignored. Source: RFC 9112 §6.3. */
export function hasNoBody({ headers }: IncomingMessage): boolean {
  const { "content-length": length = "0", "transfer-encoding": coding } = headers
  return length === "0" && coding === undefined
}
