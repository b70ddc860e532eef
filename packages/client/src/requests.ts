/** Requests by the names of the paths, and pages of them. The methods of resources are made of these. */
import { pathOf, paths } from "@sluice/api/paths"
import {
  textOperations,
  type CommonOptions,
  type Operations,
  type OptionsOf,
  type PagedName,
  type PageOptions,
  type ResponseOf,
} from "./operations.ts"
import { pages } from "./pages.ts"
import { withToken, type Transport, type TransportOptions } from "./transport.ts"

/** Requests of every operation. */
export interface Requests {
  /**
   * The body of a 2xx response. Throws `ApiError` for any other status, for no response, and for one that is not JSON or
   * too large; and the signal's reason when that is aborted.
   */
  readonly request: <Name extends keyof Operations, Method extends keyof Operations[Name] & string>(
    method: Method,
    name: Name,
    ...options: OptionsOf<Name, Method>
  ) => Promise<ResponseOf<Name, Method>>
  /**
   * Page after page in one direction, from the one that the query names. Throws as `request` does, also when the pages
   * have no end.
   */
  readonly pages: <Name extends PagedName>(
    name: Name,
    ...options: OptionsOf<Name, "GET" & keyof Operations[Name], PageOptions>
  ) => AsyncGenerator<ResponseOf<Name, "GET" & keyof Operations[Name]>, void, void>
}

/** Options of any operation. */
export interface AnyOptions extends CommonOptions, TransportOptions {
  readonly parameters?: Readonly<Record<string, string>>
}

/** A request whose operation is known only when the program runs. */
export type AnyRequest = (method: string, name: keyof Operations, options?: AnyOptions) => Promise<unknown>

/** Requests over a transport. */
export function createRequests(transport: Transport): Requests {
  // A missing parameter rejects the promise, like any other failure.
  const request: AnyRequest = async (method, name, more = {}) => {
    const as = textOperations.has(name) ? "text" : "json"
    return transport.read(method, pathOf<string>(paths[name], more.parameters ?? {}), more, as)
  }
  return {
    request: request as Requests["request"],
    pages: ((name: PagedName, { direction = "older", ...more }: AnyOptions & PageOptions = {}) =>
      pages((token) => request("GET", name, ofPage(more, token)) as Promise<object>, direction)) as Requests["pages"],
  }
}

/** The same options for another page; without a token for the page that they are for. */
export function ofPage(options: AnyOptions, token: string | undefined): AnyOptions {
  return token === undefined ? options : { ...options, query: withToken(options.query, token) }
}
