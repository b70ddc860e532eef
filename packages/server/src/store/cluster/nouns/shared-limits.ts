/**
 * Counts over all processes, kept in PostgreSQL.
 *
 *     a connection opens ─► lock its app ─► count those of living processes ─► room? its row
 *                                                     └► the oldest is to make room? mark it replaced, and hint
 *     its app ends it (`connections.ts`) ─► mark it replaced and forced, and hint
 *     every 10 s, and on a hint ─► rows of this process ─► replaced? end it · not there any more? count it again
 *                                                     └► no connection's? delete it
 *
 * Rows go with the row of their process (`leases.ts`), so those of a process that has died do not count for long. A
 * process that was taken for dead counts its connections again under its next number, even beyond the limit.
 */
import type { AppId } from "../../../model/ids.ts"
import { lostReason } from "../../../model/connection.ts"
import type { Clock } from "../../../runtime/clock.ts"
import type { CountedConnection, SharedLimits, TakenUses, UseLimit } from "../../shared-limits.ts"
import type { Store } from "../../store.ts"
import type { ConnectionShares } from "../connection/connection-shares.ts"
import type { ClusterDatabase, WriteTransaction } from "../connection/database.ts"
import { columnsOf } from "../../rows/record.ts"
import { logReader, requestOf } from "../../readers.ts"

/** Time between two comparisons with the store, since hints may be lost. Ours. */
const pollMs = 10_000

/** Least time between two, so that many hints do not cause as many. Ours. */
const pauseMs = 100

/** The counts' dependencies. */
interface LimitsDeps {
  readonly database: ClusterDatabase
  /** Shares of its connections: transactions that count the connections of one app wait for each other. */
  readonly shares: ConnectionShares
  readonly store: Pick<Store, "onChange">
  readonly clock: Clock
  /** The number of this process now. */
  readonly processNumber: () => number
  /** Called when the comparison with the store fails. */
  readonly failed: (error: unknown) => void
}

/** The counts to which this process adds, until it is disposed of. */
export class ClusterLimits implements SharedLimits, AsyncDisposable {
  readonly #deps: LimitsDeps
  /** This process's, from before their rows are written on. */
  readonly #connections = new Map<string, CountedConnection & { isCounted: boolean }>()
  readonly #closing = new AbortController()
  readonly #comparing: Promise<void>
  /** Connections that have ended, whose rows are there perhaps. */
  readonly #released = new Set<string>()
  #isReleasing = false
  #wake = new AbortController()

  constructor(deps: LimitsDeps) {
    this.#deps = deps
    this.#comparing = this.#compareAlways()
  }

