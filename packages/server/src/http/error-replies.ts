import type { FastifyReply } from "fastify"
import { appHeader } from "@sluice/api/schemas"
import {
  invalidRequest,
  notFound,
  Problem,
  RateLimited,
  recordDamaged,
  storeUnavailable,
  storeUnreachable,
  storeUnreadable,
} from "../model/problem.ts"
import type { AllowedMethods } from "./allowed-methods.ts"
import { bodyTypesOf } from "./input/body-parsers.ts"
import { authorizedHeaderNames, rateLimitHeaders } from "./default-headers.ts"
import type { HttpDeps } from "./deps.ts"
import {
  internalProblem,
  plainProblem,
  problemContentType,
  renderProblem,
  retryAfterS,
  unsupportedMediaType,
} from "./problems.ts"

/** Sends the response of a request that failed with `error`. Any error but a `Problem` is logged and becomes a bare 500. */
export type ErrorReply = (error: unknown, reply: FastifyReply) => FastifyReply

/** The one place where errors of requests become responses. */
export function createErrorReply({
  clock,
  events,
  allowedMethods,
}: Pick<HttpDeps, "clock" | "events"> & { readonly allowedMethods: AllowedMethods }): ErrorReply {
  return (error, reply) => {
    const problem = problemOf(error, reply)
    if (!(error instanceof Problem) && problem.status === 500) events.failed({ where: "http", error })
    if (problem.status === 401) {
      for (const name of authorizedHeaderNames) void reply.removeHeader(name)
      void reply.header("www-authenticate", "Bearer")
    }
    if (problem.status === 405) void reply.header("allow", allowedMethods.of(reply.request.url).join(", "))
    if (problem instanceof RateLimited) void reply.headers(rateLimitHeaders(problem, clock.nowMs()))
    else if (problem.status === 503 || problem.status === 429) {
      void reply.header("retry-after", String(retryAfterS(problem)))
    }
    return reply.code(problem.status).type(problemContentType).send(renderProblem(problem))
  }
}

function problemOf(error: unknown, reply: FastifyReply): Problem {
  if (error instanceof Problem) return error
  const code = error instanceof Error && "code" in error ? error.code : undefined
  switch (code) {
    // The store's errors are known by their codes. A full store still serves reads.
    case "STORE_FULL":
      return storeUnavailable(error)
    case "STORE_UNAVAILABLE":
      return storeUnreachable(error)
    // Since the guard found the app.
    case "APP_REVOKED": {
      const named = reply.request.headers[appHeader]
      return typeof named === "string" ? notFound("app", "Sluice-App", named) : plainProblem(401, "Unauthorized")
    }
    case "RECORD_DAMAGED":
      return recordDamaged(error)
    case "STORE_DAMAGED":
    case "STORE_UNREADABLE":
      return storeUnreadable(error)
    // The others are Fastify's, for an invalid request.
    case "FST_ERR_BAD_URL":
      return invalidRequest("The path is not valid: its percent-encoding is broken")
    case "FST_ERR_MAX_PARAM_LENGTH":
      return plainProblem(414, "The path is too long.")
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return unsupportedMediaType(bodyTypesOf(reply.request))
    default:
      return internalProblem()
  }
}
