import type { DeadMatch } from "./dead-letter.ts"
import type { LogEpoch } from "./event-id.ts"
import type { AppId, LinkId, MatchSeq, WebhookId } from "./ids.ts"
import type { MatchEntry } from "./match.ts"

/** An app's stream tied to one of its webhooks: a durable cursor on the app's match log. */
export interface StoredLink {
  /** Orders links by age; not shown to anyone. */
  readonly id: LinkId
  readonly appId: AppId
  readonly webhookId: WebhookId
  readonly createdAtMs: number
  /** Query string that chooses what deliveries show, as it was given, without `?`. */
  readonly query: string
}

/** A link with all that a delivery needs. */
export interface LinkToDeliver extends StoredLink {
  readonly url: string
  readonly valid: boolean
  /** The cursor: every match up to here is delivered, or a retry. */
  readonly position: MatchSeq
  /** Strictly one after the other, in the order of the log. */
  readonly isOrdered: boolean
  /** Since when it is paused, Unix ms: nothing is sent, and its position stays. Absent for a link that delivers. */
  readonly pausedAtMs?: number
  /** Grows each time matches of the link are to be sent again: they are retries from then on, due at once. */
  readonly redeliveries: number
  /** The epochs of its app's match log after the first, in any order; absent when the log has only one. */
  readonly epochs?: readonly LogEpoch[]
  readonly consumerSecretSealed: Uint8Array
  readonly signingKeySealed: Uint8Array
  /** The key before the present one, which signs too until its time has come. */
  readonly previousKey?: SealedKeyUntil
}

/** A signing key that goes out of use. */
export interface SealedKeyUntil {
  readonly keySealed: Uint8Array
  readonly untilMs: number
}

/** A stretch of the log that retention took away before a link's cursor came by. Both ends belong to it. */
export interface GapMarker {
  readonly from: MatchSeq
  readonly to: MatchSeq
  /** When it was made or grew last. */
  readonly atMs: number
}

/**
 * The matches of a link by state, as stored. Each is in exactly one of these states:
 * `position - firstPosition = delivered + retries + deadLetters + expired + missed + withdrawn`.
 */
export interface LinkTally {
  readonly linkId: LinkId
  readonly appId: AppId
  readonly webhookId: WebhookId
  /** The position that the link began at. */
  readonly firstPosition: MatchSeq
  readonly position: MatchSeq
  readonly delivered: number
  readonly retries: number
  readonly deadLetters: number
  /** Dead letters whose retention time is over. */
  readonly expired: number
  /** Matches that retention took before the cursor came by. Gap markers say which, the newest 1,000 of them. */
  readonly missed: number
  /** Matches whose posts were deleted before they were delivered. */
  readonly withdrawn: number
}

/** A match that a link's cursor has passed and that is not delivered. */
export interface Retry {
  readonly seq: MatchSeq
  /** Failed attempts that count against the match; 0 for one that has not failed, such as one that was in flight. */
  readonly failures: number
  /** When to try next, Unix ms; 0 for at once. */
  readonly dueAtMs: number
}

/** A retry with what it delivers. */
export interface RetryEntry extends Retry {
  readonly entry: MatchEntry
}

/** The progress of a link since it was saved last. */
export interface LinkProgress {
  readonly linkId: LinkId
  /** The present cursor. */
  readonly position: MatchSeq
  /** Retries that are new, or not as they were. */
  readonly retries: readonly Retry[]
  /** Retries that are delivered, withdrawn or dead. */
  readonly settled: readonly MatchSeq[]
  /** Matches dead-lettered since then. */
  readonly dead: readonly DeadMatch[]
  /** Number of matches delivered since then. */
  readonly delivered: number
  /** Number of matches since then of which nothing is sent, because their posts are deleted; absent for none. */
  readonly withdrawn?: number
  /** The lease under which it was made (`store/leases.ts`); absent where one process has the store for itself. */
  readonly lease?: number
}
