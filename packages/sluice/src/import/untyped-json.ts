/** Reading JSON of unknown origin: a value that is not of the wanted type counts as absent. */

/** An object whose members have unknown types. */
export type Members = Readonly<Record<string, unknown>>

/** The value if it is an object. */
export function objectOf(value: unknown): Members | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : undefined
}

/** The objects among the items of an array; none of anything else. */
export function objectsOf(value: unknown): readonly Members[] {
  return Array.isArray(value) ? value.map(objectOf).filter((item) => item !== undefined) : []
}

/** The texts among the items of an array; none of anything else. */
export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : []
}

/** The value if it is a string that is not empty. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined
}

/** The value if it is a number. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined
}

/** The value if it is true or false. */
export function booleanOf(value: unknown): boolean | undefined {
  return typeof value === "boolean" ? value : undefined
}

/** The members that are there; `undefined` when none is. */
export function membersOf(members: Members): Members | undefined {
  const present = Object.entries(members).filter(([, value]) => value !== undefined)
  return present.length === 0 ? undefined : Object.fromEntries(present)
}

/** The items, unless there are none. */
export function itemsOf<Item>(items: readonly Item[]): readonly Item[] | undefined {
  return items.length === 0 ? undefined : items
}
