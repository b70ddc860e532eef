/** The largest id, and the ids that a page of a user's posts may have. */
import { idsOfTimes } from "./id-time.ts"
import type { UserPostsRange } from "./port/post-store.ts"

/** The greatest id, and a number below every id. */
export const idEnds = { above: 9_223_372_036_854_775_807n, below: -1n }

/** The id up to which, inclusive, a list is read when `older`, or above which when `newer`. `from` is exclusive. */
export function idEdgeOf(direction: "older" | "newer", from: string | undefined): bigint {
  if (direction === "newer") return from === undefined ? idEnds.below : BigInt(from)
  return from === undefined ? idEnds.above : BigInt(from) - 1n
}

/** The ids between which a scan reads: those over `above`, up to `upTo`, inclusive. */
export function idBoundsOf(range: UserPostsRange, idsHoldTime: boolean): { above: bigint; upTo: bigint } {
  const lower = [idEnds.below]
  const upper = [idEnds.above]
  if (range.sinceId !== undefined) lower.push(BigInt(range.sinceId))
  if (range.untilId !== undefined) upper.push(BigInt(range.untilId) - 1n)
  if (range.from !== undefined) {
    if (range.direction === "newer") lower.push(BigInt(range.from))
    else upper.push(BigInt(range.from) - 1n)
  }
  if (idsHoldTime) {
    const { above, below } = idsOfTimes(range.startMs, range.endMs)
    if (above !== undefined) lower.push(above)
    if (below !== undefined) upper.push(below - 1n)
  }
  const above = lower.reduce((a, b) => (a > b ? a : b))
  return {
    // No id holds a time from the year 2080 on, and no store knows greater numbers than ids.
    above: above < idEnds.above ? above : idEnds.above,
    upTo: upper.reduce((a, b) => (a < b ? a : b)),
  }
}
