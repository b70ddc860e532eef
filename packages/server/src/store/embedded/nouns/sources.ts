/** Sources of posts: their positions, gaps, dead letters, and the ids that were assigned to names. */
import type { DatabaseSync } from "node:sqlite"
import type { PostId } from "../../../model/ids.ts"
import type { AssignedName, SourceDeadLetter, SourceProgress } from "../../../model/source.ts"
import { sourceDeadLetterBytesMax, sourceDeadLettersMax, sourceGapsMax } from "../../bounds.ts"
import { usersOfNotices, withoutDeletedUsers } from "../../ledger/deletions.ts"
import { takenAt } from "../../ledger/foreign-names.ts"
import type { SourceReads, SourceWrites } from "../../port/source-store.ts"
import {
  gapColumns,
  sourceColumns,
  sourceDeadLetterColumns,
  sourceDeadLetterOf,
  sourceGapOf,
  sourceOf,
  type SourceGapRow,
  type SourceRow,
} from "../../rows/source.ts"
import { insertChecked, isWhole, settingChecked } from "../connection/checked-rows.ts"
import { columnsAs, prepare } from "../connection/statements.ts"
import type { SyncReads, SyncWrites, WriteContext } from "../serving/sync-store.ts"
import { prepareAppend } from "./match-logs.ts"
import { prepareDeletedAmong } from "./deletions.ts"
import { prepareSaveUsers } from "./users.ts"

/** The reads of sources. */
export function createSourceReads(db: DatabaseSync): SyncReads<SourceReads> {
  const all = prepare<SourceRow>(
    db,
    `SELECT ${columnsAs("sources", sourceColumns)} FROM sources WHERE ${isWhole("sources")} ORDER BY name`,
  )
  const gaps = prepare<SourceGapRow>(
    db,
    `SELECT ${columnsAs("source_gaps", gapColumns)} FROM source_gaps
     WHERE source = ? AND ${isWhole("source_gaps")} ORDER BY source_gaps.id DESC LIMIT ?`,
  )
  const lettersWithin = (direction: "older" | "newer") => {
    const [side, order] = direction === "older" ? ["<", "DESC"] : [">", "ASC"]
    return prepare<SourceDeadLetter>(
      db,
      `SELECT ${columnsAs("source_dead_letters", sourceDeadLetterColumns)} FROM source_dead_letters
       WHERE (?1 IS NULL OR source = ?1) AND (?2 IS NULL OR source_dead_letters.id ${side} ?2)
       ORDER BY source_dead_letters.id ${order} LIMIT ?3`,
    )
  }
  const letters = { older: lettersWithin("older"), newer: lettersWithin("newer") }
  const counts = prepare<{ source: string; count: number }>(
    db,
    "SELECT source, count(*) AS count FROM source_dead_letters GROUP BY source",
  )
  return {
    sources: () => all.all().map(sourceOf),
    assignedNames: prepareAssignedNames(db),
    sourceGaps: (source) => gaps.all(source, sourceGapsMax).map(sourceGapOf),
    sourceDeadLetters({ source, direction, from, limit }) {
      const found = letters[direction].all(source ?? null, from ?? null, limit).map(sourceDeadLetterOf)
      return direction === "older" ? found : found.toReversed()
    },
    sourceDeadLetterCounts: () => new Map(counts.all().map(({ source, count }) => [source, count])),
  }
}

function prepareAssignedNames(db: DatabaseSync): (names: readonly string[]) => readonly AssignedName[] {
  const found = prepare<AssignedName>(
    db,
    `SELECT ${columnsAs("assigned_names", "name, id")} FROM json_each(?) AS given
     CROSS JOIN assigned_names ON assigned_names.name = given.value WHERE ${isWhole("assigned_names")}`,
  )
  return (names) => (names.length === 0 ? [] : found.all(JSON.stringify(names)))
}

