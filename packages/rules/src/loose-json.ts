/**
 * Reading JSON that comes from anywhere: what does not have the type that is asked for is as if it were absent.
 */

/** An object of unknown members. */
export type Members = Readonly<Record<string, unknown>>

const noMembers: Members = {}

/** The value as an object; one without members when it is none. */
export function objectOf(value: unknown): Members {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : noMembers
}

/** The value as an array; an empty one when it is none. */
export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : nothing
}

const nothing: readonly unknown[] = []

/** The value when it is a text. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined
}

/** The value when it is a text with something in it. */
export function idOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined
}

/** The value when it is a number that is neither infinite nor NaN. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined
}
