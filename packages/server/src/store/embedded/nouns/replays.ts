/** Replays: those that run, what backfills have found, and the newest of those that ended. */
import type { ReplayReads, ReplayWrites } from "../../port/replay-store.ts"
import type { DatabaseSync } from "node:sqlite"
import type { AppId, MatchSeq, PostId, ReplayId } from "../../../model/ids.ts"
import type { PostShape } from "../../../model/post.ts"
import { isSearchOver } from "../../../model/replay.ts"
import { endedReplaysMax } from "../../bounds.ts"
import { deletedRules, entryOf } from "../../rows/match-entry.ts"
import { backfillRowsOf, replayColumns, replayOf, replayValuesOf, type ReplayRow } from "../../rows/replay.ts"
import { damageOf, insertChecked, isWhole, settingChecked, type CheckedRow } from "../connection/checked-rows.ts"
import { textChecksum } from "../connection/checksums.ts"
import { prepareNoteIds } from "../connection/last-id.ts"
import { prepareRefuseRevoked } from "./revoked-apps.ts"
import { upToBytes } from "../connection/row-chunks.ts"
import { columnsAs, prepare, type Statement } from "../connection/statements.ts"
import type { ReadContext, SyncReads, SyncWrites, WriteContext } from "../serving/sync-store.ts"
import { rowBytes } from "./match-entries.ts"

interface FoundRow {
  readonly seq: MatchSeq
  readonly postId: PostId
  readonly rules: string
  readonly isWhole: number
  readonly atMs: number
  /** Absent when the post is gone. */
  readonly post: string | null
  readonly postChecksum: number | null
}

/** The reads of replays. */
export function createReplayReads(db: DatabaseSync, { damaged }: ReadContext): SyncReads<ReplayReads> {
  const replaysIn = (rows: string): Statement<ReplayRow & CheckedRow> =>
    prepare(
      db,
      `SELECT ${columnsAs("replays", replayColumns)}, ${damageOf("replays")} AS damage
       FROM replays ${rows} ORDER BY replays.id DESC`,
    )
  const all = replaysIn("")
  const ofApp = replaysIn("WHERE app_id = ?")
  // The index is named, since SQLite would rather read all of them in the order of the result.
  const running = replaysIn("INDEXED BY replays_running WHERE state = 'running'")
  const foundIn = (shape: PostShape): Statement<FoundRow> =>
    prepare(
      db,
      `SELECT ${columnsAs("backfill_matches", "seq, post_id, rules")}, ${isWhole("backfill_matches")} AS isWhole,
         replays.created_at_ms AS atMs, ${shape} AS post, ${shape}_checksum AS postChecksum
       FROM backfill_matches JOIN replays ON replays.id = replay_id LEFT JOIN posts ON posts.id = post_id
       WHERE replay_id = ? AND seq > ? ORDER BY seq LIMIT ?`,
    )
  const found = { core: foundIn("core"), envelope: foundIn("envelope") }

  function rowsOf({ appId, state }: Parameters<SyncReads["replays"]>[0]): readonly (ReplayRow & CheckedRow)[] {
    if (appId !== undefined) return ofApp.all(BigInt(appId))
    return state === "running" ? running.all() : all.all()
  }

  return {
    replays(of) {
      return damaged
        .whole("replays", rowsOf(of))
        .filter((row) => of.state === undefined || row.state === of.state)
        .map(replayOf)
    },

    backfillMatches({ id, after, limit, bytesMax, shape }) {
      const { rows } = upToBytes(found[shape].iterate(BigInt(id), after, limit), rowBytes, bytesMax)
      return rows.map((row) => {
        if (row.isWhole === 0) return entryOf({ ...row, rules: "[]", post: null })
        if (row.post === null) return entryOf({ ...row, rules: deletedRules })
        const isPostWhole = textChecksum(row.postId, row.post) === row.postChecksum
        return entryOf(isPostWhole ? row : { ...row, post: null })
      })
    },
  }
}

