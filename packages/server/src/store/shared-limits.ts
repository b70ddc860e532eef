/**
 * Limits of an app over all processes that share a store. A process that does not share its store counts in memory
 * alone.
 */
import type { AppId } from "../model/ids.ts"

/** A connection that is counted over all processes. */
export interface CountedConnection {
  readonly appId: AppId
  readonly kind: string
  /** Called when another one, of any process, has taken its place: within a second, or 10 s when hints are lost. */
  readonly replaced: () => void
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
  /**
   * Counts one more use. When the app has had `max` of them in its present window it counts nothing, and returns after how
   * many milliseconds the window ends.
   */
  countUse(
    appId: AppId,
    use: string,
    limit: { readonly max: number; readonly windowMs: number },
  ): Promise<number | undefined>
}
