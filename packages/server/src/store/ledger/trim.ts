/** How far a step of retention goes in a log. */
import type { MatchSeq } from "../../model/ids.ts"

/**
 * The position up to which a log is trimmed. Matches up to `old` have been kept for their time, and those up to `owedOld`
 * so long that not even a link keeps them. In between they stay while a link has still to deliver some of them:
 * `firstCursor` is the lowest cursor of the log's links, absent without any.
 */
export function trimEnd({
  old,
  owedOld,
  firstCursor,
}: {
  readonly old: MatchSeq
  readonly owedOld: MatchSeq
  readonly firstCursor: MatchSeq | undefined
}): MatchSeq {
  return Math.max(owedOld, Math.min(old, firstCursor ?? old)) as MatchSeq
}

/** A stretch of spared matches to check again: at most `limit` after `after`, up to `to`. */
export interface Recheck {
  readonly after: MatchSeq
  readonly to: MatchSeq
  readonly limit: number
}

/** A step of retention. */
export interface TrimStep {
  /** Retention's position after the step; it never moves back. */
  readonly to: MatchSeq
  readonly isAtEnd: boolean
  /** The check to repeat at the end of the step; absent when none is needed. */
  readonly recheck?: Recheck
}

/** A step of at most `limit` matches towards `end`. A link that is gone has left spared matches after `leftoversAfter`. */
export function trimStep(
  { trimmedTo, leftoversAfter }: { readonly trimmedTo: MatchSeq; readonly leftoversAfter: MatchSeq | null },
  end: MatchSeq,
  limit: number,
): TrimStep {
  const to = Math.max(trimmedTo, Math.min(end, trimmedTo + limit)) as MatchSeq
  const isAtEnd = to >= end
  if (!isAtEnd || leftoversAfter === null) return { to, isAtEnd }
  return { to, isAtEnd, recheck: { after: leftoversAfter, to, limit: limit - (to - trimmedTo) } }
}

/** After a check of these positions: the last one, and after which one the next check begins; NULL when there is none. */
export function afterRecheck(
  { after, limit }: Recheck,
  checked: readonly { readonly seq: MatchSeq }[],
): { readonly last: MatchSeq; readonly leftoversAfter: MatchSeq | null } {
  const last = checked.at(-1)?.seq ?? after
  return { last, leftoversAfter: checked.length < limit ? null : last }
}
