/**
 * Every error response has the same kind of body, whether a route, Fastify or Node's HTTP parser refuses the request.
 *
 * The error's members stand at the top level, as in X's responses, and again in `errors`, as in X's OpenAPI document, so
 * that a client may read either. `message` stands in both for clients that show nothing else: X's own SDK reads it at the
 * top, x-ruby, twarc2 and go-twitter in each entry.
 */
import { problemTypes, type ErrorObject } from "@sluice/api"
import { Problem, type ProblemStatus } from "../model/problem.ts"
import { truncate } from "../model/truncate.ts"

// Not imported, as in `node-server.ts`.
const { STATUS_CODES } = process.getBuiltinModule("node:http")

/** Media type of problem bodies. Source: RFC 9457. */
export const problemContentType = "application/problem+json; charset=utf-8"

/** Renders the body of a problem as JSON text. Each of several causes has an entry, with the members of every error. */
export function renderProblem(problem: Problem): string {
  const error = problem.toErrorObject()
  const causes = problem.causes.map((cause) => causeObject(error, cause))
  return JSON.stringify({ ...error, errors: causes.length === 0 ? [error] : causes })
}

function causeObject(error: ErrorObject, cause: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { title, type, detail, status, message } = error
  return { title, type, detail, status, message, ...cause }
}

/** A problem that its status alone identifies. Source: RFC 9457, `about:blank`. */
export function plainProblem(status: ProblemStatus, detail: string): Problem {
  return new Problem({ status, type: problemTypes.blank, title: STATUS_CODES[status] ?? "Error", detail })
}

const whatThereIs = "GET /openapi.json describes what there is."

/** No route has this path. */
export function noSuchRoute(path: string): Problem {
  return plainProblem(404, `There is nothing at [${truncate(path)}]. ${whatThereIs}`)
}

/** X has this path, and Sluice does not offer it. */
export function notOfferedHere({ matter, reason }: { readonly matter: string; readonly reason: string }): Problem {
  const has = "It has the posts that it received, and the users that came with them."
  return plainProblem(404, `Sluice does not offer ${matter}. ${reason} ${has} ${whatThereIs}`)
}

/** A route has this path, but not this method. */
export function methodNotAllowed(method: string, allowed: readonly string[]): Problem {
  return plainProblem(405, `This path does not take ${method}. It takes ${allowed.join(", ")}.`)
}

/** A body whose content type the route does not read. Without `expected` it reads no body. */
export function unsupportedMediaType(expected: readonly string[]): Problem {
  const detail =
    expected.length === 0
      ? "This route takes no body."
      : `This route takes a body of the content type ${expected.join(" or ")}, and of no other.`
  return plainProblem(415, detail)
}

/** Our fault. Reveals nothing about the cause. */
export function internalProblem(): Problem {
  return new Problem({
    status: 500,
    type: problemTypes.internalError,
    title: "Internal Server Error",
    detail: "Something went wrong on this server's side. It is safe to try again.",
  })
}

/**
 * Seconds after which a client should retry a 429 or a 503, where the problem does not know. Ours: an unavailable dependency
 * takes longer than a restart.
 */
export function retryAfterS(problem: Problem): number {
  if (problem.retryAfterMs !== undefined) return Math.ceil(problem.retryAfterMs / 1000)
  return problem.type === problemTypes.unavailable ? 5 : 1
}

/** The member `errors` of a response that is not a refusal: an entry for each problem in order; nothing when there is none. */
export function presentErrors(problems: readonly Problem[]): { errors?: ErrorObject[] } {
  return problems.length === 0 ? {} : { errors: problems.map((problem) => problem.toErrorObject()) }
}
