/**
 * The history of stream connections.
 *
 * An open connection also has a row in `stream_connections`, which counts it and goes with its process
 * (`shared-limits.ts`). When no living process has such a row, the connection is lost.
 */
import { lostReason } from "../../../model/connection.ts"
import { connectionsKeptMax } from "../../bounds.ts"
import type { ConnectionReads, ConnectionWrites } from "../../port/connection-store.ts"
import { connectionColumns, connectionOf, type ConnectionRow } from "../../rows/connection.ts"
import { columnsOf } from "../../rows/record.ts"
import { columnsAs, type ClusterDatabase, type Queries, type SqlValue } from "../connection/database.ts"
import { readKeyset } from "../connection/keyset.ts"

const select = `SELECT ${columnsAs("connection_history", connectionColumns)} FROM connection_history`

/** The reads of the history. */
export function createConnectionReads(queries: Queries): ConnectionReads {
  return {
    async connectionPage({ appId, isOpen, endpoints }, range) {
      const values: SqlValue[] = [appId]
      const conditions = ["app_id = $1"]
      if (isOpen !== undefined) conditions.push(`disconnected_at_ms IS ${isOpen ? "NULL" : "NOT NULL"}`)
      if (endpoints !== undefined) conditions.push(`endpoint = ANY ($${values.push(endpoints)}::text[])`)
      const list = { select: `${select} WHERE ${conditions.join(" AND ")}`, id: "connection_history.id" }
      return (await readKeyset<ConnectionRow>(queries, list, values, range)).map(connectionOf)
    },
  }
}

/** The writes of the history. */
export function createConnectionWrites(database: ClusterDatabase): ConnectionWrites {
  return {
    saveConnections: ({ opened, ended }) =>
      database.write(async (transaction) => {
        for (const { id, uuid, appId, endpoint, clientIp, connectedAtMs, ended: itsEnd } of opened) {
          await transaction.run(
            `INSERT INTO connection_history (${connectionColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
             ON CONFLICT DO NOTHING`,
            id,
            uuid,
            appId,
            endpoint,
            clientIp,
            connectedAtMs,
            itsEnd?.atMs ?? null,
            itsEnd?.reason ?? null,
          )
        }
        for (const appId of new Set(opened.map((connection) => connection.appId))) {
          await transaction.run(
            `DELETE FROM connection_history WHERE disconnected_at_ms IS NOT NULL AND id = ANY (ARRAY(
               SELECT id FROM connection_history WHERE app_id = $1 ORDER BY id DESC OFFSET $2))`,
            appId,
            connectionsKeptMax,
          )
        }
        if (ended.length === 0) return
        await transaction.run(
          `UPDATE connection_history SET disconnected_at_ms = given.at_ms, disconnect_reason = given.reason
           FROM unnest($1::uuid[], $2::bigint[], $3::text[]) AS given (uuid, at_ms, reason)
           WHERE connection_history.uuid = given.uuid
             AND (disconnected_at_ms IS NULL OR disconnect_reason = '${lostReason}')`,
          ...columnsOf(ended, ["uuid", "atMs", "reason"]),
        )
      }),

    endConnections: (appId, selector, { atMs, reason }) =>
      database.write(async (transaction) => {
        const ended = await transaction.rows<{ uuid: string }>(
          `UPDATE connection_history SET disconnected_at_ms = $2, disconnect_reason = $3
           WHERE app_id = $1 AND disconnected_at_ms IS NULL
             AND ($4::text[] IS NULL OR uuid::text = ANY ($4)) AND ($5::text IS NULL OR endpoint = $5)
           RETURNING uuid::text AS uuid`,
          appId,
          atMs,
          reason,
          selector.kind === "uuids" ? selector.uuids : null,
          selector.kind === "endpoint" ? selector.endpoint : null,
        )
        const uuids = ended.map(({ uuid }) => uuid)
        if (uuids.length === 0) return uuids
        const held = "UPDATE stream_connections SET replaced = true, forced = true WHERE id = ANY ($1::uuid[])"
        if ((await transaction.run(held, uuids)) > 0) transaction.announce({ kind: "control" })
        return uuids
      }),

    async endLostConnections(held, atMs) {
      await database.run(
        `UPDATE connection_history SET disconnected_at_ms = $2, disconnect_reason = '${lostReason}'
         WHERE disconnected_at_ms IS NULL AND uuid <> ALL ($1::uuid[]) AND NOT EXISTS (
           SELECT 1 FROM stream_connections
             JOIN processes ON processes.number = process AND alive_until > clock_timestamp()
           WHERE stream_connections.id = uuid)`,
        held,
        atMs,
      )
    },

    trimConnections: ({ beforeMs, keptMax, limit }) =>
      database.run(
        `DELETE FROM connection_history WHERE id = ANY (ARRAY(
           SELECT id FROM connection_history
           WHERE disconnected_at_ms < greatest($1::bigint, (
             SELECT disconnected_at_ms + 1 FROM connection_history WHERE disconnected_at_ms IS NOT NULL
             ORDER BY disconnected_at_ms DESC LIMIT 1 OFFSET $2))
           ORDER BY disconnected_at_ms LIMIT $3))`,
        beforeMs,
        keptMax,
        limit,
      ),
  }
}
