/**
 * How far a link has come, while its deliveries end in any order.
 *
 *     started   5  6  7  8  9
 *     ended     ✓  ✗     ✓        position 8, retries 6 and 7
 *
 * The cursor is at the newest that has ended, and what it has passed undelivered is a retry: 6 has failed and is due
 * at its time; 7 is under way and due at once, for a process that goes on from here without knowing how it ended.
 * The store takes position and retries together, so that a match is always beyond the position, or a retry, or
 * delivered. A cursor that waited at 6 for 7 would have everything repeated by a crash that is delivered meanwhile.
 */
import assert from "node:assert/strict"
import type { MatchSeq } from "../model/ids.ts"
import type { LinkProgress, Retry } from "../model/link.ts"

/** A link's position, and its matches that are started and not delivered. */
export class LinkCursor {
  #position: MatchSeq
  /** Started and not delivered, oldest first. */
  readonly #open = new Set<MatchSeq>()
  /** Of the open ones those that the store does not have as retries, or not like this. */
  readonly #unsaved = new Map<MatchSeq, Retry>()
  /** Of the open ones those that the store has as retries. */
  readonly #saved = new Set<MatchSeq>()
  /** Retries of the store that are delivered. */
  #settled: MatchSeq[] = []

  /** `retries`: oldest first, as the store has them. */
  constructor(position: MatchSeq, retries: readonly Retry[]) {
    this.#position = position
    for (const { seq } of retries) {
      this.#open.add(seq)
      this.#saved.add(seq)
    }
  }

  /** Everything up to here is delivered, or a retry. */
  get position(): MatchSeq {
    return this.#position
  }

  /** Everything up to here is delivered. */
  get deliveredUpTo(): MatchSeq {
    const [oldest = Number.POSITIVE_INFINITY] = this.#open
    return Math.min(this.#position, oldest - 1) as MatchSeq
  }

  /** How many are started and not delivered. */
  get openCount(): number {
    return this.#open.size
  }

  /** Each must come after those before; retries are started already. */
  start(seq: MatchSeq): void {
    assert(seq > this.#position && !this.#open.has(seq), "entries start once, beyond the cursor")
    this.#open.add(seq)
    this.#unsaved.set(seq, { seq, failures: 0, dueAtMs: 0 })
  }

  /** An attempt has failed; the next is due as `retry` says. */
  fail(retry: Retry): void {
    this.#unsaved.set(retry.seq, retry)
    this.#pass(retry.seq)
  }

  /** Once for each that was started. */
  deliver(seq: MatchSeq): void {
    this.#open.delete(seq)
    this.#unsaved.delete(seq)
    if (this.#saved.delete(seq)) this.#settled.push(seq)
    this.#pass(seq)
  }

  /** What the store does not know. It counts as known from then on, so whoever takes it sees to it that it is saved. */
  take(): Omit<LinkProgress, "linkId"> {
    const retries: Retry[] = []
    for (const [seq, retry] of this.#unsaved) {
      if (seq > this.#position) continue
      retries.push(retry)
      this.#unsaved.delete(seq)
      this.#saved.add(seq)
    }
    const settled = this.#settled
    this.#settled = []
    return { position: this.#position, retries, settled }
  }

  #pass(seq: MatchSeq): void {
    if (seq > this.#position) this.#position = seq
  }
}
