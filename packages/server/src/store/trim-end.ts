/** How far retention trims a log: one decision for every store. */
import type { MatchSeq } from "../model/ids.ts"

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
