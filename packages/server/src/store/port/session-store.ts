/** Sessions of the console that were ended: a part of the store (`store.ts`). */

/** Reads: sessions of the console that were ended. */
export interface SessionReads {
  /** Whether a session of the console was ended. Unknown ones were not. `reader` as in `ReadFor`. */
  isSessionEnded(id: Uint8Array, reader?: string): Promise<boolean>
}

/** Writes: sessions of the console that were ended. */
export interface SessionWrites {
  /**
   * Ends a session of the console. At most once a minute it also forgets sessions that expired more than a day ago, and
   * those that expire first of more than 100,000.
   */
  endSession(id: Uint8Array, expiresAtMs: number): Promise<void>
}

/** Sessions of the console that were ended. */
export interface SessionStore extends SessionReads, SessionWrites {}
