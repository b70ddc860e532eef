/**
 * Requests to other people's endpoints, which may misbehave in any way.
 *
 * One request has one deadline for everything: DNS, connect, TLS, the response's head and its body. It follows no
 * redirect, reads at most 64 KiB of a response and decompresses nothing.
 *
 * Connections are kept alive (`outbound-connections.ts`).
 *
 * It uses undici's `dispatch`, below its `request`, because a delivery needs a status and a few bytes, not a
 * stream and an abort signal per response: that is a third of the cost of a small request. undici is loaded with the
 * first request: a server is ready without it.
 */
import { LRUCache } from "lru-cache"
import type { Dispatcher } from "undici"
import type { AttemptOutcome } from "@sluice/api"
import {
  AddressRefused,
  codeOf,
  destinationFault,
  NameUnresolved,
  type OutboundPosture,
  type Resolve,
} from "./outbound-address.ts"
import {
  responseBytesMax,
  ResponseTooLarge,
  openConnections,
  type Connection,
  type Connections,
} from "./outbound-connections.ts"

/** A request to make. */
export interface OutboundRequest {
  readonly method: "GET" | "POST"
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** Bytes go out as they are, text as UTF-8. */
  readonly body?: string | Uint8Array
  /** For the whole, from now. */
  readonly deadlineMs: number
  /** Gives the request up. */
  readonly signal?: AbortSignal
}

/** How a request may fail without a whole response. */
type FailureOutcome = Extract<
  AttemptOutcome,
  "dns" | "blocked_address" | "connect" | "tls" | "timeout" | "invalid_response" | "too_large" | "local_error"
>

/** The received part of a response, complete or not. */
export interface ReceivedResponse {
  readonly status: number
  /** By name in lower case, as undici has them: a name that came several times may have a list. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Beginning of the body as UTF-8, of at most 4 KiB. */
  readonly bodyStart: string
  /** Bytes of the body that came. */
  readonly bodyBytes: number
}

/** The end of a request: a whole response of any status, or the failure. */
export type OutboundResult = (
  | {
      readonly kind: "response"
      readonly status: number
      /** As UTF-8; at most 64 KiB, since a longer one is a failure. */
      readonly body: string
      /** The `retry-after` header as it came. */
      readonly retryAfter?: string
    }
  | {
      readonly kind: "failure"
      readonly outcome: FailureOutcome
      /** In words. Nothing of a response's body, but of a certificate and of DNS there may be some. */
      readonly detail: string
    }
) & {
  /** Absent when no response began. */
  readonly received?: ReceivedResponse
}

/** Sends requests out. */
export interface Outbound {
  /** Never throws and never rejects for what the world does. */
  send(request: OutboundRequest): Promise<OutboundResult>
  /** Aborts requests in flight and closes all connections. */
  close(): Promise<void>
}

/** Most bytes of a body that a result repeats, for people to read. Ours. */
const bodyStartBytes = 4_096

/** Headers that each request has, unless it brings its own. */
export const ownHeaders: Readonly<Record<string, string>> = { "accept-encoding": "identity", "user-agent": "Sluice" }

/** Most interim (1xx) responses before the final one. */
const interimResponsesMax = 16

/** Codes of errors in certificates and in TLS itself. Source: Node, "X509 certificate error codes"; OpenSSL. */
const tlsError =
  /^(?:ERR_SSL_|ERR_TLS_|EPROTO|CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERROR_IN_C|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH)/

/** Codes of errors in the response, rather than on the way there. Source: undici, "Errors". */
const responseError = /^(?:UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_)/

/**
 * True for the errors of undici's own code on responses that its parser accepts: statuses below 100, a 100, an
 * unrequested switch of protocols.
 */
function isInvalidStatus(code: string, message: string): boolean {
  return code === "ERR_ASSERTION" || message === "bad response" || message === "bad upgrade"
}

/**
 * Codes of errors whose cause is this machine, or this server's own will: no descriptors, buffers, ports or route, a
 * firewall of its own, all closed. No route may also be what a router far away said; both pass when networks change.
 * Source: connect(2), socket(2); undici, "Errors".
 */
const localError =
  /^(?:EMFILE|ENFILE|ENOBUFS|ENOMEM|EADDRNOTAVAIL|ENETDOWN|ENETUNREACH|EACCES|EPERM|UND_ERR_DESTROYED|UND_ERR_CLOSED|UND_ERR_ABORTED)$/

