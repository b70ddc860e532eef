/** How many retries a link may have after matches have joined them that are to be sent again, and how large. */
import type { DatabaseSync } from "node:sqlite"
import { retriesPerLinkMax, retryBytesPerLinkMax } from "../../bounds.ts"
import { prepare } from "../connection/statements.ts"

/** The room of one link. */
export interface RetryRoom {
  readonly isFull: boolean
  /** Takes a match of so many bytes, unless there is no room for it. There is always room for one, whatever its size. */
  take(bytes: number): boolean
}

/** Prepares the room of a link that has so many retries. */
export function prepareRetryRoom(db: DatabaseSync): (link: bigint, retries: number) => RetryRoom {
  // The sizes are those of what is sent at most. SQLite knows them without reading the texts.
  const retryBytes = prepare<{ bytes: number }>(
    db,
    `SELECT coalesce(sum(octet_length(envelope)), 0) AS bytes
     FROM retries JOIN matches ON matches.app_id = retries.app_id AND matches.seq = retries.seq
       JOIN posts ON posts.id = post_id
     WHERE link_id = ?`,
  )
  return (link, retriesBefore) => {
    let retries = retriesBefore
    let bytesTaken: number | undefined
    return {
      get isFull() {
        return retries >= retriesPerLinkMax
      },
      take(bytes) {
        if (retries >= retriesPerLinkMax) return false
        bytesTaken ??= retries === 0 ? 0 : (retryBytes.get(link)?.bytes ?? 0)
        if (bytesTaken + bytes > retryBytesPerLinkMax && retries > 0) return false
        bytesTaken += bytes
        retries += 1
        return true
      },
    }
  }
}
