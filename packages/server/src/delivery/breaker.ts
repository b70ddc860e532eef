/**
 * What a link thinks of its endpoint, from how its attempts end.
 *
 *         slotsMax matches have failed, that many attempts in a row
 *      up ─────────────────────────────────────────────────────────► down: one slot
 *       ▲                                                              │
 *       └── slots: 1, 2, 4 … slotsMax, doubled by each round of ───────┘ one success
 *           successes, halved by a failure
 *
 * One match that fails and fails never makes an endpoint be down, since others are delivered around it. That is what
 * counting matches is for. Whether anything gets through at all is another question, and the one to ask before a match
 * is blamed for its failures: on a quiet link a single match may be all there is to fail.
 *
 * While down, what has failed is tried, and now and then a match for the first time: what has failed may be just what
 * the endpoint cannot digest, and then only another match can show that it is there. The first `slotsMax` of them come
 * every second time, the next as many every third, then every fifth, every ninth …: long enough for any lot of bad
 * matches, and after a day of an outage a link has some ten times `slotsMax` of them to try, not all that it missed.
 *
 * What this server itself fails to send is nobody's failure. But `slotsMax` of those in a row say that the next will
 * be another, so until one reaches the network only these are tried, through one slot.
 */
export class Breaker {
  readonly #slotsMax: number
  /** Matches that have failed and are not over. */
  #failing = 0
  #failuresInARow = 0
  #ownFailuresInARow = 0
  #isDown = false
  /** Matches tried for the first time while down. */
  #firsts = 0
  /** Attempts since the last of them, or since it is down. */
  #sinceFirst = 0
  #slots: number
  /** Successes of this round. */
  #successes = 0
  /** One match at a time: then one that fails is all that can. */
  isOrdered = false

  constructor(slotsMax: number) {
    this.#slotsMax = slotsMax
    this.#slots = slotsMax
  }

  /**
   * A run of the link begins, with so many matches that have failed before. When they are enough to be down, the
   * endpoint gets one slot at first, and is silent until something is delivered.
   */
  resume(failing: number): void {
    this.#failing = failing
    if (failing < this.#slotsMax) return
    this.#failuresInARow = Math.max(this.#failuresInARow, this.#slotsMax)
    this.#slots = 1
    this.#successes = 0
  }

  /** So much has failed that there is no use in sending more. Until something is delivered. */
  get isDown(): boolean {
    return this.#isDown
  }

  /** Nothing was delivered in so many attempts that a failure says nothing of the match that it befell. */
  get isSilent(): boolean {
    return this.#failuresInARow >= this.#slotsMax
  }

  /** What is sent does not leave this server. */
  get isStuck(): boolean {
    return this.#ownFailuresInARow >= this.#slotsMax
  }

  /** While down: whether the next to be tried should be one that was not tried before. */
  get isFirstDue(): boolean {
    return this.#isDown && this.#sinceFirst >= 2 ** Math.floor(this.#firsts / this.#slotsMax)
  }

  /** How many attempts may be under way. */
  get slots(): number {
    return this.#isDown || this.isStuck ? 1 : this.#slots
  }

  /** An attempt has delivered its match. */
  noteDelivered({ hasFailedBefore }: { hasFailedBefore: boolean }): void {
    if (hasFailedBefore) this.#failing -= 1
    if (this.#isDown) {
      this.restart()
      return
    }
    this.#failuresInARow = 0
    this.#ownFailuresInARow = 0
    if (this.#slots === this.#slotsMax) return
    this.#successes += 1
    if (this.#successes < this.#slots) return
    this.#slots = Math.min(this.#slots * 2, this.#slotsMax)
    this.#successes = 0
  }

  /** An attempt has failed, by no fault of this server. */
  noteFailed({ hasFailedBefore }: { hasFailedBefore: boolean }): void {
    if (!hasFailedBefore) this.#failing += 1
    this.#failuresInARow += 1
    this.#ownFailuresInARow = 0
    if (this.#isDown) {
      this.#firsts += hasFailedBefore ? 0 : 1
      this.#sinceFirst = hasFailedBefore ? this.#sinceFirst + 1 : 0
    } else if (this.isSilent && (this.isOrdered || this.#failing >= this.#slotsMax)) {
      this.#isDown = true
      this.#firsts = 0
      this.#sinceFirst = 0
    }
    if (this.#slots === this.#slotsMax) return
    this.#slots = Math.max(1, Math.floor(this.#slots / 2))
    this.#successes = 0
  }

  /** An attempt has failed by a fault of this server. */
  noteOwnFailure(): void {
    this.#ownFailuresInARow += 1
  }

  /** A match that has failed is given up. */
  noteDead(): void {
    this.#failing -= 1
  }

  /** The endpoint has shown that it is there: begins again with one slot. */
  restart(): void {
    this.#isDown = false
    this.#failuresInARow = 0
    this.#ownFailuresInARow = 0
    this.#slots = 1
    this.#successes = 0
  }
}
