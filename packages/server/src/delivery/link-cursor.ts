/**
 * How far a link has come, while its deliveries end in any order.
 *
 *     started   5  6  7  8  9
 *     ended     ✓  ✗     ✓        position 8, retries 6 and 7
 *
 * The cursor is at the newest that has ended, and what it has passed undelivered is a retry: 6 has failed and is due
 * at its time; 7 is under way and due at once, for a process that goes on from here without knowing how it ended.
 * The store takes position, retries and dead letters together, so that a match is always beyond the position, or a
 * retry, or dead, or delivered. A cursor that waited at 6 for 7 would have everything repeated by a crash that is
 * delivered meanwhile.
 *
 * Retention may have taken matches away: then entries jump, and the cursor jumps with them.
 */
import assert from "node:assert/strict"
import type { DeadMatch } from "../model/dead-letter.ts"
import type { MatchSeq } from "../model/ids.ts"
import type { LinkProgress, Retry } from "../model/link.ts"

/** A link's position, and its matches that are started and neither delivered nor dead. */
export class LinkCursor {
  #position: MatchSeq
  /** Started and not over. Oldest first, but for retries that were taken up later. */
  readonly #open = new Set<MatchSeq>()
  /** Of the open ones those that the store does not have as retries, or not like this. */
  readonly #unsaved = new Map<MatchSeq, Retry>()
  /** Of the open ones those that the store has as retries. */
  readonly #saved = new Set<MatchSeq>()
  /** Retries of the store that are over. */
  #settled: MatchSeq[] = []
  /** What has died since the last take. */
  #dead: DeadMatch[] = []
  /** How many were delivered since the last take. */
  #delivered = 0
  /** What is over since `watch`, while somebody reads the store's retries. */
  #over: Set<MatchSeq> | undefined
  /** Of the open ones the oldest. Looked for when it is asked for and not known. */
  #oldest: MatchSeq | undefined

  /** `retries`: oldest first, as the store has them. */
  constructor(position: MatchSeq, retries: readonly Retry[]) {
    this.#position = position
    for (const { seq } of retries) this.#resume(seq)
  }

  /** Everything up to here is delivered, dead, or a retry. */
  get position(): MatchSeq {
    return this.#position
  }

  /** Everything up to here is delivered, or dead. */
  get deliveredUpTo(): MatchSeq {
    return Math.min(this.#position, this.#oldestOpen() - 1) as MatchSeq
  }

  /** How many matches up to `head` are neither delivered nor dead. */
  undeliveredOf(head: MatchSeq): number {
    let passed = 0
    for (const seq of this.#open) if (seq <= this.#position) passed += 1
    return passed + Math.max(0, head - this.#position)
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
    this.#delivered += 1
    this.#finish(seq)
  }

  /** Instead of a delivery. */
  die(dead: DeadMatch): void {
    this.#dead.push(dead)
    this.#finish(dead.seq)
  }

  /** Retention has taken away everything up to here that is not open, a retry or dead. */
  skipTo(position: MatchSeq): void {
    this.#pass(position)
  }

  /**
   * To be called before the store's retries are read a second time: what is over from now on may still be among them.
   * What was over before must be saved before they are read.
   */
  watch(): void {
    this.#over = new Set()
  }

  /** Takes up those of the store's retries, oldest first, that are new; answers them. */
  resume<Found extends Retry>(retries: readonly Found[]): readonly Found[] {
    const found = retries.filter(({ seq }) => !this.#open.has(seq) && this.#over?.has(seq) !== true)
    for (const { seq } of found) this.#resume(seq)
    this.#over = undefined
    return found
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
    const [settled, dead, delivered] = [this.#settled, this.#dead, this.#delivered]
    this.#settled = []
    this.#dead = []
    this.#delivered = 0
    return { position: this.#position, retries, settled, dead, delivered }
  }

  #resume(seq: MatchSeq): void {
    this.#open.add(seq)
    this.#saved.add(seq)
    this.#oldest = undefined
  }

  #finish(seq: MatchSeq): void {
    this.#open.delete(seq)
    this.#unsaved.delete(seq)
    if (this.#saved.delete(seq)) this.#settled.push(seq)
    if (seq === this.#oldest) this.#oldest = undefined
    this.#over?.add(seq)
    this.#pass(seq)
  }

  #oldestOpen(): number {
    if (this.#oldest === undefined) {
      let oldest = Number.POSITIVE_INFINITY as MatchSeq
      for (const seq of this.#open) if (seq < oldest) oldest = seq
      this.#oldest = this.#open.size === 0 ? undefined : oldest
    }
    return this.#oldest ?? Number.POSITIVE_INFINITY
  }

  #pass(seq: MatchSeq): void {
    if (seq > this.#position) this.#position = seq
  }
}
