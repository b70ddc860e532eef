/** How many retries a link may have after matches have joined them that are to be sent again, and how large. */
import { retriesPerLinkMax, retryBytesPerLinkMax } from "../bounds.ts"

/** The room of one link. */
export class RetryRoom {
  #retries: number
  #bytes: number

  /** For a link that has so many retries, with so many bytes to send. */
  constructor(retries: number, bytes: number) {
    this.#retries = retries
    this.#bytes = bytes
  }

  /** Whether the bytes of so many retries matter: without retries, or with too many, they need not be summed up. */
  static needsBytes(retries: number): boolean {
    return retries > 0 && retries < retriesPerLinkMax
  }

  /** How many more retries it may have. */
  get left(): number {
    return Math.max(retriesPerLinkMax - this.#retries, 0)
  }

  /** Whether there is room for a match of so many bytes. One match always has room, even when it is too large. */
  has(bytes: number): boolean {
    return this.left > 0 && (this.#retries === 0 || this.#bytes + bytes <= retryBytesPerLinkMax)
  }

  /** Takes a match of so many bytes, unless there is no room for it. */
  take(bytes: number): boolean {
    if (!this.has(bytes)) return false
    this.#retries += 1
    this.#bytes += bytes
    return true
  }
}
