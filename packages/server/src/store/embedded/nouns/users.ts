/** Users as they came last with posts. */
import type { DatabaseSync } from "node:sqlite"
import { compareIds, type PostId, type UserId } from "../../../model/ids.ts"
import { idEdgeOf } from "../../id-bounds.ts"
import { newestUsers, usersToWrite, wordChanges, type StoredSight, type UserBearer } from "../../ledger/user-changes.ts"
import type { FoundUser, UserReads, UserWrites } from "../../port/user-store.ts"
import { foundUser, prefixEnd, wordsScanOf, type UserObjectRow, type WordRow } from "../../rows/user.ts"
import { insertChecked, isWhole } from "../connection/checked-rows.ts"
import { columnsAs, prepare } from "../connection/statements.ts"
import { prepareTakeShown } from "./deletions.ts"
import { prepareSaveChains } from "./edits.ts"
import type { SyncReads, SyncWrites, WriteContext } from "../serving/sync-store.ts"

const selected = `${columnsAs("user_objects", "id, username, object")}, ${isWhole("user_objects")} AS isWhole`

/** The reads of users. */
export function createUserObjectReads(db: DatabaseSync): SyncReads<UserReads> {
  const byIds = prepare<UserObjectRow>(
    db,
    `SELECT ${selected} FROM json_each(?) AS given CROSS JOIN user_objects ON user_objects.id = given.value`,
  )
  const byNames = prepare<UserObjectRow>(
    db,
    `SELECT ${selected} FROM json_each(?) AS given
     CROSS JOIN user_objects ON user_objects.username = given.value AND ${isOwner}`,
  )
  const byPrefix = prepare<UserObjectRow>(
    db,
    `SELECT ${selected} FROM user_objects WHERE username > ?1 AND username < ?2 AND ${isOwner} ORDER BY username LIMIT ?3`,
  )
  const firstByPrefix = prepare<UserObjectRow>(
    db,
    `SELECT ${selected} FROM user_objects WHERE username >= ?1 AND username < ?2 AND ${isOwner} ORDER BY username LIMIT ?3`,
  )
  const withWord = prepare<WordRow>(
    db,
    `SELECT CAST (found.user_id AS TEXT) AS id, (
       SELECT count(*) FROM json_each(?2) AS given
       JOIN user_words AS other ON other.word = given.value AND other.user_id = found.user_id) AS words
     FROM user_words AS found WHERE found.word = ?1 AND found.user_id <= ?3 ORDER BY found.user_id DESC LIMIT ?4`,
  )
  const fill = prepare<{ upTo: PostId }>(db, "SELECT CAST (up_to AS TEXT) AS upTo FROM user_fill")
  const usersById = (ids: readonly UserId[]): readonly FoundUser[] => byIds.all(`[${ids.join(",")}]`).map(foundUser)
  return {
    usersById,
    usersByName: (usernames) => byNames.all(JSON.stringify(usernames)).map(foundUser),
    usersByPrefix({ prefix, after, limit }) {
      const part = after === undefined ? firstByPrefix : byPrefix
      return part.all(after ?? prefix, prefixEnd(prefix), limit).map(foundUser)
    },
    usersByWords({ words: [first = "", ...others], below, limit, scanMax }) {
      const rows = withWord.all(first, JSON.stringify(others), idEdgeOf("older", below), scanMax)
      const { ids, ...scan } = wordsScanOf(rows, { others: others.length, limit, scanMax })
      return { users: usersById(ids).toSorted((a, b) => compareIds(b.id, a.id)), ...scan }
    },
    userFill: () => fill.get()?.upTo,
  }
}

/** SQL: whether no other user was seen with the username later. */
const isOwner = `NOT EXISTS (
  SELECT 1 FROM user_objects AS later WHERE later.username = user_objects.username
    AND (later.seen_at_ms, later.id) > (user_objects.seen_at_ms, user_objects.id))`

/** Prepares the change of what is kept of users to what came with new posts. */
export function prepareSaveUsers(db: DatabaseSync): (posts: Iterable<UserBearer>) => void {
  const sights = prepare<StoredSight>(
    db,
    `SELECT ${columnsAs("user_objects", "id, seen_at_ms, fingerprint")}
     FROM json_each(?) AS given CROSS JOIN user_objects ON user_objects.id = given.value`,
  )
  const objectOf = prepare<{ object: string }>(db, "SELECT object FROM user_objects WHERE id = ?")
  const save = prepare(
    db,
    `${insertChecked("user_objects")} ON CONFLICT (id) DO UPDATE SET username = excluded.username,
       seen_at_ms = excluded.seen_at_ms, fingerprint = excluded.fingerprint, object = excluded.object,
       checksum = excluded.checksum`,
  )
  const removeWord = prepare(db, "DELETE FROM user_words WHERE word = ? AND user_id = ?")
  const addWord = prepare(db, "INSERT OR IGNORE INTO user_words (word, user_id) VALUES (?, ?)")
  return (posts) => {
    const seen = newestUsers(posts)
    if (seen.size === 0) return
    // Most are as they are stored, so this is all that a batch costs: one statement for all its users.
    for (const row of usersToWrite(seen, sights.all(`[${[...seen.keys()].join(",")}]`))) {
      const id = BigInt(row.id)
      if (row.isChanged) {
        const { removed, added } = wordChanges(objectOf.get(id)?.object, row.object)
        for (const word of removed) removeWord.run(word, id)
        for (const word of added) addWord.run(word, id)
      }
      save.run(id, row.username, row.seenAtMs, row.fingerprint, row.object)
    }
  }
}

/** The writes of users. */
export function createUserWrites(db: DatabaseSync, { clock, announce }: WriteContext): SyncWrites<UserWrites> {
  const saveUsers = prepareSaveUsers(db)
  const saveChains = prepareSaveChains(db)
  const takeShown = prepareTakeShown(db)
  const setFill = prepare(db, "UPDATE user_fill SET up_to = ?")
  const endFill = prepare(db, "DELETE FROM user_fill")
  return {
    takeUsers(posts, upTo) {
      const { kept, hasChanged, rewrittenFor } = takeShown(posts, clock.nowMs())
      saveUsers(kept)
      saveChains(kept)
      if (hasChanged) announce({ kind: "deletions" })
      if (rewrittenFor.length > 0) announce({ kind: "matches", appIds: rewrittenFor, isRewritten: true })
      if (upTo === undefined) endFill.run()
      else setFill.run(BigInt(upTo))
    },
  }
}
