import type { PostId } from "../../model/ids.ts"
import type { AcceptedPost } from "../../model/post.ts"

/** A version of an edited post, under the first version of its chain. */
export interface VersionRow {
  readonly firstId: PostId
  readonly id: PostId
}

/** A post that was asked for, and a version of it. */
export interface ChainRow {
  readonly askedId: PostId
  readonly id: PostId
}

/** The rows of the chains that posts name. */
export function versionRows(posts: Iterable<Pick<AcceptedPost, "chain">>): readonly VersionRow[] {
  const rows: VersionRow[] = []
  for (const { chain } of posts) {
    const [firstId] = chain ?? []
    if (chain === undefined || firstId === undefined) continue
    for (const id of chain) rows.push({ firstId, id })
  }
  return rows
}

/** Chains by the posts that were asked for, of rows by id. */
export function chainsOfRows(rows: readonly ChainRow[]): ReadonlyMap<PostId, readonly PostId[]> {
  const chains = new Map<PostId, PostId[]>()
  for (const { askedId, id } of rows) {
    const chain = chains.get(askedId)
    if (chain === undefined) chains.set(askedId, [id])
    else chain.push(id)
  }
  return chains
}

/** Most rows that one read of chains returns. Ours: a hundred posts, each of a hundred versions. */
export const chainRowsMax = 10_000
