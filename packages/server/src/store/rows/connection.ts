/** Rows of the history of stream connections. */
import type { DisconnectReason, StreamConnection } from "../../model/connection.ts"
import type { AppId, ConnectionId } from "../../model/ids.ts"

/** The columns of a connection, a list with commas. */
export const connectionColumns =
  "id, uuid, app_id, endpoint, client_ip, connected_at_ms, disconnected_at_ms, disconnect_reason"

/** A row with these columns under the names of the model. */
export interface ConnectionRow {
  readonly id: ConnectionId
  readonly uuid: string
  readonly appId: AppId
  readonly endpoint: StreamConnection["endpoint"]
  readonly clientIp: string
  readonly connectedAtMs: number
  readonly disconnectedAtMs: number | null
  readonly disconnectReason: DisconnectReason | null
}

/** The connection of a row. */
export function connectionOf({ disconnectedAtMs, disconnectReason, ...row }: ConnectionRow): StreamConnection {
  if (disconnectedAtMs === null || disconnectReason === null) return { ...row }
  return { ...row, ended: { atMs: disconnectedAtMs, reason: disconnectReason } }
}
