/**
 * A queue that is fair by owner: the next item is the oldest one of the owner whose turn it is, and that owner then waits
 * until each of the others has had a turn.
 *
 *     a a a a b c  ─►  a b c a a a
 *
 * It has no bound of its own: who puts items into it bounds them, such as by the number of connections.
 */

/** Items that wait, by owner. */
export class FairQueue<Item> {
  /** The owner whose turn is next comes first. An owner without items is absent. */
  readonly #byOwner = new Map<string, Item[]>()
  #size = 0

  /** Number of items, over all owners. */
  get size(): number {
    return this.#size
  }

  push(owner: string, item: Item): void {
    const others = this.#byOwner.get(owner)
    if (others === undefined) this.#byOwner.set(owner, [item])
    else others.push(item)
    this.#size += 1
  }

  /** Removes and returns the next item of an owner who may have a turn; `undefined` when there is none. */
  shift(mayHaveTurn: (owner: string) => boolean = always): Item | undefined {
    for (const [owner, items] of this.#byOwner) {
      if (!mayHaveTurn(owner)) continue
      this.#byOwner.delete(owner)
      const item = items.shift()
      // Behind the others.
      if (items.length > 0) this.#byOwner.set(owner, items)
      this.#size -= 1
      return item
    }
    return undefined
  }
}

function always(): boolean {
  return true
}
