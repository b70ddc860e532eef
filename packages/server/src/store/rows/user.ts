/** Users as rows. */
import type { UserId } from "../../model/ids.ts"
import type { FoundUser, UserWordsScan } from "../port/user-store.ts"
import { isTrue, type StoredBoolean } from "./record.ts"

/** A user's object, as stored. */
export interface UserObjectRow {
  readonly id: UserId
  readonly username: string
  readonly object: string
  /** Absent where rows have no checksums. */
  readonly isWhole?: StoredBoolean
}

/** The user of a row. */
export function foundUser({ id, username, object, isWhole = true }: UserObjectRow): FoundUser {
  return { id, username, ...(isTrue(isWhole) && { json: object }) }
}

/** After every text that begins with the prefix, in the order of code points. */
export function prefixEnd(prefix: string): string {
  return `${prefix}\u{10FFFF}`
}

/** A user with the first word of a search, and how many of its other words the user has. */
export interface WordRow {
  readonly id: UserId
  readonly words: number
}

/** The users of a scan, in its order, and where it stopped. */
export function wordsScanOf(
  rows: readonly WordRow[],
  { others, limit, scanMax }: { readonly others: number; readonly limit: number; readonly scanMax: number },
): Pick<UserWordsScan, "stoppedAt"> & { readonly ids: readonly UserId[] } {
  const found = rows.filter(({ words }) => words === others)
  const taken = found.slice(0, limit)
  const last = found.length > limit ? taken.at(-1) : rows.length === scanMax ? rows.at(-1) : undefined
  return { ids: taken.map(({ id }) => id), ...(last !== undefined && { stoppedAt: last.id }) }
}
