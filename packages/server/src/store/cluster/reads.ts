/** The reading side of the PostgreSQL store: the reads of all nouns. Each statement sees one moment of the database. */
import type { StoreReads } from "../store.ts"
import { createAppReads } from "./apps.ts"
import { createAttemptReads } from "./attempts.ts"
import type { Queries } from "./database.ts"
import { createDeadLetterReads } from "./dead-letters.ts"
import { createKnownTimeReads } from "./known-time.ts"
import { lastId } from "./last-id.ts"
import { createLinkReads } from "./links.ts"
import { createMatchLogReads } from "./match-logs.ts"
import { createPostReads } from "./posts.ts"
import { createRetryReads } from "./progress.ts"
import { createReplayReads } from "./replays.ts"
import { createGapReads } from "./retention.ts"
import { createSessionReads } from "./sessions.ts"
import { createRuleReads } from "./rules.ts"
import { createWebhookReads } from "./webhooks.ts"

/** The reads of a store. */
export function createReads(queries: Queries): StoreReads {
  return {
    ...createAppReads(queries),
    ...createSessionReads(queries),
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
