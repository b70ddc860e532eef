/** Replays: those that run, and the newest of those that ended. */
import type { ReplayReads, ReplayWrites } from "../../port/replay-store.ts"
import type { AppId, ReplayId } from "../../../model/ids.ts"
import type { Replay } from "../../../model/replay.ts"
import { endedReplaysMax } from "../../bounds.ts"
import { recordOf } from "../../rows/record.ts"
import { replayColumns, replayValuesOf, type ReplayRow } from "../../rows/replay.ts"
import { LeaseLost } from "../../store-faults.ts"
import type { StoreReads } from "../../store.ts"
import { columnsAs, type ClusterDatabase, type Queries, type WriteTransaction } from "../connection/database.ts"
import { noteIds } from "../connection/last-id.ts"

const selectReplays = `SELECT ${columnsAs("replays", replayColumns)} FROM replays`

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
      return (await rowsOf(of)).filter(({ state }) => of.state === undefined || state === of.state).map(recordOf)
    },
  }
}

/** The writes of replays. */
export function createReplayWrites(database: ClusterDatabase): ReplayWrites {
  return {
    createReplay: (replay) =>
      database.write(async (transaction) => {
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
        if (ended !== undefined) await forgetOldReplays(transaction, ended.appId)
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
    "UPDATE replays SET state = 'incomplete', ended_at_ms = $1 WHERE app_id = $2 AND state = 'running'",
    atMs,
    appId,
  )
  await forgetOldReplays(transaction, appId)
}

/** False when a replay to the webhook is running. */
async function insertReplay(transaction: WriteTransaction, replay: Replay): Promise<boolean> {
  const { ids, rest } = replayValuesOf(replay)
  const inserted = await transaction.run(
    `INSERT INTO replays (${replayColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
     ON CONFLICT (webhook_id) WHERE state = 'running' DO NOTHING`,
    ...ids,
    ...rest,
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
