/**
 * Posts of samples in the order in which they arrived, for all connections of this process.
 *
 *     places after a cursor (an index alone) ─► ids in the sample ─► their posts
 *
 * Nothing is stored for a sample: a cursor is a place in the order of arrival. Only the ids of posts outside the sample are
 * read. Connections that read from the same place at the same time share the read, its records and the rendered lines. No
 * result is kept after that: a post may be deleted at any time.
 * The store announces new posts of its own process; a poll finds those of other processes.
 */
import { snowflakeAtMs } from "@sluice/api"
import type { PostId } from "../../model/ids.ts"
import type { PostShape } from "../../model/post.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { ArrivalPosition, ArrivalReads } from "../../store/port/arrival-store.ts"
import type { PostStore } from "../../store/port/post-store.ts"
import type { ArrivalSource } from "../../store/store.ts"
import { WakeUp } from "../wake-up.ts"
import type { LineFormat, StreamRecord } from "./line-format.ts"
import { isInSample, type Sample } from "./sample.ts"
import type { StreamSource } from "./stream-source.ts"

/** Places read at a time: with one in a hundred sampled, some ten posts. Ours. */
const placesMax = 1_000

/** Most bytes of posts in a batch, but for the last one's. Ours: as for the match log. */
const bytesMax = 262_144

/** Time between two reads at the head, when no change is announced. Ours: posts of another process wait for at most this. */
const pollMs = 1_000

/** Most places that the search for the begin of a backfill reads. Beyond it the backfill is shorter. Ours: 6,000 posts a second. */
const backfillPlacesMax = 2_000_000

interface SampledPost extends StreamRecord {
  readonly position: ArrivalPosition
}

interface SampledBatch {
  readonly records: readonly SampledPost[]
  /** The cursor after the batch. */
  readonly position: ArrivalPosition
}

/** The parts of a store that samples need. */
type SampledStore = Pick<ArrivalReads, "arrivalHead" | "arrivalPlaces"> & Pick<PostStore, "postsById"> & ArrivalSource

/** Sources of sampled posts. */
export class SampledPosts {
  readonly #store: SampledStore
  readonly #clock: Clock
  /** Reads in progress. */
  readonly #reads = new Map<string, Promise<SampledBatch | undefined>>()

  constructor({ store, clock }: { readonly store: SampledStore; readonly clock: Clock }) {
    this.#store = store
    this.#clock = clock
  }

  /** The posts of a sample from the next to arrive on, or from those that were made `backfillMs` ago. */
  async source(
    sample: Sample,
    { backfillMs, format }: { readonly backfillMs: number; readonly format: LineFormat },
  ): Promise<StreamSource> {
    const from =
      backfillMs > 0 ? await this.#placeBefore(this.#clock.nowMs() - backfillMs) : await this.#store.arrivalHead()
    let after = from
    const read = this.#read.bind(this)
    const [store, clock] = [this.#store, this.#clock]
    return {
      format,
      hasEnd: false,
      async *read(signal) {
        const changed = new WakeUp()
        const stopListening = store.onArrival(() => changed.call())
        try {
          while (!signal.aborted) {
            const batch = await read(sample, format.shape, after)
            if (signal.aborted) return
            if (batch === undefined) await changed.wait(clock, pollMs, signal)
            else if (batch.records.length > 0) yield batch.records
            after = batch?.position ?? after
          }
        } finally {
          stopListening()
        }
      },
      take(records, count) {
        after = (records[count - 1] as SampledPost | undefined)?.position ?? after
      },
      requireEnd: () => undefined,
    }
  }

  /**
   * The place before the first arrival of a post that was made at this time or later, by the time in its id. The search goes
   * back from the newest post, and ends at a read of `placesMax` places with older posts alone.
   */
  async #placeBefore(atMs: number): Promise<ArrivalPosition | undefined> {
    let before: ArrivalPosition | undefined
    let from: ArrivalPosition | undefined
    for (let count = 0; count < backfillPlacesMax; count += placesMax) {
      const places = await this.#store.arrivalPlaces({ direction: "older", from, limit: placesMax })
      before ??= places[0]?.position
      const oldest = places.findLastIndex(({ id }) => (snowflakeAtMs(id) ?? 0) >= atMs)
      if (oldest === -1) return before
      // Absent when the oldest is the last of these: then the next ones begin with the place before it.
      before = places[oldest + 1]?.position
      if (places.length < placesMax) return before
      from = places.at(-1)?.position
    }
    return before ?? from
  }

  #read(sample: Sample, shape: PostShape, after: ArrivalPosition | undefined): Promise<SampledBatch | undefined> {
    const key = `${sample.from} ${sample.below} ${shape} ${after ?? ""}`
    const known = this.#reads.get(key)
    if (known !== undefined) return known
    const reading = this.#readOnce(sample, shape, after).finally(() => this.#reads.delete(key))
    this.#reads.set(key, reading)
    return reading
  }

  async #readOnce(
    sample: Sample,
    shape: PostShape,
    after: ArrivalPosition | undefined,
  ): Promise<SampledBatch | undefined> {
    const places = await this.#store.arrivalPlaces({ direction: "newer", from: after, limit: placesMax })
    const end = places.at(-1)
    if (end === undefined) return undefined
    const sampled = places.filter(({ id }) => isInSample(id, sample))
    if (sampled.length === 0) return { records: [], position: end.position }
    const positions = new Map(sampled.map(({ id, position }) => [id, position]))
    const ids = [...positions.keys()]
    const { posts, damaged, stoppedAt } = await this.#store.postsById({ ids, bytesMax, shape })
    const texts = new Map<PostId, string | undefined>(posts.map(({ id, json }) => [id, json]))
    for (const id of damaged) texts.set(id, undefined)
    // A post that is in neither was deleted in the meantime.
    const records = sampled.flatMap(({ id, position }): SampledPost[] => {
      if (!texts.has(id)) return []
      const postJson = texts.get(id)
      return [{ postId: id, position, ...(postJson !== undefined && { postJson }) }]
    })
    return { records, position: (stoppedAt && positions.get(stoppedAt)) ?? end.position }
  }
}
