/** The writing side of the PostgreSQL store: the writes of all nouns, each in a transaction of its own. */
import type { StoreWrites } from "../store.ts"
import { createAppWrites } from "./apps.ts"
import { createAttemptWrites } from "./attempts.ts"
import type { ClusterDatabase, WriteContext } from "./database.ts"
import { createDeadLetterWrites } from "./dead-letters.ts"
import { createKnownTimeWrites } from "./known-time.ts"
import { createLinkWrites } from "./links.ts"
import { createEpochWrites } from "./log-epochs.ts"
import { createAppend } from "./match-logs.ts"
import { createProgressWrites } from "./progress.ts"
import { createRedeliveryWrites } from "./redeliveries.ts"
import { createReplayWrites } from "./replays.ts"
import { createRetentionWrites } from "./retention.ts"
import { createRuleWrites } from "./rules.ts"
import { createSessionWrites } from "./sessions.ts"
import { createWebhookWrites } from "./webhooks.ts"

/**
 * The writes of a store. Where one locks rows of several tables, it does so in this order, and by id within a table, so
 * that two seldom wait for each other: rule_history, apps, webhooks, posts, users, match_logs, links, then what belongs to links.
 */
export function createWrites(database: ClusterDatabase, context: WriteContext): StoreWrites {
  return {
    ...createAppWrites(database, context),
    ...createSessionWrites(database, context),
    ...createRuleWrites(database),
    ...createWebhookWrites(database),
    ...createLinkWrites(database),
    ...createProgressWrites(database),
    ...createAttemptWrites(database),
    ...createDeadLetterWrites(database),
    ...createRedeliveryWrites(database),
    ...createReplayWrites(database),
    ...createAppend(database),
    ...createEpochWrites(database),
    ...createRetentionWrites(database, context),
    ...createKnownTimeWrites(database),
  }
}