  async countConnection(
    connection: CountedConnection,
    limit: { readonly max: number; readonly replacesOldest: boolean },
  ): Promise<(() => void) | undefined> {
    const { id } = connection
    const counted = { ...connection, isCounted: false }
    this.#connections.set(id, counted)
    const { database, shares } = this.#deps
    const process = this.#deps.processNumber()
    try {
      counted.isCounted = await shares.run(logReader(connection.appId), () =>
        database.write((transaction) =>
          count(transaction, { ...connection, process }, { ...limit, released: [...this.#released] }),
        ),
      )
    } finally {
      if (!counted.isCounted) this.#connections.delete(id)
    }
    return counted.isCounted ? () => this.#release(id) : undefined
  }

  async takeUses(
    appId: AppId,
    use: string,
    { max, windowMs, count: wanted = 1 }: UseLimit & { readonly count?: number },
  ): Promise<TakenUses> {
    const { database, shares } = this.#deps
    return shares.run(requestOf(appId), async () => {
      const counted = await database.row<UsesRow>(takeUses, appId, use, windowMs, max, wanted)
      if (counted !== undefined) {
        const before = counted.uses - wanted
        return { granted: Math.min(wanted, max - before), left: Math.max(0, max - counted.uses), endsInMs: counted.ms }
      }
      const full = await database.row<UsesRow>(
        `SELECT count AS uses, ${untilEnd} AS ms FROM app_uses WHERE app_id = $1 AND use = $2`,
        appId,
        use,
      )
      return { granted: 0, left: 0, endsInMs: full?.ms ?? 0 }
    })
  }

  /** The remaining counts are deleted with the process's leases. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort()
    await this.#comparing
  }

  #release(id: string): void {
    if (!this.#connections.delete(id)) return
    this.#released.add(id)
    if (!this.#isReleasing) void this.#releaseAll()
  }

  /** Those of the last moments in one statement. */
  async #releaseAll(): Promise<void> {
    this.#isReleasing = true
    while (this.#released.size > 0 && !this.#closing.signal.aborted) {
      const ids = [...this.#released]
      // The next comparison finds what could not be deleted.
      await this.#delete(ids).catch(() => undefined)
      for (const id of ids) this.#released.delete(id)
    }
    this.#isReleasing = false
  }

  async #delete(ids: readonly string[]): Promise<void> {
    await this.#deps.database.run("DELETE FROM stream_connections WHERE id = ANY ($1::uuid[])", ids)
  }

  async #compareAlways(): Promise<void> {
    const { clock, store, failed } = this.#deps
    const { signal } = this.#closing
    const stopListening = store.onChange((change) => {
      if (change.kind === "control" && this.#connections.size > 0) this.#wake.abort()
    })
    while (!signal.aborted) {
      await clock.sleep(pollMs - pauseMs, AbortSignal.any([signal, this.#wake.signal]))
      await clock.sleep(pauseMs, signal)
      if (signal.aborted) break
      this.#wake = new AbortController()
      await this.#compare().catch(failed)
    }
    stopListening()
  }

  async #compare(): Promise<void> {
    const { database } = this.#deps
    const process = this.#deps.processNumber()
    const rows = await database.rows<{ id: string; replaced: boolean; forced: boolean }>(
      "SELECT id, replaced, forced FROM stream_connections WHERE process = $1",
      process,
    )
    for (const { id, replaced, forced } of rows) {
      if (replaced) this.#connections.get(id)?.ended(forced ? "forced" : "replaced")
    }
    const counted = new Set(rows.map(({ id }) => id))
    const strays = [...counted].filter((id) => !this.#connections.has(id))
    if (strays.length > 0) await this.#delete(strays)
    const all = [...this.#connections.values()]
    const missing = all.filter(({ id, isCounted }) => isCounted && !counted.has(id))
    if (missing.length === 0) return
    await database.run(
      `INSERT INTO stream_connections (id, process, app_id, kind)
       SELECT id, number, app_id, kind FROM unnest($2::uuid[], $3::bigint[], $4::text[]) AS given (id, app_id, kind)
         JOIN processes ON number = $1
       ON CONFLICT (id) DO UPDATE SET process = excluded.process`,
      process,
      ...columnsOf(missing, ["id", "appId", "kind"]),
    )
    const uuids = missing.map(({ id }) => id)
    // The history has them as lost, but they are open. Their app may have ended others of them meanwhile.
    await database.run(
      `UPDATE connection_history SET disconnected_at_ms = NULL, disconnect_reason = NULL
       WHERE uuid = ANY ($1::uuid[]) AND disconnect_reason = '${lostReason}'`,
      uuids,
    )
    const ended = await database.rows<{ id: string }>(
      `SELECT uuid::text AS id FROM connection_history
       WHERE uuid = ANY ($1::uuid[]) AND disconnected_at_ms IS NOT NULL`,
      uuids,
    )
    for (const { id } of ended) this.#connections.get(id)?.ended("forced")
  }
}

/** A row of `app_uses`: uses so far, and milliseconds until its window ends. */
interface UsesRow {
  readonly uses: number
  readonly ms: number
}

const untilEnd = "greatest(extract(epoch FROM app_uses.ends_at - clock_timestamp()) * 1000, 0)::double precision"

/**
 * Counts uses while the window has room for one. A count over the bound shows how many of the uses are within it, and is no
 * other to those who come after it than the bound.
 */
const takeUses = `INSERT INTO app_uses (app_id, use, count, ends_at)
  VALUES ($1, $2, $5, clock_timestamp() + $3::double precision * interval '1 millisecond')
  ON CONFLICT (app_id, use) DO UPDATE SET
    count = CASE WHEN app_uses.ends_at <= clock_timestamp() THEN excluded.count ELSE app_uses.count + excluded.count END,
    ends_at = CASE WHEN app_uses.ends_at <= clock_timestamp() THEN excluded.ends_at ELSE app_uses.ends_at END
  WHERE app_uses.ends_at <= clock_timestamp() OR app_uses.count < $4
  RETURNING count AS uses, ${untilEnd} AS ms`

/** SQL of the connections of app `$1` and kind `$2` that count, without those of `$3`. */
const counting = `stream_connections JOIN processes ON processes.number = process AND alive_until > clock_timestamp()
  WHERE app_id = $1 AND kind = $2 AND NOT replaced AND id <> ALL ($3::uuid[])`

/** Returns false when there is no room. `released` have ended in this process, and count no more. */
async function count(
  transaction: WriteTransaction,
  connection: CountedConnection & { readonly process: number },
  limit: { readonly max: number; readonly replacesOldest: boolean; readonly released: readonly string[] },
): Promise<boolean> {
  const { max, replacesOldest, released } = limit
  const { id, process, appId, kind } = connection
  // Those that open at the same time are counted one after the other.
  await transaction.rows("SELECT 1 FROM apps WHERE id = $1 FOR NO KEY UPDATE", appId)
  const sql = `SELECT count(*) AS count FROM ${counting}`
  const counted = await transaction.row<{ count: number }>(sql, appId, kind, released)
  const surplus = (counted?.count ?? 0) + 1 - max
  if (surplus > 0 && !replacesOldest) return false
  if (surplus > 0) {
    await transaction.run(
      `UPDATE stream_connections SET replaced = true
       WHERE id IN (SELECT id FROM ${counting} ORDER BY opened_at, id LIMIT $4)`,
      appId,
      kind,
      released,
      surplus,
    )
    transaction.announce({ kind: "control" })
  }
  // Without a row, for this process has just been taken for dead, it is counted at the next comparison.
  await transaction.run(
    `INSERT INTO stream_connections (id, process, app_id, kind)
     SELECT $1::uuid, number, $3::bigint, $4::text FROM processes WHERE number = $2`,
    id,
    process,
    appId,
    kind,
  )
  return true
}
