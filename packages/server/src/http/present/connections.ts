/** Stream connections as API bodies show them. */
import type { Connection, ConnectionField, ConnectionsBody, EndedConnectionsBody } from "@sluice/api"
import type { StreamConnection } from "../../model/connection.ts"
import { instant } from "../../model/date-time.ts"
import type { KeysetPage } from "../../paging/keyset-page.ts"

/** A page of connections with these members, and always their ids. Like X's, it leads to older pages only. */
export function presentConnections(
  { items, meta }: KeysetPage<StreamConnection>,
  fields: readonly ConnectionField[] | undefined,
): ConnectionsBody {
  const { result_count, next_token } = meta
  return {
    data: items.map((item) => presentConnection(item, fields)),
    meta: { result_count, ...(next_token !== undefined && { next_token }) },
  }
}

function presentConnection(
  { uuid, endpoint, connectedAtMs, ended, clientIp }: StreamConnection,
  fields: readonly ConnectionField[] | undefined,
): Connection {
  const shown: Connection = {
    id: uuid,
    endpoint_name: endpoint,
    connected_at: instant(connectedAtMs),
    ...(ended !== undefined && { disconnected_at: instant(ended.atMs), disconnect_reason: ended.reason }),
    client_ip: clientIp,
  }
  if (fields === undefined) return shown
  const chosen = new Set<string>(["id", ...fields])
  return Object.fromEntries(Object.entries(shown).filter(([name]) => chosen.has(name)))
}

/**
 * The result of ending connections. `wanted`: the UUIDs of the request. The message is ours: X documents none. Another app's
 * connection gets that of one that never existed.
 */
export function presentEnded(ended: readonly string[], wanted: readonly string[] = ended): EndedConnectionsBody {
  const successes = new Set(ended)
  const results = wanted.map((uuid) =>
    successes.has(uuid)
      ? { uuid, success: true }
      : { uuid, success: false, error_message: "No active connection with this id." },
  )
  const failed = results.filter(({ success }) => !success).length
  return { data: { successful_kills: results.length - failed, failed_kills: failed, results } }
}
