/** Replays: those that run, and the newest of those that ended. */
import type { ReplayReads, ReplayWrites } from "../../port/replay-store.ts"
import type { DatabaseSync } from "node:sqlite"
import type { AppId, ReplayId } from "../../../model/ids.ts"
import { endedReplaysMax } from "../../bounds.ts"
import { recordOf } from "../../rows/record.ts"
import { replayColumns, replayValuesOf, type ReplayRow } from "../../rows/replay.ts"
import { damageOf, type CheckedRow } from "../connection/checked-rows.ts"
import { prepareNoteIds } from "../connection/last-id.ts"
import { columnsAs, prepare, type Statement } from "../connection/statements.ts"
import type { ReadContext, SyncReads, SyncWrites, WriteContext } from "../serving/sync-store.ts"

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

  function rowsOf({ appId, state }: Parameters<SyncReads["replays"]>[0]): readonly (ReplayRow & CheckedRow)[] {
    if (appId !== undefined) return ofApp.all(BigInt(appId))
    return state === "running" ? running.all() : all.all()
  }

  return {
    replays(of) {
      return damaged
        .whole("replays", rowsOf(of))
        .filter((row) => of.state === undefined || row.state === of.state)
        .map(recordOf)
    },
  }
}

/** The writes of replays. */
export function createReplayWrites(db: DatabaseSync, { announceControl }: WriteContext): SyncWrites<ReplayWrites> {
  const link = prepare(db, "SELECT 1 FROM links WHERE id = ? AND app_id = ? AND webhook_id = ?")
  const running = prepare(db, "SELECT 1 FROM replays WHERE webhook_id = ? AND state = 'running'")
  const insert = prepare(
    db,
    `INSERT INTO replays (${replayColumns}, checksum)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
       row_checksum(?1, ?2, ?3, ?4, ?5, ?6, ?8, ?11))`,
  )
  const move = prepare(
    db,
    "UPDATE replays SET position = ?, delivered = ?, failed = ? WHERE id = ? AND state = 'running'",
  )
  const noteIds = prepareNoteIds(db)
  const end = prepareEndReplay(db)
  return {
    createReplay(replay) {
      const webhook = BigInt(replay.webhookId)
      if (link.get(BigInt(replay.linkId), BigInt(replay.appId), webhook) === undefined) return "no-link"
      if (running.get(webhook) !== undefined) return "conflict"
      const { ids, rest } = replayValuesOf(replay)
      insert.run(...ids.map(BigInt), ...rest)
      noteIds(replay.id)
      announceControl()
      return "created"
    },

    saveReplay({ id, position, delivered, failed }) {
      move.run(position, delivered, failed, BigInt(id))
    },

    endReplay: end,
  }
}

function prepareEndReplay(db: DatabaseSync): SyncWrites["endReplay"] {
  const end = prepare<{ app_id: AppId }>(
    db,
    `UPDATE replays SET state = ?, ended_at_ms = ? WHERE id = ? AND state = 'running'
     RETURNING CAST (app_id AS TEXT) AS app_id`,
  )
  const forgetOld = prepare(
    db,
    `DELETE FROM replays WHERE app_id = ?1 AND state != 'running' AND id NOT IN (
       SELECT id FROM replays WHERE app_id = ?1 AND state != 'running' ORDER BY id DESC LIMIT ?2)`,
  )
  return (id, state, atMs) => {
    const ended = end.get(state, atMs, BigInt(id))
    if (ended !== undefined) forgetOld.run(BigInt(ended.app_id), endedReplaysMax)
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
