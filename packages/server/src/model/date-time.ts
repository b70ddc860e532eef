/** True for an RFC 3339 `date-time` on a day that exists. Leap seconds are refused. */
export function isDateTime(text: string): boolean {
  const match = /^(\d{4}-\d\d-\d\d)[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/.exec(
    text,
  )
  const day = match?.[1]
  if (day === undefined) return false
  // Every month has 28 days, and asking the calendar takes longer than the pattern.
  if (/-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])$/.test(day)) return true
  const atMs = Date.parse(`${day}T00:00:00Z`)
  return Number.isFinite(atMs) && instant(atMs).startsWith(day)
}

/** Unix time in milliseconds as every body, message and log shows it: `2026-03-14T09:26:53.000Z`. */
export function instant(atMs: number): string {
  return new Date(atMs).toISOString()
}

/** Milliseconds of a minute. */
export const minuteMs = 60_000

/** Unix time of the start of a minute written `yyyymmddhhmm`, in UTC; undefined when the calendar has no such minute. */
export function parseMinute(text: string): number | undefined {
  const match = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour, minute] = match
  const written = `${year}-${month}-${day}T${hour}:${minute}`
  const atMs = Date.parse(`${written}:00Z`)
  return Number.isFinite(atMs) && instant(atMs).startsWith(written) ? atMs : undefined
}

/** The minute of a moment, written `yyyymmddhhmm`, in UTC. */
export function minuteText(atMs: number): string {
  return instant(atMs).slice(0, 16).replaceAll(/\D/g, "")
}
