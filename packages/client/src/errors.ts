import { problemText } from "./problem-text.ts"

/** What a request or a stream connection can fail with, aside from the reason of its signal. */
export abstract class ClientError extends Error {}

/** A response that is not 2xx, in the words of the server. */
export class ApiError extends ClientError {
  override readonly name = "ApiError"
  readonly status: number
  /** The response's body; `undefined` when it is not JSON. */
  readonly body: unknown
  /** True when the body has the form of X's errors. */
  readonly isProblem: boolean
  /** What the body says beyond `message`. */
  readonly details: readonly string[]
  /** How long the server asks the client to wait, ms; `undefined` when it does not. */
  readonly retryAfterMs: number | undefined

  constructor(status: number, body: unknown, retryAfterMs?: number) {
    const text = problemText(body)
    super(text?.message ?? `The server answered with status ${String(status)}.`)
    this.status = status
    this.body = body
    this.isProblem = text !== undefined
    this.details = text?.details ?? []
    this.retryAfterMs = retryAfterMs
  }
}

/** No response: nobody listens, the connection broke, or it took too long. */
export class ConnectionError extends ClientError {
  override readonly name = "ConnectionError"
  /** Nobody listens at the address. */
  readonly isRefused: boolean

  constructor(url: string, cause: unknown) {
    const reason = reasonOf(cause)
    super(`No answer from ${url}: ${reason}.`, { cause })
    this.isRefused = reason === reasons["ECONNREFUSED"]
  }
}

/** A response that is not what the API promises: not JSON, without an end, or pages in a circle. */
export class ResponseError extends ClientError {
  override readonly name = "ResponseError"
}

/** True for errors that may pass by themselves: no connection, too many requests, or a server that is down. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ConnectionError) return true
  return error instanceof ApiError && [429, 502, 503, 504].includes(error.status)
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was closed",
  ENOTFOUND: "there is no host of that name",
  EAI_AGAIN: "the host's name could not be looked up",
  ETIMEDOUT: "the connection timed out",
  UND_ERR_SOCKET: "the connection was closed",
  UND_ERR_CONNECT_TIMEOUT: "the connection timed out",
  UND_ERR_HEADERS_TIMEOUT: "it takes too long",
  UND_ERR_BODY_TIMEOUT: "it takes too long",
}

/** Why fetch failed: the first known code in the chain of causes, and in the attempts at each address of a host. */
function reasonOf(error: unknown): string {
  if (error instanceof DOMException && error.name === "TimeoutError") return "it takes too long"
  for (let at = error; at instanceof Error; at = at instanceof AggregateError ? (at.errors[0] ?? at.cause) : at.cause) {
    const { code } = at as { readonly code?: string }
    if (code !== undefined && reasons[code] !== undefined) return reasons[code]
    if (at.cause === undefined && !(at instanceof AggregateError)) return at.message
  }
  return error instanceof Error ? error.message : String(error)
}
