/** Queries over tokens without constants within: what an index has to translate into its own language. */
import type { IndexQuery } from "@sluice/rules"
import { tokenOf, type Token } from "./search-terms.ts"

/** A query that neither holds of every post nor of none for its form alone. */
export type TokenQuery =
  | { readonly kind: "token"; readonly token: Token }
  /** Two parts or more, none of the same kind. */
  | { readonly kind: "all" | "any"; readonly of: readonly TokenQuery[] }
  /** The part is no negation. */
  | { readonly kind: "not"; readonly of: TokenQuery }

/** A query over tokens; a boolean where it holds of every post or of none. */
export function tokenQuery(query: IndexQuery): TokenQuery | boolean {
  switch (query.kind) {
    case "everything":
      return true
    case "term":
      return { kind: "token", token: tokenOf(query.term) }
    case "not": {
      const part = tokenQuery(query.of)
      if (typeof part === "boolean") return !part
      return part.kind === "not" ? part.of : { kind: "not", of: part }
    }
    case "all":
    case "any":
      return joined(query.kind, query.of.map(tokenQuery))
  }
}

function joined(kind: "all" | "any", parts: readonly (TokenQuery | boolean)[]): TokenQuery | boolean {
  const decides = kind === "any"
  if (parts.includes(decides)) return decides
  const of = parts
    .filter((part) => typeof part !== "boolean")
    .flatMap((part) => (part.kind === kind ? part.of : [part]))
  const [first] = of
  if (first === undefined) return !decides
  return of.length === 1 ? first : { kind, of }
}
