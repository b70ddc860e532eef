import { systemClock } from "../../../runtime/clock.ts"
import type { Store } from "../../store.ts"
import { openClusterStore } from "../serving/cluster-store.ts"
import { ClusterDatabase, type Queries, type SqlValue, type WriteTransaction } from "./database.ts"
import type { TestDatabase } from "./postgres.testing.ts"
import { createReads } from "../serving/reads.ts"
import { createWrites } from "../serving/writes.ts"

/** A database that counts the rows at which transactions look, and statements that return rows, each in one of its own. */
class CountingDatabase extends ClusterDatabase {
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

/** A store whose reads and writes are counted by the rows that they look at. */
export class CountedStore implements AsyncDisposable {
  readonly #testDatabase: TestDatabase
  readonly #settings
  readonly database: CountingDatabase
  readonly writes: ReturnType<typeof createWrites>

  constructor(testDatabase: TestDatabase) {
    this.#testDatabase = testDatabase
    this.#settings = { url: testDatabase.url, poolMax: 1, statementMsMax: 60_000 }
    this.database = new CountingDatabase(this.#settings, () => undefined)
    this.writes = createWrites(this.database, { clock: systemClock })
  }

  /** Creates the store and fills it, uncounted. */
  async fill(work: (store: Store) => Promise<void>): Promise<void> {
    await using store = await openClusterStore(this.#settings, { sender: "test" })
    await work(store)
    // PostgreSQL does this by itself a minute later.
    await this.database.run("ANALYZE")
  }

  async lookedAtBy(work: (store: this) => Promise<unknown>): Promise<number> {
    const before = this.database.lookedAt
    await work(this)
    return this.database.lookedAt - before
  }

  /** Reads in a transaction, so that they are counted. */
  read<Result>(read: (reads: ReturnType<typeof createReads>) => Promise<Result>): Promise<Result> {
    return this.database.write((transaction) => read(createReads(transaction)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database[Symbol.asyncDispose]()
    await this.#testDatabase[Symbol.asyncDispose]()
  }
}
