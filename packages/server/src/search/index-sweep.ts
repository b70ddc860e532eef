/**
 * Takes posts out of the search index that are gone from the store, so that counts do not count them.
 *
 *     lowest id ──► posts that are gone: remove · posts still there: pass ──► so many are still there, or the first id that
 *                                                                              retention keeps
 *     where the last pass stopped ──► the same ──► so many are still there, or the last id
 *
 * Retention deletes nearly in the order of ids, so a pass begins with the lowest. But it spares posts that a dead letter
 * needs, and judges ids that hold no time by the time of the post: posts that are gone may lie behind any number that are
 * there. Others were deleted while no process kept the index up to date. So each pass goes on from where the last one
 * stopped, too, and begins again after the last id. The first pass of a process begins anywhere.
 */
import { firstIdAt, type PostId } from "../model/ids.ts"
import type { Clock } from "../runtime/clock.ts"
import { systemRandom, type Random } from "../runtime/random.ts"
import { idEnds } from "../store/id-bounds.ts"
import type { PostStore } from "../store/port/post-store.ts"
import type { SearchIndex } from "../store/search-index.ts"

/** Posts that are compared at a time. Ours. */
const comparedMax = 500

/** Posts still there that a pass compares from the lowest id on, and as many from where the last one stopped. Ours. */
const passedPostsMax = 25_000

/** Most bytes that one read returns; the last post may go over it. Ours. */
const readBytesMax = 1_048_576

/** Dependencies and settings of sweeps. */
export interface IndexSweepDeps {
  readonly store: Pick<PostStore, "postsById">
  readonly index: Pick<SearchIndex, "find" | "remove">
  readonly clock: Pick<Clock, "nowMs">
  /** 0 keeps posts forever. */
  readonly postRetentionMs: number
  /** The machine's when absent. */
  readonly random?: Pick<Random, "fraction">
  /** As `passedPostsMax`, when absent. */
  readonly passedMax?: number
}

/** Compares the index with the store, some posts in each pass. One pass at a time. */
export class IndexSweep {
  readonly #deps: IndexSweepDeps
  /** The id up to which, inclusive, the last pass has compared; absent before the first. */
  #reached: bigint | undefined

  constructor(deps: IndexSweepDeps) {
    this.#deps = deps
  }

  /** Makes one pass, or a part of it when `signal` aborts. */
  async pass(signal: AbortSignal): Promise<void> {
    const reached = await this.#compare(idEnds.below, { signal, keptFrom: this.#keptFrom() })
    const last = this.#reached ?? (await this.#anyIdAbove(reached))
    const from = reached > last ? reached : last
    const next = await this.#compare(from, { signal, keptFrom: idEnds.above })
    this.#reached = next === idEnds.above ? idEnds.below : next
  }

  /** An id above this one, up to the last. A process that starts with the lowest each time would never reach the others. */
  async #anyIdAbove(from: bigint): Promise<bigint> {
    const { index, random = systemRandom } = this.#deps
    const range = { above: idEnds.below, upTo: idEnds.above, direction: "older", limit: 1 } as const
    const [last] = await index.find({ kind: "everything" }, range)
    const to = BigInt(last ?? from)
    return to <= from ? from : from + BigInt(Math.floor(random.fraction() * Number(to - from)))
  }

  /**
   * Removes posts with ids above `from` that are gone, until it has compared `passedMax` that are there, or has come to
   * `keptFrom` and found none that was gone. Returns the id that it has reached: the last of all after the last post.
   */
  async #compare(
    from: bigint,
    { signal, keptFrom }: { readonly signal: AbortSignal; readonly keptFrom: bigint },
  ): Promise<bigint> {
    const { store, index, passedMax = passedPostsMax } = this.#deps
    let reached = from
    let passed = 0
    while (!signal.aborted && passed < passedMax) {
      const range = { above: reached, upTo: idEnds.above, direction: "newer", limit: comparedMax } as const
      const ids = await index.find({ kind: "everything" }, range)
      const stored = await storedOf(store, ids)
      const gone = ids.filter((id) => !stored.has(id))
      if (gone.length > 0) await index.remove(gone)
      passed += stored.size
      if (ids.length < comparedMax) return idEnds.above
      reached = BigInt(ids.at(-1) ?? idEnds.above)
      if (gone.length === 0 && reached >= keptFrom) return reached
    }
    return reached
  }

  /** The first id whose time says that retention keeps its post. */
  #keptFrom(): bigint {
    const { clock, postRetentionMs } = this.#deps
    return postRetentionMs === 0 ? idEnds.below : firstIdAt(clock.nowMs() - postRetentionMs)
  }
}

/** The posts that are stored, damaged or not. */
async function storedOf(store: Pick<PostStore, "postsById">, ids: readonly PostId[]): Promise<ReadonlySet<PostId>> {
  const stored = new Set<PostId>()
  for (let rest = ids; rest.length > 0;) {
    const { posts, damaged, stoppedAt } = await store.postsById({ ids: rest, shape: "core", bytesMax: readBytesMax })
    for (const id of [...posts.map((post) => post.id), ...damaged]) stored.add(id)
    rest = stoppedAt === undefined ? [] : rest.slice(rest.indexOf(stoppedAt) + 1)
  }
  return stored
}