/** Most URLs whose parts are kept; beyond it the least recently used is dropped. Ours. */
const destinationsMax = 4_096

/** An `Outbound` over kept-alive connections. `resolve` stands in for DNS in tests, and `open` for a load that fails. */
export function createOutbound({
  open = openConnections,
  ...options
}: OutboundPosture & { readonly resolve?: Resolve; readonly open?: typeof openConnections }): Outbound {
  let connections: Connections | undefined
  let opening: Promise<Connections> | undefined
  const opened = async (): Promise<Connections> => {
    try {
      return (connections = await (opening ??= open(options)))
    } catch (error) {
      // Without descriptors no module loads. The next request tries again.
      opening = undefined
      throw error
    }
  }
  // A link sends to the same URL all the time. The addresses of a name are not kept, but resolved and checked at each
  // connection.
  const destinations = new LRUCache<string, Destination | string>({
    max: destinationsMax,
    memoMethod: (url) => destinationAt(url, options),
  })
  return {
    send(request) {
      const destination = destinations.memo(request.url)
      if (typeof destination === "string") return Promise.resolve(failure("blocked_address", destination))
      const { promise, resolve } = Promise.withResolvers<OutboundResult>()
      const exchange = new Exchange(request, resolve)
      if (exchange.isSettled) return promise
      const { origin } = destination
      const dispatched: Dispatcher.DispatchOptions = {
        path: destination.path,
        method: request.method,
        headers: { ...ownHeaders, ...request.headers },
        body: request.body ?? null,
      }
      if (connections !== undefined) connections.dispatch(origin, dispatched, exchange)
      else {
        opened().then(
          (first) => first.dispatch(origin, dispatched, exchange),
          (error: Error) => exchange.failHere(error),
        )
      }
      return promise
    },
    async close() {
      await (await opening?.catch(() => undefined))?.close()
    },
  }
}

/** The parts of a URL that undici takes. */
interface Destination {
  readonly origin: string
  readonly path: string
}

/** The parts of a URL, or why nothing may be sent there. */
function destinationAt(text: string, posture: OutboundPosture): Destination | string {
  const url = URL.parse(text)
  if (url === null) return "The URL is not an absolute one."
  const fault = destinationFault(url, posture)
  return fault === undefined ? { origin: url.origin, path: url.pathname + url.search } : `The URL ${fault}.`
}

