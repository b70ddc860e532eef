/**
 * A clock whose time of day comes from elsewhere: from the database that several processes share. All threads of a
 * process have it through a piece of shared memory, and one of them corrects it.
 *
 *     time of day = shared epoch + clock of the process that only goes forward
 *
 * The machine's own time of day counts only until the first correction. So it does not matter that the clocks of machines
 * differ, or that one of them steps.
 */
import { systemClock, type Clock } from "./clock.ts"

/** A clock for all threads that have its `epoch`. */
export class SharedClock implements Clock {
  /** Unix time at 0 of the high-resolution clock, which all threads of a process share, in µs. Can be posted. */
  readonly epoch: SharedArrayBuffer
  readonly #epochUs: BigInt64Array

  constructor(epoch?: SharedArrayBuffer) {
    this.epoch = epoch ?? new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT)
    this.#epochUs = new BigInt64Array(this.epoch)
    if (epoch === undefined)
      Atomics.store(this.#epochUs, 0, BigInt(Math.round(systemClock.nowMs() * 1_000)) - elapsedUs())
  }

  nowMs(): number {
    return Number((Atomics.load(this.#epochUs, 0) + elapsedUs()) / 1_000n)
  }

  monotonicMs(): number {
    return systemClock.monotonicMs()
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(ms, signal)
  }

  pause(ms: number, signal?: AbortSignal): Promise<void> {
    return systemClock.pause(ms, signal)
  }

  /** Moves the time of day on for all threads that have the epoch. */
  move(ms: number): void {
    Atomics.add(this.#epochUs, 0, BigInt(Math.round(ms * 1_000)))
  }

  /**
   * Asks for the time of day, Unix ms, and corrects this clock by the response: as little as it takes, since the
   * moment of the response lies anywhere between the request and its end. Throws what `ask` throws, and changes nothing
   * then.
   */
  async correct(ask: () => Promise<number>): Promise<void> {
    const askedUs = elapsedUs()
    const responseUs = BigInt(Math.round((await ask()) * 1_000))
    const [earliest, latest] = [responseUs - elapsedUs(), responseUs - askedUs]
    const epochUs = Atomics.load(this.#epochUs, 0)
    Atomics.store(this.#epochUs, 0, epochUs < earliest ? earliest : epochUs > latest ? latest : epochUs)
  }
}

/** Time of the clock that all threads of a process share and that never steps. */
function elapsedUs(): bigint {
  return process.hrtime.bigint() / 1_000n
}
