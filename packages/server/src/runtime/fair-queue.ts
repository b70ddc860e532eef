/**
 * A queue that is fair by owner: the next item is the oldest one of the owner whose turn it is, and that owner then waits
 * until each of the others has had a turn.
 *
 *     a a a a b c  ─►  a b c a a a
 *
 * It has no bound of its own: who puts items into it bounds them, such as by the number of connections.
 */

/** Items that wait, by owner. */
export class FairQueue<Item, Owner = string> {
  /** The owner whose turn is next comes first. An owner without items is absent. */
  readonly #byOwner = new Map<Owner, Set<{ readonly item: Item }>>()
  #size = 0

  /** Number of items, over all owners. */
  get size(): number {
    return this.#size
  }

  /** Returns a function that withdraws the item; it has no effect once the item has had its turn. */
  push(owner: Owner, item: Item): () => void {
    const entry = { item }
    const entries = this.#byOwner.get(owner) ?? new Set()
    this.#byOwner.set(owner, entries.add(entry))
    this.#size += 1
    return () => {
      if (!entries.delete(entry)) return
      this.#size -= 1
      if (entries.size === 0) this.#byOwner.delete(owner)
    }
  }

  /** Removes and returns the next item of an owner who may have a turn; `undefined` when there is none. */
  shift(mayHaveTurn: (owner: Owner) => boolean = always): Item | undefined {
    for (const [owner, entries] of this.#byOwner) {
      if (!mayHaveTurn(owner)) continue
      const [first] = entries
      if (first === undefined) continue
      entries.delete(first)
      this.#size -= 1
      // Behind the others.
      this.#byOwner.delete(owner)
      if (entries.size > 0) this.#byOwner.set(owner, entries)
      return first.item
    }
    return undefined
  }
}

function always(): boolean {
  return true
}
