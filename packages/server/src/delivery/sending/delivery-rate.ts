/**
 * The rate of a link: at most so many deliveries in any second, spread over it.
 *
 * Sends are due one interval after the other. A few may start before they are due, because timers end a little late
 * and that must be compensated; the interval is longer by as much as these few add to a second. So
 * the bound holds for every second, wherever it begins, and what is reached in the long run is up to 2% below it.
 *
 * Source: ITU-T I.371, the generic cell rate algorithm.
 */
export class DeliveryRate {
  readonly #intervalMs: number
  readonly #toleranceMs: number
  #dueAtMs = Number.NEGATIVE_INFINITY

  /** `perSecondMax`: 0 is unbounded. */
  constructor(perSecondMax: number) {
    const earlyMax = Math.ceil(perSecondMax / 50)
    this.#intervalMs = perSecondMax === 0 ? 0 : 1_000 / (perSecondMax - earlyMax + 1)
    this.#toleranceMs = this.#intervalMs * Math.max(0, earlyMax - 1)
  }

  /** The moment from which on one more may be sent, by the clock of `note`. */
  get nextAtMs(): number {
    return this.#dueAtMs - this.#toleranceMs
  }

  /** One is sent, not before `nextAtMs`. */
  note(nowMs: number): void {
    this.#dueAtMs = Math.max(this.#dueAtMs, nowMs) + this.#intervalMs
  }
}
