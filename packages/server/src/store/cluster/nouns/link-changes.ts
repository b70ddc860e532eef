/**
 * Writes what the ledger changes of links (`store/ledger/link-change.ts`): the same few statements for one link and for a
 * thousand.
 */
import type { AppId, LinkId } from "../../../model/ids.ts"
import type { LinkChange } from "../../ledger/link-change.ts"
import { RetryRoom } from "../../ledger/retry-room.ts"
import { columnsOf } from "../../rows/record.ts"
import type { Queries, WriteTransaction } from "../connection/database.ts"
import { deleteSpared } from "./spared-matches.ts"

/** A change of a link that is locked. */
export interface ChangedLink {
  readonly link: { readonly id: LinkId; readonly appId: AppId }
  readonly change: LinkChange
}

/** Writes changes. Their logs are locked where a match may be freed. */
export async function writeChanges(transaction: WriteTransaction, changes: readonly ChangedLink[]): Promise<void> {
  await deleteRows(transaction, "retries", changes)
  await deleteRows(transaction, "dead_letters", changes)
  await putRetries(transaction, changes)
  await insertDeadLetters(transaction, changes)
  await updateLinks(transaction, changes)
  for (const [appId, ofApp] of Map.groupBy(changes, ({ link }) => link.appId)) {
    await deleteSpared(
      transaction,
      appId,
      ofApp.flatMap(({ change }) => change.freed),
    )
  }
}

/** Rows of a link, with its ids. */
function ofLink<Row extends object>({ id: linkId, appId }: ChangedLink["link"], rows: readonly Row[]) {
  return rows.map((row) => ({ linkId, appId, ...row }))
}

async function updateLinks(transaction: WriteTransaction, changes: readonly ChangedLink[]): Promise<void> {
  const rows = changes.map(({ link, change }) => ({ ...change, id: link.id }))
  await transaction.run(
    `UPDATE links SET position = change.position, delivered = links.delivered + change.delivered,
       retries = links.retries + change.retries, dead_letters = links.dead_letters + change.dead_letters,
       expired = links.expired + change.expired, withdrawn = links.withdrawn + change.withdrawn,
       redeliveries = links.redeliveries + change.redeliveries
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
       AS change (id, position, delivered, retries, dead_letters, expired, withdrawn, redeliveries)
     WHERE links.id = change.id`,
    ...columnsOf(rows, [
      "id",
      "position",
      "delivered",
      "retriesBy",
      "deadLettersBy",
      "expired",
      "withdrawn",
      "redeliveries",
    ]),
  )
}

const rowsGone = { retries: "retriesGone", dead_letters: "deadGone" } as const

async function deleteRows(
  transaction: WriteTransaction,
  table: keyof typeof rowsGone,
  changes: readonly ChangedLink[],
): Promise<void> {
  const rows = changes.flatMap(({ link, change }) => change[rowsGone[table]].map((seq) => ({ linkId: link.id, seq })))
  if (rows.length === 0) return
  await transaction.run(
    `DELETE FROM ${table} WHERE (link_id, seq) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))`,
    ...columnsOf(rows, ["linkId", "seq"]),
  )
}

async function putRetries(transaction: WriteTransaction, changes: readonly ChangedLink[]): Promise<void> {
  const rows = changes.flatMap(({ link, change }) => ofLink(link, change.retries))
  if (rows.length === 0) return
  await transaction.run(
    `INSERT INTO retries (link_id, app_id, seq, failures, due_at_ms)
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::integer[], $5::bigint[])
     ON CONFLICT (link_id, seq) DO UPDATE SET failures = excluded.failures, due_at_ms = excluded.due_at_ms`,
    ...columnsOf(rows, ["linkId", "appId", "seq", "failures", "dueAtMs"]),
  )
}

/** In the order in which they were given up: so are their ids. */
async function insertDeadLetters(transaction: WriteTransaction, changes: readonly ChangedLink[]): Promise<void> {
  const rows = changes.flatMap(({ link, change }) => ofLink(link, change.dead))
  if (rows.length === 0) return
  await transaction.run(
    `INSERT INTO dead_letters (link_id, app_id, seq, failures, outcome, status, error, dead_lettered_at_ms)
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::integer[], $5::text[], $6::integer[],
       $7::text[], $8::bigint[])`,
    ...columnsOf(rows, ["linkId", "appId", "seq", "failures", "outcome", "status", "error", "deadLetteredAtMs"]),
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
