/**
 * Turns of the intake thread, which reads and matches for all bodies.
 *
 *     body A ── works until its turn is spent ──┐
 *     body B ── waits ◄── first come, first ────┤
 *     body C ── waits     served                └─► the event loop goes round once: messages, responses, rule changes
 *
 * One turn in each round of the event loop (`fair-rounds.ts`), so that another body waits no longer for a body of ten
 * million bad lines than for one turn of it. A turn ends by time; the bounds in steps and bytes hold where the clock is
 * coarse.
 */
import type { Clock } from "./clock.ts"
import { FairRounds } from "./fair-rounds.ts"

/** Longest that a body works before others have their turn; a line that is begun is finished. Ours. */
export const turnMsMax = 5

/** Most lines read and posts matched in a turn. Ours. */
export const turnStepsMax = 1_000

/** Most bytes of lines read in a turn; a line that is begun is finished. Ours. */
export const turnBytesMax = 512 * 1024

/** All bodies are one owner's: first come, first served. */
const owner = "bodies"

/** Hands out turns, in the order of the requests. A body waits at most once, so bodies bound the queue. */
export class Turns {
  readonly #clock: Pick<Clock, "monotonicMs">
  readonly #rounds: FairRounds

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock
    this.#rounds = new FairRounds(clock, { piecesMax: 1 })
  }

  /** For one body. */
  open(): Turn {
    return new Turn(this.#clock, this.#rounds)
  }
}

/** The turns of one body. */
export class Turn {
  readonly #clock: Pick<Clock, "monotonicMs">
  readonly #rounds: FairRounds
  #endsAtMs = 0
  #steps = 0
  #bytes = 0

  /** Made by `Turns`. */
  constructor(clock: Pick<Clock, "monotonicMs">, rounds: FairRounds) {
    this.#clock = clock
    this.#rounds = rounds
  }

  /** Resolves when the first turn of this body begins, or the first after it waited: at once if the round has room for it. */
  async begin(): Promise<void> {
    await this.#rounds.turn(owner)
    this.#restart()
  }

  /**
   * Resolves when the next turn of this body begins, in a later round. To be called before work, and after waiting for
   * something else.
   */
  async next(): Promise<void> {
    await this.#rounds.nextTurn(owner)
    this.#restart()
  }

  #restart(): void {
    this.#endsAtMs = this.#clock.monotonicMs() + turnMsMax
    this.#steps = 0
    this.#bytes = 0
  }

  /** Counts a step, of so many bytes. Absent while the turn goes on; else to be awaited before the next step. */
  spend(bytes = 0): Promise<void> | undefined {
    this.#steps += 1
    this.#bytes += bytes
    const isSpent =
      this.#steps >= turnStepsMax || this.#bytes >= turnBytesMax || this.#clock.monotonicMs() >= this.#endsAtMs
    return isSpent ? this.next() : undefined
  }
}
