/**
 * Limits of an app over all processes that share a store. A process that does not share its store counts in memory
 * alone.
 */
import type { AppId } from "../model/ids.ts"

/** A connection that is counted over all processes. */
export interface CountedConnection {
  /** A UUID. */
  readonly id: string
  readonly appId: AppId
  readonly kind: string
  /**
   * Called when another connection, to any process, has taken its place, or when its app has ended it: within a second, or
   * 10 s when hints are lost.
   */
  readonly ended: (reason: "replaced" | "forced") => void
}

/** A bound of uses in a window, which begins with its first use. */
export interface UseLimit {
  readonly max: number
  readonly windowMs: number
}

/** The result of a count. */
export interface TakenUses {
  /** How many of the uses are within the bound; the others are not counted. */
  readonly granted: number
  /** How many more the window has. */
  readonly left: number
  /** After how many milliseconds the window ends. */
  readonly endsInMs: number
}

/** Counts over all processes. */
export interface SharedLimits {
  /**
   * Counts a connection until the function that it returns is called; `undefined` when the app has `max` of its kind
   * already. With `replacesOldest` the oldest make room. Those of a process that has died count for some seconds more.
   */
  countConnection(
    connection: CountedConnection,
    limit: { readonly max: number; readonly replacesOldest: boolean },
  ): Promise<(() => void) | undefined>
  /** Counts uses in the present window of the app, as many as there is room for. `count`: one unless given. */
  takeUses(appId: AppId, use: string, limit: UseLimit & { readonly count?: number }): Promise<TakenUses>
}
