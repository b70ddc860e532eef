/** Requests over `fetch`, and their bounded responses. */
import { ApiError, badResponse, noResponse, refusal } from "./errors.ts"
import type { CommonOptions, Query, RequestHeaders } from "./operations.ts"

/** Longest wait for a whole response: a webhook's challenge takes up to 10 s, a large body of posts longer. Ours. */
const responseMsMaxDefault = 120_000

/** Largest response that is read: a page of a hundred posts of the largest size is below. Ours. */
const responseBytesMaxDefault = 128 * 1024 * 1024

/** The server's address and the caller's credentials. */
export interface ClientOptions {
  /** Address of the server; paths are appended to it. */
  readonly url: string
  /** Bearer token; left out where a cookie stands for it. */
  readonly token?: string | undefined
  /** More headers for every request; a function is called for each, and may return others each time. */
  readonly headers?: RequestHeaders | (() => RequestHeaders) | undefined
  /** Cookies that a browser sends: `include`, `omit` or, by default, `same-origin`. */
  readonly credentials?: "include" | "omit" | "same-origin" | undefined
  /** Sends the requests instead of the platform's `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /** Longest wait for a whole response; 120 s. */
  readonly responseMsMax?: number | undefined
  /** Largest response that is read; 128 MiB. */
  readonly responseBytesMax?: number | undefined
}

/** Options of a request. */
export interface TransportOptions extends CommonOptions {
  /** Text, bytes and lists, one item a line, are sent as NDJSON; search parameters as a form, anything else as JSON. */
  readonly body?: unknown
}

/** Requests to one server. They throw an `ApiError`, or the reason of their signal. */
export interface Transport {
  /** The whole body of a 2xx response; `undefined` when it has none. */
  read(method: string, path: string, more: TransportOptions, as: "json" | "text"): Promise<unknown>
  /** The body of a 2xx response while it comes; `signal` ends it. */
  open(path: string, more: TransportOptions & { readonly signal: AbortSignal }): Promise<ReadableStream<Uint8Array>>
}

/** Requests to the server at `url`. */
export function createTransport(options: ClientOptions): Transport {
  const { url, token } = options
  const bytesMax = options.responseBytesMax ?? responseBytesMaxDefault
  const msMax = options.responseMsMax ?? responseMsMaxDefault

  const send = async (method: string, path: string, more: TransportOptions): Promise<Response> => {
    const sent = bodyOf(more.body)
    const response = await (options.fetch ?? fetch)(url.replace(/\/+$/, "") + path + queryText(more.query), {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(typeof options.headers === "function" ? options.headers() : options.headers),
        ...(sent !== undefined && { "content-type": sent.type }),
        ...more.headers,
      },
      redirect: "manual",
      ...(more.signal !== undefined && { signal: more.signal }),
      ...(options.credentials !== undefined && { credentials: options.credentials }),
      ...(sent !== undefined && { body: sent.body }),
    })
    if (response.ok) return response
    const text = await textOf(response, url, bytesMax)
    throw refusal(response.status, parsed(text), retryAfterMs(response))
  }

  return {
    read(method, path, more, as) {
      const limit = AbortSignal.timeout(msMax)
      const signal = more.signal === undefined ? limit : AbortSignal.any([limit, more.signal])
      return orApiError(url, more.signal, async () => {
        const response = await send(method, path, { ...more, signal })
        const text = await textOf(response, url, bytesMax)
        if (as === "text") return text
        if (response.status === 204) return undefined
        const body = parsed(text)
        if (body === undefined) throw badResponse(`${url} responded with something that is not JSON.`)
        return body
      })
    },
    open: (path, more) =>
      orApiError(url, more.signal, async () => {
        const { body } = await send("GET", path, more)
        if (body === null) throw badResponse(`${url} responded without a body.`)
        return body
      }),
  }
}

/** Runs a request. Turns any failure into an `ApiError`, unless the signal was aborted. */
async function orApiError<Result>(
  url: string,
  signal: AbortSignal | undefined,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason
    throw error instanceof ApiError ? error : noResponse(url, error)
  }
}

function bodyOf(body: unknown): { readonly type: string; readonly body: string | Uint8Array<ArrayBuffer> } | undefined {
  if (body === undefined) return undefined
  if (typeof body === "string") return { type: "application/x-ndjson", body }
  if (Array.isArray(body)) return bodyOf(body.map((item) => `${JSON.stringify(item)}\n`).join(""))
  if (body instanceof Uint8Array) return { type: "application/x-ndjson", body: body as Uint8Array<ArrayBuffer> }
  if (body instanceof URLSearchParams) return { type: "application/x-www-form-urlencoded", body: body.toString() }
  return { type: "application/json", body: JSON.stringify(body) }
}

/** The text of a response. One that is larger is cut off. */
async function textOf({ body }: Response, url: string, bytesMax: number): Promise<string> {
  if (body === null) return ""
  // Not `for await`: not every browser can iterate over a stream.
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ""
  let byteCount = 0
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    byteCount += next.value.length
    if (byteCount > bytesMax) {
      reader.cancel().catch(() => undefined)
      throw badResponse(`${url} responded with more than ${bytesMax.toLocaleString("en")} bytes.`)
    }
    text += decoder.decode(next.value, { stream: true })
  }
  return text + decoder.decode()
}

/** A query with another page's token. */
export function withToken(query: Query | undefined, token: string): Query {
  const parameters = new URLSearchParams(queryText(query))
  parameters.set("pagination_token", token)
  return parameters.toString()
}

function queryText(query: Query | undefined = ""): string {
  const text = typeof query === "string" ? query.replace(/^\?/, "") : searchParameters(query).toString()
  return text === "" ? "" : `?${text}`
}

function searchParameters(query: Exclude<Query, string>): URLSearchParams {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
}

function retryAfterMs({ headers }: Response): number | undefined {
  const seconds = Number(headers.get("retry-after") ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
