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
  usersIn,
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
import { prepareForgetChains } from "./edits.ts"
import { prepareErase, prepareNoteErasure } from "./erasures.ts"
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
  const deleted = prepare<{ id: PostId }>(
    db,
    `SELECT CAST (deletions.id AS TEXT) AS id FROM json_each(?) AS given
     CROSS JOIN deletions ON kind = 'post' AND deletions.id = CAST (given.value AS INTEGER)`,
  )
  const since = prepare<{ seq: DeletionSeq }>(
    db,
    "SELECT seq FROM deletions WHERE at_ms >= ? ORDER BY at_ms, seq LIMIT 1",
  )
  // The number that SQLite gives next stays what it is when the newest deletion is forgotten.
  const head = prepare<{ seq: DeletionSeq }>(db, "SELECT seq FROM sqlite_sequence WHERE name = 'deletions'")
  return {
    deletions: (range): readonly Deletion[] => after.all(range.after, range.limit).map(deletionOf),
    deletionsAt: (seqs) => at.all(JSON.stringify(seqs)).map(deletionOf),
    deletedPosts: (ids) => new Set(deleted.all(JSON.stringify(ids)).map(({ id }) => id)),
    deletionPositionAt(atMs) {
      const first = since.get(atMs)
      return first && first.seq - 1
    },
    deletionHead: () => head.get()?.seq ?? 0,
  }
}

/** Prepares the question which ids of a kind are deleted. */
export function prepareDeletedAmong(db: DatabaseSync) {
  const among = prepare<{ id: string }>(
    db,
    `SELECT CAST (deletions.id AS TEXT) AS id FROM json_each(?2) AS given
     CROSS JOIN deletions ON deletions.kind = ?1 AND deletions.id = given.value`,
  )
  return <Id extends string>(kind: Deletion["kind"], ids: readonly Id[]): ReadonlySet<Id> =>
    new Set(ids.length === 0 ? [] : among.all(kind, `[${ids.join(",")}]`).map(({ id }) => id as Id))
}

