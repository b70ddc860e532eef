/**
 * A bound on the bytes that many requests hold at once, which no single one of their owners can take whole.
 *
 *     take ─► room in all, and in the owner's share? ── yes ─► held until it is given back
 *                        └── no ─► wait, first come first served among those for whom there is room
 *
 * A caller that does not know the size beforehand takes the most that it may be, and gives back the rest when it knows.
 */

/** Bytes that are held. */
export interface HeldBytes {
  /** Now that the true size is known. */
  resize(bytes: number): void
  /** Gives all of it back, once. */
  release(): void
}

interface Waiting {
  readonly owner: string
  readonly bytes: number
  readonly start: () => void
}

/**
 * Bytes held by all, at most `bytesMax`, and by one owner, at most `shareMax`; `waitingMax` calls of an owner may wait.
 */
interface Bounds {
  readonly bytesMax: number
  readonly shareMax: number
  readonly waitingMax: number
}

/** A budget of bytes. */
export class ByteBudget {
  readonly #bounds: Bounds
  readonly #shares = new Map<string, number>()
  readonly #waiting = new Set<Waiting>()
  #bytes = 0

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  /** Held at this moment, by all. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Waits for room. Returns `undefined` when `waitingMax` calls of the owner wait already, or when `signal` is aborted
   * first. A request larger than a bound is granted when nothing else is held.
   */
  async take(owner: string, bytes: number, signal: AbortSignal): Promise<HeldBytes | undefined> {
    if (signal.aborted) return undefined
    if (this.#hasRoom(owner, bytes)) return this.#hold(owner, bytes)
    if (this.#waitingOf(owner) >= this.#bounds.waitingMax) return undefined
    const { promise, resolve } = Promise.withResolvers<HeldBytes | undefined>()
    const waiting: Waiting = { owner, bytes, start: () => resolve(this.#hold(owner, bytes)) }
    const leave = (): void => {
      if (this.#waiting.delete(waiting)) resolve(undefined)
    }
    this.#waiting.add(waiting)
    signal.addEventListener("abort", leave, { once: true })
    const held = await promise
    signal.removeEventListener("abort", leave)
    return held
  }

  #waitingOf(owner: string): number {
    let count = 0
    for (const each of this.#waiting) if (each.owner === owner) count += 1
    return count
  }

  #hasRoom(owner: string, bytes: number): boolean {
    const share = this.#shares.get(owner) ?? 0
    return (
      (this.#bytes === 0 || this.#bytes + bytes <= this.#bounds.bytesMax) &&
      (share === 0 || share + bytes <= this.#bounds.shareMax)
    )
  }

  #hold(owner: string, initialBytes: number): HeldBytes {
    let held = 0
    const change = (bytes: number): void => {
      this.#add(owner, bytes - held)
      held = bytes
    }
    change(initialBytes)
    return {
      resize: (bytes) => {
        change(bytes)
        this.#startWaiting()
      },
      release: () => {
        change(0)
        this.#startWaiting()
      },
    }
  }

  #add(owner: string, bytes: number): void {
    this.#bytes += bytes
    const share = (this.#shares.get(owner) ?? 0) + bytes
    if (share === 0) this.#shares.delete(owner)
    else this.#shares.set(owner, share)
  }

  #startWaiting(): void {
    for (const waiting of this.#waiting) {
      if (!this.#hasRoom(waiting.owner, waiting.bytes)) continue
      this.#waiting.delete(waiting)
      waiting.start()
    }
  }
}
