/** Parsers of option values. Each throws `InvalidArgumentError` for a text of another form: "Expected `expected`." */
import { InvalidArgumentError } from "commander"

/** A text of this form, unchanged. */
export function matching(form: RegExp, expected: string): (text: string) => string {
  return (text) => {
    if (form.test(text)) return text
    throw new InvalidArgumentError(`Expected ${expected}.`)
  }
}

/** The number that a text of this form stands for. */
export function numberMatching(form: RegExp, expected: string): (text: string) => number {
  const checked = matching(form, expected)
  return (text) => Number(checked(text))
}

/** A time such as `200ms` or `1.5s`, in ms, of at most `maxMs`. */
export function duration(expected: string, maxMs = Infinity): (text: string) => number {
  return (text) => {
    const [, amount, unit] = /^(\d{1,6}(?:\.\d{1,3})?)(ms|s)$/.exec(text) ?? []
    const ms = Math.round(Number(amount) * (unit === "s" ? 1_000 : 1))
    if (ms <= maxMs) return ms
    throw new InvalidArgumentError(`Expected ${expected}.`)
  }
}
