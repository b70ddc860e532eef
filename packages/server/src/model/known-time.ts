/** The time that a store knows: by this record a start notices that the clock has jumped. */

/** The time as retention saw it at its last pass. All are Unix ms but the last. */
export interface KnownTime {
  /** The time by which retention deleted. */
  readonly believedMs: number
  /** The time of the clock. */
  readonly clockMs: number
  /** Time for which the clock has been steady while retention did not believe it; 0 when it does. */
  readonly steadyMs: number
}

/**
 * Stands for a record that is damaged. By it nothing has an age until the clock is believed, which takes an hour of
 * steady time, as after any jump: a damaged record must not be taken for that of a new store, where the clock is believed
 * at once.
 */
export const noKnownTime: KnownTime = { believedMs: 0, clockMs: 0, steadyMs: 0 }
