/**
 * Rule changes for a thread that asks for them often: read from the file only when there may be new ones.
 *
 *     writer: commits a change ─► raises the count ─► confirms the change
 *     another thread: has read all changes at a count, and the count is still that ─► there are no others
 *
 * Ingest asks before every post that comes alone, and almost always nothing has changed. A read after a commit makes
 * SQLite begin anew with the pages of the connection: a quarter of the intake thread's time, measured. Changes by other
 * processes, such as `sluice app revoke`, do not raise the count: they are read once they are announced, within a second.
 */
import type { Store, StoreReads } from "../../store.ts"

/** The number of control changes that the writer has made durable, for all threads of the process. */
export class ControlCount {
  /** Can be posted. */
  readonly buffer: SharedArrayBuffer
  readonly #count: Int32Array

  constructor(buffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer
    this.#count = new Int32Array(buffer)
  }

  /** Another number after every change, before the change is confirmed. */
  get value(): number {
    return Atomics.load(this.#count, 0)
  }

  raise(): void {
    Atomics.add(this.#count, 0, 1)
  }
}

/** Reads rule changes, from the file only when there may be some. */
export function knownRuleChanges(
  reads: Pick<StoreReads, "ruleChanges">,
  count: ControlCount,
  onChange: Store["onChange"],
): StoreReads["ruleChanges"] {
  let announced = 0
  onChange(({ kind }) => {
    if (kind === "control") announced += 1
  })
  /** The state of knowledge when a read found no change. */
  let end = { after: -1, count: 0, announced: 0 }
  return async (after, limit) => {
    // Known before the read: a change that comes meanwhile is read the next time.
    const now = { after, count: count.value, announced }
    if (end.after === after && end.count === now.count && end.announced === announced) return []
    const changes = await reads.ruleChanges(after, limit)
    if (changes?.length === 0) end = now
    return changes
  }
}
