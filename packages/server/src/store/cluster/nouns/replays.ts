/** Replays: those that run, what backfills have found, and the newest of those that ended. */
import type { ReplayReads, ReplayWrites } from "../../port/replay-store.ts"
import type { AppId, ReplayId } from "../../../model/ids.ts"
import type { PostShape } from "../../../model/post.ts"
import { isSearchOver, type Replay } from "../../../model/replay.ts"
import { endedReplaysMax } from "../../bounds.ts"
import { deletedRules, entryOf, type MatchRow } from "../../rows/match-entry.ts"
import { columnsOf } from "../../rows/record.ts"
import { backfillRowsOf, replayColumns, replayOf, replayValuesOf, type ReplayRow } from "../../rows/replay.ts"
import { LeaseLost } from "../../store-faults.ts"
import type { StoreReads } from "../../store.ts"
import { columnsAs, type ClusterDatabase, type Queries, type WriteTransaction } from "../connection/database.ts"
import { noteIds } from "../connection/last-id.ts"
import { textArray } from "../connection/text-array.ts"
import { refuseRevoked } from "./revoked-apps.ts"

const selectReplays = `SELECT ${columnsAs("replays", replayColumns)} FROM replays`

/** The database sums up the bytes of post and rules, so it sends no more than are taken. */
function foundSqlOf(shape: PostShape): string {
  return `
    SELECT ${columnsAs("sized", "seq, post_id, at_ms, rules, post")} FROM (
      SELECT found.*, posts.${shape} AS post,
        sum(octet_length(rules) + coalesce(octet_length(posts.${shape}), 0))
          OVER (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes
      FROM (
        SELECT seq, post_id, replays.created_at_ms AS at_ms, rules
        FROM backfill_matches JOIN replays ON replays.id = replay_id
        WHERE replay_id = $1 AND seq > $2 ORDER BY seq LIMIT $3) AS found
      LEFT JOIN LATERAL (SELECT ${shape} FROM posts WHERE id = post_id LIMIT 1) AS posts ON true) AS sized
    WHERE bytes IS NULL OR bytes < $4 ORDER BY seq`
}

const foundSql = { core: foundSqlOf("core"), envelope: foundSqlOf("envelope") }

/** The reads of replays. */
export function createReplayReads(queries: Queries): ReplayReads {
  function rowsOf({ appId, state }: Parameters<StoreReads["replays"]>[0]): Promise<readonly ReplayRow[]> {
    const newestFirst = "ORDER BY replays.id DESC"
    if (appId !== undefined) {
      return queries.rows(`${selectReplays} WHERE replays.app_id = $1 ${newestFirst}`, appId)
    }
    if (state !== "running") return queries.rows(`${selectReplays} ${newestFirst}`)
    return queries.rows(`${selectReplays} WHERE replays.state = 'running' ${newestFirst}`)
  }

  return {
    async replays(of) {
      return (await rowsOf(of)).filter(({ state }) => of.state === undefined || state === of.state).map(replayOf)
    },

    async backfillMatches({ id, after, limit, bytesMax, shape }) {
      const rows = await queries.rows<MatchRow>(foundSql[shape], id, after, limit, bytesMax)
      return rows.map((row) => entryOf(row.post === null ? { ...row, rules: deletedRules } : row))
    },
  }
}

