/** JSON made smaller, for finding the smallest input that still fails. */

/** The results of `JSON.parse`. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [member: string]: Json }

/** Values that are a step simpler: the largest steps first, each value at most once. Every chain of steps is finite. */
function* simplerJson(value: Json): Generator<Json> {
  if (typeof value === "string") yield* simplerText(value)
  else if (isList(value)) yield* simplerList(value)
  else if (typeof value === "object" && value !== null) yield* simplerObject(value)
}

/**
 * The simplest input that single steps reach and that still fails. `attemptsMax` bounds the checks, for an input that
 * fails by its duration.
 */
export function minimised<Input extends Json>(
  input: Input,
  isFailing: (input: Input) => boolean,
  attemptsMax = 20_000,
): Input {
  let attempts = 0
  let smallest = input
  for (;;) {
    const simpler = (simplerJson(smallest) as Generator<Input>).take(attemptsMax - attempts).find((candidate) => {
      attempts++
      return isFailing(candidate)
    })
    if (simpler === undefined) return smallest
    smallest = simpler
  }
}

/** Removes ranges, long ones first; then replaces a character by a plain letter. */
function* simplerText(text: string): Generator<string> {
  for (let length = text.length; length >= 1; length = length === 1 ? 0 : Math.ceil(length / 2)) {
    for (let start = 0; start < text.length; start += length) yield text.slice(0, start) + text.slice(start + length)
  }
  for (let index = 0; index < text.length; index++)
    if (text[index] !== "a") yield `${text.slice(0, index)}a${text.slice(index + 1)}`
}

function* simplerList(list: readonly Json[]): Generator<Json> {
  for (const index of list.keys()) yield list.toSpliced(index, 1)
  for (const [index, item] of list.entries()) for (const simpler of simplerJson(item)) yield list.with(index, simpler)
}

function* simplerObject(value: { readonly [member: string]: Json }): Generator<Json> {
  const members = Object.entries(value)
  for (const index of members.keys()) yield Object.fromEntries(members.toSpliced(index, 1))
  for (const [index, [name, member]] of members.entries())
    for (const simpler of simplerJson(member)) yield Object.fromEntries(members.with(index, [name, simpler]))
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
