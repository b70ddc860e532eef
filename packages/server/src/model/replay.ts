import type { AppId, LinkId, MatchSeq, ReplayId, WebhookId } from "./ids.ts"

/** A stretch of an app's match log that is sent to a webhook once more, as a job. */
export interface Replay {
  readonly id: ReplayId
  readonly appId: AppId
  readonly webhookId: WebhookId
  readonly linkId: LinkId
  /** Bounds as requested, both inclusive, to the minute. */
  readonly fromMs: number
  readonly toMs: number
  /** Everything up to here was sent or has failed. It begins before the first match to send. */
  readonly position: MatchSeq
  /** The last match to send. */
  readonly endSeq: MatchSeq
  readonly delivered: number
  readonly failed: number
  readonly createdAtMs: number
  /** `complete`: all were delivered. `incomplete`: some were not. */
  readonly state: "running" | "complete" | "incomplete"
  readonly endedAtMs?: number
}

/** The progress of a replay; counts are those of the whole job. */
export interface ReplayProgress extends Pick<Replay, "id" | "position" | "delivered" | "failed"> {
  /** The lease of its link under which it was made; absent where one process has the store for itself. */
  readonly lease?: number
}
