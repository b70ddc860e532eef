/** The query string that a link is created with: what it chooses, and how a list of links shows it. */
import { selectionParameters } from "@sluice/api"
import { parseSelection, type FieldSelection } from "./field-selection.ts"
import { invalidRequest } from "./problem.ts"

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
 * What deliveries of a link with this query string show. The query stays as it is, and so does its order, which
 * `linkFields` shows. Throws an invalid-request `Problem` naming the parameter that is no field or expansion
 * parameter or is given twice, or the value that is none of its own.
 */
export function selectionOfQuery(query: string): FieldSelection {
  const parameters: Partial<Record<string, string>> = {}
  for (const [name, value] of new URLSearchParams(query)) {
    if (!isSelectionParameter(name)) throw unknownParameter(name, value)
    if (parameters[name] !== undefined) throw repeatedParameter(name, [parameters[name], value])
    parameters[name] = value
  }
  return parseSelection(parameters)
}

function isSelectionParameter(name: string): boolean {
  return (selectionParameters as readonly string[]).includes(name)
}

/** Characters of a wrong name or value that an answer repeats. Ours. */
const shownCharactersMax = 100

function unknownParameter(name: string, value: string) {
  const shown = name.slice(0, shownCharactersMax)
  return invalidRequest(`The query parameter [${shown}] is not one of [${selectionParameters.join(",")}]`, {
    [shown]: [value.slice(0, shownCharactersMax)],
  })
}

function repeatedParameter(name: string, values: readonly string[]) {
  return invalidRequest(
    `The \`${name}\` query parameter is given more than once: give it once, with commas between its values`,
    { [name]: values.map((value) => value.slice(0, shownCharactersMax)) },
  )
}
