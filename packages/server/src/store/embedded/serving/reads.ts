/** The reading side of the embedded store: the reads of all nouns, on a connection of their own. */
import type { DatabaseSync } from "node:sqlite"
import { systemClock, type Clock } from "../../../runtime/clock.ts"
import type { FairRounds } from "../../../runtime/fair-rounds.ts"
import { readerOf, type Reader } from "../../readers.ts"
import type { StoreReads } from "../../store.ts"
import { createAppReads } from "../nouns/apps.ts"
import { createArrivalReads } from "../nouns/arrivals.ts"
import { createAttemptReads } from "../nouns/attempts.ts"
import { DamagedRows } from "../connection/checked-rows.ts"
import { defaultCacheBytes } from "../connection/database.ts"
import { createConnectionReads } from "../nouns/connections.ts"
import { createDeadLetterReads } from "../nouns/dead-letters.ts"
import { createDeletionReads } from "../nouns/deletions.ts"
import { prepareKnownTime } from "../nouns/known-time.ts"
import { prepareLastId } from "../connection/last-id.ts"
import { createEditReads } from "../nouns/edits.ts"
import { createLinkReads } from "../nouns/links.ts"
import { createMatchLogReads, createRecentMatches } from "../nouns/match-logs.ts"
import { createPostReads, createRecentPosts, createUserReads } from "../nouns/posts.ts"
import { createRetryReads } from "../nouns/progress.ts"
import type { ReadFaults } from "../connection/read-faults.ts"
import { ReadTurns } from "../connection/read-turns.ts"
import type { RecentMatches } from "./recent-matches.ts"
import { createReplayReads } from "../nouns/replays.ts"
import { createGapReads } from "../nouns/retention.ts"
import { createSourceReads } from "../nouns/sources.ts"
import { createSessionReads } from "../nouns/sessions.ts"
import { createRuleReads } from "../nouns/rules.ts"
import { createUsageReads } from "../nouns/usage.ts"
import { createUserObjectReads } from "../nouns/users.ts"
import { prepare } from "../connection/statements.ts"
import type { ReadContext, SyncReads } from "./sync-store.ts"
import { createWebhookReads } from "../nouns/webhooks.ts"

/** How reads are set up. */
interface ReadSettings {
  /** The connection's recent matches. By default its own, without announcements. */
  readonly recent?: RecentMatches
  readonly clock?: Pick<Clock, "monotonicMs">
  /** The rounds of a thread that takes requests: reads rest while they do. */
  readonly rounds?: Pick<FairRounds, "isResting"> | undefined
  /** Says why a read failed. Without it that is said as SQLite does. */
  readonly faults?: ReadFaults
}

/** The reads of a store on this connection, which may be inside a transaction. They share the turns of the event loop. */
export function createReads(
  db: DatabaseSync,
  {
    recent = createRecentMatches(db, { keptBytesMax: defaultCacheBytes }),
    clock = systemClock,
    rounds,
    faults,
  }: ReadSettings = {},
): StoreReads {
  const turns = new ReadTurns(clock, rounds)
  const version = prepare<{ version: number }>(db, "SELECT control_changes AS version FROM totals")
  const context: ReadContext = { turns, damaged: new DamagedRows(db), recent, faults }
  const reads: Omit<SyncReads, "recentPosts"> = {
    ...createAppReads(db, context),
    ...createSessionReads(db),
    ...createConnectionReads(db),
    ...createRuleReads(db, context),
    ...createWebhookReads(db, context),
    ...createLinkReads(db, context),
    ...createRetryReads(db, context),
    ...createGapReads(db),
    ...createAttemptReads(db),
    ...createDeadLetterReads(db),
    ...createReplayReads(db, context),
    ...createMatchLogReads(db, context),
    ...createPostReads(db, context),
    ...createArrivalReads(db, context),
    ...createDeletionReads(db),
    ...createUserReads(db, context),
    ...createEditReads(db),
    ...createUserObjectReads(db),
    ...createUsageReads(db),
    ...createSourceReads(db),
    damagedRecords: () => context.damaged.names(),
    lastId: prepareLastId(db),
    controlVersion: () => version.get()?.version ?? 0,
    knownTime: prepareKnownTime(db),
  }
  return { ...inTurns(turns, reads, faults), ...createRecentPosts(db, context) }
}

/** Reads that return promises. Each waits for its turn, among those of the same reader, before it begins. */
function inTurns(
  turns: ReadTurns,
  reads: Omit<SyncReads, "recentPosts">,
  faults: ReadFaults | undefined,
): Omit<StoreReads, "recentPosts"> {
  const asynchronous = Object.entries(reads).map(([name, read]) => [
    name,
    async (...args: readonly unknown[]) => {
      const reader = (readerOf[name as keyof StoreReads] as (...values: readonly unknown[]) => Reader)(...args)
      const turn = turns.begin(reader)
      if (turn !== undefined) await turn
      try {
        const result = (read as (...values: readonly unknown[]) => unknown)(...args)
        return result instanceof Promise ? await result : result
      } catch (error) {
        throw faults === undefined ? error : await faults.named(error)
      }
    },
  ])
  return Object.fromEntries(asynchronous) as Omit<StoreReads, "recentPosts">
}
