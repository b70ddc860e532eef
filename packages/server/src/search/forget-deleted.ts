/**
 * Takes posts out of the search index that retention has deleted, so that counts do not count them: the oldest first, until
 * some hundreds in a row are all still stored.
 */
import type { PostId } from "../model/ids.ts"
import { idEnds } from "../store/id-bounds.ts"
import type { PostStore } from "../store/port/post-store.ts"
import type { SearchIndex } from "../store/search-index.ts"

/** Posts that are compared at a time. Ours. */
const comparedMax = 500

/** Most bytes that one read returns; the last post may go over it. Ours. */
const readBytesMax = 1_048_576

/** Forgets deleted posts until `signal`. */
export async function forgetDeleted(
  {
    store,
    index,
  }: { readonly store: Pick<PostStore, "postsById">; readonly index: Pick<SearchIndex, "find" | "remove"> },
  signal: AbortSignal,
): Promise<void> {
  let above = idEnds.below
  while (!signal.aborted) {
    const range = { above, upTo: idEnds.above, direction: "newer", limit: comparedMax } as const
    const ids = await index.find({ kind: "everything" }, range)
    const stored = await storedOf(store, ids)
    const deleted = ids.filter((id) => !stored.has(id))
    if (deleted.length === 0) return
    await index.remove(deleted)
    above = BigInt(ids.at(-1) ?? "0")
  }
}

/** Those of the posts that are stored, damaged or not. */
async function storedOf(store: Pick<PostStore, "postsById">, ids: readonly PostId[]): Promise<ReadonlySet<PostId>> {
  const stored = new Set<PostId>()
  for (let rest = ids; rest.length > 0;) {
    const { posts, damaged, stoppedAt } = await store.postsById({ ids: rest, shape: "core", bytesMax: readBytesMax })
    for (const id of [...posts.map((post) => post.id), ...damaged]) stored.add(id)
    rest = stoppedAt === undefined ? [] : rest.slice(rest.indexOf(stoppedAt) + 1)
  }
  return stored
}
