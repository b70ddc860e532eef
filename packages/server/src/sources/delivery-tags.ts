/**
 * The delivery tags of a channel of AMQP, which count from 1: the fewest acknowledgements for those that are done.
 *
 *     1 2 3 4 5 6 7     done: 1 2 3 5 7     acknowledge up to 3, then 5, then 7
 *     └───┘   ─   ─
 *
 * Later tags do not wait for an earlier one: that may be held back for long.
 *
 * Source: AMQP 0-9-1, `basic.ack`, `multiple`.
 */

/** Acknowledgements to send: of all tags up to one, and of single ones beyond it. */
export interface Acknowledgements {
  readonly upTo?: number
  readonly single: readonly number[]
}

/** The tags of one channel. */
export class DeliveryTags {
  /** Tags below are done. */
  #lowest = 1
  /**
   * Ranges of later tags that are done: the last of each by its first, and the first by its last. One tag that is held back costs
   * one range, however many are done behind it.
   */
  readonly #lastOf = new Map<number, number>()
  readonly #firstOf = new Map<number, number>()
  /** Tags that are to be acknowledged. */
  #toAcknowledge: number[] = []

  /** Notes a tag that is to be acknowledged. */
  acknowledge(tag: number): void {
    this.#toAcknowledge.push(tag)
    this.end(tag)
  }

  /** Notes a tag whose delivery was ended otherwise: the server knows it no longer. */
  end(tag: number): void {
    const first = this.#firstOf.get(tag - 1) ?? tag
    const last = this.#lastOf.get(tag + 1) ?? tag
    this.#firstOf.delete(tag - 1)
    this.#lastOf.delete(tag + 1)
    this.#lastOf.set(first, last)
    this.#firstOf.set(last, first)
  }

  /** Ranges of tags that are done behind one that is not. */
  get rangeCount(): number {
    return this.#lastOf.size
  }

  /** The acknowledgements since the last call. */
  take(): Acknowledgements {
    const last = this.#lastOf.get(this.#lowest)
    if (last !== undefined) {
      this.#lastOf.delete(this.#lowest)
      this.#firstOf.delete(last)
      this.#lowest = last + 1
    }
    const tags = this.#toAcknowledge
    this.#toAcknowledge = []
    const contiguous = tags.filter((tag) => tag < this.#lowest)
    const single = tags.filter((tag) => tag >= this.#lowest)
    // The server must know the tag itself, so it is one of those to acknowledge.
    return contiguous.length === 0 ? { single } : { upTo: Math.max(...contiguous), single }
  }
}
