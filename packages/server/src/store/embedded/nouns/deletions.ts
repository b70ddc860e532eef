/** Deletions: posts and users that are gone, and remembered. `store/ledger/deletions.ts` decides what arrives of them. */
import type { DatabaseSync } from "node:sqlite"
import type { Deletion, DeletionRequest, DeletionSeq } from "../../../model/deletion.ts"
import type { AppId, LinkId, MatchSeq, PostId, UserId } from "../../../model/ids.ts"
import type { AcceptedPost } from "../../../model/post.ts"
import { crashPoint } from "../../../runtime/crash-points.ts"
import {
  deletionStepMax,
  idsInPosts,
  shownIds,
  withoutDeleted,
  withoutThese,
  type DeletedIds,
} from "../../ledger/deletions.ts"
import { LinkLedger } from "../../ledger/link-change.ts"
import type { DeletionReads, DeletionWrites } from "../../port/deletion-store.ts"
import { deletedRules } from "../../rows/match-entry.ts"
import { deletionColumns, deletionOf, type DeletionRow } from "../../rows/deletion.ts"
import { insertChecked, settingChecked } from "../connection/checked-rows.ts"
import { matchChecksum, textChecksum } from "../connection/checksums.ts"
import { columnsAs, prepare } from "../connection/statements.ts"
import type { SyncReads, SyncWrites, WriteContext } from "../serving/sync-store.ts"
import { prepareLinkChange } from "./link-changes.ts"

/** The reads of deletions. */
export function createDeletionReads(db: DatabaseSync): SyncReads<DeletionReads> {
  const after = prepare<DeletionRow>(
    db,
    `SELECT ${columnsAs("deletions", deletionColumns)} FROM deletions WHERE seq > ? ORDER BY seq LIMIT ?`,
  )
  const at = prepare<DeletionRow>(
    db,
    `SELECT ${columnsAs("deletions", deletionColumns)} FROM json_each(?) AS given
     CROSS JOIN deletions ON deletions.seq = given.value`,
  )
  // The number that SQLite gives next stays what it is when the newest deletion is forgotten.
  const head = prepare<{ seq: DeletionSeq }>(db, "SELECT seq FROM sqlite_sequence WHERE name = 'deletions'")
  return {
    deletions: (range): readonly Deletion[] => after.all(range.after, range.limit).map(deletionOf),
    deletionsAt: (seqs) => at.all(JSON.stringify(seqs)).map(deletionOf),
    deletionHead: () => head.get()?.seq ?? 0,
  }
}

/** Prepares the question which ids of a batch are deleted; `undefined` when none is. */
export function prepareDeletedOf(db: DatabaseSync): (posts: readonly AcceptedPost[]) => DeletedIds | undefined {
  const any = prepare(db, "SELECT 1 FROM deletions LIMIT 1")
  const among = prepare<{ id: string }>(
    db,
    `SELECT CAST (deletions.id AS TEXT) AS id FROM json_each(?2) AS given
     CROSS JOIN deletions ON deletions.kind = ?1 AND deletions.id = given.value`,
  )
  const deletedAmong = <Id extends string>(kind: Deletion["kind"], ids: readonly Id[]): ReadonlySet<Id> =>
    new Set(ids.length === 0 ? [] : among.all(kind, `[${ids.join(",")}]`).map(({ id }) => id as Id))
  return (batch) => {
    if (any.get() === undefined) return undefined
    const { posts, users } = idsInPosts(batch)
    const deleted = { posts: deletedAmong("post", posts), users: deletedAmong("user", users) }
    return deleted.posts.size + deleted.users.size === 0 ? undefined : deleted
  }
}

/** Prepares the note of what new posts show. */
export function prepareNoteShown(db: DatabaseSync): (post: AcceptedPost) => void {
  const insert = prepare(db, "INSERT OR IGNORE INTO shown_posts (post_id, shown_id, is_repost) VALUES (?, ?, ?)")
  return (post) => {
    for (const shown of shownIds(post)) insert.run(BigInt(post.id), BigInt(shown), shown === post.repostedId ? 1 : 0)
  }
}

/** Prepares the step for posts that were stored before what they show was noted: it is noted, or deleted by now. */
export function prepareTakeShown(db: DatabaseSync): (posts: readonly AcceptedPost[], atMs: number) => void {
  const deletedOf = prepareDeletedOf(db)
  const noteShown = prepareNoteShown(db)
  const note = prepareNoteDeletion(db)
  const rewrite = prepareRewrite(db)
  return (posts, atMs) => {
    const deleted = deletedOf(posts)
    for (const post of posts) {
      const kept = deleted === undefined ? post : withoutDeleted(post, deleted)
      if (kept === undefined) note({ kind: "post", id: post.id }, atMs)
      else if (kept !== post) rewrite(post.id, Buffer.from(kept.envelope).toString())
      if (kept !== undefined) noteShown(kept)
    }
  }
}

