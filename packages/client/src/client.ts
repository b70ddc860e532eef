/** A client of a server of the X API v2, with one token. */
import type { MatchLine, Rule } from "@sluice/api"
import { pathOf, paths } from "@sluice/api/paths"
import {
  textOperations,
  type CommonOptions,
  type Operations,
  type OptionsOf,
  type PagedName,
  type PageOptions,
  type Query,
  type ResponseOf,
} from "./operations.ts"
import { pages } from "./pages.ts"
import {
  syncRules,
  type DesiredRule,
  type RuleDifference,
  type RuleRequests,
  type RuleSyncOptions,
} from "./rules-sync.ts"
import { streamLines, type StreamLine, type StreamOptions } from "./stream.ts"
import { createTransport, withToken, type ClientOptions, type TransportOptions } from "./transport.ts"

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
  /**
   * Page after page in one direction, from the one that the query names. Throws as `request` does, also when the pages
   * have no end.
   */
  pages<Name extends PagedName>(
    name: Name,
    ...options: OptionsOf<Name, "GET" & keyof Operations[Name], PageOptions>
  ): AsyncGenerator<ResponseOf<Name, "GET" & keyof Operations[Name]>, void, void>
  readonly rules: {
    /**
     * Makes the app's rules these, changing only what differs by value and tag, in batches. Returns the difference.
     * Throws `RuleSyncError` with what was done before, when something is refused or fails, and `TypeError` for a list
     * with a value twice.
     */
    sync(desired: readonly DesiredRule[], options?: RuleSyncOptions): Promise<RuleDifference>
  }
  /** The filtered stream, reconnected when the connection ends, without a match lost or repeated. See `StreamOptions`. */
  stream(options?: StreamOptions): AsyncGenerator<StreamLine, void, void>
  /**
   * Matches as they come, whole and with their positions. They do not count as a stream connection of the app. A
   * reconnect repeats the query, so to lose nothing set `reconnect: false` and call this again `after` the last position.
   */
  matches(options?: StreamOptions): AsyncGenerator<StreamLine<MatchLine>, void, void>
}

interface AnyOptions extends CommonOptions, TransportOptions {
  readonly parameters?: Readonly<Record<string, string>>
}

/** A client of the server at `url`. */
export function createClient(options: ClientOptions): Client {
  const transport = createTransport(options)
  const request = (method: string, name: keyof Operations, more: AnyOptions = {}): Promise<unknown> => {
    const as = textOperations.has(name) ? "text" : "json"
    return transport.read(method, pathOf<string>(paths[name], more.parameters ?? {}), more, as)
  }
  const connectTo = (path: string) => (query: Query | undefined, signal: AbortSignal) =>
    transport.open(path, { query, signal })
  const client: Pick<Client, "request" | "pages"> = {
    // A missing parameter rejects the promise, like any other failure.
    request: (async (...given: Parameters<typeof request>) => request(...given)) as Client["request"],
    pages: ((name: PagedName, { direction = "older", ...more }: AnyOptions & PageOptions = {}) =>
      pages((token) => {
        const query = token === undefined ? more.query : withToken(more.query, token)
        return request("GET", name, { ...more, query }) as Promise<object>
      }, direction)) as Client["pages"],
  }
  return {
    ...client,
    url: options.url,
    rules: {
      sync: (desired, more = {}) => syncRules(ruleRequests(client, more.signal), desired, more),
    },
    stream: (more) => streamLines(options.url, connectTo(paths.stream), more),
    // Its matches have positions, which heal a gap exactly.
    matches: (more) => streamLines(options.url, connectTo(paths.matches), { ...more, heal: false }),
  }
}

/** Requests that read and change the rules of an app. */
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
