/**
 * The users of a batch: the newest object of each user is kept. Decided once for all stores.
 *
 *     posts ─► newest object of each user in the batch ─► against what is stored ─► rows to write
 *                                                          older, or the same: none
 *
 * An object was seen when its post was made, so an import of old posts replaces nothing that is newer; of two of the same
 * time the later arrival wins. Most users come again unchanged. They cost a comparison of 32 bits, and no write, until the
 * stored time lags by `userLagMsMax`. Within that bound an older object can still replace the present one, if it arrives
 * late and differs. When the time is written the object is too, so two objects with one fingerprint are confused no longer.
 */
import { crc32 } from "node:zlib"
import { compareIds, type UserId } from "../../model/ids.ts"
import type { AcceptedPost } from "../../model/post.ts"
import { userWords } from "../../model/user.ts"

/**
 * Most that the time at which a user was seen may lag, while the object stays the same: then it is written again. Ours: a
 * user who posts without pause costs a write an hour.
 */
export const userLagMsMax = 3_600_000

/** A user object as it came with a post. */
export interface SeenUser {
  readonly id: UserId
  /** Folded. */
  readonly username: string
  readonly seenAtMs: number
  /** JSON text in UTF-8; a part of the post's envelope. */
  readonly object: Uint8Array
}

/** The part of a stored row that a new object is compared with. */
export interface StoredSight {
  readonly id: UserId
  readonly seenAtMs: number
  /** As in `UserRow`. */
  readonly fingerprint: number
}

/** A row to write. */
export interface UserRow {
  readonly id: UserId
  readonly username: string
  readonly seenAtMs: number
  /** CRC-32 of the object as it came. */
  readonly fingerprint: number
  readonly object: string
  /** Whether another object is stored, or none. */
  readonly isChanged: boolean
}

/** A bearer of objects of users: a post, or a notice of a user alone. */
export type UserBearer = Pick<AcceptedPost, "users" | "createdAtMs" | "envelope">

/** The newest object of each user in a batch, the later of two that are equally new. */
export function newestUsers(posts: Iterable<UserBearer>): ReadonlyMap<UserId, SeenUser> {
  const newest = new Map<UserId, SeenUser>()
  for (const { users, createdAtMs, envelope } of posts) {
    for (const { id, username, begin, end } of users) {
      const earlier = newest.get(id)
      if (earlier !== undefined && earlier.seenAtMs > createdAtMs) continue
      newest.set(id, { id, username, seenAtMs: createdAtMs, object: envelope.subarray(begin, end) })
    }
  }
  return newest
}

/** The rows that users of a batch change, by id. `stored` has those of the users of whom there is a row. */
export function usersToWrite(seen: ReadonlyMap<UserId, SeenUser>, stored: Iterable<StoredSight>): readonly UserRow[] {
  const known = new Map<UserId, StoredSight>()
  for (const sight of stored) known.set(sight.id, sight)
  const rows: UserRow[] = []
  for (const user of seen.values()) {
    const before = known.get(user.id)
    if (before !== undefined && user.seenAtMs < before.seenAtMs) continue
    const fingerprint = crc32(user.object)
    const isChanged = fingerprint !== before?.fingerprint
    if (before !== undefined && !isChanged && user.seenAtMs - before.seenAtMs <= userLagMsMax) continue
    const { id, username, seenAtMs, object } = user
    rows.push({ id, username, seenAtMs, fingerprint, object: textOf(object), isChanged })
  }
  // By id: two transactions then wait for each other at most once.
  return rows.toSorted((a, b) => compareIds(a.id, b.id))
}

function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("utf8")
}

/** Words under which a user is no longer found, and those under which the user is found from now on. */
export interface WordChanges {
  readonly removed: readonly string[]
  readonly added: readonly string[]
}

/** The words that a new object changes. `before` is the one that it replaces, if there is one. */
export function wordChanges(before: string | undefined, after: string): WordChanges {
  const [old, words] = [new Set(before === undefined ? [] : wordsOrNone(before)), new Set(userWords(after))]
  return { removed: [...old.difference(words)], added: [...words.difference(old)] }
}

/** A damaged object names no words; then the index keeps some that lead nowhere. */
function wordsOrNone(json: string): readonly string[] {
  try {
    return userWords(json)
  } catch {
    return []
  }
}
