import type { MatchSeq } from "../../model/ids.ts"
import type { Replay, ReplayProgress } from "../../model/replay.ts"
import { FinishedHead } from "../finished-head.ts"

/**
 * The position up to which a replay is finished, and the results up to there. Positions that retention has deleted never
 * come, and count as failed.
 */
export class ReplayCursor {
  readonly #begin: Replay
  readonly #head: FinishedHead
  /** Finished beyond the head, and whether they were delivered. */
  readonly #beyondHead = new Map<MatchSeq, boolean>()
  #delivered: number
  #startedCount = 0
  #doneCount = 0

  constructor(replay: Replay) {
    this.#begin = replay
    this.#head = new FinishedHead(replay.position)
    this.#delivered = replay.delivered
  }

  /** Everything up to here is finished. */
  get position(): MatchSeq {
    return this.#head.position
  }

  /** Number of matches that were started. */
  get startedCount(): number {
    return this.#startedCount
  }

  /** Number of them that the head has passed. */
  get doneCount(): number {
    return this.#doneCount
  }

  /** The part that is to be saved. */
  get progress(): ReplayProgress {
    const { id, position: begin, delivered, failed } = this.#begin
    const { position } = this
    return {
      id,
      position,
      delivered: this.#delivered,
      failed: failed + position - begin - (this.#delivered - delivered),
    }
  }

  /** Each must come after those before. */
  start(seq: MatchSeq): void {
    this.#startedCount += 1
    this.#head.start(seq)
  }

  /** Once for each that was started. */
  finish(finished: MatchSeq, isDelivered: boolean): void {
    this.#beyondHead.set(finished, isDelivered)
    this.#head.finish(finished)
    const { position } = this
    for (const [seq, wasDelivered] of this.#beyondHead) {
      if (seq > position) continue
      this.#beyondHead.delete(seq)
      this.#doneCount += 1
      this.#delivered += Number(wasDelivered)
    }
  }

  /** Everything up to here that is not finished has failed. Call it when nothing is in flight. */
  failUpTo(seq: MatchSeq): void {
    this.#head.pass(seq)
  }
}
