/** Estimated frequencies of terms that have not been counted yet. Ours, from the posts that we have. */

import { fieldNumber, lengthShift, stopwordBit, termFields, type TermField } from "./term-layout.ts"

/** Estimated share of posts that contain a term with this `info`. */
export function estimateOf(info: number): number {
  const field = info & (stopwordBit - 1)
  if ((info & stopwordBit) !== 0) return stopwordEstimates[field] ?? 0
  const estimate = estimates[field] ?? 0
  // Long words are rarer.
  return field === textField ? estimate / Math.min(Math.max(info >>> lengthShift, 1), 10) : estimate
}

const textField = fieldNumber("text")
const estimates = Float64Array.from(termFields, estimateIn)
const stopwordEstimates = Float64Array.from(termFields, (field) =>
  field === "text" ? 0.3 : Math.min(estimateIn(field) * 10, 0.5),
)

function estimateIn(field: TermField): number {
  switch (field) {
    case "text":
      return 0.05
    case "link":
    case "bio":
    case "title":
    case "description":
      return 0.005
    case "hashtag":
    case "mention":
    case "cashtag":
    case "name":
    case "location":
    case "context":
    case "entity":
    case "place":
      return 0.001
    case "lang":
    case "is":
    case "has":
    case "place_country":
    case "source":
      return 0.1
    case "pair":
      return 0.0005
    default:
      return 0.0001
  }
}
