/**
 * Deletions: posts and users that are gone, and remembered. `store/ledger/deletions.ts` decides what arrives of them.
 *
 * An append asks for what is deleted under a lock that it shares with other appends, and that a deletion takes alone: so
 * either the append has committed before the deletion reads the posts, or it finds the deletion. For the same reason
 * deletions commit in the order of their numbers.
 */
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
  type IdsInPosts,
} from "../../ledger/deletions.ts"
import { LinkLedger } from "../../ledger/link-change.ts"
import type { DeletionReads, DeletionWrites } from "../../port/deletion-store.ts"
import { deletedRules } from "../../rows/match-entry.ts"
import { deletionColumns, deletionOf, type DeletionRow } from "../../rows/deletion.ts"
import { columnsOf } from "../../rows/record.ts"
import {
  addToTotals,
  columnsAs,
  type ClusterDatabase,
  type Queries,
  type WriteTransaction,
} from "../connection/database.ts"
import { lockLinks, lockLogs } from "../connection/locks.ts"
import { textArray } from "../connection/text-array.ts"
import { forgetChains } from "./edits.ts"
import { writeChanges } from "./link-changes.ts"

/** The reads of deletions. */
export function createDeletionReads(queries: Queries): DeletionReads {
  return {
    async deletions({ after, limit }) {
      const rows = await queries.rows<DeletionRow>(
        `SELECT ${columnsAs("deletions", deletionColumns)} FROM deletions WHERE seq > $1 ORDER BY seq LIMIT $2`,
        after,
        limit,
      )
      return rows.map(deletionOf)
    },

    async deletionsAt(seqs) {
      const rows = await queries.rows<DeletionRow>(
        `SELECT ${columnsAs("deletions", deletionColumns)} FROM deletions WHERE seq = ANY ($1::bigint[]) ORDER BY seq`,
        seqs,
      )
      return rows.map(deletionOf)
    },

    async deletedPosts(ids) {
      const rows = await queries.rows<{ id: PostId }>(
        "SELECT id FROM deletions WHERE kind = 'post' AND id = ANY ($1::bigint[])",
        ids,
      )
      return new Set(rows.map(({ id }) => id))
    },

    async deletionPositionAt(atMs) {
      const first = await queries.row<{ seq: DeletionSeq }>(
        "SELECT seq FROM deletions WHERE at_ms >= $1 ORDER BY at_ms, seq LIMIT 1",
        atMs,
      )
      return first && first.seq - 1
    },

    async deletionHead() {
      const head = await queries.row<{ seq: DeletionSeq }>(`SELECT last_seq AS "seq" FROM last_deletion`)
      return head?.seq ?? 0
    },
  }
}

/** The deleted ids of a batch; `undefined` when none is. Deletions wait until the transaction has ended. */
export async function deletedIdsOf(
  transaction: WriteTransaction,
  batch: readonly AcceptedPost[],
): Promise<DeletedIds | undefined> {
  const deleted = await deletedAmong(transaction, idsInPosts(batch))
  return deleted.posts.size + deleted.users.size === 0 ? undefined : deleted
}

/** Those of the ids that are deleted. Deletions wait until the transaction has ended. */
export async function deletedAmong(transaction: WriteTransaction, { posts, users }: IdsInPosts): Promise<DeletedIds> {
  if (posts.length + users.length === 0) return { posts: new Set(), users: new Set() }
  const rows = await transaction.rows<{ kind: Deletion["kind"]; id: string }>(
    "SELECT kind, id FROM deleted_among($1::bigint[], $2::bigint[])",
    posts,
    users,
  )
  const ids = <Id extends string>(kind: Deletion["kind"]): ReadonlySet<Id> =>
    new Set(rows.filter((row) => row.kind === kind).map(({ id }) => id as Id))
  return { posts: ids<PostId>("post"), users: ids<UserId>("user") }
}

