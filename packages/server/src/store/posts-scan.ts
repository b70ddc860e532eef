/** How a scan of posts goes on. */
import { compareIds, type PostId } from "../model/ids.ts"
import type { PostsRange, PostsScan } from "./port/post-store.ts"

/** The last post that a scan read, in its direction, after which the next one begins; undefined at the end of the list. */
export function lastScanned(
  { posts, damaged, stoppedAt }: PostsScan,
  { direction, limit }: Pick<PostsRange, "direction" | "limit">,
): PostId | undefined {
  if (stoppedAt !== undefined) return stoppedAt
  if (posts.length + damaged.length < limit) return undefined
  const ids = [...posts.map(({ id }) => id), ...damaged].toSorted(compareIds)
  return direction === "newer" ? ids.at(-1) : ids[0]
}
