/** Reading JSON from an untrusted source: a value that does not have the requested type counts as absent. */

/** An object whose members have unknown types. */
export type Members = Readonly<Record<string, unknown>>

const noMembers: Members = {}
const noItems: readonly unknown[] = []

/** True if the value is an object of JSON: neither null nor an array. */
export function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** The value if it is an object, otherwise an empty object. */
export function objectOf(value: unknown): Members {
  return isObject(value) ? value : noMembers
}

/** The value if it is an array, otherwise an empty array. */
export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : noItems
}

/** The value if it is a string. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined
}

/** The value if it is a string that is not empty. */
export function idOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined
}

/** The value if it is a finite number. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined
}