/** Notes what new posts show. */
export async function noteShown(transaction: WriteTransaction, posts: readonly AcceptedPost[]): Promise<void> {
  const rows = posts.flatMap((post) =>
    shownIds(post).map((shownId) => ({ postId: post.id, shownId, isRepost: shownId === post.repostedId })),
  )
  if (rows.length === 0) return
  await transaction.run(
    `INSERT INTO shown_posts (post_id, shown_id, is_repost)
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::boolean[]) ON CONFLICT DO NOTHING`,
    ...columnsOf(rows, ["postId", "shownId", "isRepost"]),
  )
}

/**
 * Takes posts that were stored before what they show was noted: it is noted, or deleted by now. Returns the posts that
 * stay.
 */
export async function takeShown(
  transaction: WriteTransaction,
  posts: readonly AcceptedPost[],
  atMs: number,
): Promise<readonly AcceptedPost[]> {
  const deleted = await deletedIdsOf(transaction, posts)
  const kept = posts.map((post) => (deleted === undefined ? post : withoutDeleted(post, deleted)))
  const stay = kept.filter((post) => post !== undefined)
  await noteShown(transaction, stay)
  if (deleted === undefined) return stay
  const gone = posts.filter((_, index) => kept[index] === undefined)
  if (gone.length > 0) {
    await lockDeletions(transaction)
    await noteDeletions(
      transaction,
      gone.map(({ id }) => ({ kind: "post", id })),
      atMs,
    )
  }
  const changed = stay.filter((post) => !posts.includes(post))
  await rewrite(
    transaction,
    changed.map(({ id, envelope }) => ({ id, envelope: Buffer.from(envelope).toString() })),
    atMs,
  )
  const matches = await matchesOf(
    transaction,
    changed.map(({ id }) => id),
  )
  await dropResponses(transaction, matches)
  if (gone.length + changed.length > 0) transaction.announce({ kind: "deletions" })
  announceMatches(transaction, matches)
  return stay
}

/**
 * Notes deletions, or notes them as the newest ones, also those that were noted before: when they are requested, and of the
 * posts of a deleted user. Versions and reposts of a post are not noted anew, or two versions would bring each other along
 * without end.
 */
async function noteDeletions(
  transaction: WriteTransaction,
  deletions: readonly DeletionRequest[],
  atMs: number,
  { asNewest = false } = {},
): Promise<void> {
  await transaction.run(
    `WITH noted AS (
       INSERT INTO deletions (seq, kind, id, author_id, at_ms)
       SELECT last_seq + place, kind, id, (SELECT author_id FROM posts WHERE kind = 'post' AND posts.id = given.id), $3
       FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS given (kind, id, place) CROSS JOIN last_deletion
       ORDER BY place ON CONFLICT (kind, id) DO UPDATE SET seq = excluded.seq, at_ms = excluded.at_ms, is_pending = true,
         author_id = coalesce(excluded.author_id, deletions.author_id) WHERE $4
       RETURNING seq)
     UPDATE last_deletion SET last_seq = greatest(last_seq, noted.seq) FROM (SELECT max(seq) AS seq FROM noted) AS noted
     WHERE noted.seq IS NOT NULL`,
    deletions.map(({ kind }) => kind),
    deletions.map(({ id }) => id),
    atMs,
    asNewest,
  )
}

async function rewrite(
  transaction: WriteTransaction,
  posts: readonly { readonly id: PostId; readonly envelope: string }[],
  atMs: number,
): Promise<void> {
  if (posts.length === 0) return
  await transaction.run(
    `INSERT INTO rewritten_posts (post_id, at_ms) SELECT unnest($1::bigint[]), $2
     ON CONFLICT (post_id) DO UPDATE SET at_ms = excluded.at_ms`,
    posts.map(({ id }) => id),
    atMs,
  )
  await transaction.run(
    `UPDATE posts SET envelope = given.envelope FROM unnest($1::bigint[], $2::text[]) AS given (id, envelope)
     WHERE posts.id = given.id`,
    posts.map(({ id }) => id),
    textArray(posts.map(({ envelope }) => envelope)),
  )
}

interface ChangedMatch {
  readonly appId: AppId
  readonly seq: MatchSeq
}

