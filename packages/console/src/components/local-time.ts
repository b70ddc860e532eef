/** Instants in fields with a local date and time, to the second. */

const minuteMs = 60_000

/** An instant as the value of such a field; empty for a text that is none. */
export function localText(instant: string): string {
  const atMs = Date.parse(instant)
  if (Number.isNaN(atMs)) return ""
  return new Date(atMs - new Date(atMs).getTimezoneOffset() * minuteMs).toISOString().slice(0, 19)
}

/** The instant of the value of such a field; empty for an empty one. */
export function instantOf(local: string): string {
  const atMs = Date.parse(local)
  return Number.isNaN(atMs) ? "" : new Date(atMs).toISOString()
}
