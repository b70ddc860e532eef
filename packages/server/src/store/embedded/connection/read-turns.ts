/**
 * Turns of the event loop for reads.
 *
 * A read of SQLite blocks its thread, and one that follows another at once would never give the event loop a turn. So
 * reads share rounds, bounded in time and in number. A read that finds its round spent waits for a later one: readers of
 * logs and requests in turn, and of each class one app after the other. Callers read in a loop as they please; other work
 * of the thread never waits for long, and no app waits for the reads of another.
 */
import type { Clock } from "../../../runtime/clock.ts"
import { FairRounds } from "../../../runtime/fair-rounds.ts"
import { ReaderQueue, type Reader } from "../../readers.ts"

/** Bounds of the reads in one round, with their callers' work between them; the number is for a coarse clock. Ours. */
const bounds = { piecesMax: 50, msMax: 5 }

/** Hands out turns to the reads of one connection. */
export class ReadTurns {
  readonly #rounds: FairRounds<Reader>

  /** While the thread's own rounds rest, no read begins. */
  constructor(clock: Pick<Clock, "monotonicMs">, restsWith?: Pick<FairRounds, "isResting">) {
    this.#rounds = new FairRounds<Reader>(clock, bounds, { queue: new ReaderQueue(), restsWith })
  }

  /** To be awaited before a read. Absent when it may begin at once. */
  begin(reader: Reader): Promise<void> | undefined {
    return this.#rounds.beginsAtOnce() ? undefined : this.next(reader)
  }

  /** Resolves in a later round. To be awaited by a read that goes on. */
  next(reader: Reader): Promise<void> {
    return this.#rounds.nextTurn(reader)
  }
}
