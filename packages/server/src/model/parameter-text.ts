/**
 * The texts of query parameters as values, and X's words for those that are none: names, and lists of anything.
 *
 * The validator of requests reads them by the schemas of the routes (`http/parameters.ts`), and the query string of a link
 * is read again when it is stored and when it is used (`link-query.ts`). Both give the same refusals, which come from here.
 * A refusal names the one value that is wrong; its `parameters` have the whole text as it was sent, which the caller adds.
 */
import type { RequestFault } from "./problem.ts"
import { truncate } from "./truncate.ts"

/** One thing that is wrong with a text. */
export type TextFault = Omit<RequestFault, "parameters">

/** The value of a parameter's text, or at least one fault. */
export type ReadText<Value = unknown> = { readonly value: Value } | { readonly faults: readonly TextFault[] }

/** The text of one parameter, by the parameter's name, as a value. */
export type TextReader<Value = unknown> = (text: string, name: string) => ReadText<Value>

/** Most faults of one list. A request of 16 KiB could hold thousands. Ours. */
const listFaultsMax = 10

/** The bounds of a list. */
interface ListBounds {
  readonly valuesMin: number
  readonly valuesMax: number
  /** Whether a value that comes again is refused. It is left out otherwise. */
  readonly isUnique: boolean
}

/** Reads a comma-separated list. The first ten faults of its values are given. Values that come again count for its size. */
export function listReader<Value>(
  { valuesMin, valuesMax, isUnique }: ListBounds,
  readItem: TextReader<Value>,
): TextReader<readonly Value[]> {
  return (text, name) => {
    const parts = text.split(",")
    if (parts.length < valuesMin || parts.length > valuesMax) {
      const size = `The number of values in the \`${name}\` query parameter list [${parts.length}]`
      return refused(`${size} is not between ${valuesMin} and ${valuesMax}`)
    }
    const values = new Set<Value>()
    const faults: TextFault[] = []
    for (const part of parts) {
      if (faults.length >= listFaultsMax) break
      const outcome = readItem(part, name)
      if ("faults" in outcome) faults.push(...outcome.faults)
      else if (isUnique && values.has(outcome.value)) faults.push(notValid(name, part, "It is given more than once."))
      else values.add(outcome.value)
    }
    return faults.length === 0 ? { value: [...values] } : { faults }
  }
}

/** Reads one of some names. A refusal lists those of `listed`. */
export function nameReader(names: readonly string[], listed = names): TextReader<string> {
  const known = new Set(names)
  return (text, name) =>
    known.has(text) ? { value: text } : refused(`${valueOf(name, text)} is not one of [${listed.join(",")}]`)
}

/** A text that is refused for one reason; `detail` says what would be right. */
export function refused(message: string, detail?: string): { readonly faults: readonly [TextFault] } {
  return { faults: [{ message, ...(detail !== undefined && { detail }) }] }
}

/** The fault of a text for which X's words are not known. */
export function notValid(name: string, text: string, detail: string): TextFault {
  return { message: `${valueOf(name, text)} is not valid`, detail }
}

/** A value as X names it in its messages. */
export function valueOf(name: string, text: string): string {
  return `The \`${name}\` query parameter value [${truncate(text)}]`
}
