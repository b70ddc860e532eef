import { Failure, messageOf } from "./failure.ts"

/** Longest wait for an answer: a webhook's challenge takes up to 10 s, a large chunk of posts longer. Ours. */
const answerMsMax = 120_000

/** What a request carries. */
interface ApiRequest {
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly body?: RequestBody
  readonly signal?: AbortSignal
}

/** Bytes or text, and what they are. */
export interface RequestBody {
  readonly type: "application/json" | "application/x-ndjson"
  readonly content: string | Uint8Array<ArrayBuffer>
}

/** A value as the JSON body of a request. */
export function jsonBody(value: unknown): RequestBody {
  return { type: "application/json", content: JSON.stringify(value) }
}

/** A server, as a client with one token sees it. */
export interface ApiClient {
  readonly url: string
  /**
   * The body of a 2xx answer. Throws `ApiFault` for any other status and `Unreachable` when there is no answer.
   * The caller names the body's type; what is optional in it must be read as such.
   */
  request<Body>(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    request?: ApiRequest,
  ): Promise<Body>
  /** The bytes of an endless answer. Throws as `request` does. */
  stream(path: string, request: ApiRequest): Promise<ReadableStream<Uint8Array>>
  /** What to throw for an error in the middle of an answer: a `Failure` as it is, else `Unreachable`. */
  broken(error: unknown): Failure
}

/** An answer that is not 2xx, in the words of the server. */
export class ApiFault extends Failure {
  override readonly name = "ApiFault"
  readonly status: number
  /** The answer's body; `undefined` when it is not JSON. */
  readonly body: unknown
  /** What the server asked to wait, ms. */
  readonly retryAfterMs: number | undefined

  constructor(status: number, body: unknown, askedToWaitMs?: number) {
    const said = faultText(body)
    super(said?.message ?? `The server answered with status ${String(status)}.`, said?.causes ?? notOurs)
    this.status = status
    this.body = body
    this.retryAfterMs = askedToWaitMs
  }
}

const notOurs = ["The answer is not in the form of Sluice's errors. Is it a Sluice server at this address?"]

/** No answer: nobody listens, or the connection broke. */
export class Unreachable extends Failure {
  override readonly name = "Unreachable"
  /** Nobody listens at the address. */
  readonly isRefused: boolean

  constructor(url: string, cause: unknown) {
    const reason = connectionReason(cause)
    const isRefused = reason === reasons["ECONNREFUSED"]
    super(
      `No answer from ${url}: ${reason}.`,
      isRefused
        ? ["Start a server with `npm start` (or `sluice dev`), or name another one with --url or SLUICE_URL."]
        : [],
      { cause },
    )
    this.isRefused = isRefused
  }
}

/** A client of the server at `url`. */
export function createApiClient({ url, token }: { url: string; token: string }): ApiClient {
  const send = async (
    method: string,
    path: string,
    request: ApiRequest,
    signal: AbortSignal,
  ): Promise<Response> => {
    const target = new URL(url.replace(/\/+$/, "") + path)
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) target.searchParams.set(name, value)
    }
    const { body } = request
    const answer = await fetch(target, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": body.type }),
      },
      redirect: "manual",
      signal,
      ...(body === undefined ? {} : { body: body.content }),
    })
    if (!answer.ok) throw new ApiFault(answer.status, parsed(await answer.text()), retryAfterMs(answer))
    return answer
  }
  const broken = (error: unknown): Failure => (error instanceof Failure ? error : new Unreachable(url, error))
  const unlessUnreachable = async <Result>(
    signal: AbortSignal | undefined,
    run: () => Promise<Result>,
  ): Promise<Result> => {
    try {
      return await run()
    } catch (error) {
      throw signal?.aborted === true ? signal.reason : broken(error)
    }
  }
  return {
    url,
    broken,
    request: <Body>(method: string, path: string, request: ApiRequest = {}) =>
      unlessUnreachable(request.signal, async () => {
        const limit = AbortSignal.timeout(answerMsMax)
        const signal = request.signal === undefined ? limit : AbortSignal.any([limit, request.signal])
        const text = await (await send(method, path, request, signal)).text()
        const body = parsed(text)
        if (body === undefined) throw new Failure(`${url} answered with something that is not JSON.`, notOurs)
        return body as Body
      }),
    stream: (path, request) =>
      unlessUnreachable(request.signal, async () => {
        const answer = await send("GET", path, request, request.signal ?? new AbortController().signal)
        if (answer.body === null) throw new Failure(`${url} answered without a body.`, notOurs)
        return answer.body
      }),
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function retryAfterMs(answer: Response): number | undefined {
  const seconds = Number(answer.headers.get("retry-after") ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined
}

/**
 * An error body in words: its title and detail, then each cause. Causes that only repeat the whole are left out.
 * `undefined` when the body has none of the members that errors have.
 */
export function faultText(body: unknown): { message: string; causes: string[] } | undefined {
  if (!isRecord(body)) return undefined
  const causes = Array.isArray(body["errors"]) ? body["errors"].filter(isRecord) : []
  const whole = isText(body["title"]) ? body : causes[0]
  if (whole === undefined) return undefined
  const detail = whole["detail"] ?? whole["message"]
  const message = [whole["title"], detail]
    .filter((part, at, all) => isText(part) && all.indexOf(part) === at)
    .join(": ")
  const words = new Set(
    causes.flatMap(causeText).filter((text) => text !== whole["detail"] && text !== message),
  )
  const repeatsTheWhole = words.size === 1 && [...words].every((text) => message.includes(text))
  return { message, causes: repeatsTheWhole ? [] : [...words] }
}

/** Each thing that one entry of `errors` says. */
function causeText(cause: Readonly<Record<string, unknown>>): string[] {
  const details = Array.isArray(cause["details"]) ? cause["details"].filter(isText) : []
  if (details.length > 0) return details
  const detail = cause["message"] ?? cause["detail"]
  const title = cause["title"]
  const text = isText(detail) ? detail : isText(title) ? title : JSON.stringify(cause)
  const { value } = cause
  return [isText(value) && !names(text, value) ? `${text}: ${value}` : text]
}

/** True when a sentence has the value in it, set apart as messages do, not as a part of some word. */
function names(text: string, value: string): boolean {
  return [`[${value}]`, `'${value}'`, `"${value}"`].some((quoted) => text.includes(quoted))
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== ""
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

/** Why fetch failed, out of the chain of causes and of the attempts over each address of a host. */
function connectionReason(error: unknown): string {
  if (error instanceof DOMException && error.name === "TimeoutError") return "it takes too long"
  for (
    let at = error;
    at instanceof Error;
    at = at instanceof AggregateError ? (at.errors[0] ?? at.cause) : at.cause
  ) {
    const { code } = at as NodeJS.ErrnoException
    if (code !== undefined && reasons[code] !== undefined) return reasons[code]
    if (at.cause === undefined && !(at instanceof AggregateError)) return at.message
  }
  return messageOf(error)
}
