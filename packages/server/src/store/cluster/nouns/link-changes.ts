/**
 * Writes what the ledger changes of links (`store/ledger/link-change.ts`): the same few statements for one link and for a
 * thousand.
 */
import type { AppId, LinkId, MatchSeq } from "../../../model/ids.ts"
import type { LinkChange } from "../../ledger/link-change.ts"
import { RetryRoom } from "../../ledger/retry-room.ts"
import type { Queries, SqlValue, WriteTransaction } from "../connection/database.ts"
import { deleteSpared } from "./spared-matches.ts"

/** A change of a link that is locked. */
export interface ChangedLink {
  readonly link: { readonly id: LinkId; readonly appId: AppId }
  readonly change: LinkChange
}

/** Writes changes. Their logs are locked where a match may be freed. */
export async function writeChanges(transaction: WriteTransaction, changes: readonly ChangedLink[]): Promise<void> {
  const rowsOf = <Row>(of: (change: LinkChange) => readonly Row[]) =>
    changes.flatMap(({ link, change }) => of(change).map((row) => ({ link, row })))
  await deleteRows(
    transaction,
    "retries",
    rowsOf(({ retriesGone }) => retriesGone),
  )
  await deleteRows(
    transaction,
    "dead_letters",
    rowsOf(({ deadGone }) => deadGone),
  )
  await putRetries(
    transaction,
    rowsOf(({ retries }) => retries),
  )
  await insertDeadLetters(
    transaction,
    rowsOf(({ dead }) => dead),
  )
  await updateLinks(transaction, changes)
  for (const [appId, ofApp] of Map.groupBy(changes, ({ link }) => link.appId)) {
    await deleteSpared(
      transaction,
      appId,
      ofApp.flatMap(({ change }) => change.freed),
    )
  }
}

/** A row of a link. */
interface LinkRow<Row> extends Pick<ChangedLink, "link"> {
  readonly row: Row
}

async function updateLinks(transaction: WriteTransaction, changes: readonly ChangedLink[]): Promise<void> {
  const column = (of: (change: LinkChange) => number): SqlValue => changes.map(({ change }) => of(change))
  await transaction.run(
    `UPDATE links SET position = change.position, delivered = links.delivered + change.delivered,
       retries = links.retries + change.retries, dead_letters = links.dead_letters + change.dead_letters,
       expired = links.expired + change.expired, redeliveries = links.redeliveries + change.redeliveries
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
       AS change (id, position, delivered, retries, dead_letters, expired, redeliveries)
     WHERE links.id = change.id`,
    changes.map(({ link }) => link.id),
    column(({ position }) => position),
    column(({ delivered }) => delivered),
    column(({ retriesBy }) => retriesBy),
    column(({ deadLettersBy }) => deadLettersBy),
    column(({ expired }) => expired),
    column(({ redeliveries }) => redeliveries),
  )
}

async function deleteRows(
  transaction: WriteTransaction,
  table: "retries" | "dead_letters",
  rows: readonly LinkRow<MatchSeq>[],
): Promise<void> {
  if (rows.length === 0) return
  await transaction.run(
    `DELETE FROM ${table} WHERE (link_id, seq) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))`,
    rows.map(({ link }) => link.id),
    rows.map(({ row }) => row),
  )
}

async function putRetries(
  transaction: WriteTransaction,
  rows: readonly LinkRow<LinkChange["retries"][number]>[],
): Promise<void> {
  if (rows.length === 0) return
  await transaction.run(
    `INSERT INTO retries (link_id, app_id, seq, failures, due_at_ms)
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::integer[], $5::bigint[])
     ON CONFLICT (link_id, seq) DO UPDATE SET failures = excluded.failures, due_at_ms = excluded.due_at_ms`,
    rows.map(({ link }) => link.id),
    rows.map(({ link }) => link.appId),
    rows.map(({ row }) => row.seq),
    rows.map(({ row }) => row.failures),
    rows.map(({ row }) => row.dueAtMs),
  )
}

/** In the order in which they were given up: so are their ids. */
async function insertDeadLetters(
  transaction: WriteTransaction,
  rows: readonly LinkRow<LinkChange["dead"][number]>[],
): Promise<void> {
  if (rows.length === 0) return
  await transaction.run(
    `INSERT INTO dead_letters (link_id, app_id, seq, failures, outcome, status, error, dead_lettered_at_ms)
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::integer[], $5::text[], $6::integer[],
       $7::text[], $8::bigint[])`,
    rows.map(({ link }) => link.id),
    rows.map(({ link }) => link.appId),
    rows.map(({ row }) => row.seq),
    rows.map(({ row }) => row.failures),
    rows.map(({ row }) => row.outcome),
    rows.map(({ row }) => row.status ?? null),
    rows.map(({ row }) => row.error ?? null),
    rows.map(({ row }) => row.deadLetteredAtMs),
  )
}

/**
 * SQL for the bytes to send at most for a match, of a row that has its `app_id` and `seq`: those of the post's envelope,
 * which PostgreSQL knows without reading the text. 0 when there is no match.
 */
export function bytesToSend(table: string): string {
  return `coalesce((SELECT octet_length(envelope) FROM matches JOIN posts ON posts.id = post_id
    WHERE matches.app_id = ${table}.app_id AND matches.seq = ${table}.seq LIMIT 1), 0)`
}

/** The rooms of links that have so many retries. */
export async function retryRooms(
  queries: Queries,
  links: readonly { readonly id: LinkId; readonly retries: number }[],
): Promise<ReadonlyMap<LinkId, RetryRoom>> {
  const withRetries = links.filter(({ retries }) => RetryRoom.needsBytes(retries))
  const sums =
    withRetries.length === 0
      ? []
      : await queries.rows<{ linkId: LinkId; bytes: number }>(
          `SELECT link_id AS "linkId", sum(${bytesToSend("retries")}) AS bytes FROM retries
           WHERE link_id = ANY ($1::bigint[]) GROUP BY link_id`,
          withRetries.map(({ id }) => id),
        )
  const bytes = new Map(sums.map((sum) => [sum.linkId, sum.bytes]))
  return new Map(links.map(({ id, retries }) => [id, new RetryRoom(retries, bytes.get(id) ?? 0)]))
}
