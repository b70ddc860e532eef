/**
 * Shares out the reading of bodies: so much in a turn of 5 ms, over all connections.
 *
 *     turn over its bound? ── yes ─► the connection waits ─► a few resume in each turn, one of each caller in turn
 *
 * Two kinds of input are costly: they cost a server more than they cost their sender, or are not needed. These are
 * chunks of a few bytes, ten thousand of which are in one read and take half a millisecond, and bodies whose requests have
 * their responses already, which are read on only for the sake of clients that send all before they read. They have a part
 * of the turn, and any other body has the rest. A thousand connections that send at once would else take half a second or
 * more in which no one else is served. A turn is longer than one of the event loop, so that they do not take a whole
 * processor either: the rest waits in the system's buffers, which slows their senders down.
 */
import { systemClock } from "../../runtime/clock.ts"
import { FairRounds } from "../../runtime/fair-rounds.ts"

/** Length of a turn; it ends with the turn of the event loop. Ours. */
const turnMs = 5

/** Work of a turn after which costly input waits: 50 MB a second. Ours. */
const workPerTurnMax = 5_000

/**
 * Work of a turn after which every body waits: 100 MB a second, several times of what can be matched and stored. Ours: with
 * four times as much, a thousand connections that send at once hold up the event loop for 100 ms again and again, since each
 * turn has to read from connections that became readable meanwhile, 64 KiB of each.
 */
const allWorkPerTurnMax = 10_000

/** Bytes of a body that take as long to read as one small chunk. Measured. */
const bytesOfChunk = 50

/** Connections that resume in a turn. Ours. */
const resumedPerTurn = 2

/** The turns that all connections share. */
export class InputTurns {
  #work = 0
  readonly #rounds = new FairRounds(
    systemClock,
    { piecesMax: resumedPerTurn, everyMs: turnMs },
    { ended: () => void (this.#work = 0) },
  )

  /** True if input has to wait. */
  isOver({ isCostly }: { readonly isCostly: boolean }): boolean {
    return this.#work >= (isCostly ? workPerTurnMax : allWorkPerTurnMax)
  }

  /** Counts small chunks that were read. */
  countChunks(chunks: number): void {
    this.#work += chunks
    this.#rounds.open()
  }

  /** Counts bytes of bodies that were read. */
  countBytes(bytes: number): void {
    this.countChunks(bytes / bytesOfChunk)
  }

  /** Calls `resume` in a later turn: callers in turn, and each caller's first come first served. Returns what withdraws it. */
  wait(caller: string, resume: () => void): () => void {
    return this.#rounds.beginLater(caller, resume)
  }
}
