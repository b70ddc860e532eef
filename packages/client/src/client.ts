/** A server of the X API v2, as a client with one token sees it. */
import type { MatchLine, Rule } from "@sluice/api"
import { pathOf, paths } from "@sluice/api/paths"
import { ApiError, badResponse, noResponse, refusal } from "./errors.ts"
import type { CommonOptions, Operations, OptionsOf, PagedName, Query, ResponseOf } from "./operations.ts"
import { pages } from "./pages.ts"
import {
  syncRules,
  type DesiredRule,
  type RuleDifference,
  type RuleRequests,
  type RuleSyncOptions,
} from "./rules-sync.ts"
import { streamLines, type StreamLine, type StreamOptions } from "./stream.ts"

/** Longest wait for a whole response: a webhook's challenge takes up to 10 s, a large body of posts longer. Ours. */
const responseMsMax = 120_000

/** Largest response that is read: a page of a hundred posts of the largest size is below. Ours. */
const responseBytesMax = 128 * 1024 * 1024

/** Headers by name. */
export type RequestHeaders = Readonly<Record<string, string>>

/** Where the server is, and who is asking. */
export interface ClientOptions {
  /** Address of the server; paths are put behind it. */
  readonly url: string
  /** Bearer token; left out where a cookie stands for it. */
  readonly token?: string | undefined
  /** More headers for every request; a function is called for each, and may return others each time. */
  readonly headers?: RequestHeaders | (() => RequestHeaders)
  /** Whether a browser sends cookies: `include`, `omit` or `same-origin`, which is what it does by itself. */
  readonly credentials?: "include" | "omit" | "same-origin"
  /** Sends the requests instead of the platform's `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  readonly responseMsMax?: number
  readonly responseBytesMax?: number
}

/** Requests to one server with one token. */
export interface Client {
  readonly url: string
  /**
   * The body of a 2xx response. Throws `ApiError` for any other status, for no response, and for one that is not JSON or
   * too large; and the signal's reason when that is aborted.
   */
  request<Name extends keyof Operations, Method extends keyof Operations[Name] & string>(
    method: Method,
    name: Name,
    ...options: OptionsOf<Name, Method>
  ): Promise<ResponseOf<Name, Method>>
  /** Page after page, from the one that the query names. Throws as `request` does, also when the pages have no end. */
  pages<Name extends PagedName>(
    name: Name,
    ...options: OptionsOf<Name, "GET">
  ): AsyncGenerator<ResponseOf<Name, "GET">, void, void>
  readonly rules: {
    /**
     * Makes the app's rules these, changing only what differs by value and tag, in batches. Returns the difference.
     * Throws `RuleSyncError` with what was done before, when something is refused or fails, and `TypeError` for a list
     * with a value twice.
     */
    sync(desired: readonly DesiredRule[], options?: RuleSyncOptions): Promise<RuleDifference>
  }
  /** The filtered stream, reconnected when the connection ends. See `StreamOptions`. */
  stream(options?: StreamOptions): AsyncGenerator<StreamLine, void, void>
  /**
   * Matches as they come, whole and with their positions, beside the stream connections of the app. A new connection has
   * the same query, so one that must lose nothing is made anew `after` the last position, with `reconnect: false`.
   */
  matches(options?: StreamOptions): AsyncGenerator<StreamLine<MatchLine>, void, void>
}

interface AnyOptions extends CommonOptions {
  readonly body?: unknown
  readonly parameters?: Readonly<Record<string, string>>
}

/** A client of the server at `url`. */
export function createClient(options: ClientOptions): Client {
  const { url } = options
  const bytesMax = options.responseBytesMax ?? responseBytesMax
  const msMax = options.responseMsMax ?? responseMsMax

  const send = async (method: string, path: string, signal: AbortSignal, more: AnyOptions): Promise<Response> => {
    const { body } = more
    const isNdjson = typeof body === "string" || body instanceof Uint8Array
    const response = await (options.fetch ?? fetch)(url.replace(/\/+$/, "") + path + queryText(more.query), {
      method,
      headers: {
        ...(options.token !== undefined && { authorization: `Bearer ${options.token}` }),
        ...(typeof options.headers === "function" ? options.headers() : options.headers),
        ...(body !== undefined && { "content-type": isNdjson ? "application/x-ndjson" : "application/json" }),
      },
      redirect: "manual",
      signal,
      ...(options.credentials !== undefined && { credentials: options.credentials }),
      ...(body !== undefined && { body: isNdjson ? (body as string) : JSON.stringify(body) }),
    })
    if (response.ok) return response
    const text = await textOf(response, url, bytesMax)
    throw refusal(response.status, parsed(text), retryAfterMs(response))
  }

  const request = async (method: string, name: keyof Operations, more: AnyOptions = {}): Promise<unknown> => {
    const limit = AbortSignal.timeout(msMax)
    const signal = more.signal === undefined ? limit : AbortSignal.any([limit, more.signal])
    const path = pathOf<string>(paths[name], more.parameters ?? {})
    return orApiError(url, more.signal, async () => {
      const body = parsed(await textOf(await send(method, path, signal, more), url, bytesMax))
      if (body === undefined) throw badResponse(`${url} answered with something that is not JSON.`)
      return body
    })
  }

  const connectTo = (path: string) => (query: Query | undefined, signal: AbortSignal) =>
    orApiError(url, signal, async () => {
      const { body } = await send("GET", path, signal, { query })
      if (body === null) throw badResponse(`${url} answered without a body.`)
      return body
    })

  const client: Pick<Client, "request" | "pages"> = {
    request: request as Client["request"],
    pages: ((name: PagedName, more: AnyOptions = {}) =>
      pages((token) => {
        const query = token === undefined ? more.query : withToken(more.query, token)
        return request("GET", name, { ...more, query }) as Promise<object>
      })) as Client["pages"],
  }
  return {
    ...client,
    url,
    rules: {
      sync: (desired, more = {}) => syncRules(ruleRequests(client, more.signal), desired, more),
    },
    stream: (more) => streamLines(url, connectTo(paths.stream), more),
    matches: (more) => streamLines(url, connectTo(paths.matches), more),
  }
}

/** What the rules of an app are read and changed with. */
function ruleRequests(client: Pick<Client, "request" | "pages">, signal: AbortSignal | undefined): RuleRequests {
  return {
    async list() {
      const rules: Rule[] = []
      for await (const { data = [] } of client.pages("rules", { signal })) rules.push(...data)
      return rules
    },
    add: (rules, dryRun) =>
      client.request("POST", "rules", {
        signal,
        query: { dry_run: dryRun || undefined },
        body: { add: rules.map(({ value, tag }) => ({ value, ...(tag !== undefined && { tag }) })) },
      }),
    delete: (ids) => client.request("POST", "rules", { signal, body: { delete: { ids: [...ids] } } }),
  }
}

/** Runs a request. Whatever it throws is made an `ApiError`, unless its signal was aborted. */
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
      throw badResponse(`${url} answered with more than ${bytesMax.toLocaleString("en")} bytes.`)
    }
    text += decoder.decode(next.value, { stream: true })
  }
  return text + decoder.decode()
}

function withToken(query: Query | undefined, token: string): Query {
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
