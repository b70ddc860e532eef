/** The writing side of the PostgreSQL store: the writes of all nouns, each in a transaction of its own. */
import type { StoreWrites } from "../../store.ts"
import { createAppWrites } from "../nouns/apps.ts"
import { createAttemptWrites } from "../nouns/attempts.ts"
import type { ClusterDatabase, WriteContext } from "../connection/database.ts"
import { createConnectionWrites } from "../nouns/connections.ts"
import { createDeadLetterWrites } from "../nouns/dead-letters.ts"
import { createKnownTimeWrites } from "../nouns/known-time.ts"
import { createLinkWrites } from "../nouns/links.ts"
import { createDeletionWrites } from "../nouns/deletions.ts"
import { createEpochWrites } from "../nouns/log-epochs.ts"
import { createAppend } from "../nouns/match-logs.ts"
import { createProgressWrites } from "../nouns/progress.ts"
import { createRedeliveryWrites } from "../nouns/redeliveries.ts"
import { createReplayWrites } from "../nouns/replays.ts"
import { createRetentionWrites } from "../nouns/retention.ts"
import { createSourceWrites } from "../nouns/sources.ts"
import { createRuleWrites } from "../nouns/rules.ts"
import { createSessionWrites } from "../nouns/sessions.ts"
import { createUsageWrites } from "../nouns/usage.ts"
import { createUserWrites } from "../nouns/users.ts"
import { createWebhookWrites } from "../nouns/webhooks.ts"

/**
 * The writes of a store. A write that locks rows of several tables does so in this order, and by id within a table, so
 * that two seldom wait for each other: the lock of deletions, rule_history, apps, webhooks, posts, users, user_objects, match_logs, links, then
 * what belongs to links.
 */
export function createWrites(database: ClusterDatabase, context: WriteContext): StoreWrites {
  return {
    ...createAppWrites(database, context),
    ...createSessionWrites(database, context),
    ...createConnectionWrites(database),
    ...createRuleWrites(database),
    ...createWebhookWrites(database),
    ...createLinkWrites(database),
    ...createProgressWrites(database),
    ...createAttemptWrites(database),
    ...createDeadLetterWrites(database),
    ...createRedeliveryWrites(database),
    ...createReplayWrites(database),
    ...createAppend(database),
    ...createDeletionWrites(database),
    ...createUserWrites(database, context),
    ...createUsageWrites(database),
    ...createSourceWrites(database),
    ...createEpochWrites(database),
    ...createRetentionWrites(database, context),
    ...createKnownTimeWrites(database),
  }
}
