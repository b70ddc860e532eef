/**
 * Requests to other people's endpoints, whatever they do.
 *
 * One request has one deadline for everything: waiting for a connection, DNS, connect, TLS, the answer's head and
 * its body. It follows no redirect, reads at most 64 KiB of an answer and decompresses nothing. Connections are
 * kept alive and their number per origin is bounded; what finds none free waits, within its deadline.
 *
 * It speaks to undici's `dispatch`, below its `request`, because a delivery needs a status and a few bytes, not a
 * stream and an abort signal per answer: that is a third of the cost of a small request.
 */
import { isIP } from "node:net"
import { Agent, buildConnector, errors, type Dispatcher } from "undici"
import type { AttemptOutcome } from "./events.ts"
import {
  addressFault,
  AddressRefused,
  destinationFault,
  guardedLookup,
  type OutboundPosture,
  type Resolve,
} from "./outbound-address.ts"

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

/** How a request may fail without an answer. */
type FailureOutcome = Exclude<AttemptOutcome, "delivered" | "refused" | "redirect">

/** The end of a request: an answer of whatever status, or what went wrong. */
export type OutboundResult =
  | {
      readonly kind: "answer"
      readonly status: number
      /** The body as UTF-8; its first 64 KiB when it was longer. */
      readonly body: string
    }
  | {
      readonly kind: "failure"
      readonly outcome: FailureOutcome
      readonly detail: string
    }

/** Sends requests out. */
export interface Outbound {
  /** Never throws and never rejects for what the world does. */
  send(request: OutboundRequest): Promise<OutboundResult>
  /** Gives up what is under way and closes all connections. */
  close(): Promise<void>
}

/** Most bytes of an answer's body that are read; then the connection is dropped. */
export const answerBytesMax = 65_536

/** Most bytes of an answer's head. */
const headBytesMax = 16_384

/** Most interim (1xx) answers before the final one. */
const interimAnswersMax = 16

/** Longest a connection may take to be made, TLS included. A request's own deadline may be nearer. */
const connectMsMax = 10_000

/** How long an idle connection is kept, unless its server says less. Servers commonly close at 5 s. */
const keepAliveMs = 4_000

/** Codes of errors in certificates and in TLS itself. Source: Node, "X509 certificate error codes"; OpenSSL. */
const tlsError =
  /^(?:ERR_SSL_|ERR_TLS_|EPROTO|CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERROR_IN_C|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH)/

/** Codes of errors in what was answered, rather than on the way there. Source: undici, "Errors". */
const answerError = /^(?:UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_)/

