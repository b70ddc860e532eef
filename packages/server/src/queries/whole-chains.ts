/**
 * Edited posts as look-ups show them: every version names all versions that are known, also those that came after it was
 * stored. The stored post stays as it came, and so do deliveries.
 */
import { chainsShown } from "../model/edit-chain.ts"
import type { FieldSelection } from "../model/field-selection.ts"
import type { AppId, PostId } from "../model/ids.ts"
import type { PostShape, StoredPost } from "../model/post.ts"
import { shapeFor } from "../model/render-post.ts"
import type { EditReads } from "../store/port/edit-store.ts"
import type { PostStore } from "../store/port/post-store.ts"

/** Most bytes of other versions that are read for one response, but for the last one's. Ours. */
const versionBytesMax = 1_048_576

/**
 * The posts with their whole chains, in the same order. When the selection includes other versions, those that are stored are
 * added to what came with a post.
 */
export async function withWholeChains(
  posts: readonly StoredPost[],
  selection: Pick<FieldSelection, "isDefault" | "expansions">,
  reader: AppId,
  store: Pick<EditReads, "chainsOf"> & Pick<PostStore, "postsById">,
): Promise<readonly StoredPost[]> {
  if (posts.length === 0) return posts
  const chains = await store.chainsOf(
    posts.map(({ id }) => id),
    reader,
  )
  if (chains.size === 0) return posts
  const shape: PostShape = shapeFor(selection)
  const versions = new Map<PostId, string>()
  if (selection.expansions.has("edit_history_tweet_ids")) {
    const ids = [...new Set([...chains.values()].flat())]
    const read = await store.postsById({ ids, shape: "envelope", bytesMax: versionBytesMax, reader })
    for (const { id, json } of read.posts) versions.set(id, json)
  }
  return posts.map((post) => {
    const chain = chains.get(post.id)
    return chain === undefined ? post : { id: post.id, json: chainsShown(post, { chain, shape, versions }) }
  })
}
