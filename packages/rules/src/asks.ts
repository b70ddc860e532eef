/** What rules ask of posts: the parts of a post that somebody has to read. */

import type { CountName, KeyName, Operator, Zone } from "./rule.ts"
import { zones } from "./rule.ts"

/** A part of a post that operators look at. `id` is always there. */
export type Ask = Zone | KeyName | CountName | "link texts" | "ground" | "similarity" | "id"

/** The part that the operator looks at. */
export function askOf(operator: Operator): Ask {
  switch (operator.kind) {
    case "words":
      return zones[operator.name]
    case "near":
      return "text"
    case "key":
    case "count":
      return operator.name
    case "contains":
      return "link texts"
    case "area":
      return "ground"
    case "sample":
      return "id"
    case "embedding":
      return "similarity"
  }
}
