/**
 * The server as the oracle sees it: one life after the other, each at a different address.
 */
import type { SluiceClient } from "./sluice-client.ts"

/** The time from one start of the server to its end, of any kind. */
export interface Life {
  readonly client: SluiceClient
  /** The secret of its ready line. */
  readonly consumerSecret: string
}

/** The current life of the server. */
export class Lives {
  #current: Life
  #ended = Promise.withResolvers<void>()

  constructor(first: Life) {
    this.#current = first
  }

  get current(): Life {
    return this.#current
  }

  begin(life: Life): void {
    this.#current = life
    this.#ended.resolve()
    this.#ended = Promise.withResolvers()
  }

  /** Resolves when `life` is no longer the current one. */
  after(life: Life): Promise<void> {
    return life === this.#current ? this.#ended.promise : Promise.resolve()
  }
}