/** Prepares the entry of a deletion. Returns whether there was none of the id. */
function prepareNoteDeletion(db: DatabaseSync): (request: DeletionRequest, atMs: number) => boolean {
  const insert = prepare(db, insertChecked("deletions", "INSERT OR IGNORE"))
  const authorOf = prepare<{ author: string | null }>(
    db,
    "SELECT CAST (author_id AS TEXT) AS author FROM posts WHERE id = ?",
  )
  return ({ kind, id }, atMs) => {
    const author = kind === "post" ? (authorOf.get(BigInt(id))?.author ?? null) : null
    return insert.run(kind, BigInt(id), author === null ? null : BigInt(author), atMs) === 1
  }
}

/** Prepares the change of a post's envelope. */
function prepareRewrite(db: DatabaseSync): (id: PostId, envelope: string) => void {
  const setEnvelope = prepare(db, "UPDATE posts SET envelope = ?2, envelope_checksum = ?3 WHERE id = ?1")
  return (id, envelope) => void setEnvelope.run(BigInt(id), envelope, textChecksum(id, envelope))
}

/** Prepares the deletion of one stored post with its matches. Returns whether it was stored, and the logs it was in. */
function prepareDeletePost(db: DatabaseSync): (id: PostId) => { wasStored: boolean; appIds: readonly AppId[] } {
  const remove = prepare(db, "DELETE FROM posts WHERE id = ?")
  const removeShown = prepare(db, "DELETE FROM shown_posts WHERE post_id = ?")
  const count = prepare(db, "UPDATE totals SET posts_trimmed = posts_trimmed + 1")
  const matches = prepare<{ appId: AppId; seq: MatchSeq; atMs: number }>(
    db,
    `SELECT ${columnsAs("matches", "app_id, seq, at_ms")} FROM matches WHERE post_id = ?`,
  )
  const clear = prepare(db, "UPDATE matches SET rules = ?3, checksum = ?4 WHERE app_id = ?1 AND seq = ?2")
  const withdraw = prepareWithdrawDead(db)
  // An endpoint may have sent back what it received.
  const dropResponses = prepare(
    db,
    `UPDATE attempts SET ${settingChecked("attempts", { response: "NULL" })}
     WHERE link_id IN (SELECT id FROM links WHERE app_id = ?1) AND seq = ?2 AND response IS NOT NULL`,
  )
  return (id) => {
    const post = BigInt(id)
    const wasStored = remove.run(post) === 1
    if (wasStored) count.run()
    removeShown.run(post)
    const found = matches.all(post)
    for (const { appId, seq, atMs } of found) {
      const app = BigInt(appId)
      clear.run(app, seq, deletedRules, matchChecksum(appId, { seq, postId: id, atMs, rules: deletedRules }))
      withdraw(appId, seq)
      dropResponses.run(app, seq)
    }
    return { wasStored, appIds: found.map(({ appId }) => appId) }
  }
}

/** Prepares the withdrawal of the dead letters of a match. */
function prepareWithdrawDead(db: DatabaseSync): (appId: AppId, seq: MatchSeq) => void {
  const linksOf = prepare<{ linkId: LinkId; position: MatchSeq; trimmedTo: MatchSeq }>(
    db,
    `SELECT CAST (link_id AS TEXT) AS linkId, position, coalesce(trimmed_to, 0) AS trimmedTo
     FROM dead_letters JOIN links ON links.id = link_id
       LEFT JOIN match_logs ON match_logs.app_id = links.app_id
     WHERE dead_letters.app_id = ? AND seq = ?`,
  )
  const write = prepareLinkChange(db)
  return (appId, seq) => {
    for (const { linkId, ...before } of linksOf.all(BigInt(appId), seq)) {
      const link = new LinkLedger({ ...before, outstanding: [{ seq, isDead: true }] })
      link.withdrawDead(seq)
      write(linkId, appId, link.change())
    }
  }
}

interface PendingRow {
  readonly seq: DeletionSeq
  readonly kind: Deletion["kind"]
  readonly id: string
}

/**
 * Prepares a step over the pending deletions, the newest first: so what a deletion brings along is deleted before it goes on.
 * It returns how many posts it has deleted or rewritten, at most about `budget`, and notes the logs that it changed.
 */
