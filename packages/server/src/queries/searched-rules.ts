/** Queries of searches: rules in mode `search`, refused in X's words. */
import { searchQueryCharactersMax } from "@sluice/api"
import { parseRule } from "@sluice/rules"
import { invalidRequest } from "../model/problem.ts"
import type { SearchedRule } from "../search/post-search.ts"

/** Reads queries. */
export interface SearchedRules {
  /** Throws an invalid-request `Problem` that says everything that is wrong with the query. */
  parse(value: string): SearchedRule
}

/**
 * Queries of a server. `strict`: only X's own operators of search. `withReposts`: queries find reposts, too, which X's have
 * not done since 2026-05-04 unless they ask for them.
 */
export function createSearchedRules(options: {
  readonly strict: boolean
  readonly withReposts: boolean
}): SearchedRules {
  const { strict, withReposts } = options
  return {
    parse(value) {
      // Source: a recorded 400 of X.
      if (value === "")
        throw invalidRequest("Invalid 'query':''. 'query' must be a non-empty string", { query: [value] })
      const parsed = parseRule(value, { lengthMax: searchQueryCharactersMax, mode: "search", strict })
      if (parsed.ok) return { value, withReposts }
      const details = parsed.problems.map(({ message }) => message).join(", ")
      throw invalidRequest(`There were errors processing your request: ${details}`, { query: [value] })
    },
  }
}
