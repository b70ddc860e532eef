/**
 * Which links and periodic tasks this process drives, where several processes share a store.
 *
 * A link is driven by one process at a time. Its lease has a number, which grows whenever the link changes hands;
 * progress that is saved under an older number is refused by the store (a fencing token). A process that cannot renew
 * its leases in time stops sending by its own monotonic clock, before another process may begin. Deliveries in flight
 * by then are repeated: at most as many of a link as after a crash.
 */
import type { LinkId } from "../model/ids.ts"

/** Work that one of all processes does at intervals. */
export type PeriodicTask = "retention" | "challenges" | "search index"

/** Work that one of all processes does: at intervals, or as the driver of a source that all of them could drive. */
export type SoleTask = PeriodicTask | `source ${string}`

/** A lease of a link, by its number. */
export interface LinkLease {
  readonly linkId: LinkId
  readonly lease: number
}

/** The leases of this process. */
export interface Leases {
  /** The number of the lease of a link; `undefined` while this process may not drive the link. */
  ofLink(id: LinkId): number | undefined
  /**
   * The leases as they are now. A link is to be read after that: what was read before the lease came may be older than
   * what the process before has saved.
   */
  snapshot(): (id: LinkId) => number | undefined
  /** Whether this process is to do the task. */
  has(task: SoleTask): boolean
  /** Calls `listener` whenever leases have come, gone or been renewed too late, until the returned function is called. */
  onChange(listener: () => void): () => void
  /** The links are no longer under these leases, as the store has just said. One that has come back since is kept. */
  lost(leases: readonly LinkLease[]): void
  /** The links do not run here, and their progress is saved: those that this process is to give back go to others. */
  stopped(ids: readonly LinkId[]): void
}

/** The leases of a process that does not share its store: it drives everything. */
export const soleLeases: Leases = {
  ofLink: () => 0,
  snapshot: () => () => 0,
  has: () => true,
  onChange: () => () => undefined,
  lost: () => undefined,
  stopped: () => undefined,
}
