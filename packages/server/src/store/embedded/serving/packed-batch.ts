/**
 * A batch of posts between two threads. The texts of all posts lie in one buffer, which is handed over and not copied;
 * the rest is a list for each field, since a list of numbers or ids costs less to clone than as many objects.
 */
import type { PostId, UserId } from "../../../model/ids.ts"
import type { PostMatch } from "../../../model/match.ts"
import type { AcceptedPost } from "../../../model/post.ts"

/** Posts with their matches, as `StoreWrites.append` takes them. */
type Batch = readonly { readonly post: AcceptedPost; readonly matches: readonly PostMatch[] }[]

/** Each list has an element for each post. */
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
  readonly userIds: readonly (readonly UserId[])[]
  readonly matches: readonly (readonly PostMatch[])[]
}

/** Packs a batch. The caller may reuse the memory of the posts' texts afterwards. */
export function packBatch(batch: Batch): PackedBatch {
  const posts = batch.map(({ post }) => post)
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
    userIds: posts.map(({ userIds }) => userIds),
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
  return packed.ids.map((id, index) => {
    const authorId = packed.authorIds[index]
    const post: AcceptedPost = {
      id,
      ...(authorId !== undefined && { authorId }),
      createdAtMs: packed.createdAtMs[index] ?? 0,
      isReply: packed.isReply[index] ?? false,
      isRepost: packed.isRepost[index] ?? false,
      core: text(packed.coreBytes[index] ?? 0),
      envelope: text(packed.envelopeBytes[index] ?? 0),
      userIds: packed.userIds[index] ?? [],
    }
    return { post, matches: packed.matches[index] ?? [] }
  })
}
