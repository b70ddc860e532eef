/**
 * Deletions, decided once for all stores: what arrives of something that is deleted, and what a deletion changes.
 *
 *     batch ─► ids that it holds ─► those that are deleted ─► posts as they may be stored, or not at all
 *     deleted post ─► those that include it: rewritten without it ─► those that repost it: deleted, too
 *
 * A match of a deleted post stays in its log without post and rules: a log has no gaps, so readers pass it knowingly.
 */
import { includedPostIds, includedUserIds, withoutDeletedContent } from "../../model/deleted-content.ts"
import { isId, type PostId, type UserId } from "../../model/ids.ts"
import type { AcceptedPost } from "../../model/post.ts"
import type { UserNotice } from "../../model/source.ts"

/** Most posts that one step of a deletion deletes or rewrites. Ours: a transaction of some milliseconds. */
export const deletionStepMax = 160

/**
 * For so long after a post was rewritten the response to an attempt that began before may hold what was taken out of it.
 * Ours: a delivery is looked up again when it was read a second ago.
 */
const rewrittenMsMax = 2_000

/** Whether an attempt may have sent a post as it was before it was rewritten, if ever it was. */
export function maySendOld(attempt: { readonly atMs: number }, rewrittenAtMs: number | undefined): boolean {
  return rewrittenAtMs !== undefined && attempt.atMs <= rewrittenAtMs + rewrittenMsMax
}

/** The ids that arriving posts may bring back. */
export interface IdsInPosts {
  readonly posts: readonly PostId[]
  readonly users: readonly UserId[]
}

/** Those of them that are deleted. */
export interface DeletedIds {
  readonly posts: ReadonlySet<PostId>
  readonly users: ReadonlySet<UserId>
}

/** The ids of posts and users that a batch holds, each once. */
export function idsInPosts(batch: Iterable<AcceptedPost>): IdsInPosts {
  const [posts, users] = [new Set<PostId>(), new Set<UserId>()]
  for (const { id, chain = [], repostedId, includedIds, userIds } of batch) {
    posts.add(id)
    for (const version of chain) posts.add(version)
    if (repostedId !== undefined) posts.add(repostedId)
    for (const included of includedIds) posts.add(included)
    for (const user of userIds) users.add(user)
  }
  return { posts: [...posts], users: [...users] }
}

/**
 * The post as it may be stored: without what is deleted; `undefined` when it is deleted itself: by its id, by another of its
 * versions, by its author, or by the post that it reposts or the author of that.
 */
export function withoutDeleted(post: AcceptedPost, deleted: DeletedIds): AcceptedPost | undefined {
  const { id, authorId, chain = [], repostedId, includedIds } = post
  if (deleted.posts.has(id) || chain.some((version) => deleted.posts.has(version))) return undefined
  if (repostedId !== undefined && deleted.posts.has(repostedId)) return undefined
  if (authorId !== undefined && deleted.users.has(authorId)) return undefined
  const userIds = post.userIds.filter((user) => !deleted.users.has(user))
  const isUntouched =
    userIds.length === post.userIds.length && !includedIds.some((included) => deleted.posts.has(included))
  if (isUntouched) return post
  const text = withoutThese(textOf(post.envelope), deleted)
  const [envelope, left] = [Buffer.from(text), new Set<string>(includedPostIds(text))]
  const kept = includedIds.filter((included) => left.has(included))
  if (repostedId !== undefined && includedIds.includes(repostedId) && !left.has(repostedId)) return undefined
  // The places of users' objects are those of the text as it came. An envelope that is rewritten brings none.
  return { ...post, envelope, userIds, users: [], includedIds: kept }
}

/** The notices of users that are not deleted. */
export function withoutDeletedUsers(
  notices: readonly UserNotice[],
  deleted: ReadonlySet<UserId>,
): readonly UserNotice[] {
  return deleted.size === 0 ? notices : notices.filter(({ users: [{ id }] }) => !deleted.has(id))
}

/** The users of notices. */
export function usersOfNotices(notices: readonly UserNotice[]): readonly UserId[] {
  return notices.map(({ users: [{ id }] }) => id)
}

/** Other posts that a post holds or reposts, each once: by these it is found when one of them is deleted. */
export function shownIds({
  includedIds,
  repostedId,
}: Pick<AcceptedPost, "includedIds" | "repostedId">): readonly PostId[] {
  if (repostedId === undefined || includedIds.includes(repostedId)) return includedIds
  return [...includedIds, repostedId]
}

/** The users that an envelope includes: those of them that may be deleted are taken out when it is rewritten. */
export function usersIn(envelope: string): readonly UserId[] {
  const ids = includedUserIds(envelope).filter((id): id is UserId => isId(id) && !/^0\d/.test(id))
  return [...new Set(ids)]
}

/** The envelope without these posts and users. */
export function withoutThese(envelope: string, { posts, users }: DeletedIds): string {
  return withoutDeletedContent(envelope, {
    isPostDeleted: (id) => posts.has(id as PostId),
    isUserDeleted: (id) => users.has(id as UserId),
  })
}

function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("utf8")
}
