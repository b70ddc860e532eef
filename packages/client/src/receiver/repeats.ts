/**
 * Remembers deliveries, so that a receiver handles each once, although several attempts at it may come, even at the same
 * time.
 *
 *     begin ─► new ──► handled ──► finish ─► kept, and repeats are dropped
 *       │        └───► failed ───► forget ─► the next attempt is new again
 *       ├────► running: an attempt before this one is still handled
 *       └────► finished
 */

/** State of a delivery: new, being handled, or handled. */
export type RepeatState = "new" | "running" | "finished"

/** A store of deliveries by their ids. Several receivers may share one. */
export interface RepeatStore {
  /**
   * Returns the state of the id and, when it is new, notes in the same step that it runs. The note holds for `leaseMs`: a
   * receiver that ends in the middle must not keep the delivery from being handled.
   */
  begin(id: string, leaseMs: number): RepeatState | Promise<RepeatState>
  /** Notes for `keepMs` that it was handled. */
  finish(id: string, keepMs: number): void | Promise<void>
  /** Removes the note: it was not handled, and is to come again. */
  forget(id: string): void | Promise<void>
}

/** Deliveries that are remembered in this process, unless another number is given. Ours: about 20 MB. */
const idsMaxDefault = 100_000

/** Remembers in this process: what it holds is lost when that ends, and the oldest is forgotten when it is full. */
export function memoryRepeats({
  idsMax = idsMaxDefault,
  nowMs = Date.now,
}: { readonly idsMax?: number; readonly nowMs?: () => number } = {}): RepeatStore {
  /** The oldest note first. */
  const notes = new Map<string, { readonly state: RepeatState; readonly untilMs: number }>()
  const note = (id: string, state: RepeatState, ms: number): void => {
    notes.delete(id)
    notes.set(id, { state, untilMs: nowMs() + ms })
    if (notes.size <= idsMax) return
    const [oldest] = notes.keys()
    if (oldest !== undefined) notes.delete(oldest)
  }
  return {
    begin(id, leaseMs) {
      const found = notes.get(id)
      if (found !== undefined && nowMs() < found.untilMs) return found.state
      note(id, "running", leaseMs)
      return "new"
    },
    finish: (id, keepMs) => note(id, "finished", keepMs),
    forget: (id) => void notes.delete(id),
  }
}
