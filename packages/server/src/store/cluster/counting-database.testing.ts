import { ClusterDatabase, type Queries, type SqlValue, type WriteTransaction } from "./database.ts"

/** A database that counts the rows at which transactions look, and statements that return rows, each in one of its own. */
export class CountingDatabase extends ClusterDatabase {
  lookedAt = 0

  override rows<Row>(sql: string, ...values: readonly SqlValue[]): Promise<readonly Row[]> {
    return this.write((transaction) => transaction.rows<Row>(sql, ...values))
  }

  override write<Result>(write: (transaction: WriteTransaction) => Promise<Result>): Promise<Result> {
    return super.write(async (transaction) => {
      const before = await rowsLookedAt(transaction)
      const result = await write(transaction)
      this.lookedAt += (await rowsLookedAt(transaction)) - before
      return result
    })
  }
}

/** Since PostgreSQL took the count of this connection last, which it does between transactions. */
async function rowsLookedAt(queries: Queries): Promise<number> {
  const counted = await queries.row<{ rows: number }>(
    `SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint AS rows
     FROM pg_stat_xact_user_tables`,
  )
  return counted?.rows ?? 0
}
