/** The query string that a link is created with: what it chooses, and how a list of links shows it. */
import { selectionParameters } from "@sluice/api"
import { parseSelection, type FieldSelection } from "./field-selection.ts"
import { invalidRequest } from "./problem.ts"
import { truncate } from "./truncate.ts"

/**
 * The query string of a link, from one as it was given: without escapes, which names and values of fields do not need,
 * and with each parameter once, where it was given first. So equal choices are equal text.
 */
export function linkQuery(asGiven: string): string {
  return [...listsOf(asGiven)].map(([name, list]) => `${name}=${list}`).join("&")
}

/** The parameters of a query string, each with all of its values as one list. */
function listsOf(query: string): ReadonlyMap<string, string> {
  const lists = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(query)) {
    const list = lists.get(name)
    lists.set(name, list === undefined ? value : `${list},${value}`)
  }
  return lists
}

/**
 * `fields` of a link, in the order given: for each parameter `name=first value`, then its further values as
 * entries of their own. `expansions=author_id&user.fields=username,name` gives
 * `["expansions=author_id", "user.fields=username", "name"]`; an empty query none.
 *
 * Source: docs.x.com, "Webhooks: stream quickstart", the example of a link.
 */
export function linkFields(query: string): string[] {
  return [...new URLSearchParams(query)].flatMap(([name, value]) => `${name}=${value}`.split(","))
}

/**
 * The fields that deliveries of a link with this query string show; a parameter that occurs several times is one list.
 * Throws an invalid-request `Problem` that names a parameter that selects neither fields nor expansions, or a value that
 * its parameter does not know.
 */
export function selectionOfQuery(query: string): FieldSelection {
  for (const [name, value] of new URLSearchParams(query)) {
    if ((selectionParameters as readonly string[]).includes(name)) continue
    const shown = truncate(name)
    throw invalidRequest(`The query parameter [${shown}] is not one of [${selectionParameters.join(",")}]`, {
      [shown]: [truncate(value)],
    })
  }
  return parseSelection(Object.fromEntries(listsOf(query)))
}
