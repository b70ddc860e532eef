/**
 * Every refusal as one kind of body, whoever refuses: a route, Fastify, or Node's HTTP parser.
 *
 * The error's members stand at the top level, as X has them, and again in `errors`, as the contract has them, so
 * that a client may read either. `message` is there for clients that show nothing else (X's own SDK).
 */
import { STATUS_CODES } from "node:http"
import { problemTypes, type ErrorObject } from "@sluice/api"
import { invalidRequest, Problem, storeUnavailable, type ProblemStatus } from "../model/problem.ts"

/** Media type of problem bodies. Source: RFC 9457. */
export const problemContentType = "application/problem+json; charset=utf-8"

/** The body of a problem, as JSON text. Several causes have an entry each, with the four members of every error. */
export function renderProblem(problem: Problem): string {
  const error = problem.toErrorObject()
  const causes = problem.causes.map((cause) => causeObject(error, cause))
  return JSON.stringify({ ...error, message: problem.detail, errors: causes.length === 0 ? [error] : causes })
}

function causeObject(
  error: ErrorObject,
  cause: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { title, type, status } = error
  return { title, type, detail: error.detail, status, ...cause }
}

/** A problem that only its status tells about. Source: RFC 9457, `about:blank`. */
export function plainProblem(status: ProblemStatus, detail: string): Problem {
  return new Problem({ status, type: problemTypes.blank, title: STATUS_CODES[status] ?? "Error", detail })
}

/** No route for this path. */
export function noSuchRoute(path: string): Problem {
  return new Problem({
    status: 404,
    type: problemTypes.blank,
    title: "Not Found",
    detail: `There is nothing at [${shortened(path)}]. GET /openapi.json describes what there is.`,
  })
}

/** A route, but not for this method. */
export function methodNotAllowed(method: string, allowed: readonly string[]): Problem {
  return plainProblem(405, `This path does not take ${method}. It takes ${allowed.join(", ")}.`)
}

/** A body in a form that the route does not read. Without `expected` it reads none. */
export function unsupportedMediaType(expected: readonly string[]): Problem {
  const detail =
    expected.length === 0
      ? "This route takes no body."
      : `This route takes a body of the content type ${expected.join(" or ")}, and of no other.`
  return plainProblem(415, detail)
}

/** Our fault: says that, and nothing of what happened. */
export function internalProblem(): Problem {
  return new Problem({
    status: 500,
    type: problemTypes.internalError,
    title: "Internal Server Error",
    detail: "Something went wrong on this server's side. It is safe to try again.",
  })
}

/** A store without room to write: whatever was to be kept is not, and reads go on. Absent for everything else. */
export function storeProblem(error: unknown): Problem | undefined {
  return isStoreFull(error) ? storeUnavailable(error) : undefined
}

/** Seconds after which a request that got 503 is worth another try. Ours: what something is lacking for takes longer. */
export function retryAfterS(problem: Problem): number {
  return problem.type === problemTypes.unavailable ? 5 : 1
}

/** Errors lose their class on their way between threads; the code stays. Source: SQLite, "Result codes". */
function isStoreFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "SQLITE_FULL"
}

/** What Fastify itself refuses, in our words; absent for everything that is our fault. */
export function frameworkProblem(error: unknown, bodyTypes: readonly string[]): Problem | undefined {
  if (!(error instanceof Error)) return undefined
  switch ((error as NodeJS.ErrnoException).code) {
    case "FST_ERR_BAD_URL":
      return invalidRequest("The path is not valid: its percent-encoding is broken")
    case "FST_ERR_MAX_PARAM_LENGTH":
      return plainProblem(414, "The path is too long.")
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return unsupportedMediaType(bodyTypes)
    default:
      return undefined
  }
}

/** Text of a caller's that is repeated to them: cut, so that an answer never grows with a request. */
export function shortened(text: string): string {
  return text.length > charactersMax ? `${text.slice(0, charactersMax).toWellFormed()}…` : text
}

const charactersMax = 200
