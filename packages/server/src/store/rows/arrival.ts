/** Places in the order of arrival as text: the numbers by which a store orders its posts, with dots between them. */
import type { ArrivalPosition } from "../port/arrival-store.ts"

/** The place with these numbers. */
export function positionOf(...numbers: readonly (string | number)[]): ArrivalPosition {
  return numbers.join(".") as ArrivalPosition
}

/** The numbers of a place, as many as `first` has: those before every post, which stand for an absent place. */
export function numbersOf(position: ArrivalPosition | undefined, first: readonly string[]): readonly string[] {
  if (position === undefined) return first
  const numbers = position.split(".")
  if (numbers.length === first.length && numbers.every((number) => /^[0-9]+$/.test(number))) return numbers
  throw new Error(`${position} is not a position of this store.`)
}
