import type { FastifyRequest, RouteOptions } from "fastify"
import type { Problem } from "../model/problem.ts"
import { namesNotOffered, notOfferedAt } from "./not-offered.ts"
import { methodNotAllowed, noSuchRoute, notOfferedHere } from "./problems.ts"

/** The methods of every path: decides between 404 and 405, and fills the header `allow`. */
export class AllowedMethods {
  readonly #byPattern = new Map<string, Set<string>>()

  /** Records the methods of a route. Called for each route before the first request. */
  add({ method, url }: Pick<RouteOptions, "method" | "url">): void {
    const methods = this.#byPattern.get(url) ?? new Set()
    for (const one of [method].flat()) methods.add(one)
    this.#byPattern.set(url, methods)
  }

  /** The methods of the routes that match the path of a URL, sorted. Empty when no route matches. */
  of(url: string): readonly string[] {
    const path = pathOf(url)
    for (const [pattern, methods] of this.#byPattern) {
      if (patternMatches(pattern, path)) return [...methods].toSorted()
    }
    return []
  }

  /** The 404 or 405 of a request without a route; absent when it has one. */
  refusal({ url, method, is404 }: FastifyRequest): Problem | undefined {
    const path = pathOf(url)
    // The router takes `/2/webhooks/replay` with another method for a webhook of that name.
    const isServed = !is404 && this.#byPattern.get(path)?.has(method) !== false
    // And it takes `/2/tweets/analytics` for a post of that id.
    if (isServed && !namesNotOffered.has(path)) return undefined
    const absent = notOfferedAt(path)
    if (absent !== undefined) return notOfferedHere(absent)
    const allowed = this.of(url)
    return allowed.length === 0 ? noSuchRoute(path) : methodNotAllowed(method, allowed)
  }
}

function pathOf(url: string): string {
  return url.split("?", 1)[0] ?? ""
}

/** Parameters that are names. All others are ids. */
const nameParameters: ReadonlySet<string> = new Set([":name", ":username", ":endpoint_id"])

function isPartOf(expected: string, given: string): boolean {
  if (nameParameters.has(expected)) return given !== ""
  return expected.startsWith(":") ? /^\d+$/.test(given) : expected === given
}

function patternMatches(pattern: string, path: string): boolean {
  if (pattern.endsWith("/*")) return path.startsWith(pattern.slice(0, -1))
  const expected = pattern.split("/")
  const given = path.split("/")
  return expected.length === given.length && expected.every((part, index) => isPartOf(part, given[index] ?? ""))
}