/** The writes of replays. */
export function createReplayWrites(database: ClusterDatabase): ReplayWrites {
  return {
    createReplay: (replay) =>
      database.write(async (transaction) => {
        await refuseRevoked(transaction, replay.appId)
        // Locked, so that it is not deleted before its replay is there.
        const link = await transaction.run(
          "SELECT 1 FROM links WHERE id = $1 AND app_id = $2 AND webhook_id = $3 FOR KEY SHARE",
          replay.linkId,
          replay.appId,
          replay.webhookId,
        )
        if (link === 0) return "no-link"
        if (!(await insertReplay(transaction, replay))) return "conflict"
        await noteIds(transaction, replay.id)
        await transaction.announceControl()
        return "created"
      }),

    async saveReplay({ id, position, delivered, failed, lease }) {
      await database.write(async (transaction) => {
        await requireLease(transaction, id, lease)
        await transaction.run(
          "UPDATE replays SET position = $1, delivered = $2, failed = $3 WHERE id = $4 AND state = 'running'",
          position,
          delivered,
          failed,
          id,
        )
      })
    },

    addBackfillMatches: ({ id, matches, searchedId, lastId, lease }) =>
      database.write(async (transaction) => {
        await requireLease(transaction, id, lease)
        const replay = await transaction.row<{ endSeq: number }>(
          `SELECT end_seq AS "endSeq" FROM replays WHERE id = $1 AND state = 'running' FOR NO KEY UPDATE`,
          id,
        )
        if (replay === undefined) return false
        const rows = backfillRowsOf(replay.endSeq, matches)
        const [seqs = [], postIds = []] = columnsOf(rows, ["seq", "postId"])
        await transaction.run(
          `INSERT INTO backfill_matches (replay_id, seq, post_id, rules)
           SELECT $1, given.* FROM unnest($2::bigint[], $3::bigint[], $4::text[]) AS given`,
          id,
          seqs,
          postIds,
          textArray(rows.map(({ rules }) => rules)),
        )
        await transaction.run(
          "UPDATE replays SET end_seq = $1, searched_id = $2, last_id = $3 WHERE id = $4",
          replay.endSeq + matches.length,
          searchedId,
          lastId,
          id,
        )
        if (isSearchOver({ searchedId, lastId })) await transaction.announceControl()
        return true
      }),

    endReplay: (id, state, atMs, lease) =>
      database.write(async (transaction) => {
        await requireLease(transaction, id, lease)
        const ended = await transaction.row<{ appId: AppId }>(
          `UPDATE replays SET state = $1, ended_at_ms = $2 WHERE id = $3 AND state = 'running'
           RETURNING app_id AS "appId"`,
          state,
          atMs,
          id,
        )
        if (ended === undefined) return false
        await transaction.run("DELETE FROM backfill_matches WHERE replay_id = $1", id)
        await forgetOldReplays(transaction, ended.appId)
        await transaction.announceControl()
        return true
      }),
  }
}

/** Throws `LeaseLost` unless a replay's link is under this lease, which it then keeps until the transaction ends. */
async function requireLease(transaction: WriteTransaction, id: ReplayId, lease: number | undefined): Promise<void> {
  if (lease === undefined) return
  const link = await transaction.row<{ lease: number | null }>(
    "SELECT links.lease FROM replays JOIN links ON links.id = link_id WHERE replays.id = $1 FOR SHARE OF links",
    id,
  )
  if (link !== undefined && link.lease !== lease) {
    throw new LeaseLost(`Another process drives the link of replay ${id} now.`)
  }
}

/** Ends all replays of an app that run: they stay incomplete. */
export async function endReplaysOf(transaction: WriteTransaction, appId: AppId, atMs: number): Promise<void> {
  await transaction.run(
    `DELETE FROM backfill_matches USING replays
     WHERE replays.id = replay_id AND app_id = $1 AND state = 'running'`,
    appId,
  )
  await transaction.run(
    "UPDATE replays SET state = 'incomplete', ended_at_ms = $1 WHERE app_id = $2 AND state = 'running'",
    atMs,
    appId,
  )
  await forgetOldReplays(transaction, appId)
}

/** False when a replay to the webhook is running. */
async function insertReplay(transaction: WriteTransaction, replay: Replay): Promise<boolean> {
  const { ids, rest, searched } = replayValuesOf(replay)
  const inserted = await transaction.run(
    `INSERT INTO replays (${replayColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
     ON CONFLICT (webhook_id) WHERE state = 'running' DO NOTHING`,
    ...ids,
    ...rest,
    ...searched,
  )
  return inserted > 0
}

async function forgetOldReplays(transaction: WriteTransaction, appId: AppId): Promise<void> {
  await transaction.run(
    `DELETE FROM replays WHERE app_id = $1 AND state <> 'running' AND id <= (
       SELECT id FROM replays WHERE app_id = $1 AND state <> 'running' ORDER BY id DESC LIMIT 1 OFFSET $2)`,
    appId,
    endedReplaysMax,
  )
}
