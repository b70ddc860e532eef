/** The writing side of the embedded store: the writes of all nouns, on the one connection that writes. */
import type { DatabaseSync } from "node:sqlite"
import { createAppWrites } from "../nouns/apps.ts"
import { createAttemptWrites } from "../nouns/attempts.ts"
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
import { createTrimMatches, createTrimPosts } from "../nouns/retention.ts"
import { createSessionWrites } from "../nouns/sessions.ts"
import { createSourceWrites } from "../nouns/sources.ts"
import { createRuleWrites } from "../nouns/rules.ts"
import { createUsageWrites } from "../nouns/usage.ts"
import { createUserWrites } from "../nouns/users.ts"
import { prepare } from "../connection/statements.ts"
import type { SyncWrites, WriteContext } from "./sync-store.ts"
import { createWebhookWrites } from "../nouns/webhooks.ts"

/** The writes of a store on this connection. Each passes its changes to `announce`. */
export function createWrites(
  db: DatabaseSync,
  { announce, followed, clock }: Pick<WriteContext, "announce" | "followed" | "clock">,
): SyncWrites {
  const countChange = prepare(db, "UPDATE totals SET control_changes = control_changes + 1")
  const announceControl = (isChanged = true): boolean => {
    if (isChanged) {
      countChange.run()
      announce({ kind: "control" })
    }
    return isChanged
  }
  const context: WriteContext = { announce, announceControl, followed, clock }
  return {
    ...createAppWrites(db, context),
    ...createSessionWrites(db, context),
    ...createConnectionWrites(db),
    ...createRuleWrites(db, context),
    ...createWebhookWrites(db, context),
    ...createLinkWrites(db, context),
    ...createProgressWrites(db),
    ...createAttemptWrites(db),
    ...createDeadLetterWrites(db, context),
    ...createRedeliveryWrites(db, context),
    ...createReplayWrites(db, context),
    ...createAppend(db, context),
    ...createDeletionWrites(db, context),
    ...createUserWrites(db, context),
    ...createUsageWrites(db),
    ...createSourceWrites(db, context),
    ...createEpochWrites(db, context),
    ...createTrimMatches(db, context),
    ...createTrimPosts(db),
    ...createKnownTimeWrites(db),
  }
}
