/**
 * Fills the search index: one more cursor, on the posts in order of arrival.
 *
 *     position of the index ──► posts that arrived after it ──► their terms ──► index, with the new position
 *             ▲                        └── none ──► wait
 *             └──────────────────────────────────────┘
 *
 * Deletions are followed likewise, in the same steps: what a step has read before a deletion, the next one takes out again. A
 * filler begins with all that are remembered, since to take one out twice changes nothing.
 *
 * Posts and the position are one transaction of the index, so a filler that is killed continues where the index is. A
 * search has the filler take a few steps before it reads the rest itself, so the wait between polls delays no search.
 */
import type { EarlierPosts } from "@sluice/rules"
import type { Clock } from "../runtime/clock.ts"
import type { ArrivalReads } from "../store/port/arrival-store.ts"
import type { PostStore } from "../store/port/post-store.ts"
import type { IndexedPost, SearchIndex } from "../store/search-index.ts"
import { IndexMoved } from "../store/store-faults.ts"
import { DeletedPosts, type DeletedPostsDeps } from "./deleted-posts.ts"
import { indexedPost } from "./indexed-post.ts"
import { IndexSweep, type IndexSweepDeps } from "./index-sweep.ts"

/** Most posts that are added in one transaction. Ours: some 10 ms. */
const stepPostsMax = 500

/** Most bytes of posts that are added in one transaction; the last one may go over it. Ours. */
const stepBytesMax = 2_097_152

/** Time between two polls while nothing arrives. Ours. */
const pollMs = 500

/** Time between two searches for posts that retention has deleted. Ours. */
const forgetMs = 3_600_000

/**
 * Rest after a step, as a multiple of its time, so that ingest at full speed keeps most of two cores. Ours: without a rest,
 * filling took half of ingest. The system lets a thread behind others work when these do not: with a rest of half a step its
 * index was 1.6 to 2.6 s behind 5,000 posts/s, with a fifth 0.6 s, and ingest kept 0.83 to 0.88 of its rate instead of 0.90
 * (bench `indexing`).
 */
const restPerStep = { behindOthers: 0.2, besideOthers: 2 }

/** Steps that add posts before one that compacts, while posts arrive without a pause. Ours: both take some milliseconds. */
const addsPerCompaction = 16

/** Longest that a search waits for steps; one that has begun is finished. Ours: a step of large posts takes as long. */
const catchUpMsMax = 50

/** Dependencies of a filler. */
export interface FillerDeps extends Pick<IndexSweepDeps, "postRetentionMs"> {
  readonly store: Pick<ArrivalReads, "arrivedPosts"> & Pick<PostStore, "postsById"> & DeletedPostsDeps["store"]
  readonly index: Pick<SearchIndex, "position" | "add" | "eraseRemoved" | "compact"> & DeletedPostsDeps["index"]
  readonly clock: Pick<Clock, "sleep" | "monotonicMs" | "nowMs">
  /** Learns the places of each post. */
  readonly earlier: EarlierPosts
  /** Whether the thread runs behind those that ingest. */
  readonly isBehindOthers: boolean
  /** Called before each post is read, so that searches have their turns. */
  readonly pause: () => Promise<void> | undefined
  readonly failed: (error: unknown) => void
}

/** Fills an index. One step at a time. */
export class IndexFiller {
  readonly #deps: FillerDeps
  readonly #deleted: DeletedPosts
  readonly #sweep: IndexSweep
  #step: Promise<unknown> = Promise.resolve()

  constructor(deps: FillerDeps) {
    this.#deps = deps
    this.#deleted = new DeletedPosts(deps)
    this.#sweep = new IndexSweep(deps)
  }

  /** Fills the index until `signal`. A step that fails is reported and tried again. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, failed, isBehindOthers } = this.#deps
    const { behindOthers, besideOthers } = restPerStep
    let forgetsAtMs = clock.monotonicMs()
    let adds = 0
    while (!signal.aborted) {
      let restMs = pollMs
      try {
        const startedMs = clock.monotonicMs()
        const hasAdded = await this.#next()
        adds = hasAdded ? adds + 1 : 0
        const hasCompacted = adds % addsPerCompaction === 0 && (await this.#deps.index.compact())
        if (hasAdded || hasCompacted)
          restMs = (isBehindOthers ? behindOthers : besideOthers) * (clock.monotonicMs() - startedMs)
        if (this.#deleted.isErasureTime(clock.monotonicMs(), { isBusy: hasAdded })) await this.#deleted.erase()
        if (clock.monotonicMs() >= forgetsAtMs) {
          forgetsAtMs = clock.monotonicMs() + forgetMs
          await this.#sweep.pass(signal)
        }
      } catch (error) {
        failed(error)
      }
      await clock.sleep(restMs, signal)
    }
  }

  /**
   * Has the index catch up with what has arrived, as far as it gets in `catchUpMsMax`. A step that fails ends it: `run`
   * reports what fails, and a search reads what the index does not have.
   */
  async catchUp(): Promise<void> {
    const { clock } = this.#deps
    const endsAtMs = clock.monotonicMs() + catchUpMsMax
    while ((await this.#next().catch(() => false)) && clock.monotonicMs() < endsAtMs);
  }

  /** One step, after the one in progress. False when there was nothing to add. */
  #next(): Promise<boolean> {
    const step = this.#step.then(async () => {
      const hasAdded = await this.#add()
      return (await this.#deleted.takeOut()) || hasAdded
    })
    this.#step = step.catch(() => undefined)
    return step
  }

  async #add(): Promise<boolean> {
    const { store, index, earlier, pause } = this.#deps
    const after = await index.position()
    const from = after === undefined ? {} : { after }
    const { posts, position } = await store.arrivedPosts({ ...from, limit: stepPostsMax, bytesMax: stepBytesMax })
    if (position === undefined) return false
    const indexed: IndexedPost[] = []
    for (const post of posts) {
      await pause()
      indexed.push(indexedPost(post, earlier))
    }
    try {
      await index.add(indexed, { after, position })
    } catch (error) {
      // Another process has added them: it had the lease until a moment ago. Or the index was emptied: the next step begins anew.
      if (!(error instanceof IndexMoved)) throw error
    }
    return true
  }
}
