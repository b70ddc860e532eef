/**
 * The progress of links: their cursors and retries.
 *
 * A match that a cursor has passed is in exactly one state: delivered, a retry, a dead letter, expired, or within a gap
 * marker. Every write of deliveries and of retention preserves that.
 */
import type { DatabaseSync } from "node:sqlite"
import type { DeadMatch } from "../../../model/dead-letter.ts"
import type { AppId } from "../../../model/ids.ts"
import type { LinkProgress, Retry } from "../../../model/link.ts"
import type { PostShape } from "../../../model/post.ts"
import { damageOf, insertChecked, settingChecked, type CheckedRow } from "../connection/checked-rows.ts"
import { readerOf } from "../../readers.ts"
import { entryOf, matchColumns, rowBytes, type MatchRow } from "./match-entries.ts"
import { inChunks } from "../connection/row-chunks.ts"
import { prepareDeleteSpared } from "./spared-matches.ts"
import { columnsAs, prepare, type Statement } from "../connection/statements.ts"
import type { ReadContext, SyncReads, SyncWrites } from "../serving/sync-store.ts"

interface RetryRow extends CheckedRow, MatchRow {
  readonly appId: AppId
  readonly failures: number
  readonly dueAtMs: number
}

interface LinkStateRow {
  app_id: AppId
  position: number
  trimmed_to: number
}

/** SQL that adds a retry, unless there is one of the match. */
export const insertRetry = `${insertChecked("retries")} ON CONFLICT (link_id, seq) DO NOTHING`

/** The reads of retries. */
export function createRetryReads(db: DatabaseSync, { turns }: ReadContext): Pick<SyncReads, "retries"> {
  const retriesOf = (shape: PostShape): Statement<RetryRow> =>
    prepare(
      db,
      `SELECT ${columnsAs("links", "app_id")}, ${columnsAs("retries", "seq, failures, due_at_ms")},
         ${matchColumns(shape)}, ${damageOf("retries")} AS damage
       FROM retries JOIN links ON links.id = link_id
         LEFT JOIN matches ON matches.app_id = links.app_id AND matches.seq = retries.seq
         LEFT JOIN posts ON posts.id = post_id
       WHERE link_id = ? AND retries.seq > ? ORDER BY retries.seq LIMIT ?`,
    )
  const retries = { core: retriesOf("core"), envelope: retriesOf("envelope") }
  return {
    retries(linkId, shape, appId) {
      const read = (last: RetryRow | undefined, limit: number): Iterable<RetryRow> =>
        retries[shape].iterate(BigInt(linkId), last?.seq ?? 0, limit)
      return Array.fromAsync(
        inChunks({ turns, reader: readerOf.retries(linkId, shape, appId) }, read, rowBytes),
        (row) => ({
          seq: row.seq,
          // A damaged due time might never come, so the retry is due now.
          ...(row.damage === null ? { failures: row.failures, dueAtMs: row.dueAtMs } : { failures: 0, dueAtMs: 0 }),
          entry: entryOf(row.appId, row),
        }),
      )
    },
  }
}

/** The writes of progress. */
export function createProgressWrites(db: DatabaseSync): Pick<SyncWrites, "saveProgress"> {
  const linkState = prepare<LinkStateRow>(
    db,
    `SELECT CAST (links.app_id AS TEXT) AS app_id, position, coalesce(trimmed_to, 0) AS trimmed_to
     FROM links LEFT JOIN match_logs ON match_logs.app_id = links.app_id WHERE links.id = ?`,
  )
  const moveCursor = prepare(
    db,
    `UPDATE links SET position = max(position, ?), delivered = delivered + ?, retries = retries + ?,
       dead_letters = dead_letters + ? WHERE id = ?`,
  )
  const insert = prepare(db, insertRetry)
  const update = prepare(
    db,
    `UPDATE retries SET ${settingChecked("retries", { failures: "?1", due_at_ms: "?2" })}
     WHERE link_id = ?3 AND seq = ?4`,
  )
  const deleteRetry = prepare(db, "DELETE FROM retries WHERE link_id = ? AND seq = ?")
  const insertDead = prepare(db, insertChecked("dead_letters"))
  const deleteDead = prepare(db, "DELETE FROM dead_letters WHERE link_id = ? AND seq = ?")
  const deleteSpared = prepareDeleteSpared(db)

  /**
   * Returns how many retries are new, 1 or 0. Of a match that the cursor has passed a retry cannot be new: the match is
   * delivered, or retention has taken it and counts it as missed.
   */
  function saveRetry(link: bigint, { app_id: app, position }: LinkStateRow, retry: Retry): number {
    const { seq, failures, dueAtMs } = retry
    const isNew = seq > position && insert.run(BigInt(app), link, seq, failures, dueAtMs) === 1
    if (!isNew) update.run(failures, dueAtMs, link, seq)
    return isNew ? 1 : 0
  }

  /** Returns by how much it changes the number of retries, and that of dead letters. */
  function deadLetter(link: bigint, { app_id: app, position }: LinkStateRow, dead: DeadMatch): [number, number] {
    const { seq, failures, outcome, status, error, deadLetteredAtMs } = dead
    const retries = deleteRetry.run(link, seq)
    const deadLetters = deleteDead.run(link, seq)
    if (seq <= position && retries + deadLetters === 0) return [0, 0]
    insertDead.run(BigInt(app), link, seq, failures, outcome, status ?? null, error ?? null, deadLetteredAtMs)
    return [-retries, 1 - deadLetters]
  }

  function save(link: bigint, state: LinkStateRow, progress: LinkProgress): void {
    let [retries, deadLetters] = [0, 0]
    for (const retry of progress.retries) retries += saveRetry(link, state, retry)
    // Before the settled ones are deleted: the new dead letters are among them.
    for (const dead of progress.dead) {
      const [retriesBy, deadLettersBy] = deadLetter(link, state, dead)
      retries += retriesBy
      deadLetters += deadLettersBy
    }
    for (const seq of progress.settled) retries -= deleteRetry.run(link, seq)
    // A match that retention took on its way is counted as missed, whether it arrives after all or not. Progress that
    // is saved twice is counted once.
    const passed = Math.max(progress.position - state.position, 0)
    const delivered = Math.max(Math.min(progress.delivered, passed - retries - deadLetters), 0)
    moveCursor.run(progress.position, delivered, retries, deadLetters, link)
    for (const seq of progress.settled) if (seq <= state.trimmed_to) deleteSpared(BigInt(state.app_id), seq)
  }

  return {
    saveProgress(all) {
      for (const progress of all) {
        const link = BigInt(progress.linkId)
        const state = linkState.get(link)
        if (state !== undefined) save(link, state, progress)
      }
      // One process has this store for itself, so no lease is ever another's.
      return []
    },
  }
}
