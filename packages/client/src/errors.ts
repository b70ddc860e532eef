import { problemText } from "./problem-text.ts"

/**
 * Kind of failure of a request or a stream connection. `problem`: the server reports an error, in X's form. `response`: the
 * response breaks the API's promise, such as a proxy's page, or pages in a circle. `connection`: no response came, or it
 * broke off.
 */
export type ApiErrorKind = "problem" | "response" | "connection"

/** One of the `errors` of a problem, with the members that its route gives it. */
export interface ApiErrorEntry {
  readonly type?: string
  readonly title?: string
  readonly detail?: string
  readonly message?: string
  readonly [member: string]: unknown
}

interface ApiErrorFields {
  readonly kind: ApiErrorKind
  readonly status?: number | undefined
  readonly type?: string | undefined
  readonly title: string
  readonly detail: string
  readonly errors?: readonly ApiErrorEntry[]
  readonly details?: readonly string[]
  readonly body?: unknown
  readonly retryAfterMs?: number | undefined
  readonly isUnreachable?: boolean
  readonly cause?: unknown
}

/** Statuses that may pass by themselves: too many requests, and a server or a proxy that is not there now. */
const transientStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** The one class of errors that this client throws, apart from the reason of a signal. */
export class ApiError extends Error {
  override readonly name: string = "ApiError"
  readonly kind: ApiErrorKind
  /** Status of the response; `undefined` without one. */
  readonly status: number | undefined
  /** X's type of the problem, a URL; `about:blank` where there is none. */
  readonly type: string
  readonly title: string
  readonly detail: string
  /** The single errors of which the problem consists, as the server sent them. */
  readonly errors: readonly ApiErrorEntry[]
  /** The same as sentences for people, without those that `message` holds. */
  readonly details: readonly string[]
  /** The whole body of the response; `undefined` when it is not JSON. */
  readonly body: unknown
  /** Wait that the server asks for, ms; `undefined` when it asks for none. */
  readonly retryAfterMs: number | undefined
  /** True when no connection was made: no server listens there, or no host has that name or that protocol. */
  readonly isUnreachable: boolean

  /** `message`: for people; by default the detail. */
  constructor(fields: ApiErrorFields, message: string = fields.detail) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause })
    this.kind = fields.kind
    this.status = fields.status
    this.type = fields.type ?? "about:blank"
    this.title = fields.title
    this.detail = fields.detail
    this.errors = fields.errors ?? []
    this.details = fields.details ?? []
    this.body = fields.body
    this.retryAfterMs = fields.retryAfterMs
    this.isUnreachable = fields.isUnreachable ?? false
  }

  /** True for a failure that may pass by itself: no connection, too many requests, or a server that is down. */
  get isTransient(): boolean {
    return this.kind === "connection" || (this.status !== undefined && transientStatuses.has(this.status))
  }
}

/** A response that is not 2xx. `body`: parsed, `undefined` when it is not JSON. */
export function refusal(status: number | undefined, body: unknown, retryAfterMs?: number): ApiError {
  const text = problemText(body)
  if (text === undefined) {
    const detail = `The server responded with status ${String(status)}.`
    return new ApiError({ kind: "response", status, title: "Unexpected Response", detail, body, retryAfterMs })
  }
  const { message, details } = text
  const problem = body as { readonly errors?: readonly ApiErrorEntry[] } & ApiErrorEntry
  const errors = Array.isArray(problem.errors) ? problem.errors : []
  const { type, title, detail } = typeof problem.title === "string" ? problem : (errors[0] ?? {})
  return new ApiError(
    {
      kind: "problem",
      status,
      type,
      title: title ?? "Error",
      detail: detail ?? message,
      errors,
      details,
      body,
      retryAfterMs,
    },
    message,
  )
}

/** A response that is not what the API promises. */
export function badResponse(detail: string): ApiError {
  return new ApiError({ kind: "response", title: "Unexpected Response", detail })
}

/** No response: no server listens, the connection broke, or the response took too long. */
export function noResponse(url: string, cause: unknown): ApiError {
  const reason = reasonOf(cause)
  const detail = `No response from ${url}: ${reason}.`
  const isUnreachable = unreachable.has(reason)
  return new ApiError({ kind: "connection", title: "No Response", detail, isUnreachable, cause })
}

const noHost = "there is no host of that name"
const refused = "connection refused"
const noRoute = "there is no route to the host"
const noTls = "it does not speak TLS; a server without TLS has a URL that begins with http:"
const untrusted = "its certificate is not trusted by this machine"
/** The words of `fetch` for a port that no client may use. Source: Fetch standard, "bad port". */
const badPort = "bad port"

/** Reasons for which no connection was made, and which rarely pass by themselves. */
const unreachable: ReadonlySet<string> = new Set([noHost, refused, noRoute, noTls, untrusted, badPort])

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: refused,
  ConnectionRefused: refused,
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  ERR_SSL_WRONG_VERSION_NUMBER: noTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: noTls,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was closed",
  ENOTFOUND: noHost,
  EAI_AGAIN: "the host's name could not be looked up",
  ETIMEDOUT: "the connection timed out",
  UND_ERR_SOCKET: "the connection was closed",
  UND_ERR_CONNECT_TIMEOUT: "the connection timed out",
  UND_ERR_HEADERS_TIMEOUT: "it takes too long",
  UND_ERR_BODY_TIMEOUT: "it takes too long",
}

/** Reason why fetch failed: the first known code in the chain of causes, and in the attempts at each address of a host. */
function reasonOf(error: unknown): string {
  if (error instanceof DOMException && error.name === "TimeoutError") return "it takes too long"
  for (let at = error; at instanceof Error; at = at instanceof AggregateError ? (at.errors[0] ?? at.cause) : at.cause) {
    const { code } = at as { readonly code?: string }
    if (code !== undefined && reasons[code] !== undefined) return reasons[code]
    if (at.cause === undefined && !(at instanceof AggregateError)) return at.message
  }
  return error instanceof Error ? error.message : String(error)
}