/** Deletes stored posts with their matches, and returns these. Their other versions are noted. */
async function deletePosts(
  transaction: WriteTransaction,
  ids: readonly PostId[],
  atMs: number,
): Promise<readonly ChangedMatch[]> {
  const versions = await transaction.rows<{ id: PostId }>(
    `SELECT DISTINCT other.id FROM edit_versions AS own JOIN edit_versions AS other USING (first_id)
     WHERE own.id = ANY ($1::bigint[]) AND other.id <> ALL ($1::bigint[])`,
    ids,
  )
  if (versions.length > 0) {
    await noteDeletions(
      transaction,
      versions.map(({ id }) => ({ kind: "post", id })),
      atMs,
    )
  }
  const deleted = await transaction.run("DELETE FROM posts WHERE id = ANY ($1::bigint[])", ids)
  if (deleted > 0) {
    await addToTotals(transaction, "posts_trimmed", deleted)
    await forgetChains(transaction, ids)
  }
  await transaction.run("DELETE FROM shown_posts WHERE post_id = ANY ($1::bigint[])", ids)
  const matches = await transaction.rows<{ appId: AppId; seq: MatchSeq }>(
    `UPDATE matches SET rules = $2 WHERE post_id = ANY ($1::bigint[]) AND rules <> $2
     RETURNING ${columnsAs("matches", "app_id, seq")}`,
    ids,
    deletedRules,
  )
  if (matches.length > 0) await withdrawDead(transaction, matches)
  return matches
}

async function matchesOf(transaction: WriteTransaction, ids: readonly PostId[]): Promise<readonly ChangedMatch[]> {
  if (ids.length === 0) return []
  return transaction.rows<ChangedMatch>(
    `SELECT ${columnsAs("matches", "app_id, seq")} FROM matches WHERE post_id = ANY ($1::bigint[])`,
    ids,
  )
}

function announceMatches(transaction: WriteTransaction, matches: readonly ChangedMatch[]): void {
  const appIds = new Set(matches.map(({ appId }) => appId))
  if (appIds.size > 0) transaction.announce({ kind: "matches", appIds: [...appIds] })
}

/** Drops the responses to attempts at matches: an endpoint may have sent back what it received. */
async function dropResponses(transaction: WriteTransaction, matches: readonly ChangedMatch[]): Promise<void> {
  if (matches.length === 0) return
  await transaction.run(
    `UPDATE attempts SET response = NULL
     FROM unnest($1::bigint[], $2::bigint[]) AS given (app_id, seq) JOIN links ON links.app_id = given.app_id
     WHERE attempts.link_id = links.id AND attempts.seq = given.seq AND attempts.response IS NOT NULL`,
    ...columnsOf(matches, ["appId", "seq"]),
  )
}

/** Withdraws the dead letters of matches. */
async function withdrawDead(
  transaction: WriteTransaction,
  matches: readonly { readonly appId: AppId; readonly seq: MatchSeq }[],
): Promise<void> {
  const read = (): Promise<readonly { linkId: LinkId; seq: MatchSeq }[]> =>
    transaction.rows(
      `SELECT ${columnsAs("dead_letters", "link_id, seq")} FROM dead_letters
       WHERE (app_id, seq) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))`,
      ...columnsOf(matches, ["appId", "seq"]),
    )
  const linkIds = [...new Set((await read()).map(({ linkId }) => linkId))]
  if (linkIds.length === 0) return
  const logs = await lockLogs(transaction, linkIds)
  const links = await lockLinks(transaction, linkIds)
  const dead = Map.groupBy(await read(), ({ linkId }) => linkId)
  const changes = Array.from(dead, ([linkId, ofLink]) => {
    const locked = links.get(linkId)
    if (locked === undefined) return []
    const outstanding = ofLink.map(({ seq }) => ({ seq, isDead: true }))
    const link = new LinkLedger({ ...locked, trimmedTo: logs.get(locked.appId)?.trimmedTo ?? 0, outstanding })
    for (const { seq } of ofLink) link.withdrawDead(seq)
    return [{ link: locked, change: link.change() }]
  })
  await writeChanges(transaction, changes.flat())
}

