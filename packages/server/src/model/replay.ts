import type { MatchingRule } from "@sluice/api"
import {
  firstIdAt,
  type AppId,
  type LinkId,
  type MatchSeq,
  type PostId,
  type ReplayId,
  type RuleId,
  type WebhookId,
} from "./ids.ts"

/** A rule as it was when a backfill of it was asked for. */
export interface BackfillRule {
  readonly id: RuleId
  readonly value: string
  /** Empty for a rule without one. */
  readonly tag: string
}

/**
 * A replay of something else than the match log: of the stored posts that came before these rules and match them.
 * They are found first, and numbered from 1 in the order of their ids; then they are sent.
 */
export interface Backfill {
  /** One or more. */
  readonly rules: readonly BackfillRule[]
  /** Posts with ids up to here have been compared with the rules. */
  readonly searchedId: PostId
  /** The last id that is to be compared. It is nearer than the replay asks for when as many matches as may be are found before. */
  readonly lastId: PostId
}

/**
 * A stretch of an app's match log that is sent to a webhook once more, as a job; or, with `backfill`, posts that came before
 * the rules that match them.
 */
export interface Replay {
  readonly id: ReplayId
  readonly appId: AppId
  readonly webhookId: WebhookId
  readonly linkId: LinkId
  /** Bounds as requested, both inclusive, of a stretch of the log to the minute. */
  readonly fromMs: number
  readonly toMs: number
  /** Everything up to here was sent or has failed. It begins before the first match to send. */
  readonly position: MatchSeq
  /** The last match to send; of a backfill, the last one found. */
  readonly endSeq: MatchSeq
  readonly delivered: number
  readonly failed: number
  readonly createdAtMs: number
  /** `complete`: all were delivered. `incomplete`: some were not. `cancelled`: its app ended it. */
  readonly state: "running" | ReplayEnd
  readonly endedAtMs?: number
  readonly backfill?: Backfill
}

/** How a replay ends. */
export type ReplayEnd = "complete" | "incomplete" | "cancelled"

/**
 * How far into the time after a rule was added its backfill reaches. Ours: the clocks of sources differ, and a post that the
 * rule matched when it came is left out anyway.
 */
export const backfillGraceMs = 5_000

/** Whether all matches of a replay are known, so that it can be sent. */
export function isSearched({ backfill }: Pick<Replay, "backfill">): boolean {
  return backfill === undefined || isSearchOver(backfill)
}

/** Whether the search of a backfill has come to its end. */
export function isSearchOver({ searchedId, lastId }: Pick<Backfill, "searchedId" | "lastId">): boolean {
  return BigInt(searchedId) >= BigInt(lastId)
}

/** Whether a backfill ends before the time that it was asked for, since it has found as many matches as may be. */
export function isCut({ toMs, backfill }: Pick<Replay, "toMs" | "backfill">): boolean {
  return backfill !== undefined && BigInt(backfill.lastId) < firstIdAt(toMs + 1) - 1n
}

/** A match that a backfill has found. */
export interface BackfillMatch {
  readonly postId: PostId
  /** Those of the replay's rules that the post matches, oldest first. Never empty. */
  readonly rules: readonly MatchingRule[]
}

/** Stored posts that the search of a backfill is to look at next. */
export interface BackfillPart extends Pick<Replay, "appId">, Pick<Backfill, "rules" | "lastId"> {
  /** Exclusive. */
  readonly after: PostId
  /** Most matches. */
  readonly limit: number
}

/** The matches among the posts that a search has looked at. */
export interface FoundInPast {
  /** In the order of the posts' ids. */
  readonly matches: readonly BackfillMatch[]
  /** Everything up to here was looked at. */
  readonly searchedId: PostId
}

/** A step of the search of a backfill, to be saved. */
export interface BackfillFound extends FoundInPast, Pick<Backfill, "lastId"> {
  readonly id: ReplayId
  /** As in `ReplayProgress`. */
  readonly lease?: number
}

/** The progress of a replay; counts are those of the whole job. */
export interface ReplayProgress extends Pick<Replay, "id" | "position" | "delivered" | "failed"> {
  /** The lease of its link under which it was made; absent where one process has the store for itself. */
  readonly lease?: number
}
