/** Notices that the other side has fallen silent: a connection may be dead without an end of it ever arriving. */
import type { Clock } from "../../runtime/clock.ts"

/** Calls `expire` once, when nothing has been heard for a while. Disposing of it ends the watch. */
export class Watchdog implements Disposable {
  readonly #silenceMsMax: number
  readonly #clock: Pick<Clock, "monotonicMs">
  readonly #expire: () => void
  #heardAtMs = 0
  #timer: NodeJS.Timeout | undefined

  /** It watches as soon as `start` is called. */
  constructor(silenceMsMax: number, expire: () => void, clock: Pick<Clock, "monotonicMs">) {
    this.#silenceMsMax = silenceMsMax
    this.#expire = expire
    this.#clock = clock
  }

  /** The other side has sent something. */
  hear(): void {
    this.#heardAtMs = this.#clock.monotonicMs()
  }

  /** Watches from now on. Does nothing when it watches already. */
  start(): void {
    if (this.#timer !== undefined) return
    this.hear()
    this.#wait(this.#silenceMsMax)
  }

  /** Stops watching: nothing is read now, so that silence means nothing. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  [Symbol.dispose](): void {
    this.stop()
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => {
      const leftMs = this.#heardAtMs + this.#silenceMsMax - this.#clock.monotonicMs()
      if (leftMs > 0) {
        this.#wait(leftMs)
        return
      }
      this.stop()
      this.#expire()
    }, ms)
  }
}
