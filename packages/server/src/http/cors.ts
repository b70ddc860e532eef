/**
 * Programs in browsers, on pages of other origins: which of them may read responses.
 *
 * Off unless an operator names origins. A request carries a token in a header, and never the cookie of the console: browsers send
 * that only with `access-control-allow-credentials`, which no response has. Source: the Fetch standard, "CORS protocol".
 */
import type { IncomingMessage } from "node:http"

/** Time for which a browser remembers the response to a preflight. Ours: a browser's bound is two hours or a day. */
const maxAgeSeconds = 7_200

/** Headers that programs may read in addition to those that the standard names. */
const exposed = "retry-after, x-rate-limit-limit, x-rate-limit-remaining, x-rate-limit-reset"

/** The origins: a set of them, or any. */
export type CorsOrigins = ReadonlySet<string> | "*"

/** The origins of a setting that `corsOriginList` has checked. */
export function corsOriginsOf(list: string): CorsOrigins {
  return list === "*" ? list : new Set(list.split(","))
}

/** Headers of a response to a program in a browser. */
export interface CorsReply {
  readonly headers: Readonly<Record<string, string>>
  /** The browser asks whether it may send a request: the headers are all of the response. */
  readonly isPreflight: boolean
}

/** The headers for a request; undefined when its page is not of one of the origins. */
export function corsReply(
  { method, headers }: Pick<IncomingMessage, "method" | "headers">,
  origins: CorsOrigins,
): CorsReply | undefined {
  const { origin } = headers
  if (origin === undefined || (origins !== "*" && !origins.has(origin))) return undefined
  const allowed = { "access-control-allow-origin": origins === "*" ? "*" : origin, vary: "origin" }
  const asked = headers["access-control-request-method"]
  if (method !== "OPTIONS" || asked === undefined) {
    return { headers: { ...allowed, "access-control-expose-headers": exposed }, isPreflight: false }
  }
  return {
    headers: {
      ...allowed,
      "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
      "access-control-allow-headers": "authorization, content-type, content-encoding",
      "access-control-max-age": String(maxAgeSeconds),
    },
    isPreflight: true,
  }
}
