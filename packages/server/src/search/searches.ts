/**
 * Searches of all apps, in the search thread.
 *
 *     app A ── its searches, one at a time ──┐
 *     app B ── its searches, one at a time ──┼─► the search thread, in turns of some milliseconds
 *     app C ── its searches, one at a time ──┘
 *
 * Each search has a budget of posts, bytes and time, so the costliest query takes no more than others may, and a page
 * that meets it ends early.
 */
import type { AppId, PostId } from "../model/ids.ts"
import { PerAppQueues } from "../control/per-app-queues.ts"
import { countTooCostly, rankingTooCostly, searchIsOff, type Problem } from "../model/problem.ts"
import type { Events } from "../runtime/events/events.ts"
import type { Leases } from "../store/leases.ts"
import type { PostCounts } from "./count-posts.ts"
import { SearchTooCostly, type FoundPosts, type FoundRange, type SearchBudget } from "./find-posts.ts"
import type { SearchedRule } from "./post-search.ts"
import type { RankedSpan, Ranking } from "./rank-posts.ts"
import { startSearchThread, type SearchThread, type SearchThreadSettings } from "./search-thread.ts"

/** Searches over stored posts. */
export interface Searches {
  /** Finds posts for an app. Throws 404 where the search is off, and 429 when too many searches of the app wait. */
  find(appId: AppId, rule: SearchedRule, range: FoundRange, signal: AbortSignal): Promise<FoundPosts>
  /** Ranks posts for an app, as `rankPosts`. Throws 429 as `find`, and 503 when a whole span takes too long. */
  rank(appId: AppId, rule: SearchedRule, span: RankedSpan, signal: AbortSignal): Promise<Ranking>
  /** Counts posts for an app, as `countPosts`. Throws 429 as `find`, and 503 when one interval takes too long. */
  count(appId: AppId, rule: SearchedRule, edges: readonly bigint[], signal: AbortSignal): Promise<PostCounts>
  /** As `findIncluding`; nothing where the search is off. Look-ups do not wait for searches: pages bound their number. */
  including(ids: readonly PostId[], signal: AbortSignal): Promise<ReadonlyMap<PostId, PostId>>
}

/** Bounds of one search. Ours: X's pages are short, too, where a query is costly. */
const searchBudget: SearchBudget = { postsMax: 5_000, msMax: 200 }

/** Bounds of a search in order of relevancy, which looks at many posts for one page. Ours. */
const rankingBudget: SearchBudget = { postsMax: 10_000, msMax: 500 }

/** Searches of an app in progress and waiting. Ours. */
const unfinishedMax = 20

/** The searches of a server that keeps no search index. */
export const noSearches: Searches = { find: refuse, rank: refuse, count: refuse, including: async () => new Map() }

async function refuse(): Promise<never> {
  throw searchIsOff()
}

/** Starts the search thread, which fills the index while this process has the lease for it. */
export async function startSearches({
  storeAccess,
  postRetentionMs,
  leases,
  events,
}: SearchThreadSettings & {
  readonly leases: Pick<Leases, "has" | "onChange">
  readonly events: Pick<Events, "failed">
}): Promise<Searches & AsyncDisposable & Pick<SearchThread, "failed">> {
  const failed = (error: unknown): void => events.failed({ where: "search index", error })
  const thread = await startSearchThread({ storeAccess, postRetentionMs }, { failed })
  const followLease = (): void => thread.fill(leases.has("search index"))
  const stopFollowing = leases.onChange(followLease)
  followLease()
  return {
    ...searchesThrough(thread),
    failed: thread.failed,
    async [Symbol.asyncDispose]() {
      stopFollowing()
      await thread.close()
    },
  }
}

/** Searches in a thread, within their budgets, those of an app one after the other. */
export function searchesThrough(thread: Pick<SearchThread, "find" | "rank" | "count" | "including">): Searches {
  const queues = new PerAppQueues({ unfinishedMax, what: "searches" })
  return {
    find: (appId, rule, range, signal) => queues.run(appId, () => thread.find(rule, range, searchBudget, signal)),
    rank: (appId, rule, span, signal) =>
      queues.run(appId, () => unlessTooCostly(thread.rank(rule, span, rankingBudget, signal), rankingTooCostly)),
    count: (appId, rule, edges, signal) =>
      queues.run(appId, () => unlessTooCostly(thread.count(rule, edges, searchBudget, signal), countTooCostly)),
    including: (ids, signal) => thread.including(ids, signal),
  }
}

async function unlessTooCostly<Result>(
  found: Promise<Result>,
  problemOf: (cause: unknown) => Problem,
): Promise<Result> {
  try {
    return await found
  } catch (error) {
    throw error instanceof SearchTooCostly ? problemOf(error) : error
  }
}
