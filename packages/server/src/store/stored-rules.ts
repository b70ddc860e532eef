/** The rules of a match as every store keeps them. */
import type { MatchEntry, PostMatch } from "../model/match.ts"

/**
 * The rules of a match as they are stored: the JSON text of their list, or, when some are left out, of an object with
 * the list and the number of those. Responses hold the list byte by byte, so it is cut out and not parsed.
 */
export function storedRules({ rules, omitted }: Pick<PostMatch, "rules" | "omitted">): string {
  const list = JSON.stringify(rules)
  return omitted === undefined ? list : `{"omitted":${omitted},"rules":${list}}`
}

/** The rules of a match as they were stored, each with a `tag`. */
export function readStoredRules(text: string): Pick<MatchEntry, "rulesJson" | "rulesOmitted"> {
  const head = /^\{"omitted":(\d+),"rules":/.exec(text)
  return head === null
    ? { rulesJson: withTags(text) }
    : { rulesJson: withTags(text.slice(head[0].length, -1)), rulesOmitted: Number(head[1]) }
}

/**
 * An id that no tag follows, in a match that an earlier version stored: it left the `tag` of a rule without one out. A tag
 * cannot hold the text, because JSON escapes its quotation marks.
 */
const untagged = /"id":"\d+"(?!,"tag":)/g

function withTags(list: string): string {
  return list.replace(untagged, '$&,"tag":""')
}
