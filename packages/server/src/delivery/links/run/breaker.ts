/**
 * The state of a link's endpoint, judging by the ends of its attempts.
 *
 *         slotsMax matches have failed, that many attempts in a row
 *      up ─────────────────────────────────────────────────────────► down: one slot
 *       ▲                                                              │
 *       └── slots: 1, 2, 4 … slotsMax, doubled by each round of ───────┘ one success
 *           successes, halved by a failure
 *
 * One match that always fails never takes an endpoint down, since others are delivered around it: that is why matches
 * are counted. Whether anything is delivered at all is another question, and the one that decides whether a match is
 * blamed for its failures: on a quiet link a single match may be all there is to fail.
 *
 * While down, what has failed is tried, and now and then a match for the first time: the endpoint may reject just what
 * has failed, and then only another match can show that it is up. The first `slotsMax` of these are tried every second
 * time, the next as many every third, then every fifth, every ninth …: often enough for any number of bad matches, and
 * after a day of an outage a link has about ten times `slotsMax` of them to try, not everything that it missed.
 *
 * A request that this server itself fails to send is no failure of the endpoint. But `slotsMax` of those in a row mean
 * that the next will be another, so until one reaches the network only these are tried, through one slot.
 */
export class Breaker {
  readonly #slotsMax: number
  /** Matches that have failed and are neither delivered, nor withdrawn, nor dead letters. */
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
   * A run of the link begins, with so many matches that have failed before, and so many failures of theirs. They count as
   * failures in a row: the store does not tell what was delivered between them. When the matches are enough to be down,
   * the endpoint gets one slot at first.
   */
  resume({ failing, failures }: { readonly failing: number; readonly failures: number }): void {
    this.#failing = failing
    this.#failuresInARow = Math.max(this.#failuresInARow, Math.min(this.#slotsMax, failures))
    if (failing < this.#slotsMax) return
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

  /** Requests do not leave this server. */
  get isStuck(): boolean {
    return this.#ownFailuresInARow >= this.#slotsMax
  }

  /** One match at a time shows whether anything arrives again. */
  get isProbed(): boolean {
    return this.#isDown || this.isStuck
  }

  /** While down: whether the next to be tried should be one that was not tried before. */
  get isFirstDue(): boolean {
    return this.#isDown && this.#sinceFirst >= 2 ** Math.floor(this.#firsts / this.#slotsMax)
  }

  /** Most attempts in flight. */
  get slots(): number {
    return this.isProbed ? 1 : this.#slots
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

  /** A match that has failed is a dead letter, or withdrawn. */
  noteDropped(): void {
    this.#failing -= 1
  }

  /** The endpoint has shown that it is up: begins again with one slot. */
  restart(): void {
    this.#isDown = false
    this.#failuresInARow = 0
    this.#ownFailuresInARow = 0
    this.#slots = 1
    this.#successes = 0
  }
}
