import { problemTypes, type DisconnectType, type ErrorObject, type ProblemType } from "@sluice/api"
import type { AppId, PostId, UserId } from "./ids.ts"
import { truncate, truncateParameter } from "./truncate.ts"

/** Status codes that a problem may carry. */
export type ProblemStatus =
  | 400
  | 401
  | 402
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
  /** X's own members in addition to the four, for example `parameters` or `connection_issue`. */
  readonly extras: Readonly<Record<string, unknown>>
  /** The single errors, when there are several. */
  readonly causes: readonly Readonly<Record<string, unknown>>[]
  /** After how long the request may succeed, where that is known. */
  readonly retryAfterMs?: number

  constructor(content: {
    status: ProblemStatus
    type: ProblemType
    title: string
    detail: string
    extras?: Readonly<Record<string, unknown>>
    causes?: readonly Readonly<Record<string, unknown>>[]
    retryAfterMs?: number
    /** The error behind it, for the log alone. */
    cause?: unknown
  }) {
    super(content.detail, "cause" in content ? { cause: content.cause } : undefined)
    this.status = content.status
    this.type = content.type
    this.title = content.title
    this.detail = content.detail
    this.extras = content.extras ?? {}
    this.causes = content.causes ?? []
    if (content.retryAfterMs !== undefined) this.retryAfterMs = content.retryAfterMs
  }

  /** The problem as an entry of an `errors` array. */
  toErrorObject(): ErrorObject {
    const { title, type, detail, status, extras } = this
    return { ...extras, title, type, detail, status, message: detail }
  }
}

/** Too many requests of a kind; they may be made again after a while. Source: clients' fixtures of X's response. */
export class RateLimited extends Problem {
  /** Most requests in the window. */
  readonly limit: number
  declare readonly retryAfterMs: number

  constructor({ limit, retryAfterMs }: { limit: number; retryAfterMs: number }) {
    const title = "Too Many Requests"
    super({ status: 429, type: problemTypes.blank, title, detail: title, retryAfterMs })
    this.limit = limit
  }
}

