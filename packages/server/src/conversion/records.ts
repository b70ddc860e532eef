/** Reads untyped records: no function here throws but for a record that it rejects. */
import { truncate } from "../model/truncate.ts"
import type { Conversion, Converted } from "./converter.ts"

/** A parsed object whose members may have any type. */
export type Members = Readonly<Record<string, unknown>>

/** Titles of rejections. Each is counted by its text. */
export type RejectionTitle = "Invalid JSON" | "Invalid Record" | "Time in the Future"

/** A record that cannot be read. Thrown and caught within the converters; `message` is the detail. */
export class RejectedRecord extends Error {
  override readonly name = "RejectedRecord"
  readonly title: RejectionTitle

  constructor(title: RejectionTitle, detail: string) {
    super(detail)
    this.title = title
  }
}

/** The rejection of a record whose member is not as it must be. `must` continues "and must be". */
export function invalidMember(name: string, value: unknown, must: string): RejectedRecord {
  return new RejectedRecord("Invalid Record", `\`${name}\` is ${shown(value)}, and must be ${must}.`)
}

/** A value for a message: its type, and a short text or a number itself. */
function shown(value: unknown): string {
  if (value === undefined) return "missing"
  if (value === null) return "null"
  if (Array.isArray(value)) return "an array"
  if (typeof value === "string") return JSON.stringify(truncate(value.slice(0, 1_000).toWellFormed()))
  return typeof value === "number" || typeof value === "boolean" ? String(value) : "an object"
}

/** The object of a line of JSON. Throws `RejectedRecord`. */
export function parsedRecord(line: string): Members {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (error) {
    const reason = truncate((error as Error).message.toWellFormed())
    throw new RejectedRecord("Invalid JSON", `The record is not JSON: ${reason}`)
  }
  const record = objectOf(value)
  if (record === undefined) {
    throw new RejectedRecord("Invalid Record", `The record is ${shown(value)}, and must be an object.`)
  }
  return record
}

/** The value if it is an object and no array. */
export function objectOf(value: unknown): Members | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : undefined
}

/** The member of an object; undefined for any other value. */
export function memberOf(value: unknown, name: string): unknown {
  return objectOf(value)?.[name]
}

/** The value if it is a string, with U+FFFD for each half of a surrogate pair. */
export function stringOf(value: unknown): string | undefined {
  return typeof value === "string" ? value.toWellFormed() : undefined
}

/** The value if it is a string of at least one character, as `stringOf` gives it. */
export function filledOf(value: unknown): string | undefined {
  return value === "" ? undefined : stringOf(value)
}

/** The items of an array; none for any other value. */
export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : []
}

/** The value if it is a whole number of at least 0 that JSON holds exactly. */
export function wholeOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** The texts that are there, each once, in their order. For the few names of a record, faster than a set. */
export function distinct<Text extends string>(texts: readonly (Text | undefined)[]): readonly Text[] {
  const found: Text[] = []
  const seen = texts.length > comparedMax ? new Set<Text>() : undefined
  for (const text of texts) {
    if (text === undefined || (seen === undefined ? found.includes(text) : seen.has(text))) continue
    seen?.add(text)
    found.push(text)
  }
  return found
}

/** Texts that are compared with each other; more are put in a set. */
const comparedMax = 16

/** The place of a record in its source, and its form there. */
export type Place = Pick<Conversion, "position" | "atMs" | "record">

/** A conversion whose result does not depend on what is known. */
export function settled(converted: Converted, place: Place = {}): Conversion {
  return { ...place, posts: [], users: [], finish: () => converted }
}

/** A record that is not for Sluice. */
export function ignored(reason: string): Converted {
  return { kind: "ignored", reason }
}

/** The result of `read`, or the rejection that it threw. */
export function unlessRejected(place: Place, read: () => Conversion): Conversion {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof RejectedRecord)) throw error
    return settled({ kind: "rejected", title: error.title, detail: error.message }, place)
  }
}
