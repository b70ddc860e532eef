/**
 * Rows of a table in the order of their ids, none skipped, though transactions commit in any order.
 *
 *     ids that are there     1 2 3 . 5 6 . 8
 *                                  ▲ 4 is missing: rolled back, or its transaction is still running
 *     ─► 1 2 3 are read. Which transactions hold the sequence or the table now? When all of them have ended, 4 and 7 are
 *        looked for once more: one that is still missing is never coming.
 *
 * A transaction that has taken an id from the sequence holds a lock of it until it ends, and one that has written to the
 * table a lock of that. 4 was taken before 5, and 5 is there, so the transaction that took 4 is one of those that hold a
 * lock now, or has ended. So only a missing id makes the rows behind it wait, and only for those transactions: others that
 * run for hours, such as a copy of the database, hold nothing up.
 *
 * Why not the oldest running transaction (`pg_snapshot_xmin`) against the row's `xmin`: a transaction takes an id before it
 * has a number of its own, so a row may become visible behind the cursor although no older transaction was running; and it
 * waits for every transaction of the server.
 */

/** A row, by its id. */
export interface OutboxRow {
  readonly id: bigint
}

/** The table as it is seen now. */
export interface OutboxTable<Row extends OutboxRow> {
  /** Rows behind an id, in order, at most as many as are read together. */
  rows(after: bigint): Promise<readonly Row[]>
  /** Names of the running transactions that may have taken an id of a row that is not visible. */
  writers(): Promise<ReadonlySet<string>>
}

/** Rows that may be read. */
export interface SettledRows<Row extends OutboxRow> {
  readonly rows: readonly Row[]
  /** True when rows behind them wait for a transaction. */
  readonly isWaiting: boolean
}

/** Reads rows, from one id to the next. One call at a time. */
export class SettledReader<Row extends OutboxRow> {
  readonly #table: OutboxTable<Row>
  /** Missing ids up to this one are never coming. */
  #settledTo: bigint
  /** The transactions that may have taken a missing id up to `to`, and have not ended. */
  #suspects: { readonly to: bigint; readonly writers: ReadonlySet<string> } | undefined

  /** Missing ids up to `after` are none: everything up to it has been read. */
  constructor(table: OutboxTable<Row>, after: bigint) {
    this.#table = table
    this.#settledTo = after
  }

  /** Rows behind an id, up to which everything was read. */
  async next(after: bigint): Promise<SettledRows<Row>> {
    const rows = await this.#table.rows(after)
    const gap = this.#gapIn(rows, after)
    const behind = gap === undefined ? undefined : rows[gap]
    if (behind === undefined) return { rows, isWaiting: false }
    await this.#suspect(behind.id, rows.at(-1)?.id ?? behind.id)
    // Read again: a transaction that has ended meanwhile may have filled the gap.
    return this.#suspects === undefined
      ? this.#upToGap(await this.#table.rows(after), after)
      : this.#upToGap(rows, after)
  }

  /** Looks which transactions may still fill a gap in front of a row; `last` is the last row that is there. */
  async #suspect(behind: bigint, last: bigint): Promise<void> {
    // Asked after the rows were read: a transaction that is not among them has ended, or has begun later.
    const writers = await this.#table.writers()
    const known = this.#suspects !== undefined && this.#suspects.to >= behind ? this.#suspects : { to: last, writers }
    const left = new Set([...known.writers].filter((writer) => writers.has(writer)))
    this.#suspects = left.size === 0 ? undefined : { to: known.to, writers: left }
    if (left.size === 0) this.#settledTo = known.to
  }

  #upToGap(rows: readonly Row[], after: bigint): SettledRows<Row> {
    const gap = this.#gapIn(rows, after)
    return gap === undefined ? { rows, isWaiting: false } : { rows: rows.slice(0, gap), isWaiting: true }
  }

  /** The index of the first row in front of which an id is missing that may still come. */
  #gapIn(rows: readonly Row[], after: bigint): number | undefined {
    let before = after
    for (const [index, { id }] of rows.entries()) {
      const missing = before > this.#settledTo ? before : this.#settledTo
      if (id > missing + 1n) return index
      before = id
    }
    return undefined
  }
}
