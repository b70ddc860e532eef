/** Counts of searches as response bodies. */
import type { CountsBody } from "@sluice/api"
import { instant } from "../../model/date-time.ts"
import type { CountsPage } from "../../queries/search-counts.ts"

/** Counts, under both of X's names. */
export function presentCounts({ intervals, total, nextToken }: CountsPage): CountsBody {
  return {
    data: intervals.map(({ startMs, endMs, count }) => ({
      end: instant(endMs),
      start: instant(startMs),
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
