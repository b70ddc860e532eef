/**
 * Counts the posts of a search in intervals of ids.
 *
 * An exact query is counted by the index alone, which knows the time of a post by its id. The posts that the index does not
 * have yet are added, and those of which a newer version is stored are taken off: they are few, so they are read. Another one is counted by finding its posts, from the newest interval on, within a budget;
 * intervals that it did not reach are left for the next page.
 */
import type { StoredPost } from "../model/post.ts"
import {
  findPosts,
  isExactWithin,
  partBudgetsMax,
  readById,
  readTail,
  SearchTooCostly,
  type SearchBudget,
  type SearchDeps,
} from "./find-posts.ts"
import type { PostSearch } from "./post-search.ts"

/** Counts of the newest intervals, oldest first. */
export interface PostCounts {
  /** One for each interval from `firstCounted` on. */
  readonly counts: readonly number[]
  /** The number of the oldest interval that was counted: 0 when all were. */
  readonly firstCounted: number
}

/** Most posts that are found at a time. Ours. */
const foundMax = 1_000

/** Most superseded posts that are read to be taken off; with more in the range its posts are found. Ours: some 50 ms. */
const supersededMax = 1_000

/** Most tries to count while the index moves on. Ours. */
const triesMax = 20

/**
 * Counts posts with `edges[i] <= id < edges[i + 1]`. The edges ascend; there are two or more. At least one interval is
 * counted. Throws `SearchTooCostly` when one takes four times the budget.
 */
export async function countPosts(
  search: PostSearch,
  edges: readonly bigint[],
  budget: SearchBudget,
  deps: SearchDeps,
): Promise<PostCounts> {
  const counts = await countInIndex(search, edges, deps)
  return counts === undefined ? countFound(search, edges, budget, deps) : { counts, firstCounted: 0 }
}

/**
 * Counts by the index and the posts that it does not have yet; undefined when those are too many, or when the index alone
 * does not decide.
 */
async function countInIndex(
  search: PostSearch,
  edges: readonly bigint[],
  deps: SearchDeps,
): Promise<readonly number[] | undefined> {
  const range = { above: (edges[0] ?? 0n) - 1n, upTo: (edges.at(-1) ?? 0n) - 1n }
  for (let tries = 0; tries < triesMax; tries += 1) {
    const position = await deps.index.position()
    if (!(await isExactWithin(search, range, deps))) return undefined
    const tail = await readTail(deps)
    const superseded = await deps.store.supersededWithin({ ...range, limit: supersededMax + 1 })
    if (tail === undefined || superseded.length > supersededMax) return undefined
    const counts = [...(await deps.index.count(search.queryWithoutCut, edges))]
    // A post that was indexed meanwhile would be counted twice.
    if ((await deps.index.position()) !== position) continue
    const add = async (post: StoredPost, count: number): Promise<void> => {
      const interval = intervalOf(edges, BigInt(post.id))
      if (interval === undefined) return
      await deps.pause()
      if (search.holds(post)) counts[interval] = (counts[interval] ?? 0) + count
    }
    const isSuperseded = new Set(superseded)
    for (const post of tail.values()) if (!isSuperseded.has(post.id)) await add(post, 1)
    const indexed = superseded.filter((id) => !tail.has(id))
    for await (const post of readById(deps.store, indexed)) await add(post, -1)
    return counts
  }
  return undefined
}

async function countFound(
  search: PostSearch,
  edges: readonly bigint[],
  budget: SearchBudget,
  deps: SearchDeps,
): Promise<PostCounts> {
  const counts = Array.from({ length: edges.length - 1 }, () => 0)
  const above = (edges[0] ?? 0n) - 1n
  const startMs = deps.clock.monotonicMs()
  let upTo = (edges.at(-1) ?? 0n) - 1n
  for (let isSpent = false; ;) {
    const found = await findPosts(search, { direction: "older", above, upTo, limit: foundMax }, budget, deps)
    for (const id of found.ids) {
      const interval = intervalOf(edges, BigInt(id))
      if (interval !== undefined) counts[interval] = (counts[interval] ?? 0) + 1
    }
    if (found.stoppedAt === undefined) return { counts, firstCounted: 0 }
    upTo = BigInt(found.stoppedAt) - 1n
    const tookMs = deps.clock.monotonicMs() - startMs
    isSpent ||= found.ids.length < foundMax || tookMs >= budget.msMax
    if (!isSpent) continue
    // The interval in which the search stopped is counted in part, or not at all.
    const firstCounted = (intervalOf(edges, upTo) ?? 0) + 1
    if (firstCounted < counts.length) return { counts: counts.slice(firstCounted), firstCounted }
    if (tookMs >= budget.msMax * partBudgetsMax) throw new SearchTooCostly()
  }
}

/** The interval that holds the id, by bisection; undefined when none does. */
function intervalOf(edges: readonly bigint[], id: bigint): number | undefined {
  let [low, high] = [0, edges.length - 1]
  if (id < (edges[low] ?? 0n) || id >= (edges[high] ?? 0n)) return undefined
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if (id < (edges[middle] ?? 0n)) high = middle
    else low = middle
  }
  return low
}