/** The app has got as many posts in this month as it may, until a time. Source: a recorded response of X. */
export function usageCapped(appId: AppId, retryAfterMs?: number): Problem {
  return new Problem({
    status: 429,
    type: problemTypes.usageCapped,
    title: "UsageCapExceeded",
    detail: "Usage cap exceeded: Monthly product cap",
    extras: { account_id: appId, product_name: "sluice", period: "Monthly", scope: "Product" },
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
}

/** The operator has taken the app's credit. Source: a response of X that several programs quote. */
export function noCredits(): Problem {
  return new Problem({
    status: 402,
    type: problemTypes.credits,
    title: "CreditsDepleted",
    detail: "Your enrolled account does not have any credits",
  })
}

/** A request with one fault. `parameters` names what was given, as X does. */
export function invalidRequest(message: string, parameters: Readonly<Record<string, readonly string[]>> = {}): Problem {
  return invalidRequests([{ message, parameters }])
}

/** One fault of a request: X's message and parameters, and sometimes a `detail` that says what would be right. */
export interface RequestFault {
  readonly message: string
  readonly parameters: Readonly<Record<string, readonly string[]>>
  readonly detail?: string
}

/** A request with several faults. Source: captures of X's 400: one entry in `errors` for each. */
export function invalidRequests(faults: readonly RequestFault[]): Problem {
  return withFaults(faults, truncate)
}

/** The same for the parameters of a query string or a path, of which X repeats whole lists. */
export function invalidParameters(faults: readonly RequestFault[]): Problem {
  return withFaults(faults, truncateParameter)
}

function withFaults(faults: readonly RequestFault[], cut: (value: string) => string): Problem {
  const details = faults.map(({ message, detail }) =>
    sentence(detail === undefined ? message : `${message}: ${detail}`),
  )
  return new Problem({
    status: 400,
    type: problemTypes.invalidRequest,
    title: "Invalid Request",
    detail: `One or more parameters to your request was invalid. ${details.join(" ")}`,
    causes: faults.map(({ message, parameters }, index) => ({
      detail: details[index],
      message,
      // They came from the client, so they may have any length.
      parameters: Object.fromEntries(
        Object.entries(parameters).map(([name, values]) => [truncate(name), values.map(cut)]),
      ),
    })),
  })
}

function sentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`
}

/** A post that may not be written or deleted. Source: X's response to duplicates. */
export function forbiddenPost(detail: string): Problem {
  return new Problem({ status: 403, type: problemTypes.blank, title: "Forbidden", detail })
}

/** A stream that an operator has not opened to the app. Source: X's response; the detail is ours. */
export function notEnrolled(appId: AppId): Problem {
  return new Problem({
    status: 403,
    type: problemTypes.clientForbidden,
    title: "Client Forbidden",
    detail:
      "The compliance streams are open to apps whose operator allows it: `compliance_streams` among the app's limits.",
    extras: { client_id: appId, reason: "client-not-enrolled" },
  })
}

/** Something that does not exist, or is not the caller's: the response must not show which. */
export function notFound(resource: string, parameter: string, id: string): Problem {
  return notThere(`Could not find ${resource} with ${parameter}: [${id}].`, {
    resource_type: resource,
    parameter,
    resource_id: id,
    value: id,
  })
}

function notThere(detail: string, extras: Problem["extras"] = {}): Problem {
  return new Problem({
    status: 404,
    type: problemTypes.resourceNotFound,
    title: "Not Found Error",
    detail,
    extras,
  })
}

/** Longest rule that X knows. Source: docs.x.com, "Building a rule". */
const ruleCharactersMax = 2_048

/** A rule as an error repeats it: whole, as X does, since clients find their rule by it, unless it is too long for any rule. */
function ruleShown(value: string): string {
  return value.length > ruleCharactersMax ? truncate(value) : value
}

/** Further missing objects, when the first thousand have an error each. */
export function furtherNotFound(): Problem {
  return notThere("Could not find further objects that the expansions ask for.")
}

/** A rule that does not parse. `details` says everything that is wrong with it. Source: captures of X's responses. */
export function invalidRule(value: string, details: readonly string[]): Problem {
  const bounded = boundedDetails(details)
  return new Problem({
    status: 400,
    type: problemTypes.invalidRules,
    title: "UnprocessableEntity",
    detail: bounded.join(" "),
    extras: { value: ruleShown(value), details: bounded },
  })
}

/** Most characters that say what is wrong with one rule; a request may hold a thousand invalid ones. Ours. */
const detailsCharactersMax = 1_000

/** The first of the details, cut where they become too long; at least one. */
function boundedDetails(details: readonly string[]): readonly string[] {
  const kept: string[] = []
  let left = detailsCharactersMax
  for (const detail of details) {
    if (left <= 0) return [...kept, `… and ${details.length - kept.length} more`]
    kept.push(detail.length > left ? `${detail.slice(0, left).toWellFormed()}…` : detail)
    left -= detail.length
  }
  return kept
}

/** A rule that the app has already, under this id; without an id, one that the request holds twice. */
export function duplicateRule(value: string, id?: string): Problem {
  return new Problem({
    status: 409,
    type: problemTypes.duplicateRules,
    title: "DuplicateRule",
    detail:
      id === undefined
        ? "The rule stands more than once in this request."
        : `The app has this rule already, as [${id}].`,
    extras: { value: ruleShown(value), ...(id !== undefined && { id }) },
  })
}

/** A rule beyond the number of rules that the app may have. */
export function ruleOverCap(value: string, rulesMax: number): Problem {
  return capExceeded(value, `The app may have ${rulesMax} rules. Delete some before you add more.`)
}

/** A rule that costs more steps of the matcher than the app's other rules leave. */
export function ruleOverCost(
  value: string,
  costs: { readonly cost: number; readonly costBefore: number; readonly costMax: number },
): Problem {
  const { cost, costBefore, costMax } = costs
  return capExceeded(
    value,
    `The rule costs ${cost} steps for a post, and the app's other rules ${costBefore} of the ${costMax} that it ` +
      "may have. Use fewer phrases, words near each other, areas and url_contains:, or delete rules.",
  )
}

function capExceeded(value: string, detail: string): Problem {
  const extras = { value: ruleShown(value) }
  return new Problem({ status: 403, type: problemTypes.ruleCap, title: "RuleCapExceeded", detail, extras })
}

/** A caller that has too many requests in progress. Source: docs.x.com, "Response codes and errors". */
export function tooManyRequests(detail: string): Problem {
  return new Problem({ status: 429, type: problemTypes.blank, title: "Too Many Requests", detail })
}

/** A rule to delete that does not exist, or is not the caller's. `named` is how the request named it. */
export function noSuchRule(named: { readonly id: string } | { readonly value: string }): Problem {
  const [parameter, shown] = "id" in named ? ["ids", named.id] : ["values", ruleShown(named.value)]
  return notThere("Rule does not exist", {
    ...("id" in named && named),
    resource_type: "rule",
    parameter,
    resource_id: shown,
    value: shown,
  })
}

/** The present state does not allow the request. */
export function conflict(detail: string): Problem {
  return new Problem({ status: 409, type: problemTypes.conflict, title: "Conflict", detail })
}

/** A service that is down for now. The request may be sent again later. */
function unavailable(detail: string, more: { cause?: unknown; extras?: Problem["extras"] } = {}): Problem {
  const { unavailable: type } = problemTypes
  return new Problem({ status: 503, type, title: "Service Unavailable", detail, ...more })
}

/** The end of the detail when posts could not be stored. */
const sendTheRest = "What was acknowledged is kept; send the rest again later."

/** The store could not keep what it was given. */
export function storeUnavailable(cause: unknown): Problem {
  return unavailable(`The store could not keep this. ${sendTheRest}`, { cause })
}

/** The store cannot be reached. A change that was sent may be stored all the same. */
export function storeUnreachable(cause: unknown): Problem {
  return unavailable("The store cannot be reached. Try again later.", { cause })
}