/** An `Outbound` over kept-alive connections. `resolve` stands in for DNS in tests. */
export function createOutbound(
  options: OutboundPosture & { readonly connectionsPerOriginMax: number; readonly resolve?: Resolve },
): Outbound {
  const agent = new Agent({
    connections: options.connectionsPerOriginMax,
    pipelining: 1,
    allowH2: false,
    connect: guardedConnector(options, options.resolve),
    maxHeaderSize: headBytesMax,
    keepAliveTimeout: keepAliveMs,
    // Each request has its own deadline over all of this.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  return {
    send(request) {
      const url = new URL(request.url)
      const fault = destinationFault(url, options)
      if (fault !== undefined) return Promise.resolve(failure("address", `The URL ${fault}.`))
      const { promise, resolve } = Promise.withResolvers<OutboundResult>()
      agent.dispatch(
        {
          origin: url.origin,
          path: url.pathname + url.search,
          method: request.method,
          headers: { "accept-encoding": "identity", "user-agent": "Sluice", ...request.headers },
          body: request.body ?? null,
        },
        new Exchange(request, resolve),
      )
      return promise
    },
    async close() {
      await agent.destroy()
    },
  }
}

/**
 * One request on its way, as undici's handler. Whatever comes first settles it: the end of the answer, a failure,
 * the deadline. What comes later is ignored.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #resolve: (result: OutboundResult) => void
  readonly #deadlineMs: number
  readonly #deadline: NodeJS.Timeout
  readonly #signal: AbortSignal | undefined
  #isSettled = false
  #controller: Dispatcher.DispatchController | undefined
  #interimAnswers = 0
  #status: number | undefined
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

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Thrown and not aborted: an abort would close the good connection that has just become free.
    if (this.#isSettled) throw new Error("given up before it was sent")
    this.#controller = controller
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    if (status < 200) {
      this.#interimAnswers += 1
      if (this.#interimAnswers > interimAnswersMax)
        this.#giveUp(failure("answer", "too many interim answers (1xx)"))
      return
    }
    this.#status = status
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isSettled) return
    const wanted = chunk.subarray(0, answerBytesMax - this.#bodyBytes)
    if (this.#body === undefined) {
      this.#body = wanted
    } else {
      // A body that comes in crumbs costs as much memory as one that comes at once.
      if (this.#body.length < answerBytesMax) this.#body = Buffer.concat([this.#body], answerBytesMax)
      wanted.copy(this.#body, this.#bodyBytes)
    }
    this.#bodyBytes += wanted.length
    if (wanted.length < chunk.length) this.#giveUp(this.#answer())
  }

  onResponseEnd(): void {
    this.#settle(this.#answer())
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#settle(failureOf(error, this.#status))
  }

  #answer(): OutboundResult {
    const body = this.#body?.toString("utf8", 0, this.#bodyBytes) ?? ""
    return { kind: "answer", status: this.#status ?? 0, body }
  }

  /** Gives up at the deadline. */
  expire(): void {
    const waited = `within ${this.#deadlineMs / 1000} s`
    if (this.#controller === undefined) this.#giveUp(failure("timeout", `not connected ${waited}`))
    else if (this.#status === undefined) this.#giveUp(failure("timeout", `no answer ${waited}`))
    else this.#giveUp(failure("timeout", `answered ${this.#status}, but the answer did not end ${waited}`))
  }

  /** Gives up when the caller's signal says so. */
  handleEvent(): void {
    this.#giveUp(failure("timeout", "given up by this server"))
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
    this.#resolve(result)
  }
}

function expire(exchange: Exchange): void {
  exchange.expire()
}

/** Makes connections by the guard's rules. A host that is an address is never looked up, so it is checked here. */
function guardedConnector(posture: OutboundPosture, resolve: Resolve | undefined): buildConnector.connector {
  const connect = buildConnector({
    lookup: guardedLookup(posture, resolve),
    timeout: connectMsMax,
    allowH2: false,
  })
  return (target, callback) => {
    const isLiteral = isIP(target.hostname) !== 0
    const fault = isLiteral && !posture.allowPrivate ? addressFault(target.hostname) : undefined
    if (fault === undefined) connect(target, callback)
    else callback(new AddressRefused(`${target.hostname}, ${fault}`), null)
  }
}

function failureOf(error: Error, status: number | undefined): OutboundResult {
  if (error instanceof AddressRefused) return failure("address", error.message)
  // Several addresses were tried: they fail alike, or else the first one's failure says most.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error
  const { message } = first instanceof Error ? first : error
  const code = codeOf(first)
  const isUnreadable = first instanceof errors.HTTPParserError || message.startsWith("bad ")
  const outcome = isUnreadable ? "answer" : outcomeOf(code)
  // What breaks after an answer has begun is the answer.
  if (status !== undefined && outcome === "connect")
    return failure("answer", `answered ${status}, then: ${message}`)
  return failure(outcome, message.includes(code) ? message : `${message} (${code})`)
}

function outcomeOf(code: string): FailureOutcome {
  if (tlsError.test(code)) return "tls"
  if (answerError.test(code)) return "answer"
  return code === "ETIMEDOUT" || code === "UND_ERR_CONNECT_TIMEOUT" ? "timeout" : "connect"
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""
}

function failure(outcome: FailureOutcome, detail: string): OutboundResult {
  return { kind: "failure", outcome, detail }
}
