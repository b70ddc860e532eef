/** Parsers of option values. Each throws `InvalidArgumentError` for a text of another form: "Expected `expected`." */
import { nameCharactersMax } from "@sluice/api/limits"
import { InvalidArgumentError } from "commander"
import { durationMs } from "../process/duration.ts"

/** A text of this form, unchanged. */
export function matching(form: RegExp, expected: string): (text: string) => string {
  return (text) => {
    if (form.test(text)) return text
    throw new InvalidArgumentError(`Expected ${expected}.`)
  }
}

/** The id of `what`, such as "a user". */
export function idOf(what: string): (text: string) => string {
  return matching(/^[0-9]{1,19}$/, `the id of ${what}, 1 to 19 digits, such as 2244994945`)
}

/** A name, without space at its ends. */
export function nameOption(text: string): string {
  const name = text.trim()
  if (name !== "" && Array.from(name).length <= nameCharactersMax) return name
  throw new InvalidArgumentError(`A name must have 1 to ${String(nameCharactersMax)} characters.`)
}

/** The number that a text of this form stands for. */
export function numberMatching(form: RegExp, expected: string): (text: string) => number {
  const checked = matching(form, expected)
  return (text) => Number(checked(text))
}

/** A time such as `200ms`, `1.5s` or `10m`, in ms, of at most `maxMs`. */
export function duration(expected: string, maxMs = Infinity): (text: string) => number {
  return (text) => {
    const ms = durationMs(text)
    if (ms !== undefined && ms <= maxMs) return ms
    throw new InvalidArgumentError(`Expected ${expected}.`)
  }
}

/** A time with its zone, as RFC 3339 with milliseconds in UTC. Seconds may be left out. */
export function instantOption(text: string): string {
  const hasForm = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:\d\d)$/.test(text)
  const atMs = hasForm ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(atMs)) return new Date(atMs).toISOString()
  throw new InvalidArgumentError("Expected a time with its zone, such as 2026-03-14T12:00Z.")
}
