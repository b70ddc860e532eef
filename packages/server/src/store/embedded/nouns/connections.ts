/** The history of stream connections. */
import type { DatabaseSync } from "node:sqlite"
import { lostReason } from "../../../model/connection.ts"
import { connectionsKeptMax } from "../../bounds.ts"
import type { ConnectionReads, ConnectionSelector, ConnectionWrites } from "../../port/connection-store.ts"
import { connectionColumns, connectionOf, type ConnectionRow } from "../../rows/connection.ts"
import { insertChecked, isWhole, settingChecked } from "../connection/checked-rows.ts"
import { prepareKeyset, readKeyset } from "../connection/keyset.ts"
import { columnsAs, prepare } from "../connection/statements.ts"
import type { SyncReads, SyncWrites } from "../serving/sync-store.ts"

/** The reads of the history. */
export function createConnectionReads(db: DatabaseSync): SyncReads<ConnectionReads> {
  const pages = prepareKeyset<ConnectionRow>(
    db,
    `SELECT ${columnsAs("connection_history", connectionColumns)} FROM connection_history
     WHERE app_id = ?1 AND (?2 IS NULL OR (disconnected_at_ms IS NULL) = ?2) AND ${isWhole("connection_history")}
       AND (?3 IS NULL OR endpoint IN (SELECT value FROM json_each(?3)))`,
    "connection_history.id",
  )
  return {
    connectionPage({ appId, isOpen, endpoints }, range) {
      const state = isOpen === undefined ? null : BigInt(isOpen)
      const listed = endpoints === undefined ? null : JSON.stringify(endpoints)
      return readKeyset(pages, range, [BigInt(appId), state, listed]).map(connectionOf)
    },
  }
}

/** The writes of the history. */
export function createConnectionWrites(db: DatabaseSync): SyncWrites<ConnectionWrites> {
  const insert = prepare(db, insertChecked("connection_history", "INSERT OR IGNORE"))
  const forgetBeyond = prepare(
    db,
    `DELETE FROM connection_history WHERE id IN (
       SELECT id FROM connection_history WHERE app_id = ?1 ORDER BY id DESC LIMIT -1 OFFSET ?2)
     AND disconnected_at_ms IS NOT NULL`,
  )
  const setEnded = settingChecked("connection_history", { disconnected_at_ms: "?1", disconnect_reason: "?2" })
  const end = prepare(
    db,
    `UPDATE connection_history SET ${setEnded}
     WHERE uuid = ?3 AND (disconnected_at_ms IS NULL OR disconnect_reason = '${lostReason}')`,
  )
  const open = prepare<{ uuid: string }>(
    db,
    `SELECT uuid FROM connection_history WHERE disconnected_at_ms IS NULL AND (?1 IS NULL OR app_id = ?1)
       AND (?2 IS NULL OR endpoint = ?2) ORDER BY id`,
  )
  const trim = prepare(
    db,
    `DELETE FROM connection_history WHERE id IN (
       SELECT id FROM connection_history
       WHERE disconnected_at_ms < max(?1, ifnull((
         SELECT disconnected_at_ms + 1 FROM connection_history WHERE disconnected_at_ms IS NOT NULL
         ORDER BY disconnected_at_ms DESC LIMIT 1 OFFSET ?2), 0))
       ORDER BY disconnected_at_ms LIMIT ?3)`,
  )
  return {
    saveConnections({ opened, ended }) {
      for (const { id, uuid, appId, endpoint, clientIp, connectedAtMs, ended: itsEnd } of opened) {
        const app = BigInt(appId)
        const [atMs, reason] = [itsEnd?.atMs ?? null, itsEnd?.reason ?? null]
        insert.run(BigInt(id), uuid, app, endpoint, clientIp, connectedAtMs, atMs, reason)
        forgetBeyond.run(app, connectionsKeptMax)
      }
      for (const { uuid, atMs, reason } of ended) end.run(atMs, reason, uuid)
    },

    endConnections(appId, selector, { atMs, reason }) {
      const endpoint = selector.kind === "endpoint" ? selector.endpoint : null
      const uuids = open.all(BigInt(appId), endpoint).map(({ uuid }) => uuid)
      const chosen = uuids.filter((uuid) => isChosen(selector, uuid))
      for (const uuid of chosen) end.run(atMs, reason, uuid)
      return chosen
    },

    endLostConnections(held, atMs) {
      const kept = new Set(held)
      for (const { uuid } of open.all(null, null)) if (!kept.has(uuid)) end.run(atMs, lostReason, uuid)
    },

    trimConnections: ({ beforeMs, keptMax, limit }) => trim.run(beforeMs, keptMax, limit),
  }
}

function isChosen(selector: ConnectionSelector, uuid: string): boolean {
  return selector.kind !== "uuids" || selector.uuids.includes(uuid)
}
