/** The reading side of the PostgreSQL store: the reads of all nouns. Each statement sees one moment of the database. */
import type { StoreReads } from "../../store.ts"
import { createAppReads } from "../nouns/apps.ts"
import { createArrivalReads } from "../nouns/arrivals.ts"
import { createAttemptReads } from "../nouns/attempts.ts"
import type { Queries } from "../connection/database.ts"
import { createConnectionReads } from "../nouns/connections.ts"
import { createDeadLetterReads } from "../nouns/dead-letters.ts"
import { createEditReads } from "../nouns/edits.ts"
import { createDeletionReads } from "../nouns/deletions.ts"
import { createKnownTimeReads } from "../nouns/known-time.ts"
import { lastId } from "../connection/last-id.ts"
import { createLinkReads } from "../nouns/links.ts"
import { createMatchLogReads } from "../nouns/match-logs.ts"
import { createPostReads } from "../nouns/posts.ts"
import { createRetryReads } from "../nouns/progress.ts"
import { createReplayReads } from "../nouns/replays.ts"
import { createGapReads } from "../nouns/retention.ts"
import { createSourceReads } from "../nouns/sources.ts"
import { createSessionReads } from "../nouns/sessions.ts"
import { createRuleReads } from "../nouns/rules.ts"
import { createUsageReads } from "../nouns/usage.ts"
import { createUserReads } from "../nouns/users.ts"
import { createWebhookReads } from "../nouns/webhooks.ts"

/** The reads of a store. */
export function createReads(queries: Queries): StoreReads {
  return {
    ...createAppReads(queries),
    ...createSessionReads(queries),
    ...createConnectionReads(queries),
    ...createRuleReads(queries),
    ...createWebhookReads(queries),
    ...createLinkReads(queries),
    ...createRetryReads(queries),
    ...createGapReads(queries),
    ...createAttemptReads(queries),
    ...createDeadLetterReads(queries),
    ...createReplayReads(queries),
    ...createMatchLogReads(queries),
    ...createPostReads(queries),
    ...createArrivalReads(queries),
    ...createEditReads(queries),
    ...createDeletionReads(queries),
    ...createUserReads(queries),
    ...createUsageReads(queries),
    ...createSourceReads(queries),
    ...createKnownTimeReads(queries),
    // PostgreSQL checks its pages itself, so no row is found damaged here.
    damagedRecords: async () => [],
    lastId: () => lastId(queries),
    async controlVersion() {
      const sql = `SELECT coalesce(sum(control_changes), 0)::bigint AS version FROM totals`
      return (await queries.row<{ version: number }>(sql))?.version ?? 0
    },
  }
}
