/**
 * The one interface to stored data: apps, rules, webhooks, links, posts, and each app's match log.
 *
 * Reads and writes are separate, because in the embedded store they happen in different threads. Each write is one
 * transaction and durable when its promise resolves. Arguments and results are plain data. A large read gives other
 * work its turns of the event loop. Changes are announced through `onChange`; an announcement is only a hint to read: it
 * may be lost, late or without cause.
 *
 * Each noun has a part of its own in `port/`: what works on a store takes the parts that it uses. Only what opens a store
 * and passes it on knows the whole.
 *
 * `contract/` holds the tests that every store passes, and `engine.ts` the way to open one.
 */
import type { AppId } from "../model/ids.ts"
import type { AppReads, AppWrites } from "./port/app-store.ts"
import type { ConnectionReads, ConnectionWrites } from "./port/connection-store.ts"
import type { SessionReads, SessionWrites } from "./port/session-store.ts"
import type { RuleReads, RuleWrites } from "./port/rule-store.ts"
import type { WebhookReads, WebhookWrites } from "./port/webhook-store.ts"
import type { LinkReads, LinkWrites } from "./port/link-store.ts"
import type { ProgressReads, ProgressWrites } from "./port/progress-store.ts"
import type { DeadLetterReads, DeadLetterWrites } from "./port/dead-letter-store.ts"
import type { RedeliveryStore } from "./port/redelivery-store.ts"
import type { AttemptReads, AttemptWrites } from "./port/attempt-store.ts"
import type { ReplayReads, ReplayWrites } from "./port/replay-store.ts"
import type { MatchLogReads, MatchLogWrites } from "./port/match-log.ts"
import type { PostStore } from "./port/post-store.ts"
import type { EditReads } from "./port/edit-store.ts"
import type { DeletionReads, DeletionWrites } from "./port/deletion-store.ts"
import type { ArrivalReads } from "./port/arrival-store.ts"
import type { RetentionReads, RetentionWrites } from "./port/retention-store.ts"
import type { SourceReads, SourceWrites } from "./port/source-store.ts"
import type { StateReads, StateWrites } from "./port/store-state.ts"
import type { UsageReads, UsageWrites } from "./port/usage-store.ts"
import type { UserReads, UserWrites } from "./port/user-store.ts"

/** The reads of a store. They may follow one another in a loop: a store that blocks its thread yields between them. */
export interface StoreReads
  extends
    AppReads,
    SessionReads,
    ConnectionReads,
    RuleReads,
    WebhookReads,
    LinkReads,
    ProgressReads,
    DeadLetterReads,
    AttemptReads,
    ReplayReads,
    MatchLogReads,
    PostStore,
    EditReads,
    ArrivalReads,
    DeletionReads,
    UserReads,
    UsageReads,
    RetentionReads,
    SourceReads,
    StateReads {}

/** The writes of a store. */
export interface StoreWrites
  extends
    AppWrites,
    SessionWrites,
    ConnectionWrites,
    RuleWrites,
    WebhookWrites,
    LinkWrites,
    ProgressWrites,
    DeadLetterWrites,
    RedeliveryStore,
    AttemptWrites,
    ReplayWrites,
    MatchLogWrites,
    DeletionWrites,
    UserWrites,
    UsageWrites,
    RetentionWrites,
    SourceWrites,
    StateWrites {}

/**
 * A change: new matches of these apps, or of any when they are absent; posts or users that were deleted; or a change of apps,
 * rules, webhooks or links. Matches of no app: posts came that no rule matched, which a store may leave out unless someone
 * listens to arrivals.
 */
export type StoreChange =
  | { readonly kind: "deletions" }
  | { readonly kind: "matches"; readonly appIds?: readonly AppId[] }
  | { readonly kind: "control" }

/** A source of announced changes. */
export interface ChangeSource {
  /**
   * Calls `listener` after each change, until the returned function is called. A server's store announces control changes
   * of other processes within a second.
   */
  onChange(listener: (change: StoreChange) => void): () => void
}

/** A source of announced arrivals. */
export interface ArrivalSource {
  /** Calls `listener` after posts have arrived, matched or not, until the returned function is called. */
  onArrival(listener: () => void): () => void
}

/** A store. */
export interface Store extends StoreReads, StoreWrites, ChangeSource, ArrivalSource, AsyncDisposable {}