/** The writes of sources. */
export function createSourceWrites(db: DatabaseSync, context: WriteContext): SyncWrites<SourceWrites> {
  const one = prepare<SourceRow>(db, `SELECT ${columnsAs("sources", sourceColumns)} FROM sources WHERE name = ?`)
  const begin = prepare(db, insertChecked("sources", "INSERT OR IGNORE"))
  const set = prepare(
    db,
    `UPDATE sources SET ${settingChecked("sources", {
      driver: "driver + 1",
      position: "ifnull(?2, position)",
      is_paused: "ifnull(?3, is_paused)",
    })} WHERE name = ?1`,
  )
  const forgetGaps = prepare(
    db,
    `DELETE FROM source_gaps WHERE source = ?1 AND id IN (
       SELECT id FROM source_gaps WHERE source = ?1 ORDER BY id DESC LIMIT -1 OFFSET ?2)`,
  )
  const insertGap = prepare(db, insertChecked("source_gaps", "INSERT OR IGNORE"))
  const deleteLetter = prepare(db, "DELETE FROM source_dead_letters WHERE source = ? AND id = ?")
  const trimNames = prepare(
    db,
    "DELETE FROM assigned_names WHERE name IN (SELECT name FROM assigned_names WHERE id < ? ORDER BY id LIMIT ?)",
  )
  /** Makes the source if it is new, and gives it another driver. */
  const steer = (name: string, position: string | null, isPaused: boolean | null): SourceRow => {
    begin.run(name, 0, null, null, 0)
    set.run(name, position, isPaused === null ? null : Number(isPaused))
    const row = one.get(name)
    if (row === undefined) throw new Error("SQLite has no row that it has just written.")
    return row
  }
  return {
    beginSource: (name) => sourceOf(steer(name, null, null)),
    appendFrom: prepareAppendFrom(db, context),
    pauseSource(name, isPaused) {
      steer(name, null, isPaused)
      context.announceControl()
    },
    rewindSource(name, position) {
      steer(name, position, null)
      context.announceControl()
    },
    noteSourceGap({ id, source, fromMs, toMs, reason, notedAtMs }) {
      insertGap.run(id, source, fromMs ?? null, toMs ?? null, reason, notedAtMs)
      forgetGaps.run(source, sourceGapsMax)
    },
    deleteSourceDeadLetters: (source, ids) => ids.filter((id) => deleteLetter.run(source, id) > 0),
    trimAssignedNames: (below, limit) => trimNames.run(BigInt(below), limit),
  }
}

function prepareAppendFrom(db: DatabaseSync, context: WriteContext): SyncWrites<SourceWrites>["appendFrom"] {
  const append = prepareAppend(db, context)
  const saveUsers = prepareSaveUsers(db)
  const assignedNames = prepareAssignedNames(db)
  const saveDeadLetters = prepareSaveDeadLetters(db)
  const deletedAmong = prepareDeletedAmong(db)
  const isDriver = prepare(db, "SELECT 1 FROM sources WHERE name = ? AND driver = ?")
  const savePosition = prepare(
    db,
    `UPDATE sources SET ${settingChecked("sources", { position: "?2", saved_at_ms: "?3" })} WHERE name = ?1`,
  )
  const assign = prepare(db, insertChecked("assigned_names", "INSERT OR IGNORE"))
  const envelopes = prepare<{ id: PostId; envelope: string }>(
    db,
    `SELECT CAST (posts.id AS TEXT) AS id, envelope FROM json_each(?) AS given
     CROSS JOIN posts ON posts.id = given.value`,
  )
  return (progress, batch, atMs) => {
    const { source, driver, position, names, assigned } = progress
    if (isDriver.get(source, driver) === undefined) return { kind: "superseded" }
    const posts = batch.map(({ post: { id } }, index) => ({ id, name: names[index] }))
    const stored = envelopes.all(`[${posts.flatMap(({ id, name }) => (name === undefined ? [] : [id])).join(",")}]`)
    const at = takenAt(posts, {
      envelopes: new Map(stored.map(({ id, envelope }) => [id, envelope])),
      assigned: assignedNames(posts.flatMap(({ name }) => name ?? [])),
    })
    if (at.length > 0) return { kind: "taken", at }
    const isNew = append(batch, atMs)
    for (const { name, id } of assigned) assign.run(name, BigInt(id))
    saveUsers(withoutDeletedUsers(progress.users, deletedAmong("user", usersOfNotices(progress.users))))
    saveDeadLetters(progress.deadLetters)
    if (position !== undefined) savePosition.run(source, position, atMs)
    return { kind: "appended", isNew }
  }
}

function prepareSaveDeadLetters(db: DatabaseSync): (letters: SourceProgress["deadLetters"]) => void {
  const insert = prepare(
    db,
    `INSERT OR IGNORE INTO source_dead_letters (id, source, at_ms, title, detail, bytes, record)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  const forget = prepare(
    db,
    `DELETE FROM source_dead_letters WHERE id IN (
       SELECT id FROM (
         SELECT id, row_number() OVER newest AS place, sum(bytes) OVER newest AS size FROM source_dead_letters
         WINDOW newest AS (ORDER BY id DESC))
       WHERE place > ?1 OR size > ?2)`,
  )
  return (letters) => {
    if (letters.length === 0) return
    for (const { id, source, atMs, title, detail, record } of letters) {
      insert.run(id, source, atMs, title, detail, record.length, record)
    }
    forget.run(sourceDeadLettersMax, sourceDeadLetterBytesMax)
  }
}
