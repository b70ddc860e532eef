/** Most characters of text from outside that is repeated. Ours: enough to recognize it by. */
const charactersMax = 200

/** Most characters of a query parameter's list that a refusal repeats. Ours: 100 ids as one list, as X repeats them. */
const parameterCharactersMax = 2_100

/**
 * The beginning of a text from outside, at most 200 characters (code points); when something was cut off, the last of
 * them is an ellipsis. Every text from outside that a response, a log line or a stored reason repeats goes through here
 * (names and values of JSON, parameters and headers, paths, URLs, names in certificates), so none of these grows with
 * what was sent.
 */
export function truncate(text: string): string {
  return cut(text, charactersMax)
}

/** The same for the text of a query parameter, which may be a list: each of its values, and at most 2,100 characters. */
export function truncateParameter(text: string): string {
  return cut(text.split(",").map(truncate).join(","), parameterCharactersMax)
}

function cut(text: string, max: number): string {
  if (text.length <= max) return text
  // A character is one unit or two, so what is beyond this does not matter, however long it is.
  const characters = Array.from(text.slice(0, 2 * max + 1))
  if (characters.length <= max) return text
  return `${characters
    .slice(0, max - 1)
    .join("")
    .toWellFormed()}…`
}

/**
 * Text from outside for people to read, such as the names of a certificate: `truncate`, without control and invisible
 * characters, which could hide what is there or write on a terminal.
 */
export function truncateForDisplay(text: string): string {
  // A certificate may hold a megabyte, and what is cut off anyway need not be searched.
  const start = text.slice(0, 8 * charactersMax)
  return truncate(start.toWellFormed().replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " "))
}