/** The writes of replays. */
export function createReplayWrites(db: DatabaseSync, { announceControl }: WriteContext): SyncWrites<ReplayWrites> {
  const refuseRevoked = prepareRefuseRevoked(db)
  const link = prepare(db, "SELECT 1 FROM links WHERE id = ? AND app_id = ? AND webhook_id = ?")
  const running = prepare(db, "SELECT 1 FROM replays WHERE webhook_id = ? AND state = 'running'")
  const insert = prepare(
    db,
    `INSERT INTO replays (${replayColumns}, checksum)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
       row_checksum(?1, ?2, ?3, ?4, ?5, ?6, ?8, ?11, ?14))`,
  )
  const move = prepare(
    db,
    "UPDATE replays SET position = ?, delivered = ?, failed = ? WHERE id = ? AND state = 'running'",
  )
  const endSeqOf = prepare<{ endSeq: number }>(
    db,
    "SELECT end_seq AS endSeq FROM replays WHERE id = ? AND state = 'running'",
  )
  const insertFound = prepare(db, insertChecked("backfill_matches"))
  const moveSearch = prepare(
    db,
    `UPDATE replays SET ${settingChecked("replays", { end_seq: "?1" })}, searched_id = ?2, last_id = ?3 WHERE id = ?4`,
  )
  const noteIds = prepareNoteIds(db)
  const end = prepareEndReplay(db)
  return {
    createReplay(replay) {
      refuseRevoked(BigInt(replay.appId))
      const webhook = BigInt(replay.webhookId)
      if (link.get(BigInt(replay.linkId), BigInt(replay.appId), webhook) === undefined) return "no-link"
      if (running.get(webhook) !== undefined) return "conflict"
      const { ids, rest, searched } = replayValuesOf(replay)
      insert.run(...ids.map(BigInt), ...rest, ...searched.map((id) => (id === null ? null : BigInt(id))))
      noteIds(replay.id)
      announceControl()
      return "created"
    },

    saveReplay({ id, position, delivered, failed }) {
      move.run(position, delivered, failed, BigInt(id))
    },

    addBackfillMatches({ id, matches, searchedId, lastId }) {
      const replay = endSeqOf.get(BigInt(id))
      if (replay === undefined) return false
      for (const { seq, postId, rules } of backfillRowsOf(replay.endSeq, matches)) {
        insertFound.run(BigInt(id), seq, BigInt(postId), rules)
      }
      moveSearch.run(replay.endSeq + matches.length, BigInt(searchedId), BigInt(lastId), BigInt(id))
      announceControl(isSearchOver({ searchedId, lastId }))
      return true
    },

    endReplay(id, state, atMs) {
      return announceControl(end(id, state, atMs))
    },
  }
}

function prepareEndReplay(db: DatabaseSync): SyncWrites["endReplay"] {
  const end = prepare<{ app_id: AppId }>(
    db,
    `UPDATE replays SET state = ?, ended_at_ms = ? WHERE id = ? AND state = 'running'
     RETURNING CAST (app_id AS TEXT) AS app_id`,
  )
  const forgetFound = prepare(db, "DELETE FROM backfill_matches WHERE replay_id = ?")
  const forgetOld = prepare(
    db,
    `DELETE FROM replays WHERE app_id = ?1 AND state != 'running' AND id NOT IN (
       SELECT id FROM replays WHERE app_id = ?1 AND state != 'running' ORDER BY id DESC LIMIT ?2)`,
  )
  return (id, state, atMs) => {
    const ended = end.get(state, atMs, BigInt(id))
    if (ended === undefined) return false
    forgetFound.run(BigInt(id))
    forgetOld.run(BigInt(ended.app_id), endedReplaysMax)
    return true
  }
}

/** Prepares the end of all replays of an app that run: they stay incomplete. */
export function prepareEndReplays(db: DatabaseSync): (app: bigint, atMs: number) => void {
  const running = prepare<{ id: ReplayId }>(
    db,
    "SELECT CAST (id AS TEXT) AS id FROM replays WHERE app_id = ? AND state = 'running'",
  )
  const end = prepareEndReplay(db)
  return (app, atMs) => {
    for (const { id } of running.all(app)) end(id, "incomplete", atMs)
  }
}
