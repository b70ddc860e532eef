import type { DatabaseSync } from "node:sqlite"
import type { AppId, MatchSeq } from "../../model/ids.ts"
import { prepare } from "./statements.ts"

/** The position in an app's log after which everything was appended at or after a moment. */
export type PositionAt = (appId: AppId, atMs: number) => MatchSeq

/** Prepares the search, on a connection that reads or writes. */
export function preparePositionAt(db: DatabaseSync): PositionAt {
  const log = prepare<{ head: number; trimmed_to: number }>(
    db,
    "SELECT head, trimmed_to FROM match_logs WHERE app_id = ?",
  )
  const atOf = prepare<{ at_ms: number }>(db, "SELECT at_ms FROM matches WHERE app_id = ? AND seq = ?")
  return (appId, atMs) => {
    const app = BigInt(appId)
    const { head, trimmed_to: trimmedTo } = log.get(app) ?? { head: 0, trimmed_to: 0 }
    // Entries are appended in the order of time (the clock of one writer, steps back aside), so this is a
    // search by halves for the first that is new enough. What retention has passed is older than all.
    let before = trimmedTo
    let newEnough = head + 1
    while (newEnough - before > 1) {
      const middle = Math.floor((before + newEnough) / 2)
      const entry = atOf.get(app, middle)
      if (entry !== undefined && entry.at_ms >= atMs) newEnough = middle
      else before = middle
    }
    return before as MatchSeq
  }
}