/**
 * One request on its way, as undici's handler. The first of these settles it: the end of the response, a failure, the
 * deadline. Later events are ignored.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #resolve: (result: OutboundResult) => void
  readonly #deadlineMs: number
  readonly #deadline: NodeJS.Timeout
  readonly #signal: AbortSignal | undefined
  /** The connection that it is sent on. */
  connection: Connection | undefined
  #isSettled = false
  #controller: Dispatcher.DispatchController | undefined
  #interimResponses = 0
  #status: number | undefined
  #headers: ReceivedResponse["headers"] = {}
  #body: Buffer | undefined
  #bodyBytes = 0

  constructor({ deadlineMs, signal }: OutboundRequest, resolve: (result: OutboundResult) => void) {
    this.#resolve = resolve
    this.#deadlineMs = deadlineMs
    this.#deadline = setTimeout(expire, deadlineMs, this)
    this.#signal = signal
    signal?.addEventListener("abort", this)
    if (signal?.aborted === true) this.handleEvent()
  }

  /** True once it has its result. */
  get isSettled(): boolean {
    return this.#isSettled
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Thrown and not aborted: an abort would close the good connection that has just been made.
    if (this.#isSettled) throw new GivenUp("given up before it was sent")
    this.#controller = controller
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200) {
      this.#interimResponses += 1
      if (this.#interimResponses > interimResponsesMax)
        this.#giveUp(failure("invalid_response", "too many interim responses (1xx)"))
      return
    }
    this.#status = status
    this.#headers = headers
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isSettled) return
    if (this.#body === undefined) {
      this.#body = chunk
    } else {
      // A body that comes in crumbs costs as much memory as one that comes at once.
      if (this.#body.length < responseBytesMax) this.#body = Buffer.concat([this.#body], responseBytesMax)
      chunk.copy(this.#body, this.#bodyBytes)
    }
    this.#bodyBytes += chunk.length
  }

  onResponseEnd(): void {
    this.connection?.free()
    this.#settle(this.#response())
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (error instanceof GivenUp) this.connection?.free()
    else this.connection?.close()
    this.#settle(failureOf(error, this.#status))
  }

  #response(): OutboundResult {
    const status = this.#status ?? 0
    const body = this.#textOf(this.#bodyBytes)
    const received = this.#received(status)
    const { "retry-after": given } = this.#headers
    if (given === undefined) return { kind: "response", status, body, received }
    return {
      kind: "response",
      status,
      body,
      retryAfter: typeof given === "object" ? (given[0] ?? "") : given,
      received,
    }
  }

  /** Gives up at the deadline. */
  expire(): void {
    const waited = `within ${this.#deadlineMs / 1000} s`
    if (this.#controller === undefined) this.#giveUp(failure("timeout", `not connected ${waited}`))
    else if (this.#status === undefined) this.#giveUp(failure("timeout", `no response ${waited}`))
    else this.#giveUp(failure("timeout", `responded with ${this.#status}, but the response did not end ${waited}`))
  }

  /** Ends before it was sent, for a reason of this machine. */
  failHere({ message }: Error): void {
    this.#settle(failure("local_error", message))
  }

  /** Gives up when the caller's signal says so. */
  handleEvent(): void {
    this.#giveUp(failure("local_error", "given up by this server"))
  }

  #giveUp(result: OutboundResult): void {
    this.#settle(result)
    this.#controller?.abort(new Error("given up"))
  }

  #settle(result: OutboundResult): void {
    if (this.#isSettled) return
    this.#isSettled = true
    clearTimeout(this.#deadline)
    this.#signal?.removeEventListener("abort", this)
    const hasAll = this.#status === undefined || result.received !== undefined
    this.#resolve(hasAll ? result : { ...result, received: this.#received(this.#status ?? 0) })
  }

  #received(status: number): ReceivedResponse {
    const bodyBytes = this.#bodyBytes
    const bodyStart = this.#textOf(Math.min(bodyBytes, bodyStartBytes))
    return { status, headers: this.#headers, bodyStart, bodyBytes }
  }

  /** The beginning of the body. */
  #textOf(bytes: number): string {
    return this.#body?.toString("utf8", 0, bytes) ?? ""
  }
}

/** Why a request that is settled is not sent. */
class GivenUp extends Error {
  override readonly name = "GivenUp"
}

function expire(exchange: Exchange): void {
  exchange.expire()
}

function failureOf(error: Error, status: number | undefined): OutboundResult {
  if (error instanceof AddressRefused) return failure("blocked_address", error.message)
  if (error instanceof NameUnresolved) return failure(error.isLocal ? "local_error" : "dns", error.message)
  if (error instanceof ResponseTooLarge || codeOf(error) === "UND_ERR_RES_EXCEEDED_MAX_SIZE") return tooLarge(status)
  const cause = error instanceof AggregateError ? mostSpecific(error.errors) : error
  const { message } = cause instanceof Error ? cause : error
  const code = codeOf(cause)
  if (isInvalidStatus(code, message))
    return failure("invalid_response", "a response whose status HTTP does not allow there")
  const outcome = (cause as Error).name === "HTTPParserError" ? "invalid_response" : outcomeOf(code)
  // A connection that breaks after a response has begun is a fault of the response.
  if (status !== undefined && outcome === "connect")
    return failure("invalid_response", `responded with ${status}, then: ${message}`)
  return failure(outcome, message.includes(code) ? message : `${message} (${code})`)
}

/**
 * Which failure stands for those of all addresses that were tried: the first, but one of the endpoint's before one of
 * this machine's. A machine without IPv6 has no route to half of the addresses, and that is no news.
 */
function mostSpecific(failures: readonly unknown[]): unknown {
  return failures.find((error) => outcomeOf(codeOf(error)) !== "local_error") ?? failures[0]
}

function outcomeOf(code: string): FailureOutcome {
  if (tlsError.test(code)) return "tls"
  if (responseError.test(code)) return "invalid_response"
  if (localError.test(code)) return "local_error"
  return code === "ETIMEDOUT" || code === "UND_ERR_CONNECT_TIMEOUT" ? "timeout" : "connect"
}

function tooLarge(status: number | undefined): OutboundResult {
  const before = status === undefined ? "" : `${status} and `
  return failure("too_large", `responded with ${before}more than ${responseBytesMax / 1024} KiB`)
}

function failure(outcome: FailureOutcome, detail: string): OutboundResult {
  return { kind: "failure", outcome, detail }
}
