/**
 * Takes deleted posts out of the search index, and their content out of the terms of posts that include them.
 *
 *     remembered deletions after the last one ──► index: remove ──► posts with the term of one ──► read, index: replace
 *                                                                       pending ones are asked again
 *
 * Retention has a way of its own (`index-sweep.ts`): what it deletes is not remembered.
 */
import { anyTerm, includedTerm, type EarlierPosts } from "@sluice/rules"
import type { Deletion, DeletionSeq } from "../model/deletion.ts"
import type { PostId } from "../model/ids.ts"
import type { Clock } from "../runtime/clock.ts"
import { ErasureTime } from "../store/erasure-time.ts"
import { idEnds } from "../store/id-bounds.ts"
import type { DeletionReads } from "../store/port/deletion-store.ts"
import type { PostStore } from "../store/port/post-store.ts"
import type { SearchIndex } from "../store/search-index.ts"
import { indexedPost } from "./indexed-post.ts"

/** Most deletions of a step. Ours: some milliseconds. */
const stepMax = 100

/** Most posts with a term of a deleted one that a step indexes anew. Ours. */
const includingMax = 200

/** Most bytes of posts that one read returns; the last one may go over it. Ours. */
const readBytesMax = 2_097_152

/** Dependencies of the step. */
export interface DeletedPostsDeps {
  readonly store: Pick<DeletionReads, "deletions" | "deletionsAt"> & Pick<PostStore, "postsById">
  readonly index: Pick<SearchIndex, "find" | "remove" | "replace" | "eraseRemoved">
  readonly clock: Pick<Clock, "monotonicMs">
  readonly earlier: EarlierPosts
}

/** Follows the deletions of a store. One call at a time. */
export class DeletedPosts {
  readonly #deps: DeletedPostsDeps
  #after: DeletionSeq = 0
  /** Deletions of posts that others may still show. */
  #pending: readonly DeletionSeq[] = []
  readonly #erasure = new ErasureTime()

  constructor(deps: DeletedPostsDeps) {
    this.#deps = deps
  }

  /** Takes some out. Returns whether there were any that it had not known. */
  async takeOut(): Promise<boolean> {
    const { store, clock } = this.#deps
    const asked = this.#pending.length === 0 ? [] : await store.deletionsAt(this.#pending)
    const next = await store.deletions({ after: this.#after, limit: stepMax })
    const posts = [...asked, ...next].filter((deletion) => deletion.kind === "post")
    if (posts.length > 0) {
      await this.#takeOut(posts)
      this.#erasure.noteDeleted(clock.monotonicMs())
    }
    this.#pending = posts.filter(({ isPending }) => isPending).map(({ seq }) => seq)
    this.#after = next.at(-1)?.seq ?? this.#after
    return next.length > 0
  }

  /** Whether the files are to be cleared now of what was taken out: while there is other work, only when that is late. */
  isErasureTime(nowMs: number, { isBusy }: { readonly isBusy: boolean }): boolean {
    return isBusy ? this.#erasure.isLate(nowMs) : this.#erasure.isDue(nowMs)
  }

  /** Clears the files. */
  erase(): Promise<void> {
    return this.#erasure.erase(async () => {
      await this.#deps.index.eraseRemoved()
      return true
    })
  }

  async #takeOut(deletions: readonly (Deletion & { readonly kind: "post" })[]): Promise<void> {
    const { index } = this.#deps
    const ids = deletions.map(({ id }) => id)
    await index.remove(ids)
    const [first, ...others] = ids.map(includedTerm)
    if (first === undefined) return
    const range = { above: idEnds.below, upTo: idEnds.above, direction: "newer", limit: includingMax } as const
    const query = anyTerm([first, ...others])
    for (;;) {
      const including = await index.find(query, range)
      const changed = await this.#indexAgain(including, new Set(ids))
      // A post that still shows one of them is pending in the store: the next step comes back to it.
      if (including.length < includingMax || changed < including.length) return
    }
  }

  /** Indexes posts as they are stored now. Returns how many no longer show any of the deleted ones. */
  async #indexAgain(ids: readonly PostId[], deleted: ReadonlySet<PostId>): Promise<number> {
    const { store, index, earlier } = this.#deps
    const terms = new Set([...deleted].map(includedTerm))
    let changed = 0
    for (let rest = ids; rest.length > 0;) {
      const { posts, stoppedAt } = await store.postsById({ ids: rest, shape: "envelope", bytesMax: readBytesMax })
      const again = posts.map((post) => indexedPost(post, earlier))
      await index.replace(again)
      changed += again.filter((post) => !post.terms.some((term) => terms.has(term))).length
      rest = stoppedAt === undefined ? [] : rest.slice(rest.indexOf(stoppedAt) + 1)
    }
    return changed
  }
}
