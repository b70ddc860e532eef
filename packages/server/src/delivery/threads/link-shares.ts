import type { LinkId } from "../../model/ids.ts"

/** Changes for one thread. */
interface ShareChange {
  readonly added: LinkId[]
  readonly removed: LinkId[]
}

/**
 * Which thread drives which link: a new one goes to the thread with the fewest, and stays there until it is gone. So
 * neither deliveries in flight nor the state of an endpoint ever move between threads.
 */
export class LinkShares {
  readonly #threads: Set<LinkId>[]

  /** Shares links out over so many threads. */
  constructor(threads: number) {
    this.#threads = Array.from({ length: threads }, () => new Set())
  }

  /** Shares out these links, which are all that there are. Returns the changes for each thread. */
  share(links: readonly LinkId[]): readonly ShareChange[] {
    const all = new Set(links)
    const changes = this.#threads.map((own): ShareChange => ({ added: [], removed: [...own.difference(all)] }))
    for (const [thread, { removed }] of changes.entries()) for (const id of removed) this.#threads[thread]?.delete(id)
    for (const id of links) {
      if (this.#threads.some((own) => own.has(id))) continue
      const sizes = this.#threads.map(({ size }) => size)
      const least = sizes.indexOf(Math.min(...sizes))
      this.#threads[least]?.add(id)
      changes[least]?.added.push(id)
    }
    return changes
  }
}
