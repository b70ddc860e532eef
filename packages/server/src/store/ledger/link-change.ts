/**
 * Changes of a link by one write: the rows of its retries and dead letters, and its counters.
 *
 *     rows that the write names, read under a lock ─► LinkLedger, event by event ─► LinkChange ─► rows and counters written
 *
 * The ledger knows no database. A store reads and writes; every decision about a match is made here.
 */
import type { DeadMatch } from "../../model/dead-letter.ts"
import type { MatchSeq } from "../../model/ids.ts"
import type { Retry } from "../../model/link.ts"
import { nextState, type DeliveryEvent, type DeliveryState } from "./delivery-state.ts"

/** A match that is a retry or a dead letter of a link. */
export interface OutstandingMatch {
  readonly seq: MatchSeq
  readonly isDead: boolean
}

/** A link before a write. */
export interface LinkBefore {
  readonly position: MatchSeq
  /** Up to where retention has passed the link's log; 0 when the write frees no match. */
  readonly trimmedTo: number
  /** Those of the matches that the write names. */
  readonly outstanding: readonly OutstandingMatch[]
}

/** Changes of a link by one write. Rows are deleted before others are put in their place. */
export interface LinkChange {
  readonly retriesGone: readonly MatchSeq[]
  /** Put in the place of those that are there. */
  readonly retries: readonly Retry[]
  readonly deadGone: readonly MatchSeq[]
  /** New ones. */
  readonly dead: readonly DeadMatch[]
  /** Matches that retention has passed and that this link needs no more. */
  readonly freed: readonly MatchSeq[]
  readonly position: MatchSeq
  /** By how much each counter of the link grows; `delivered` and the numbers of rows may shrink. */
  readonly delivered: number
  readonly retriesBy: number
  readonly deadLettersBy: number
  readonly expired: number
  readonly withdrawn: number
  readonly redeliveries: 0 | 1
}

/** A retry or a dead letter; its row is absent while it is as it was read. */
type Outstanding =
  | { readonly state: "retry"; readonly row?: Retry }
  | { readonly state: "dead-letter"; readonly row?: DeadMatch }

/** The matches of a link during a write. */
export class LinkLedger {
  delivered = 0
  withdrawn = 0
  #expired = 0
  #redeliveries: 0 | 1 = 0
  #position: MatchSeq
  readonly #trimmedTo: number
  readonly #before: ReadonlyMap<MatchSeq, Outstanding>
  readonly #now: Map<MatchSeq, Outstanding>

  constructor({ position, trimmedTo, outstanding }: LinkBefore) {
    this.#position = position
    this.#trimmedTo = trimmedTo
    this.#before = new Map(outstanding.map(({ seq, isDead }) => [seq, { state: isDead ? "dead-letter" : "retry" }]))
    this.#now = new Map(this.#before)
  }

  get position(): MatchSeq {
    return this.#position
  }

  /** How many of the named matches are retries and dead letters. */
  get outstanding(): number {
    return this.#now.size
  }

  /**
   * The state of a match. One that the cursor has passed and that is no retry and no dead letter is `delivered` here,
   * though it may be expired or missed: progress changes none of the three.
   */
  stateOf(seq: MatchSeq): DeliveryState {
    return this.#now.get(seq)?.state ?? (seq > this.#position ? "waiting" : "delivered")
  }

  deliver(seq: MatchSeq): void {
    if (this.#next(seq, "deliver") === "delivered") this.#now.delete(seq)
  }

  retry(row: Retry): void {
    if (this.#next(row.seq, "retry") === "retry") this.#now.set(row.seq, { state: "retry", row })
  }

  deadLetter(row: DeadMatch): void {
    if (this.#next(row.seq, "dead-letter") === "dead-letter") this.#now.set(row.seq, { state: "dead-letter", row })
  }

  /** Makes a match a retry that is due at once. A retry keeps its failures. */
  redeliver(seq: MatchSeq, failures = 0): void {
    const state = this.stateOf(seq)
    if (nextState[state].redeliver !== "retry") return
    if (state === "delivered") this.delivered -= 1
    this.#now.set(seq, { state: "retry", row: { seq, failures, dueAtMs: 0 } })
    this.#redeliveries = 1
  }

  /** A dead letter does not expire before its match: so what the log still has is known to be delivered, or is here. */
  expire(seq: MatchSeq): void {
    if (seq > this.#trimmedTo || this.#next(seq, "expire") !== "expired") return
    this.#now.delete(seq)
    this.#expired += 1
  }

  /** Withdraws a dead letter whose post is deleted. A retry is withdrawn by the progress of its sender, who may be sending it. */
  withdrawDead(seq: MatchSeq): void {
    if (this.stateOf(seq) !== "dead-letter" || this.#next(seq, "withdraw") !== "withdrawn") return
    this.#now.delete(seq)
    this.withdrawn += 1
  }

  /** Moves the cursor, never back. */
  moveTo(position: MatchSeq): void {
    if (position > this.#position) this.#position = position
  }

  /** One pass over each, since every save of progress makes one. */
  change(): LinkChange {
    const [retriesGone, deadGone, freed]: [MatchSeq[], MatchSeq[], MatchSeq[]] = [[], [], []]
    const [retries, dead]: [Retry[], DeadMatch[]] = [[], []]
    let [retriesBy, deadLettersBy] = [0, 0]
    for (const [seq, before] of this.#before) {
      const after = this.#now.get(seq)
      if (before.state === "retry") retriesBy -= 1
      else deadLettersBy -= 1
      if (after === undefined && seq <= this.#trimmedTo) freed.push(seq)
      // A dead letter that is put again is a new one.
      const stays = after?.state === before.state && (before.state === "retry" || after.row === undefined)
      if (!stays) (before.state === "retry" ? retriesGone : deadGone).push(seq)
    }
    for (const after of this.#now.values()) {
      if (after.state === "retry") {
        retriesBy += 1
        if (after.row !== undefined) retries.push(after.row)
      } else {
        deadLettersBy += 1
        if (after.row !== undefined) dead.push(after.row)
      }
    }
    const [position, expired, redeliveries] = [this.#position, this.#expired, this.#redeliveries]
    const { delivered, withdrawn } = this
    const counters = { delivered, retriesBy, deadLettersBy, expired, withdrawn, redeliveries }
    return { retriesGone, retries, deadGone, dead, freed, position, ...counters }
  }

  #next(seq: MatchSeq, event: DeliveryEvent): DeliveryState | "refused" {
    return nextState[this.stateOf(seq)][event]
  }
}
