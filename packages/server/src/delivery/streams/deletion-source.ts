/**
 * The deletions of posts, or of users, as X's compliance streams have them: in the order in which they were made, for as long as
 * they are remembered.
 *
 * The store announces the deletions of its own process; a poll finds those of other processes.
 */
import { instant } from "../../model/date-time.ts"
import type { Deletion, DeletionSeq } from "../../model/deletion.ts"
import type { PostId } from "../../model/ids.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { DeletionReads } from "../../store/port/deletion-store.ts"
import type { ChangeSource } from "../../store/store.ts"
import { WakeUp } from "../wake-up.ts"
import { deletionFormat, type StreamRecord } from "./line-format.ts"
import { isInSample } from "./sample.ts"
import type { StreamSource } from "./stream-source.ts"

/** Deletions read at a time. Ours. */
const readMax = 1_000

/** Time between two reads at the head, when no change is announced. Ours. */
const pollMs = 1_000

/** The clocks of processes differ by less: an earlier deletion may have a later time. Ours. */
const clockSkewMs = 60_000

/** Per cent of all ids in each of X's four partitions. How X divides them is not known; so does `sample:`. */
const partitionPercent = 25

/** A part of the deletions. */
export interface DeletionSpan {
  readonly of: Deletion["kind"]
  /** 1 to 4: the part of the ids. */
  readonly partition: number
  /** Unix ms, inclusive. Absent: from now on. */
  readonly fromMs?: number
  /** Unix ms, exclusive. */
  readonly toMs?: number
  /** Whether it ends with the deletions of now. */
  readonly hasEnd: boolean
}

interface DeletionRecord extends StreamRecord {
  readonly seq: DeletionSeq
}

/** The deletions of a part. */
export async function deletionSource(
  { store, clock }: { readonly store: DeletionReads & ChangeSource; readonly clock: Clock },
  { of, partition, fromMs, toMs = Number.POSITIVE_INFINITY, hasEnd }: DeletionSpan,
): Promise<StreamSource<DeletionRecord>> {
  const head = await store.deletionHead()
  let after = fromMs === undefined ? head : ((await store.deletionPositionAt(fromMs - clockSkewMs)) ?? head)
  const ids = { from: (partition - 1) * partitionPercent, below: partition * partitionPercent }
  const isWanted = ({ kind, id, atMs }: Deletion): boolean =>
    kind === of && atMs >= (fromMs ?? 0) && atMs < toMs && isInSample(id as PostId, ids)
  return {
    format: deletionFormat,
    hasEnd,
    async *read(signal) {
      const changed = new WakeUp()
      const stopListening = store.onChange(({ kind }) => {
        if (kind === "deletions") changed.call()
      })
      try {
        while (!signal.aborted) {
          const found = await store.deletions({ after, limit: readMax })
          if (signal.aborted) return
          const records = found.filter(isWanted).map(recordOf)
          if (records.length > 0) yield records
          after = found.at(-1)?.seq ?? after
          if (hasEnd && (found.length === 0 || after >= head)) return
          if (found.length === 0) await changed.wait(clock, pollMs, signal)
        }
      } finally {
        stopListening()
      }
    },
    take(records, count) {
      after = records[count - 1]?.seq ?? after
    },
    requireEnd: () => undefined,
  }
}

function recordOf(deletion: Deletion): DeletionRecord {
  return { seq: deletion.seq, postId: deletion.id as PostId, postJson: JSON.stringify({ data: eventOf(deletion) }) }
}

/** Source of the forms: docs.x.com, "Post compliance stream" and "User compliance stream". */
function eventOf({ kind, id, authorId, atMs }: Deletion): object {
  const event_at = instant(atMs)
  if (kind === "user") return { user_delete: { user: { id }, event_at } }
  return { delete: { tweet: { id, ...(authorId !== undefined && { author_id: authorId }) }, event_at } }
}
