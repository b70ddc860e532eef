/**
 * Edited posts as look-ups show them: every version names all versions that are known, also those that came after it was
 * stored. The stored post stays as it came, and so do deliveries.
 *
 * A response includes each object once, whichever of its posts brings it. So each version goes to the first post that
 * names it, and to no other: a page of many versions of one post is no larger than the same page of posts without edits.
 */
import { setImmediate as nextTurn } from "node:timers/promises"
import { chainsShown } from "../model/edit-chain.ts"
import type { FieldSelection } from "../model/field-selection.ts"
import type { AppId, PostId } from "../model/ids.ts"
import type { PostShape, StoredPost } from "../model/post.ts"
import { shapeFor, turnCharactersMax } from "../model/render-post.ts"
import type { EditReads } from "../store/port/edit-store.ts"
import type { PostStore } from "../store/port/post-store.ts"

/** Most bytes of other versions that are read for one response, but for the last one's. Ours. */
const versionBytesMax = 1_048_576

/** The request for which the posts of a response are completed. */
interface ChainsRequest {
  readonly selection: Pick<FieldSelection, "isDefault" | "expansions">
  readonly reader: AppId
  /** Versions that posts of the response have brought: those of this call are added. Absent for a response of one call. */
  readonly brought?: Set<PostId>
}

/**
 * The posts with their whole chains, in the same order. When the selection includes other versions, those that are stored are
 * added to what came with the first post that names them. Yields to the event loop between turns.
 */
export async function withWholeChains(
  posts: readonly StoredPost[],
  { selection, reader, brought = new Set() }: ChainsRequest,
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
    const ids = [...new Set([...chains.values()].flat()).difference(brought)]
    const read = await store.postsById({ ids, shape: "envelope", bytesMax: versionBytesMax, reader })
    for (const { id, json } of read.posts) versions.set(id, json)
  }
  const whole: StoredPost[] = []
  let turnCharacters = 0
  for (const post of posts) {
    const chain = chains.get(post.id)
    const json = chain === undefined ? post.json : shown(post, chain)
    whole.push({ id: post.id, json })
    if (chain === undefined) continue
    turnCharacters += json.length
    if (turnCharacters < turnCharactersMax) continue
    turnCharacters = 0
    await nextTurn()
  }
  return whole

  function shown(post: StoredPost, chain: readonly PostId[]): string {
    const others = chain.filter((id) => id !== post.id && versions.has(id) && !brought.has(id))
    for (const id of others) brought.add(id)
    return chainsShown(post, { chain, shape, versions: new Map(others.map((id) => [id, versions.get(id) ?? ""])) })
  }
}
