/**
 * `{cursor}` in an address, a header or a body: stands for the position behind which a feed is to begin.
 *
 *     https://feed.example.com/items?since={cursor}      with 42        …?since=42
 *                                                        with none      …, without the parameter
 *     https://feed.example.com/{cursor}/items            with none      refused: `start` must be set
 */

const mark = "{cursor}"

/** Whether one of the texts has a place for a position. */
export function hasCursor(...templates: readonly (string | undefined)[]): boolean {
  return templates.some((template) => template?.includes(mark) === true)
}

/** The address for a position. Throws when its path needs a position and there is none. */
export function urlAt(template: string, cursor: string | undefined): string {
  const queryAt = template.indexOf("?")
  const address = queryAt === -1 ? template : template.slice(0, queryAt)
  if (address.includes(mark) && cursor === undefined) {
    throw new Error("The address of the source has {cursor} in its path, and there is no position yet: set start.")
  }
  const parameters = queryAt === -1 ? [] : template.slice(queryAt + 1).split("&")
  const kept = parameters.filter((parameter) => cursor !== undefined || !parameter.includes(mark))
  return filled(kept.length === 0 ? address : `${address}?${kept.join("&")}`, cursor, encodeURIComponent)
}

/** The headers for a position, without those that need one when there is none. */
export function headersAt(
  headers: Readonly<Record<string, string>>,
  cursor: string | undefined,
): Readonly<Record<string, string>> {
  const kept = Object.entries(headers).filter(([, value]) => cursor !== undefined || !value.includes(mark))
  return Object.fromEntries(kept.map(([name, value]) => [name, filled(value, cursor, headerText)]))
}

/** A text for a position, which stands within a string of JSON, and is empty when there is none. */
export function textAt(template: string, cursor: string | undefined): string {
  return filled(template, cursor ?? "", (text) => JSON.stringify(text).slice(1, -1))
}

/** Percent-encoded only where a header could not hold it. */
function headerText(cursor: string): string {
  return /^[\x20-\x7e]*$/.test(cursor) ? cursor : encodeURIComponent(cursor)
}

function filled(template: string, cursor: string | undefined, encode: (text: string) => string): string {
  return cursor === undefined ? template : template.replaceAll(mark, () => encode(cursor.toWellFormed()))
}
