/**
 * The largest id that this store's servers ever gave: ids rise over restarts too, even when the clock is set back
 * meanwhile.
 */
import type { Queries, WriteTransaction } from "./database.ts"

/** Reads it, as digits. */
export async function lastId(queries: Queries): Promise<string> {
  return (await queries.row<{ id: string }>(`SELECT last_id AS "id" FROM given_ids`))?.id ?? "0"
}

/** Notes new ids. The row is locked only when one of them is larger. */
export async function noteIds(transaction: WriteTransaction, ...ids: readonly string[]): Promise<void> {
  await transaction.run(
    `UPDATE given_ids SET last_id = greatest(last_id, largest)
     FROM (SELECT max(id) AS largest FROM unnest($1::bigint[]) AS id) AS given WHERE last_id < largest`,
    ids,
  )
}
