import { firstPostMs } from "@sluice/api"
import { useMemo } from "react"
import { useSession } from "../../api/session.ts"
import { barsOf, type Bar } from "../../components/charts/bars.ts"
import { granularityMs, type SearchRequest } from "./search.ts"
import { useSearchPages } from "./use-search-pages.ts"

/** Most pages of 31 days that are read in a row. Ours: a year. */
const pagesMax = 12

/** How many posts a search finds over time, as far as that has been counted: from the newest back. */
interface Counts {
  /** Ascending; `undefined` until the first page is read. */
  readonly bars: readonly Bar[] | undefined
  readonly total: number
  /** The earliest moment that was counted, Unix ms. */
  readonly sinceMs: number
  readonly error: unknown
  /** The search covers an earlier time too. */
  readonly hasMore: boolean
  readonly isReading: boolean
  readonly readMore: () => void
}

/**
 * Counts the hits of a search. A span without a beginning is counted back to a page without a post; other spans whole, as
 * far as `pagesMax` pages reach.
 */
export function useCounts({ query, times, granularity, atMs }: SearchRequest, isEnabled: boolean): Counts {
  const hasBeginning = times.start_time !== undefined
  const { client } = useSession()
  const read = useSearchPages({
    key: ["counts", query, granularity, times, atMs],
    read: (page) =>
      client.posts.getCountsAll({
        query,
        granularity,
        start_time: new Date(firstPostMs).toISOString(),
        ...times,
        ...page,
      }),
    isEnabled,
    isEnough: (pages) => pages.length % pagesMax === 0 || (!hasBeginning && pages.at(-1)?.meta.total_post_count === 0),
  })
  const intervals = useMemo(
    () =>
      read.pages
        ?.toReversed()
        .flatMap(({ data }) => data)
        .map(({ start, end, post_count: count }): Bar => ({
          startMs: Date.parse(start),
          endMs: Date.parse(end),
          count,
        })),
    [read.pages],
  )
  const shown = hasBeginning ? intervals : intervals && withoutEmptyBegin(intervals)
  return {
    bars: shown && barsOf(shown, granularityMs[granularity]),
    total: intervals?.reduce((sum, { count }) => sum + count, 0) ?? 0,
    sinceMs: intervals?.at(0)?.startMs ?? atMs,
    error: read.error,
    hasMore: read.hasMore,
    isReading: read.isReading,
    readMore: read.readMore,
  }
}

/** The intervals from the first one with a post on, and one before it. Without any post, all of them. */
function withoutEmptyBegin(intervals: readonly Bar[]): readonly Bar[] {
  return intervals.slice(Math.max(0, intervals.findIndex(({ count }) => count > 0) - 1))
}
