/** RFC 3339 `date-time`, on a day that the calendar has. Leap seconds are not taken. */
export function isDateTime(text: string): boolean {
  const match =
    /^(\d{4}-\d\d-\d\d)[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/.exec(
      text,
    )
  const day = match?.[1]
  if (day === undefined) return false
  const atMs = Date.parse(`${day}T00:00:00Z`)
  return Number.isFinite(atMs) && new Date(atMs).toISOString().startsWith(day)
}