/** Changes at most `max` of the posts that show deleted ones. Returns how many it has found, and the matches of those that it rewrote. */
async function changeShowing(
  transaction: WriteTransaction,
  ids: readonly PostId[],
  max: number,
  atMs: number,
): Promise<{ readonly found: number; readonly matches: readonly ChangedMatch[] }> {
  const rows = await transaction.rows<{ id: PostId; shownId: PostId; isRepost: boolean; envelope: string | null }>(
    `SELECT shown_posts.post_id AS "id", ${columnsAs("shown_posts", "shown_id, is_repost")}, envelope
     FROM shown_posts LEFT JOIN posts ON posts.id = post_id WHERE shown_id = ANY ($1::bigint[]) LIMIT $2`,
    ids,
    max,
  )
  if (rows.length === 0) return { found: 0, matches: [] }
  const reposts = new Set(rows.filter(({ isRepost }) => isRepost).map(({ id }) => id))
  if (reposts.size > 0) {
    await noteDeletions(
      transaction,
      Array.from(reposts, (id) => ({ kind: "post", id })),
      atMs,
    )
  }
  const others = Map.groupBy(
    rows.filter(({ id, envelope }) => !reposts.has(id) && envelope !== null),
    ({ id }) => id,
  )
  const deletedUsers = await deletedUsersIn(
    transaction,
    Array.from(others.values(), ([showing]) => showing?.envelope ?? ""),
  )
  await rewrite(
    transaction,
    Array.from(others, ([id, showing]) => ({
      id,
      envelope: withoutThese(showing[0]?.envelope ?? "", {
        posts: new Set(showing.map(({ shownId }) => shownId)),
        users: deletedUsers,
      }),
    })),
    atMs,
  )
  await transaction.run(
    "DELETE FROM shown_posts WHERE (post_id, shown_id) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))",
    ...columnsOf(rows, ["id", "shownId"]),
  )
  return { found: rows.length, matches: await matchesOf(transaction, [...others.keys()]) }
}

/** The deleted users among those that envelopes include. */
async function deletedUsersIn(
  transaction: WriteTransaction,
  envelopes: readonly string[],
): Promise<ReadonlySet<UserId>> {
  const rows = await transaction.rows<{ id: UserId }>(
    "SELECT id FROM deletions WHERE kind = 'user' AND id = ANY ($1::bigint[])",
    [...new Set(envelopes.flatMap(usersIn))],
  )
  return new Set(rows.map(({ id }) => id))
}

async function deleteUsers(transaction: WriteTransaction, ids: readonly UserId[]): Promise<void> {
  await transaction.run("DELETE FROM user_words WHERE user_id = ANY ($1::bigint[])", ids)
  await transaction.run("DELETE FROM user_objects WHERE id = ANY ($1::bigint[])", ids)
  await transaction.run("DELETE FROM users WHERE id = ANY ($1::bigint[])", ids)
}

interface PendingRow {
  readonly seq: DeletionSeq
  readonly kind: Deletion["kind"]
  readonly id: string
}

/** Most rounds of a step: a user, the user's posts, the reposts of these. Ours: more are left to the next step. */
const roundsMax = 4

