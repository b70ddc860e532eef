/**
 * The `retry-after` header: seconds or a date.
 *
 *     Retry-After   := delay-seconds | HTTP-date
 *     delay-seconds := 1*DIGIT
 *     HTTP-date     := "Sun, 06 Nov 1994 08:49:37 GMT"     IMF-fixdate, which everyone is to send
 *                    | "Sunday, 06-Nov-94 08:49:37 GMT"    RFC 850
 *                    | "Sun Nov  6 08:49:37 1994"          asctime
 *
 * Source: RFC 9110, 10.2.3 and 5.6.7.
 */

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
const month = `(?<month>${months.join("|")})`
const time = String.raw`(?<hour>[01]\d|2[0-3]):(?<minute>[0-5]\d):(?<second>[0-5]\d|60)`
const dates = [
  String.raw`(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\d\d) ${month} (?<year>\d{4}) ${time} GMT`,
  String.raw`(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\d\d)-${month}-(?<year>\d\d) ${time} GMT`,
  String.raw`(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ${month} (?<day>[ \d]\d) ${time} (?<year>\d{4})`,
].map((date) => new RegExp(`^${date}$`))

/**
 * The delay from `nowMs` on that the header requests: 0 or more for seconds, negative for a date that is past, at most
 * `Number.MAX_SAFE_INTEGER`. `undefined` for what is not in the grammar, such as `-5`, `1.5` or `NaN`.
 */
export function retryAfterMs(text: string, nowMs: number): number | undefined {
  const trimmed = text.trim()
  const atMs = /^\d+$/.test(trimmed) ? nowMs + Number(trimmed) * 1000 : dateMs(trimmed, nowMs)
  return atMs === undefined ? undefined : Math.min(atMs - nowMs, Number.MAX_SAFE_INTEGER)
}

function dateMs(text: string, nowMs: number): number | undefined {
  for (const date of dates) {
    const parts = date.exec(text)?.groups
    if (parts !== undefined) return partsMs(parts, nowMs)
  }
  return undefined
}

function partsMs(parts: Readonly<Record<string, string | undefined>>, nowMs: number): number | undefined {
  const { day, month: name = "", year = "", hour, minute, second } = parts
  const monthIndex = months.indexOf(name)
  const at = new Date(0)
  at.setUTCFullYear(fullYear(year, nowMs), monthIndex, Number(day))
  const isInCalendar = at.getUTCMonth() === monthIndex && at.getUTCDate() === Number(day)
  return isInCalendar ? at.setUTCHours(Number(hour), Number(minute), Number(second)) : undefined
}

/** A year of two digits that seems to be more than 50 years ahead is the last one past with these digits. */
function fullYear(digits: string, nowMs: number): number {
  if (digits.length === 4) return Number(digits)
  const thisYear = new Date(nowMs).getUTCFullYear()
  const year = thisYear - (thisYear % 100) + Number(digits)
  return year > thisYear + 50 ? year - 100 : year
}
