/**
 * The samples of X's volume streams: the same posts that `sample:1` and `sample:10` take, chosen by their ids alone.
 *
 *     0 %        1 %              5 %                        10 %
 *     ├ sample ──┤                 │                           │
 *     ├ sample10, partition 1 ─────┼ sample10, partition 2 ────┤
 */
import { isSampled } from "@sluice/rules"
import type { PostId } from "../../model/ids.ts"

/** A part of all posts: those of `sample:below` that are not in `sample:from`. */
export interface Sample {
  /** Per cent. */
  readonly from: number
  /** Per cent. */
  readonly below: number
}

/** The posts of `GET /2/tweets/sample/stream`. Source of the share: docs.x.com, "Volume streams". */
export const onePercent: Sample = { from: 0, below: 1 }

/** The posts of a partition of `GET /2/tweets/sample10/stream`, one half each. Source of the halves: ours. */
export const tenPercent: Readonly<Record<1 | 2, Sample>> = { 1: { from: 0, below: 5 }, 2: { from: 5, below: 10 } }

/** Whether the post is in the sample. */
export function isInSample(id: PostId, { from, below }: Sample): boolean {
  return isSampled(id, below) && !isSampled(id, from)
}
