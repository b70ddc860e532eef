import type { LinkId } from "../../model/ids.ts"
import type { Leases } from "../../store/leases.ts"
import type { AssignmentChange } from "./messages.ts"

/**
 * The links that a thread drives, as the main thread gives them to it: as leases, of which none expires and all have one
 * number, since a link stays with its thread for as long as the process lives.
 */
export class AssignedLinks implements Leases {
  #links: ReadonlySet<LinkId> = new Set()
  readonly #listeners = new Set<() => void>()

  /** Applies a change that the main thread has made. */
  change({ added, removed }: AssignmentChange): void {
    this.#links = new Set(this.#links).difference(new Set(removed)).union(new Set(added))
    for (const listener of this.#listeners) listener()
  }

  ofLink(id: LinkId): number | undefined {
    return leaseIn(this.#links, id)
  }

  snapshot(): (id: LinkId) => number | undefined {
    const links = this.#links
    return (id) => leaseIn(links, id)
  }

  /** Periodic tasks are the main thread's. */
  has(): boolean {
    return false
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  lost(): void {
    // No other process shares the store.
  }

  stopped(): void {
    // No link goes to another thread.
  }
}

function leaseIn(links: ReadonlySet<LinkId>, id: LinkId): number | undefined {
  return links.has(id) ? 0 : undefined
}
