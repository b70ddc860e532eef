/**
 * Counts of the posts that a rule matches, in intervals of time.
 *
 *     span      19:18:24 ─┬─ 20:00 ─┬─ 21:00 ─ … ─ 19:00 ─┬─ 19:18:24      inner edges on the hour, in UTC
 *     pages     … ◄────── 31 days ──────► ◄────── 31 days ──────►          the newest first, each in ascending order
 *
 * Source of edges and pages: recorded responses of X.
 */
import { firstIdAt, type AppId } from "../model/ids.ts"
import type { PageScope, PageTokens } from "../paging/page-token.ts"
import type { SearchedRule } from "../search/post-search.ts"
import type { Searches } from "../search/searches.ts"
import type { IdSpan } from "./search-window.ts"

/** Lengths of the intervals that a request may choose. */
const granularities = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const

/** The length of an interval, by its name. */
export type Granularity = keyof typeof granularities

/** Most time that a page spans, with any granularity. Source: recorded responses of X. */
const pageMs = 31 * 86_400_000

/** A request for one page of counts, its parameters checked. */
interface CountsRequest {
  /** The path. */
  readonly endpoint: string
  readonly rule: SearchedRule
  readonly granularity: Granularity
  /**
   * Unix ms. The first interval begins at `startMs`, the last one ends at `endMs`. None when the end is not after the start,
   * unless ids of that millisecond lie between the ids of the span.
   */
  readonly startMs: number
  readonly endMs: number
  /** Posts beyond these ids are not counted. */
  readonly span: IdSpan
  /** Absent for the first page. */
  readonly token: string | undefined
  /** As in a token's scope. */
  readonly tokenParameter?: PageScope["tokenParameter"]
  /** Canonical text of all parameters that a token is bound to. */
  readonly parameters: string
}

/** The posts of an interval. */
interface Counted {
  readonly startMs: number
  /** Exclusive. */
  readonly endMs: number
  readonly count: number
}

/** A page of counts, oldest interval first. */
export interface CountsPage {
  readonly intervals: readonly Counted[]
  readonly total: number
  readonly nextToken?: string
}

/** Counts, page by page. */
export interface SearchCounts {
  /**
   * One page: 31 days of intervals, the newest on the first page, those without a post included. A count that meets its
   * budget makes it shorter: only the absence of a token means the end. A page that would end before the count begins is
   * empty: the beginning of a recent count moves on while it is read. Throws 400 for an invalid token, 429 when too many
   * searches of the app wait, and 503 when one interval takes too long.
   */
  page(appId: AppId, request: CountsRequest, signal: AbortSignal): Promise<CountsPage>
}

/** Counts over the posts of a store. */
export function createSearchCounts({
  searches,
  tokens,
}: {
  readonly searches: Pick<Searches, "count">
  readonly tokens: PageTokens
}): SearchCounts {
  return {
    async page(appId, request, signal) {
      const { endpoint, rule, granularity, startMs, endMs, span, token, tokenParameter, parameters } = request
      const scope = { endpoint, appId, parameters, tokenParameter }
      const pageEndMs = token === undefined ? endMs : Number(tokens.read(scope, token).from)
      const end = token === undefined ? lastId(endMs, span) : firstIdAt(pageEndMs)
      const isNone = clamped(end, span) <= clamped(firstIdAt(startMs), span)
      if (pageEndMs < startMs || (pageEndMs === startMs && isNone)) return { intervals: [], total: 0 }
      const times = edgesOf(startMs, pageEndMs, granularities[granularity])
      const edges = [...times.slice(0, -1).map(firstIdAt), end].map((id) => clamped(id, span))
      const { counts, firstCounted } = await searches.count(appId, rule, edges, signal)
      const intervals = counts.map((count, index) => ({
        startMs: times[firstCounted + index] ?? 0,
        endMs: times[firstCounted + index + 1] ?? 0,
        count,
      }))
      const beginMs = times[firstCounted] ?? startMs
      return {
        intervals,
        total: counts.reduce((sum, count) => sum + count, 0),
        ...(beginMs > startMs && {
          nextToken: tokens.issue(scope, { direction: "older", from: String(beginMs) }),
        }),
      }
    },
  }
}

/** The edges of the intervals of a page that ends at `endMs`, ascending. */
function edgesOf(startMs: number, endMs: number, lengthMs: number): readonly number[] {
  const earliestMs = Math.ceil((endMs - pageMs) / lengthMs) * lengthMs
  const beginMs = Math.max(startMs, earliestMs)
  const edges = [beginMs]
  for (let edge = Math.floor(beginMs / lengthMs + 1) * lengthMs; edge < endMs; edge += lengthMs) edges.push(edge)
  return [...edges, endMs]
}

/** The id that ends the last interval: an `until_id` lies within the millisecond of its end. */
function lastId(endMs: number, { upTo }: IdSpan): bigint {
  return upTo < firstIdAt(endMs + 1) && upTo >= firstIdAt(endMs) ? upTo + 1n : firstIdAt(endMs)
}

/** Ids outside of the span belong to no interval. */
function clamped(id: bigint, { above, upTo }: IdSpan): bigint {
  if (id <= above) return above + 1n
  return id > upTo ? upTo + 1n : id
}
