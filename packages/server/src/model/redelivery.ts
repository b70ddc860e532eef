import type { LinkId, MatchSeq } from "./ids.ts"

/** A match of a link, by what its event id says. */
export interface LinkMatch {
  readonly linkId: LinkId
  readonly seq: MatchSeq
  /** Absent in the first epoch of the match log. */
  readonly epoch?: string
}

/**
 * The result of sending a match again.
 *
 * - `redelivered`: it is a retry that is due at once
 * - `waiting`: the link's cursor has not passed it, so it is sent anyway
 * - `gone`: retention has deleted it
 * - `no-room`: the link has as many retries as it may; later there is room again
 * - `unknown`: the link is not the caller's, or has no such match, for example because it was restored
 */
export type RedeliveryOutcome = "redelivered" | "waiting" | "gone" | "no-room" | "unknown"
