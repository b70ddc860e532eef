/**
 * A batch of posts between two threads. The texts of all posts lie in one buffer, which is handed over and not copied;
 * the rest is a list for each field, since a list of numbers or ids costs less to clone than as many objects.
 */
import type { PostId, UserId } from "../../../model/ids.ts"
import type { PostMatch } from "../../../model/match.ts"
import type { AcceptedPost } from "../../../model/post.ts"
import type { IncludedUser } from "../../../model/user.ts"

/** Posts with their matches, as `StoreWrites.append` takes them. */
type Batch = readonly { readonly post: AcceptedPost; readonly matches: readonly PostMatch[] }[]

/** Each list has an element for each post, but for those of users. A chain is rare. */
export interface PackedBatch {
  /** The core and the envelope of each post, one after the other. */
  readonly texts: Uint8Array<ArrayBuffer>
  readonly coreBytes: readonly number[]
  readonly envelopeBytes: readonly number[]
  readonly ids: readonly PostId[]
  readonly authorIds: readonly (UserId | undefined)[]
  readonly createdAtMs: readonly number[]
  readonly isReply: readonly boolean[]
  readonly isRepost: readonly boolean[]
  /** Chains of edited posts, by the index of the post. */
  readonly chains: ReadonlyMap<number, readonly PostId[]>
  readonly userIds: readonly (readonly UserId[])[]
  readonly includedIds: readonly (readonly PostId[])[]
  readonly repostedIds: readonly (PostId | undefined)[]
  readonly userObjects: readonly number[]
  /** All user objects, one post's after the other's. */
  readonly objects: {
    readonly ids: readonly UserId[]
    readonly usernames: readonly string[]
    readonly begins: readonly number[]
    readonly ends: readonly number[]
  }
  readonly matches: readonly (readonly PostMatch[])[]
}

/** Packs a batch. The caller may reuse the memory of the posts' texts afterwards. */
export function packBatch(batch: Batch): PackedBatch {
  const posts = batch.map(({ post }) => post)
  const users = posts.flatMap((post) => post.users)
  const size = posts.reduce((sum, { core, envelope }) => sum + core.length + envelope.length, 0)
  const texts = new Uint8Array(size)
  let at = 0
  for (const { core, envelope } of posts) {
    texts.set(core, at)
    texts.set(envelope, at + core.length)
    at += core.length + envelope.length
  }
  return {
    texts,
    coreBytes: posts.map(({ core }) => core.length),
    envelopeBytes: posts.map(({ envelope }) => envelope.length),
    ids: posts.map(({ id }) => id),
    authorIds: posts.map(({ authorId }) => authorId),
    createdAtMs: posts.map(({ createdAtMs }) => createdAtMs),
    isReply: posts.map(({ isReply }) => isReply),
    isRepost: posts.map(({ isRepost }) => isRepost),
    chains: new Map(posts.flatMap(({ chain }, index) => (chain === undefined ? [] : [[index, chain]]))),
    userIds: posts.map(({ userIds }) => userIds),
    includedIds: posts.map(({ includedIds }) => includedIds),
    repostedIds: posts.map(({ repostedId }) => repostedId),
    userObjects: posts.map((post) => post.users.length),
    objects: {
      ids: users.map(({ id }) => id),
      usernames: users.map(({ username }) => username),
      begins: users.map(({ begin }) => begin),
      ends: users.map((user) => user.end),
    },
    matches: batch.map(({ matches }) => matches),
  }
}

/** The batch that was packed. Its texts lie in the packed buffer. */
export function unpackBatch(packed: PackedBatch): Batch {
  let end = 0
  const text = (bytes: number): Uint8Array => {
    end += bytes
    return packed.texts.subarray(end - bytes, end)
  }
  let usersEnd = 0
  const usersOf = (count: number): readonly IncludedUser[] => {
    const { ids, usernames, begins, ends } = packed.objects
    const first = usersEnd
    usersEnd += count
    return ids.slice(first, usersEnd).map((id, index) => ({
      id,
      username: usernames[first + index] ?? "",
      begin: begins[first + index] ?? 0,
      end: ends[first + index] ?? 0,
    }))
  }
  return packed.ids.map((id, index) => {
    const authorId = packed.authorIds[index]
    const chain = packed.chains.get(index)
    const repostedId = packed.repostedIds[index]
    const post: AcceptedPost = {
      id,
      ...(authorId !== undefined && { authorId }),
      createdAtMs: packed.createdAtMs[index] ?? 0,
      ...(chain !== undefined && { chain }),
      isReply: packed.isReply[index] ?? false,
      isRepost: packed.isRepost[index] ?? false,
      core: text(packed.coreBytes[index] ?? 0),
      envelope: text(packed.envelopeBytes[index] ?? 0),
      userIds: packed.userIds[index] ?? [],
      users: usersOf(packed.userObjects[index] ?? 0),
      includedIds: packed.includedIds[index] ?? [],
      ...(repostedId !== undefined && { repostedId }),
    }
    return { post, matches: packed.matches[index] ?? [] }
  })
}
