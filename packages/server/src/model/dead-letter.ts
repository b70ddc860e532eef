import type { AttemptOutcome } from "@sluice/api"
import type { AppId, DeadLetterId, LinkId, MatchSeq, PostId, WebhookId } from "./ids.ts"

/** A match that a link gives up for now: its schedule is spent, or it cannot be sent. */
export interface DeadMatch {
  readonly seq: MatchSeq
  /** Failed attempts that count against the match. */
  readonly failures: number
  /** Outcome of the last attempt. */
  readonly outcome: AttemptOutcome
  readonly status?: number
  readonly error?: string
  readonly deadLetteredAtMs: number
}

/** A dead match as the store keeps it, until it is sent again or has been kept for long enough. */
export interface DeadLetter extends DeadMatch {
  /** Ordered by the time at which matches became dead letters. */
  readonly id: DeadLetterId
  readonly appId: AppId
  readonly webhookId: WebhookId
  readonly linkId: LinkId
  /** Epoch of the match; absent in the first epoch of its log. */
  readonly epoch?: string
  readonly postId: PostId
  readonly matchedAtMs: number
}

/** Selects dead letters to send again; only the caller's own when `appId` is there. */
export type DeadLetterSelector =
  | { readonly appId?: AppId; readonly kind: "ids"; readonly ids: readonly DeadLetterId[] }
  | {
      readonly appId?: AppId
      readonly kind: "all"
      readonly webhookId?: WebhookId
      /** Only matches that became dead letters at this moment or later. */
      readonly sinceMs?: number
    }
