/** Queries in PostgreSQL's language of text search. */
import type { TokenQuery } from "../../search-query.ts"

/**
 * The query as the text of a `tsquery`. Tokens stand in quotes, and have neither quotes nor backslashes. PostgreSQL reads nested
 * groups by recursion, within a bound on its stack that thousands of them do not reach.
 */
export function textSearchQuery(query: TokenQuery): string {
  switch (query.kind) {
    case "token":
      return `'${query.token}'`
    case "not":
      return `!${grouped(query.of)}`
    case "all":
    case "any":
      return query.of.map(grouped).join(query.kind === "all" ? " & " : " | ")
  }
}

function grouped(query: TokenQuery): string {
  const text = textSearchQuery(query)
  return query.kind === "token" ? text : `(${text})`
}