/** A part of the store cannot be read, which this request needs. */
export function storeUnreadable(cause: unknown): Problem {
  const detail = "A part of the store cannot be read that this needs. The server's log and `sluice doctor` say why."
  return unreadable("Unreadable", detail, cause)
}

/** A record that this request names is not as it was stored. */
export function recordDamaged(cause: unknown): Problem {
  const detail = "What is stored of this is damaged, so it is not used. `sluice doctor` says what to do."
  return unreadable("Damaged", detail, cause)
}

function unreadable(title: string, detail: string, cause: unknown): Problem {
  return new Problem({ status: 500, type: problemTypes.internalError, title, detail, cause })
}

/** A post that is not shown, since what is stored of it is damaged or cannot be read. */
export function damagedPost(id: PostId): Problem {
  return new Problem({
    status: 500,
    type: problemTypes.internalError,
    title: "Damaged",
    detail: `The stored post [${id}] is damaged, so it is not shown.`,
    extras: { resource_type: "post", parameter: "id", resource_id: id, value: id },
  })
}

/** A post or user for whom a response has no room. */
export function beyondRoom(resource: "tweet" | "user", id: PostId | UserId): Problem {
  const what = resource === "tweet" ? "post" : "user"
  return unavailable(
    `The ${what} [${id}] is not shown, since the ${what}s before it fill the response. Ask for it again, with fewer ids.`,
    { extras: { resource_type: resource, parameter: "ids", resource_id: id, value: id } },
  )
}

/** A user who is not shown, since what is stored of the user is damaged. */
export function damagedUser(id: UserId): Problem {
  return new Problem({
    status: 500,
    type: problemTypes.internalError,
    title: "Damaged",
    detail: `The stored user [${id}] is damaged, and is not shown until the user comes again.`,
    extras: { resource_type: "user", parameter: "id", resource_id: id, value: id },
  })
}

/** Ingest has no room for more posts. `why` is a sentence that says what takes it. */
export function ingestCrowded(why: string): Problem {
  return unavailable(`${why} ${sendTheRest}`)
}

/** The pages that are being read, or that clients have not received yet, take all the room there is. */
export function tooManyPages(): Problem {
  return unavailable("Too many pages of this application wait to be read. Read the pages that arrived, then try again.")
}

/** Rules ask for similarity, and posts cannot be compared now; they are not matched without it. */
export function embeddingsUnavailable(cause: Error): Problem {
  return unavailable(
    `${cause.message} Posts are not matched without it, since rules ask for similarity. ${sendTheRest}`,
    { cause },
  )
}

/** A valid rule that cannot be served now, since it asks for similarity. */
export function ruleNotServed(value: string, cause: Error): Problem {
  return unavailable(`${cause.message} The rule asks for similarity and needs it; try again later.`, {
    cause,
    extras: { value: ruleShown(value) },
  })
}

/** A valid rule whose test failed, for example by taking too much memory. */
export function ruleNotTried(value: string, cause: unknown): Problem {
  return unavailable("The rule could not be tried on these posts. Try it on fewer.", {
    cause,
    extras: { value: ruleShown(value) },
  })
}

/** A search on a server that keeps no search index. */
export function searchIsOff(): Problem {
  return notThere("This server does not search stored posts. Its operator can start it with SLUICE_SEARCH=on.")
}

/** A count of posts that takes too long in its newest interval. */
export function countTooCostly(cause: unknown): Problem {
  return new Problem({
    status: 503,
    type: problemTypes.blank,
    title: "Service Unavailable",
    detail:
      "The posts of one interval are too many to count with this query. Narrow the query, or choose a finer granularity.",
    cause,
  })
}

/** A page in order of relevancy, after the first, for which the posts of the first take too long to rank again. */
export function rankingTooCostly(cause: unknown): Problem {
  return new Problem({
    status: 503,
    type: problemTypes.blank,
    title: "Service Unavailable",
    detail:
      "The posts of the first page took too long to rank again. Repeat the request, narrow the query, or choose the order `recency`.",
    cause,
  })
}

/** Why a stream connection that was open has ended. Source: docs.x.com, "Handling disconnections". */
export function streamEnded(disconnect: DisconnectType): Problem {
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
  UpstreamOperationalDisconnect: {
    status: 503,
    detail: "This stream has been disconnected upstream for operational reasons.",
  },
  UpstreamUncleanDisconnect: {
    status: 503,
    detail: "This stream has been disconnected upstream, and not in an orderly way.",
  },
  ForceDisconnect: { status: 503, detail: "This stream has been disconnected by force." },
  ClientApplicationStateDegraded: {
    status: 503,
    detail: "This stream has been disconnected because the state of the client application is degraded.",
  },
  InvalidRules: { status: 503, detail: "This stream has been disconnected because its rules are invalid." },
} as const satisfies Record<DisconnectType, Pick<Problem, "status" | "detail">>

/** A stream connection that cannot be opened, and why. Source: captures of X's responses. */
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
