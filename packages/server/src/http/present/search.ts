/** Counts of searches as response bodies. */
import type { CountsBody } from "@sluice/api"
import { instant } from "../../model/date-time.ts"
import type { CountsPage } from "../../queries/search-counts.ts"

/** Counts, under both of X's names. */
export function presentCounts({ intervals, total, nextToken }: CountsPage): CountsBody {
  // An interval begins where the one before it ends, and the text of a time takes longer than all else.
  const edges = [instant(intervals[0]?.startMs ?? 0), ...intervals.map(({ endMs }) => instant(endMs))]
  return {
    data: intervals.map(({ count }, at) => ({
      end: edges[at + 1] ?? "",
      start: edges[at] ?? "",
      tweet_count: count,
      post_count: count,
    })),
    meta: {
      total_tweet_count: total,
      total_post_count: total,
      ...(nextToken !== undefined && { next_token: nextToken }),
    },
  }
}
