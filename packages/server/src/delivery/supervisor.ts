import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events/events.ts"

/** Delay before a loop that failed is restarted. Ours. */
const restartMs = 1_000

/** Runs one loop for each key, and restarts those that fail. */
export class Supervisor<Key, Loop> {
  /** The name under which failures are reported. */
  readonly #where: string
  readonly #deps: { readonly clock: Clock; readonly events: Pick<Events, "failed"> }
  readonly #loops = new Map<Key, Loop>()
  readonly #stops = new Map<Key, AbortController>()
  readonly #running = new Set<Promise<void>>()
  readonly #ends = new Map<Key, Promise<void>>()
  readonly #busy = new Set<Key>()

  constructor(where: string, deps: { readonly clock: Clock; readonly events: Pick<Events, "failed"> }) {
    this.#where = where
    this.#deps = deps
  }

  /** Tasks that were started and have neither ended nor been stopped. */
  get loops(): ReadonlyMap<Key, Loop> {
    return this.#loops
  }

  /** Keys with a loop that has not ended, stopped or not. */
  get busy(): ReadonlySet<Key> {
    return this.#busy
  }

  /** Starts a loop of a key that is not busy. Calls `run` again, after a second, each time that it rejects. */
  start(key: Key, loop: Loop, run: (signal: AbortSignal) => Promise<void>): void {
    const stop = new AbortController()
    this.#loops.set(key, loop)
    this.#busy.add(key)
    this.#stops.set(key, stop)
    const ended = this.#supervise(run, stop.signal).finally(() => {
      this.#running.delete(ended)
      this.#busy.delete(key)
      if (!stop.signal.aborted) void this.stop(key)
    })
    this.#running.add(ended)
    this.#ends.set(key, ended)
  }

  /** Stops the loop of a key, if there is one. Resolves when it has ended; another may be started then. */
  async stop(key: Key): Promise<void> {
    const ended = this.#ends.get(key)
    this.#stops.get(key)?.abort()
    this.#stops.delete(key)
    this.#loops.delete(key)
    this.#ends.delete(key)
    await ended
  }

  /** Stops all loops, which remain in `loops`. Resolves when all that were ever started have ended. */
  async stopAll(): Promise<void> {
    for (const stop of this.#stops.values()) stop.abort()
    await Promise.all(this.#running)
  }

  async #supervise(run: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        return await run(signal)
      } catch (error) {
        this.#deps.events.failed({ where: this.#where, error })
        await this.#deps.clock.sleep(restartMs, signal)
      }
    }
  }
}