function prepareStep(db: DatabaseSync): (budget: number, atMs: number, appIds: Set<AppId>) => number {
  const pending = prepare<PendingRow>(
    db,
    `SELECT seq, kind, CAST (id AS TEXT) AS id FROM deletions WHERE is_pending ORDER BY seq DESC LIMIT 1`,
  )
  const finish = prepare(db, "UPDATE deletions SET is_pending = 0 WHERE seq = ?")
  const showing = prepare<{ id: PostId; isRepost: number; envelope: string | null }>(
    db,
    `SELECT CAST (post_id AS TEXT) AS id, shown_posts.is_repost AS isRepost, envelope
     FROM shown_posts LEFT JOIN posts ON posts.id = post_id WHERE shown_id = ? LIMIT ?`,
  )
  const forgetShowing = prepare(db, "DELETE FROM shown_posts WHERE shown_id = ? AND post_id = ?")
  const postsOfUser = prepare<{ id: PostId }>(
    db,
    "SELECT CAST (id AS TEXT) AS id FROM posts WHERE author_id = ? LIMIT ?",
  )
  const note = prepareNoteDeletion(db)
  const rewrite = prepareRewrite(db)
  const deletePost = prepareDeletePost(db)
  const deleteUser = prepareDeleteUser(db)

  /** Returns how many it changed, fewer than `max` when there are no more. */
  function changeShowing(id: PostId, max: number, atMs: number): number {
    const found = showing.all(BigInt(id), max)
    for (const { id: postId, isRepost, envelope } of found) {
      if (isRepost === 1) note({ kind: "post", id: postId }, atMs)
      else if (envelope !== null) rewrite(postId, withoutThese(envelope, new Set([id])))
      forgetShowing.run(BigInt(id), BigInt(postId))
    }
    return found.length
  }

  function deletePosts(userId: UserId, max: number, atMs: number): number {
    const found = postsOfUser.all(BigInt(userId), max)
    for (const { id } of found) note({ kind: "post", id }, atMs)
    return found.length
  }

  return (budget, atMs, appIds) => {
    let changed = 0
    while (changed < budget) {
      const next = pending.get()
      if (next === undefined) break
      const max = budget - changed
      let found: number
      if (next.kind === "post") {
        for (const appId of deletePost(next.id as PostId).appIds) appIds.add(appId)
        found = changeShowing(next.id as PostId, max, atMs)
      } else {
        found = deletePosts(next.id as UserId, max, atMs)
        if (found === 0) deleteUser(next.id as UserId)
      }
      changed += Math.max(1, found)
      // A user is asked again, since posts that were noted here are still stored.
      if (next.kind === "post" ? found < max : found === 0) finish.run(next.seq)
    }
    return changed
  }
}

/** Prepares the deletion of what is kept of a user. */
function prepareDeleteUser(db: DatabaseSync): (id: UserId) => void {
  const statements = [
    "DELETE FROM user_words WHERE user_id = ?",
    "DELETE FROM user_objects WHERE id = ?",
    "DELETE FROM users WHERE id = ?",
  ].map((sql) => prepare(db, sql))
  return (id) => {
    for (const statement of statements) statement.run(BigInt(id))
  }
}

/** The writes of deletions. */
export function createDeletionWrites(
  db: DatabaseSync,
  { announce }: WriteContext,
): SyncWrites<Omit<DeletionWrites, "eraseDeleted">> {
  const isStored = {
    post: prepare(
      db,
      "SELECT 1 WHERE EXISTS (SELECT 1 FROM posts WHERE id = ?1) OR EXISTS (SELECT 1 FROM shown_posts WHERE shown_id = ?1)",
    ),
    user: prepare(db, "SELECT 1 FROM users WHERE id = ?1"),
  }
  const note = prepareNoteDeletion(db)
  const step = prepareStep(db)
  const hasPending = prepare(db, "SELECT 1 FROM deletions WHERE is_pending LIMIT 1")
  const forget = prepare(
    db,
    `DELETE FROM deletions WHERE seq IN (
       SELECT seq FROM deletions WHERE at_ms < ? AND NOT is_pending ORDER BY seq LIMIT ?)`,
  )

  function takeStep(budget: number, atMs: number): number {
    const appIds = new Set<AppId>()
    const changed = step(budget, atMs, appIds)
    crashPoint("in-deletion")
    if (changed > 0) announce({ kind: "deletions" })
    if (appIds.size > 0) announce({ kind: "matches", appIds: [...appIds], isRewritten: true })
    return changed
  }

  return {
    delete(requests, atMs) {
      const outcomes = requests.map((request) => {
        const wasStored = isStored[request.kind].get(BigInt(request.id)) !== undefined
        note(request, atMs)
        return { wasStored }
      })
      takeStep(requests.length + deletionStepMax, atMs)
      return outcomes
    },

    continueDeletions(atMs) {
      takeStep(deletionStepMax, atMs)
      return hasPending.get() === undefined
    },

    forgetDeletions: ({ beforeMs, limit }) => forget.run(beforeMs, limit),
  }
}
