import type { AttemptOutcome } from "@sluice/api"
import type { AppId, DeadLetterId, LinkId, MatchSeq, PostId, WebhookId } from "./ids.ts"

/** A match that a link gives up for now: its schedule is spent, or it cannot be sent. */
export interface DeadMatch {
  readonly seq: MatchSeq
  /** Failed attempts that count against the match. */
  readonly failures: number
  /** How the last one ended. */
  readonly outcome: AttemptOutcome
  readonly status?: number
  readonly error?: string
  readonly deadLetteredAtMs: number
}

/** A dead match as the store keeps it, until it is sent again or has been kept for long enough. */
export interface DeadLetter extends DeadMatch {
  /** In the order in which they died. */
  readonly id: DeadLetterId
  readonly appId: AppId
  readonly webhookId: WebhookId
  readonly linkId: LinkId
  /** Of the match; absent in the first epoch of its log. */
  readonly epoch?: string
  readonly postId: PostId
  readonly matchedAtMs: number
}

/** Which dead letters to send again; only the caller's own when `appId` is there. */
export type DeadLetterSelector =
  | { readonly appId?: AppId; readonly kind: "ids"; readonly ids: readonly DeadLetterId[] }
  | {
      readonly appId?: AppId
      readonly kind: "all"
      readonly webhookId?: WebhookId
      /** Those that died at this moment or later. */
      readonly sinceMs?: number
    }
