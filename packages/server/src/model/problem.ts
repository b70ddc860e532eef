import { problemTypes, type ErrorObject, type ProblemType } from "@sluice/api"

/** Status codes that a problem may carry. */
export type ProblemStatus =
  | 400
  | 401
  | 403
  | 404
  | 405
  | 406
  | 408
  | 409
  | 413
  | 414
  | 415
  | 417
  | 429
  | 431
  | 500
  | 503

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
export function invalidRequest(
  message: string,
  parameters: Readonly<Record<string, readonly string[]>> = {},
): Problem {
  return invalidRequests([{ message, parameters }])
}

/** One fault of a request: X's message and parameters, and where that helps a `detail` of what would be right, told after it. */
export interface RequestFault {
  readonly message: string
  readonly parameters: Readonly<Record<string, readonly string[]>>
  readonly detail?: string
}

/** A request with several faults. Source: captures of X's 400: one entry in `errors` for each. */
export function invalidRequests(faults: readonly RequestFault[]): Problem {
  const told = faults.map(({ message, detail }) =>
    sentence(detail === undefined ? message : `${message}: ${detail}`),
  )
  return new Problem({
    status: 400,
    type: problemTypes.invalidRequest,
    title: "Invalid Request",
    detail: `One or more parameters to your request was invalid. ${told.join(" ")}`,
    causes: faults.map(({ message, parameters }, index) => ({ detail: told[index], message, parameters })),
  })
}

function sentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`
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

/** A rule that cannot be read. `details` says everything that is wrong with it. Source: captures of X's answers. */
export function invalidRule(value: string, details: readonly string[]): Problem {
  return new Problem({
    status: 400,
    type: problemTypes.invalidRules,
    title: "UnprocessableEntity",
    detail: details.join(" "),
    extras: { value, details },
  })
}

/** A rule that the app has already, under this id; or, without one, a second time in the same request. */
export function duplicateRule(value: string, id?: string): Problem {
  return new Problem({
    status: 409,
    type: problemTypes.duplicateRules,
    title: "DuplicateRule",
    detail:
      id === undefined
        ? "The rule stands more than once in this request."
        : `The app has this rule already, as [${id}].`,
    extras: id === undefined ? { value } : { value, id },
  })
}

/** A rule for which there is no room left. */
export function ruleOverCap(value: string, rulesMax: number): Problem {
  return new Problem({
    status: 403,
    type: problemTypes.ruleCap,
    title: "RuleCapExceeded",
    detail: `The app may have ${rulesMax} rules. Delete some before you add more.`,
    extras: { value },
  })
}

/** A rule to delete that is not there, or not the caller's. `named` is what it was named by. */
export function noSuchRule(named: { readonly id: string } | { readonly value: string }): Problem {
  return new Problem({
    status: 404,
    type: problemTypes.resourceNotFound,
    title: "Not Found Error",
    detail: "Rule does not exist",
    extras: { ...named, message: "Rule does not exist" },
  })
}

/** Something that is in the way of what was asked. */
export function conflict(detail: string): Problem {
  return new Problem({ status: 409, type: problemTypes.conflict, title: "Conflict", detail })
}

/** The store could not keep what it was given: the world's fault, and worth another try. */
export function storeUnavailable(cause: unknown): Problem {
  const problem = new Problem({
    status: 503,
    type: problemTypes.unavailable,
    title: "Service Unavailable",
    detail: "The store could not keep this. What was acknowledged is kept; send the rest again later.",
  })
  problem.cause = cause
  return problem
}

/** Posts cannot be compared with what rules ask for, and are not matched without it. `cause` says in a sentence why. */
export function embeddingsUnavailable(cause: Error): Problem {
  const problem = new Problem({
    status: 503,
    type: problemTypes.unavailable,
    title: "Service Unavailable",
    detail:
      `${cause.message} Posts are not matched without it, since rules ask for similarity. ` +
      "What was acknowledged is kept; send the rest again later.",
  })
  problem.cause = cause
  return problem
}

/** A rule that is right, and that could not be served now. `cause` says in a sentence why. */
export function ruleNotServed(value: string, cause: Error): Problem {
  const problem = new Problem({
    status: 503,
    type: problemTypes.unavailable,
    title: "Service Unavailable",
    detail: `${cause.message} The rule asks for similarity and needs it; try again later.`,
    extras: { value },
  })
  problem.cause = cause
  return problem
}

/** Why a stream connection that was open has ended. Source: docs.x.com, "Handling disconnections". */
export function streamEnded(disconnect: keyof typeof streamEnds): Problem {
  return new Problem({
    ...streamEnds[disconnect],
    type: problemTypes.operationalDisconnect,
    title: "operational-disconnect",
    extras: { disconnect_type: disconnect },
  })
}

const streamEnds = {
  OperationalDisconnect: {
    status: 503,
    detail: "This stream has been disconnected for operational reasons. Connect again in a moment.",
  },
  SlowReader: {
    status: 408,
    detail: "This stream has been disconnected because the client did not read what was sent for too long.",
  },
  InternalError: {
    status: 500,
    detail: "This stream has been disconnected by an internal error. Connect again with backfill_minutes.",
  },
} as const

/** A stream connection that cannot be opened, and why. Source: captures of X's answers. */
export function streamRefused(issue: keyof typeof streamRefusals): Problem {
  return new Problem({
    ...streamRefusals[issue],
    type: problemTypes.streamingConnection,
    title: "ConnectionException",
    extras: { connection_issue: issue },
  })
}

const streamRefusals = {
  RuleConfigurationIssue: {
    status: 409,
    detail:
      "You must define rules using the POST /2/tweets/search/stream/rules endpoint before connecting to filtered stream.",
  },
  TooManyConnections: {
    status: 429,
    detail: "This stream is currently at the maximum allowed connection limit.",
  },
} as const
