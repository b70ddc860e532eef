/** A search index in memory, for tests: each post with its terms, and every query evaluated for each post. */
import { cutTerm, indexQueryHolds, type IndexQuery } from "@sluice/rules"
import type { PostId } from "../../model/ids.ts"
import type { ArrivalPosition } from "../port/arrival-store.ts"
import type { IndexedPost, IndexStep, SearchIndex, SearchRange } from "../search-index.ts"
import { IndexMoved } from "../store-faults.ts"

/** The contents of an index, which outlive the object that reads them. */
export class MemoryIndexState {
  readonly posts = new Map<PostId, ReadonlySet<string>>()
  position: ArrivalPosition | undefined
}

/** An index of the given contents. */
export class MemorySearchIndex implements SearchIndex {
  readonly #state: MemoryIndexState

  constructor(state = new MemoryIndexState()) {
    this.#state = state
  }

  async position(): Promise<ArrivalPosition | undefined> {
    return this.#state.position
  }

  async add(posts: readonly IndexedPost[], { after, position }: IndexStep): Promise<void> {
    if (this.#state.position !== after) throw new IndexMoved("The search index is not where the step begins.")
    for (const { id, terms } of posts) {
      if (!this.#state.posts.has(id)) this.#state.posts.set(id, new Set(terms))
    }
    this.#state.position = position
  }

  async find(query: IndexQuery, { above, upTo, direction, limit }: SearchRange): Promise<readonly PostId[]> {
    const within = this.#matching(query).filter((id) => BigInt(id) > above && BigInt(id) <= upTo)
    return (direction === "newer" ? within : within.toReversed()).slice(0, limit)
  }

  async count(query: IndexQuery, edges: readonly bigint[]): Promise<readonly number[]> {
    const ids = this.#matching(query).map(BigInt)
    return edges.slice(1).map((end, index) => ids.filter((id) => id >= (edges[index] ?? end) && id < end).length)
  }

  async hasCutPosts({ above, upTo }: Pick<SearchRange, "above" | "upTo">): Promise<boolean> {
    const cut = await this.find({ kind: "term", term: cutTerm }, { above, upTo, direction: "newer", limit: 1 })
    return cut.length > 0
  }

  async replace(posts: readonly IndexedPost[]): Promise<void> {
    for (const { id, terms } of posts) if (this.#state.posts.has(id)) this.#state.posts.set(id, new Set(terms))
  }

  async eraseRemoved(): Promise<void> {
    // Nothing is in a file.
  }

  async compact(): Promise<boolean> {
    return false
  }

  async remove(ids: readonly PostId[]): Promise<void> {
    for (const id of ids) this.#state.posts.delete(id)
  }

  async removeBelow(id: bigint): Promise<void> {
    await this.remove([...this.#state.posts.keys()].filter((one) => BigInt(one) < id))
  }

  async clear(): Promise<void> {
    this.#state.posts.clear()
    this.#state.position = undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Nothing is open.
  }

  /** Oldest first. */
  #matching(query: IndexQuery): readonly PostId[] {
    return [...this.#state.posts]
      .filter(([, terms]) => indexQueryHolds(query, terms))
      .map(([id]) => id)
      .toSorted((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1))
  }
}
