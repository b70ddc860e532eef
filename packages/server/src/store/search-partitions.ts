/**
 * The partitions of a search index: which one a post belongs to, and when the next one begins.
 *
 *     ids   0 ──────────────── 22 Nov ── 23 Nov ── 24 Nov ──────►
 *           posts_0            posts_…   posts_…   posts_…
 *
 * A partition begins with a UTC day, by the time in ids, and ends where the next one begins. A day gets one of its own only
 * when the partition before it has enough posts: a server with much traffic has one for each day, so that retention drops
 * whole ones, and one that has imported a few posts of each of the last twenty years does not have seven thousand. A partition
 * with ids of a later day stays as it is.
 */
import { snowflakeEpochMs } from "@sluice/api"
import { idEnds } from "./id-bounds.ts"

/** A partition of an index. */
export interface SearchPartition {
  /** The least id of its own; the first partition has all smaller ids too. */
  readonly from: bigint
  /** About how many posts it has. */
  readonly posts: number
  /** The greatest id that it ever had. */
  readonly lastId: bigint
}

/** Posts of one partition, in the order of their ids. */
export interface PlacedPosts<Post> {
  readonly from: bigint
  /** Whether the partition is to be made. */
  readonly isNew: boolean
  readonly posts: readonly Post[]
}

const dayMs = 86_400_000n
const timeBits = 22n

/** Fewest posts of a partition before the next one begins. Ours: some megabytes. */
export const partitionPostsMin = 50_000

/** The least id of the day of an id. */
function startOfDay(id: bigint): bigint {
  const atMs = (id >> timeBits) + BigInt(snowflakeEpochMs)
  const startMs = atMs - (atMs % dayMs) - BigInt(snowflakeEpochMs)
  return startMs <= 0n ? 0n : startMs << timeBits
}

/** Distributes posts over the partitions, which are in the order of their ids, and begins those that are missing. */
export function placePosts<Post extends { readonly id: string }>(
  partitions: readonly SearchPartition[],
  posts: readonly Post[],
  postsMin: number,
): readonly PlacedPosts<Post>[] {
  const open = partitions.map((partition) => ({ ...partition, isNew: false, added: [] as Post[] }))
  for (const { id, post } of inOrder(posts)) {
    let at = indexOf(open, id)
    const found = open[at]
    if (found === undefined || isComplete(found, id, postsMin)) {
      at += 1
      const from = found === undefined ? 0n : startOfDay(id)
      open.splice(at, 0, { from, posts: 0, lastId: idEnds.below, isNew: true, added: [] })
    }
    const partition = open[at]
    if (partition === undefined) continue
    open[at] = { ...partition, posts: partition.posts + 1, lastId: id > partition.lastId ? id : partition.lastId }
    partition.added.push(post)
  }
  return open.filter(({ added }) => added.length > 0).map(({ from, isNew, added }) => ({ from, isNew, posts: added }))
}

/** Whether a partition has enough posts, and none of the day of an id or after it. */
function isComplete({ from, posts, lastId }: SearchPartition, id: bigint, postsMin: number): boolean {
  const day = startOfDay(id)
  return posts >= postsMin && day > lastId && day > from
}

function inOrder<Post extends { readonly id: string }>(
  posts: readonly Post[],
): readonly { readonly id: bigint; readonly post: Post }[] {
  return posts
    .map((post) => ({ id: BigInt(post.id), post }))
    .toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
}

/** Index of the partition that an id belongs to; -1 without partitions. */
function indexOf(partitions: readonly SearchPartition[], id: bigint): number {
  const index = partitions.findLastIndex(({ from }) => from <= id)
  return index === -1 && partitions.length > 0 ? 0 : index
}

/** Groups ids by the partition that they belong to. */
export function groupByPartition<Id extends string>(
  partitions: readonly SearchPartition[],
  ids: readonly Id[],
): ReadonlyMap<bigint, readonly Id[]> {
  const groups = Map.groupBy(ids, (id) => partitions[indexOf(partitions, BigInt(id))]?.from)
  return new Map([...groups].flatMap(([from, group]) => (from === undefined ? [] : [[from, group]])))
}

/** Partitions that may have ids above `above` up to `upTo`, in the order of a search. */
export function partitionsWithin<Partition extends SearchPartition>(
  partitions: readonly Partition[],
  { above, upTo, direction }: { readonly above: bigint; readonly upTo: bigint; readonly direction: "older" | "newer" },
): readonly Partition[] {
  const within = partitions.filter(({ from, lastId }, index) => (index === 0 || from <= upTo) && lastId > above)
  return direction === "newer" ? within : within.toReversed()
}
