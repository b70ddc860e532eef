/** The store as the files of its nouns make it: functions on one connection, in one thread. */
import type { Clock } from "../../../runtime/clock.ts"
import { writerOf } from "../../readers.ts"
import type { StoreReads, StoreWrites } from "../../store.ts"
import type { AnnouncedChange, FollowedLogs } from "./appended-entries.ts"
import type { DamagedRows } from "../connection/checked-rows.ts"
import type { ReadFaults } from "../connection/read-faults.ts"
import type { ReadTurns } from "../connection/read-turns.ts"
import type { RecentMatches } from "./recent-matches.ts"

/** `StoreReads` as functions that return at once, but for those that take several turns of the event loop. */
export type SyncReads<Reads extends Partial<StoreReads> = StoreReads> = {
  readonly [Name in keyof Reads & keyof StoreReads]: (
    ...args: Parameters<StoreReads[Name]>
  ) => ReturnType<StoreReads[Name]> | Awaited<ReturnType<StoreReads[Name]>>
}

/** `StoreWrites` as functions that return at once. Each runs within a transaction of the group commit. */
export type SyncWrites<Writes extends Partial<StoreWrites> = Omit<StoreWrites, "eraseDeleted">> = {
  readonly [Name in keyof Writes & keyof StoreWrites]: (
    ...args: Parameters<StoreWrites[Name]>
  ) => Awaited<ReturnType<StoreWrites[Name]>>
}

/** The context that the reads of all nouns share. */
export interface ReadContext {
  readonly turns: ReadTurns
  readonly damaged: DamagedRows
  readonly recent: RecentMatches
  /** Says why a read failed; absent where that is said as SQLite does. */
  readonly faults: ReadFaults | undefined
}

/** The context that the writes of all nouns share. */
export interface WriteContext {
  /** Notes a change. Listeners are notified of it after the commit. */
  readonly announce: (change: AnnouncedChange) => void
  /** Logs whose new entries go with the announcement. */
  readonly followed: FollowedLogs
  /** Counts and notes a change of apps, rules, webhooks, links or replays, unless `isChanged` is false. Returns it. */
  readonly announceControl: (isChanged?: boolean) => boolean
  readonly clock: Clock
}

/** Name of every write: what may come through a port. */
export const writeNames = Object.keys(writerOf) as readonly (keyof StoreWrites)[]