/** Takes rounds over the newest pending deletions. */
async function takeStep(transaction: WriteTransaction, budget: number, atMs: number): Promise<void> {
  const matches: ChangedMatch[] = []
  let changed = 0
  for (let round = 0; round < roundsMax && changed < budget; round += 1) {
    const max = budget - changed
    const pending = await transaction.rows<PendingRow>(
      "SELECT seq, kind, id FROM deletions WHERE is_pending ORDER BY seq DESC LIMIT $1",
      max,
    )
    if (pending.length === 0) break
    const posts = pending.filter(({ kind }) => kind === "post")
    const postIds = posts.map(({ id }) => id as PostId)
    const finished: PendingRow[] = []
    if (posts.length > 0) {
      matches.push(...(await deletePosts(transaction, postIds, atMs)))
      const shown = await changeShowing(transaction, postIds, max, atMs)
      matches.push(...shown.matches)
      if (shown.found < max) finished.push(...posts)
      changed += posts.length + shown.found
    }
    const users = pending.filter(({ kind }) => kind === "user")
    if (users.length > 0 && changed < budget) {
      const userIds = users.map(({ id }) => id as UserId)
      const owned = await transaction.rows<{ id: PostId }>(
        "SELECT id FROM posts WHERE author_id = ANY ($1::bigint[]) LIMIT $2",
        userIds,
        budget - changed,
      )
      if (owned.length > 0)
        await noteDeletions(
          transaction,
          owned.map(({ id }) => ({ kind: "post", id })),
          atMs,
          // A user that is requested again is newer than posts that were noted before.
          { asNewest: true },
        )
      else {
        await deleteUsers(transaction, userIds)
        finished.push(...users)
      }
      changed += 1
    }
    if (finished.length > 0) {
      await transaction.run(
        "UPDATE deletions SET is_pending = false WHERE seq = ANY ($1::bigint[])",
        finished.map(({ seq }) => seq),
      )
    }
  }
  await dropResponses(transaction, matches)
  if (changed > 0) crashPoint("in-deletion")
  if (changed > 0) transaction.announce({ kind: "deletions" })
  announceMatches(transaction, matches)
}

/** Waits for the appends that run, and holds up others until the transaction has ended. */
async function lockDeletions(transaction: WriteTransaction): Promise<void> {
  await transaction.rows("SELECT lock_deletions()")
}

/** The writes of deletions. */
export function createDeletionWrites(database: ClusterDatabase): DeletionWrites {
  return {
    delete: (requests, atMs) =>
      database.write(async (transaction) => {
        await lockDeletions(transaction)
        const stored = await transaction.rows<{ kind: Deletion["kind"]; id: string }>(
          `SELECT kind, id FROM unnest($1::text[], $2::bigint[]) AS given (kind, id)
           WHERE CASE kind WHEN 'user' THEN EXISTS (SELECT 1 FROM users WHERE users.id = given.id)
             ELSE EXISTS (SELECT 1 FROM posts WHERE posts.id = given.id)
               OR EXISTS (SELECT 1 FROM shown_posts WHERE shown_id = given.id) END`,
          requests.map(({ kind }) => kind),
          requests.map(({ id }) => id),
        )
        const found = new Set(stored.map(({ kind, id }) => `${kind} ${id}`))
        await noteDeletions(transaction, requests, atMs, { asNewest: true })
        await takeStep(transaction, requests.length + deletionStepMax, atMs)
        return requests.map(({ kind, id }) => ({ wasStored: found.has(`${kind} ${id}`) }))
      }),

    async continueDeletions(atMs) {
      if (!(await hasPending(database))) return true
      await database.write(async (transaction) => {
        await lockDeletions(transaction)
        await takeStep(transaction, deletionStepMax, atMs)
      })
      return !(await hasPending(database))
    },

    forgetDeletions: ({ beforeMs, limit }) =>
      database.write(async (transaction) => {
        await transaction.run(
          `DELETE FROM rewritten_posts WHERE post_id IN (SELECT post_id FROM rewritten_posts WHERE at_ms < $1 LIMIT $2)`,
          beforeMs,
          limit,
        )
        return transaction.run(
          `DELETE FROM deletions WHERE seq IN (
             SELECT seq FROM deletions WHERE at_ms < $1 AND NOT is_pending ORDER BY at_ms LIMIT $2)`,
          beforeMs,
          limit,
        )
      }),

    // PostgreSQL keeps deleted rows until they are vacuumed, and their bytes until a table is rewritten: docs/operations.md.
    async overwriteDeleted() {
      return true
    },

    async eraseDeleted() {
      // PostgreSQL frees the space of deleted rows by itself, and removes its log after checkpoints.
      return true
    },
  }
}

async function hasPending(queries: Queries): Promise<boolean> {
  const found = await queries.row<{ isTrue: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM deletions WHERE is_pending) AS "isTrue"`,
  )
  return found?.isTrue === true
}
