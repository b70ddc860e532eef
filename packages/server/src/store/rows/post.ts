/** Posts as rows. */
import type { UserPostsRange } from "../port/post-store.ts"

/** The filter of a scan, in the order of a statement's parameters: replies, reposts, from when, until when. */
export function scanFilterOf({ excludeReplies, excludeReposts, startMs, endMs }: UserPostsRange) {
  return [
    !excludeReplies,
    !excludeReposts,
    startMs ?? Number.MIN_SAFE_INTEGER,
    endMs ?? Number.MAX_SAFE_INTEGER,
  ] as const
}