/** Prepares the question which ids of a batch are deleted; `undefined` when none is. */
export function prepareDeletedOf(db: DatabaseSync): (posts: readonly AcceptedPost[]) => DeletedIds | undefined {
  const any = prepare(db, "SELECT 1 FROM deletions LIMIT 1")
  const deletedAmong = prepareDeletedAmong(db)
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

/**
 * Prepares the step for posts that were stored before what they show was noted: it is noted, or deleted by now, with the
 * responses to attempts at these posts. Returns the posts that stay, whether any was changed, and the apps with matches of
 * those that were rewritten.
 */
export function prepareTakeShown(db: DatabaseSync): (
  posts: readonly AcceptedPost[],
  atMs: number,
) => {
  kept: readonly AcceptedPost[]
  hasChanged: boolean
  rewrittenFor: readonly AppId[]
} {
  const deletedOf = prepareDeletedOf(db)
  const noteShown = prepareNoteShown(db)
  const note = prepareNoteDeletion(db)
  const rewrite = prepareRewrite(db)
  const matchesOf = prepareMatchesOf(db)
  const dropResponses = prepareDropResponses(db)
  return (posts, atMs) => {
    const deleted = deletedOf(posts)
    const allKept: AcceptedPost[] = []
    const matches: ChangedMatches = new Map()
    for (const post of posts) {
      const kept = deleted === undefined ? post : withoutDeleted(post, deleted)
      if (kept === undefined) note({ kind: "post", id: post.id }, atMs)
      if (kept === undefined) continue
      if (kept !== post) {
        rewrite(post.id, Buffer.from(kept.envelope).toString(), atMs)
        for (const match of matchesOf(post.id)) noteChanged(matches, match)
      }
      noteShown(kept)
      allKept.push(kept)
    }
    dropResponses(matches)
    return {
      kept: allKept,
      rewrittenFor: [...matches.keys()],
      hasChanged: allKept.length < posts.length || allKept.some((post, at) => post !== posts[at]),
    }
  }
}

/**
 * Prepares the entry of a deletion, which changes nothing when there is one of the id. `knownAuthor` is the author of a post
 * that is not stored.
 */
function prepareNoteDeletion(
  db: DatabaseSync,
): (request: DeletionRequest, atMs: number, knownAuthor?: string | null) => void {
  const insert = prepare(db, insertChecked("deletions", "INSERT OR IGNORE"))
  const authorOf = prepare<{ author: string | null }>(
    db,
    "SELECT CAST (author_id AS TEXT) AS author FROM posts WHERE id = ?",
  )
  return ({ kind, id }, atMs, knownAuthor = null) => {
    const author = kind === "post" ? (authorOf.get(BigInt(id))?.author ?? knownAuthor) : null
    insert.run(kind, BigInt(id), author === null ? null : BigInt(author), atMs)
  }
}

/**
 * Prepares the entry of a deletion that is the newest one then, also when it was noted before: of one that is requested, and
 * of the posts of a deleted user, which are deleted before the user is asked for more. Versions and reposts of a post are
 * not noted anew, or two versions would bring each other along without end.
 */
function prepareNoteAsNewest(db: DatabaseSync): (request: DeletionRequest, atMs: number) => void {
  const takeOut = prepare<{ author: string | null }>(
    db,
    "DELETE FROM deletions WHERE kind = ? AND id = ? RETURNING CAST (author_id AS TEXT) AS author",
  )
  const note = prepareNoteDeletion(db)
  return (request, atMs) => {
    const known = takeOut.get(request.kind, BigInt(request.id))
    note(request, atMs, known?.author)
  }
}

/** Prepares the change of a post's envelope. */
function prepareRewrite(db: DatabaseSync): (id: PostId, envelope: string, atMs: number) => void {
  const setEnvelope = prepare(db, "UPDATE posts SET envelope = ?2, envelope_checksum = ?3 WHERE id = ?1")
  const noteTime = prepare(
    db,
    "INSERT INTO rewritten_posts VALUES (?, ?) ON CONFLICT (post_id) DO UPDATE SET at_ms = excluded.at_ms",
  )
  const noteErasure = prepareNoteErasure(db)
  return (id, envelope, atMs) => {
    setEnvelope.run(BigInt(id), envelope, textChecksum(id, envelope))
    noteTime.run(BigInt(id), atMs)
    noteErasure("posts", BigInt(id))
  }
}

/** Matches of posts that were deleted or rewritten, by the apps of their logs. */
type ChangedMatches = Map<AppId, MatchSeq[]>

function noteChanged(changed: ChangedMatches, { appId, seq }: { readonly appId: AppId; readonly seq: MatchSeq }): void {
  const seqs = changed.get(appId)
  if (seqs === undefined) changed.set(appId, [seq])
  else seqs.push(seq)
}

/** Prepares the end of the responses to attempts at matches: an endpoint may have sent back what it received. */
function prepareDropResponses(db: DatabaseSync): (changed: ChangedMatches) => void {
  const held = prepare<{ linkId: string; slot: number }>(
    db,
    `SELECT ${columnsAs("attempts", "link_id, slot")} FROM links CROSS JOIN attempts ON attempts.link_id = links.id
     WHERE links.app_id = ?1 AND attempts.seq IN (SELECT value FROM json_each(?2)) AND response IS NOT NULL`,
  )
  const drop = prepare(
    db,
    `UPDATE attempts SET ${settingChecked("attempts", { response: "NULL" })} WHERE link_id = ? AND slot = ?`,
  )
  const noteErasure = prepareNoteErasure(db)
  return (changed) => {
    for (const [appId, seqs] of changed) {
      for (const { linkId, slot } of held.all(BigInt(appId), JSON.stringify(seqs))) {
        drop.run(BigInt(linkId), slot)
        noteErasure("attempts", BigInt(linkId), BigInt(slot))
      }
    }
  }
}

/** Prepares the read of the matches of a post. */
function prepareMatchesOf(db: DatabaseSync): (id: PostId) => readonly { appId: AppId; seq: MatchSeq; atMs: number }[] {
  const matches = prepare<{ appId: AppId; seq: MatchSeq; atMs: number }>(
    db,
    `SELECT ${columnsAs("matches", "app_id, seq, at_ms")} FROM matches WHERE post_id = ?`,
  )
  return (id) => matches.all(BigInt(id))
}

/**
 * Prepares the deletion of one stored post with its matches, which it notes, and the note of its other versions. Returns
 * whether it was stored.
 */
function prepareDeletePost(db: DatabaseSync): (id: PostId, atMs: number, changed: ChangedMatches) => boolean {
  const remove = prepare(db, "DELETE FROM posts WHERE id = ?")
  const removeShown = prepare(db, "DELETE FROM shown_posts WHERE post_id = ?")
  const note = prepareNoteDeletion(db)
  const chain = prepare<{ id: PostId }>(
    db,
    `SELECT DISTINCT CAST (other.id AS TEXT) AS id FROM edit_versions AS own
       CROSS JOIN edit_versions AS other ON other.first_id = own.first_id
     WHERE own.id = ?1 AND other.id <> ?1`,
  )
  const matchesOf = prepareMatchesOf(db)
  const clear = prepare(db, "UPDATE matches SET rules = ?3, checksum = ?4 WHERE app_id = ?1 AND seq = ?2")
  const withdraw = prepareWithdrawDead(db)
  const noteErasure = prepareNoteErasure(db)
  return (id, atMs, changed) => {
    const post = BigInt(id)
    for (const version of chain.all(post)) note({ kind: "post", id: version.id }, atMs)
    const wasStored = remove.run(post) === 1
    if (wasStored) noteErasure("posts", post)
    removeShown.run(post)
    for (const match of matchesOf(id)) {
      const { appId, seq, atMs: matchedAtMs } = match
      const cleared = { seq, postId: id, atMs: matchedAtMs, rules: deletedRules }
      clear.run(BigInt(appId), seq, deletedRules, matchChecksum(appId, cleared))
      withdraw(appId, seq)
      noteChanged(changed, match)
    }
    return wasStored
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
 * It returns how many posts it has deleted or rewritten, at most about `budget`, and notes their matches.
 */
function prepareStep(db: DatabaseSync): (budget: number, atMs: number, matches: ChangedMatches) => number {
  const pending = prepare<PendingRow>(
    db,
    `SELECT seq, kind, CAST (id AS TEXT) AS id FROM deletions WHERE is_pending ORDER BY seq DESC LIMIT 1`,
  )
  const finish = prepare(db, "UPDATE deletions SET is_pending = 0 WHERE seq = ?")
  const showing = prepare<{ id: PostId; isRepost: number; envelope: string | null; checksum: number | null }>(
    db,
    `SELECT CAST (post_id AS TEXT) AS id, shown_posts.is_repost AS isRepost, envelope, envelope_checksum AS checksum
     FROM shown_posts LEFT JOIN posts ON posts.id = post_id WHERE shown_id = ? LIMIT ?`,
  )
  const forgetShowing = prepare(db, "DELETE FROM shown_posts WHERE shown_id = ? AND post_id = ?")
  const postsOfUser = prepare<{ id: PostId }>(
    db,
    "SELECT CAST (id AS TEXT) AS id FROM posts WHERE author_id = ? LIMIT ?",
  )
  const note = prepareNoteDeletion(db)
  const noteAsNewest = prepareNoteAsNewest(db)
  const rewrite = prepareRewrite(db)
  const deletePost = prepareDeletePost(db)
  const deleteUser = prepareDeleteUser(db)
  const matchesOf = prepareMatchesOf(db)
  const dropResponses = prepareDropResponses(db)
  const deletedAmong = prepareDeletedAmong(db)
  const count = prepare(db, "UPDATE totals SET posts_trimmed = posts_trimmed + ?")
  const forgetChains = prepareForgetChains(db)
  const deletedUsersIn = (envelope: string): ReadonlySet<UserId> => deletedAmong("user", usersIn(envelope))

  /** Returns how many it changed, fewer than `max` when there are no more. */
  function changeShowing(id: PostId, max: number, atMs: number, matches: ChangedMatches): number {
    const found = showing.all(BigInt(id), max)
    for (const { id: postId, isRepost, envelope, checksum } of found) {
      // A damaged post is shown to no one, and would count as whole again if it were rewritten.
      const isDamaged = envelope !== null && textChecksum(postId, envelope) !== checksum
      if (isRepost === 1 || isDamaged) note({ kind: "post", id: postId }, atMs)
      else if (envelope !== null) {
        rewrite(postId, withoutThese(envelope, { posts: new Set([id]), users: deletedUsersIn(envelope) }), atMs)
        for (const match of matchesOf(postId)) noteChanged(matches, match)
      }
      forgetShowing.run(BigInt(id), BigInt(postId))
    }
    return found.length
  }

  /** A user that is requested again is newer than posts that were noted before, which else would never have their turn. */
  function deletePosts(userId: UserId, max: number, atMs: number): number {
    const found = postsOfUser.all(BigInt(userId), max)
    for (const { id } of found) noteAsNewest({ kind: "post", id }, atMs)
    return found.length
  }

  return (budget, atMs, matches) => {
    let changed = 0
    const deleted: PostId[] = []
    while (changed < budget) {
      const next = pending.get()
      if (next === undefined) break
      const max = budget - changed
      let found: number
      if (next.kind === "post") {
        if (deletePost(next.id as PostId, atMs, matches)) deleted.push(next.id as PostId)
        found = changeShowing(next.id as PostId, max, atMs, matches)
      } else {
        found = deletePosts(next.id as UserId, max, atMs)
        if (found === 0) deleteUser(next.id as UserId)
      }
      // Posts of a user are counted when they are deleted, later in the step.
      changed += next.kind === "post" ? Math.max(1, found) : 1
      // A user is asked again, since posts that were noted here are still stored.
      if (next.kind === "post" ? found < max : found === 0) finish.run(next.seq)
    }
    count.run(deleted.length)
    forgetChains(deleted)
    dropResponses(matches)
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
  const noteErasure = prepareNoteErasure(db)
  return (id) => {
    for (const statement of statements) statement.run(BigInt(id))
    noteErasure("user_objects", BigInt(id))
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
  const note = prepareNoteAsNewest(db)
  const step = prepareStep(db)
  const hasPending = prepare(db, "SELECT 1 FROM deletions WHERE is_pending LIMIT 1")
  const overwrite = prepareErase(db)
  const forgetRewritten = prepare(
    db,
    "DELETE FROM rewritten_posts WHERE post_id IN (SELECT post_id FROM rewritten_posts WHERE at_ms < ? LIMIT ?)",
  )
  const forget = prepare(
    db,
    `DELETE FROM deletions WHERE seq IN (
       SELECT seq FROM deletions WHERE at_ms < ? AND NOT is_pending ORDER BY at_ms LIMIT ?)`,
  )

  function takeStep(budget: number, atMs: number): number {
    const matches: ChangedMatches = new Map()
    const changed = step(budget, atMs, matches)
    if (changed > 0) crashPoint("in-deletion")
    if (changed > 0) announce({ kind: "deletions" })
    if (matches.size > 0) announce({ kind: "matches", appIds: [...matches.keys()], isRewritten: true })
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

    overwriteDeleted: () => overwrite(),
    forgetDeletions({ beforeMs, limit }) {
      forgetRewritten.run(beforeMs, limit)
      return forget.run(beforeMs, limit)
    },
  }
}
