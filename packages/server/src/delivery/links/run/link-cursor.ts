/**
 * A link's durable cursor, while its deliveries finish in any order.
 *
 *     started    5  6  7  8  9
 *     ended      ✓  ✗     ✓        position 8, retries 6 and 7
 *
 * The position is the newest that has ended. A match that it has passed undelivered is a retry: 6 has failed and is due
 * at its time; 7 is in flight and due at once, for a process that continues from here without knowing how it ended. The
 * store takes position, retries and dead letters together, so a match is always beyond the position, or a retry, or a
 * dead letter, or delivered. A cursor that waited at 6 for 7 would repeat after a crash everything delivered meanwhile.
 *
 * Retention may have deleted matches: then entries jump, and the cursor jumps with them.
 */
import type { DeadMatch } from "../../../model/dead-letter.ts"
import type { MatchSeq } from "../../../model/ids.ts"
import type { LinkProgress, Retry } from "../../../model/link.ts"
import { FinishedHead } from "../../finished-head.ts"

/** A link's position, and its matches that are started and neither delivered nor dead letters. */
export class LinkCursor {
  readonly #head: FinishedHead
  /** Unfinished matches that the store does not have as retries, or not like this. */
  readonly #unsaved = new Map<MatchSeq, Retry>()
  /** Unfinished matches that the store has as retries. */
  readonly #saved = new Set<MatchSeq>()
  /** Retries of the store that are finished. */
  #settled: MatchSeq[] = []
  /** Dead letters since the last take. */
  #dead: DeadMatch[] = []
  /** Deliveries since the last take. */
  #delivered = 0
  #withdrawn = 0
  /** Matches that were finished since `beginReread`, while the store's retries are read. */
  #finished: Set<MatchSeq> | undefined

  /** `retries`: oldest first, as the store has them. */
  constructor(position: MatchSeq, retries: readonly Retry[]) {
    this.#head = new FinishedHead(position)
    for (const { seq } of retries) this.#resume(seq)
  }

  /** Everything up to here is delivered, a dead letter, or a retry. */
  get position(): MatchSeq {
    return this.#head.passed
  }

  /** Everything up to here is delivered or a dead letter. */
  get deliveredUpTo(): MatchSeq {
    return this.#head.position
  }

  /** Number of matches up to `head` that are neither delivered nor dead letters. */
  undeliveredOf(head: MatchSeq): number {
    return this.#head.unfinishedUpTo(head)
  }

  /** Each must come after those before. Retries are started already. */
  start(seq: MatchSeq): void {
    this.#head.start(seq)
    this.#unsaved.set(seq, { seq, failures: 0, dueAtMs: 0 })
  }

  /** An attempt has failed; the next is due as `retry` says. */
  fail(retry: Retry): void {
    this.#unsaved.set(retry.seq, retry)
    this.#head.pass(retry.seq)
  }

  /** Once for each that was started. */
  deliver(seq: MatchSeq): void {
    this.#delivered += 1
    this.#finish(seq)
  }

  /** Instead of a delivery: the match's post is deleted. */
  withdraw(seq: MatchSeq): void {
    this.#withdrawn += 1
    this.#finish(seq)
  }

  /** Instead of a delivery. */
  deadLetter(dead: DeadMatch): void {
    this.#dead.push(dead)
    this.#finish(dead.seq)
  }

  /** Retention has deleted everything up to here that is not started, a retry or a dead letter. */
  skipTo(position: MatchSeq): void {
    this.#head.pass(position)
  }

  /**
   * Call it before the store's retries are read a second time: what is finished from now on may still be among them.
   * Matches that were finished before must be saved before they are read.
   */
  beginReread(): void {
    this.#finished = new Set()
  }

  /** Takes up those of the store's retries, oldest first, that are new; returns them. */
  resume<Found extends Retry>(retries: readonly Found[]): readonly Found[] {
    const found = retries.filter(({ seq }) => !this.#head.isUnfinished(seq) && this.#finished?.has(seq) !== true)
    for (const { seq } of found) this.#resume(seq)
    this.#finished = undefined
    return found
  }

  /** Changes that the store does not know. They count as known from then on, so the caller must save them. */
  take(): Omit<LinkProgress, "linkId"> {
    const { position } = this
    const retries: Retry[] = []
    for (const [seq, retry] of this.#unsaved) {
      if (seq > position) continue
      retries.push(retry)
      this.#unsaved.delete(seq)
      this.#saved.add(seq)
    }
    const [settled, dead, delivered, withdrawn] = [this.#settled, this.#dead, this.#delivered, this.#withdrawn]
    this.#settled = []
    this.#dead = []
    this.#delivered = 0
    this.#withdrawn = 0
    return { position, retries, settled, dead, delivered, ...(withdrawn > 0 && { withdrawn }) }
  }

  #resume(seq: MatchSeq): void {
    this.#head.resume(seq)
    this.#saved.add(seq)
  }

  #finish(seq: MatchSeq): void {
    this.#unsaved.delete(seq)
    if (this.#saved.delete(seq)) this.#settled.push(seq)
    this.#finished?.add(seq)
    this.#head.finish(seq)
  }
}
