import { problemTypes, type ErrorObject, type ProblemType } from "@sluice/api"

/** Status codes that a problem may carry. */
export type ProblemStatus = 400 | 401 | 403 | 404 | 405 | 406 | 408 | 409 | 413 | 414 | 415 | 417 | 429 | 431 | 500 | 503

/**
 * A refusal the caller can act on. Thrown anywhere, rendered once, in `http/`.
 * Anything else that reaches `http/` is our fault and renders as a bare 500.
 *
 * Source: docs.x.com, "Response codes and errors".
 */
export class Problem extends Error {
  override readonly name = "Problem"
  readonly status: ProblemStatus
  readonly type: ProblemType
  readonly title: string
  readonly detail: string
  /** X's own members beside the four, for example `parameters` or `connection_issue`. */
  readonly extras: Readonly<Record<string, unknown>>
  /** What is wrong, each by itself, when it is several things. */
  readonly causes: readonly Readonly<Record<string, unknown>>[]

  constructor(content: {
    status: ProblemStatus
    type: ProblemType
    title: string
    detail: string
    extras?: Readonly<Record<string, unknown>>
    causes?: readonly Readonly<Record<string, unknown>>[]
  }) {
    super(content.detail)
    this.status = content.status
    this.type = content.type
    this.title = content.title
    this.detail = content.detail
    this.extras = content.extras ?? {}
    this.causes = content.causes ?? []
  }

  /** The error as it stands in an `errors` array. */
  toErrorObject(): ErrorObject {
    const { title, type, detail, status, extras } = this
    return { ...extras, title, type, detail, status }
  }
}

/** A request that breaks a rule of its own. `parameters` names what was given, as X does. */
export function invalidRequest(message: string, parameters: Readonly<Record<string, readonly string[]>> = {}): Problem {
  return invalidRequests([{ message, parameters }])
}

/** A request with several faults. Source: captures of X's 400: one entry in `errors` for each. */
export function invalidRequests(
  faults: readonly { readonly message: string; readonly parameters: Readonly<Record<string, readonly string[]>> }[],
): Problem {
  return new Problem({
    status: 400,
    type: problemTypes.invalidRequest,
    title: "Invalid Request",
    detail: `One or more parameters to your request was invalid. ${faults.map((fault) => fault.message).join(" ")}`,
    causes: faults,
  })
}

/** Something that is not there, or not the caller's: the two must not be told apart. */
export function notFound(resource: string, parameter: string, id: string): Problem {
  return new Problem({
    status: 404,
    type: problemTypes.resourceNotFound,
    title: "Not Found Error",
    detail: `Could not find ${resource} with ${parameter}: [${id}].`,
    extras: { resource_type: resource, parameter, resource_id: id, value: id },
  })
}
