/**
 * A table of a PostgreSQL database as a source of posts: an outbox, into which a product writes posts in its own
 * transactions.
 *
 *     rows behind the position ─► those that no running transaction can precede (`settled-rows.ts`) ─► items ─► records
 *        ▲                                                                                             │
 *        └────────────── a notification, or pollSeconds ◄──────────────────────────────────────────────┘
 *
 * A notification is a hint, which is lost while the connection is: the table alone says which rows there are. The position is the id
 * of a row. Rows are deleted only when the store says that they are stored.
 *
 * Ids that have not come to the position belong to rows that were numbered anew, as by `TRUNCATE … RESTART IDENTITY`, or to
 * another table: then nothing is read and nothing is deleted until the operator rewinds the source.
 */
import type { Clock } from "../../../runtime/clock.ts"
import { placeOf } from "../../../runtime/database-url.ts"
import { tooLong, type SourceItem } from "../../mapping/source-item.ts"
import { readOnce } from "../../settings.ts"
import { feedMapper, itemBytesMax } from "../feed-mapper.ts"
import { readItems, type ItemFlow } from "../item-flow.ts"
import { AdvisedError, type RecordReader, type RecordSink } from "../positioned-source.ts"
import type { OutboxSettings } from "./outbox-settings.ts"
import { ConnectedTable, rowsMax, type EnvelopeRow } from "./outbox-table.ts"
import { SettledReader } from "./settled-rows.ts"

/** Dependencies of the reader of an outbox. */
export interface OutboxDeps {
  readonly clock: Clock
  /** Most bytes of a record, as ingest takes them. */
  readonly postBytesMax: number
}

/** Time between looks while rows wait for a transaction. Ours: most transactions take less. */
const waitingMs = 50

/** Time between deletions. Ours. */
const deleteMs = 1_000

/** A reader of the source, whose mapping `checkMapping` has accepted. */
export function createOutboxReader(settings: OutboxSettings, deps: OutboxDeps): RecordReader {
  readOnce([settings.password])
  const mapper = feedMapper(settings.mapping, deps.postBytesMax)
  return {
    read: (position, sink, signal) =>
      readItems(mapper, sink, signal, async (flow) => {
        const begin = idOf(position)
        const hints = new Hints(deps.clock, signal)
        const bytesMax = itemBytesMax(settings.mapping, deps.postBytesMax)
        const lost = Promise.withResolvers<never>()
        lost.promise.catch(() => undefined)
        await using table = await ConnectedTable.connect(settings, bytesMax, {
          notified: () => hints.give(),
          lost: (error) => lost.reject(error),
        })
        const giveUp = (): void => table.cut()
        signal.addEventListener("abort", giveUp, { once: true })
        if (signal.aborted) return
        sink.connected(`${placeOf(settings.url)}, ${settings.table.join(".")}`)
        try {
          const reading = new OutboxReading({ settings, deps, table, flow, sink, hints, bytesMax }, begin)
          await Promise.race([reading.run(signal), lost.promise])
        } finally {
          signal.removeEventListener("abort", giveUp)
        }
      }),
    [Symbol.asyncDispose]: () => mapper[Symbol.asyncDispose](),
  }
}

/** True for a position: the id of a row. */
export function isRowId(position: string): boolean {
  return /^-?\d{1,19}$/.test(position) && BigInt.asIntN(64, BigInt(position)) === BigInt(position)
}

function idOf(position: string | undefined): bigint {
  if (position === undefined) return 0n
  if (isRowId(position)) return BigInt(position)
  throw new AdvisedError(
    `The position ${JSON.stringify(position)} of the source is no id of a row.`,
    "Rewind the source to the id of a row, or to 0 for all of them: sluice sources rewind NAME --position 0.",
  )
}

interface Parts {
  readonly settings: OutboxSettings
  readonly deps: OutboxDeps
  readonly table: ConnectedTable
  readonly flow: ItemFlow
  readonly sink: RecordSink
  readonly hints: Hints
  readonly bytesMax: number
}

/** One reading of the table, from an id on. */
class OutboxReading {
  readonly #parts: Parts
  readonly #rows: SettledReader<EnvelopeRow>
  #last: bigint
  #deletedAtMs = -deleteMs
  /** Rows up to it were deleted. Undefined at first: rows that were stored by an earlier reading may still be there. */
  #deletedTo: bigint | undefined

  constructor(parts: Parts, begin: bigint) {
    this.#parts = parts
    this.#rows = new SettledReader(parts.table, begin)
    this.#last = begin
  }

  async run(signal: AbortSignal): Promise<void> {
    const { settings, table, hints, flow, bytesMax } = this.#parts
    while (!signal.aborted) {
      const hint = hints.next
      const { rows, isWaiting } = await this.#rows.next(this.#last)
      // Otherwise there are rows behind the last one.
      if (rows.length === 0 && !isWaiting) await table.refuseBehind(this.#last)
      for (const row of rows) {
        if (signal.aborted) return
        await flow.take(itemOf(row, bytesMax))
        this.#last = row.id
      }
      const isMore = await this.#deleteStored()
      if (isWaiting) await hints.wait(waitingMs)
      else if (rows.length < rowsMax && !isMore) await hints.wait(this.#isDeleting ? deleteMs : settings.pollMs, hint)
    }
  }

  /** True while rows have been read that are not deleted and are to be. */
  get #isDeleting(): boolean {
    return this.#parts.settings.deletesRows && this.#last !== this.#deletedTo
  }

  /** Deletes rows that are stored, at times. Resolves to whether there may be more of them. */
  async #deleteStored(): Promise<boolean> {
    const { sink, deps, table } = this.#parts
    const nowMs = deps.clock.monotonicMs()
    if (!this.#isDeleting || nowMs - this.#deletedAtMs < deleteMs) return false
    const durable = await sink.durable()
    this.#deletedAtMs = nowMs
    if (durable === undefined) return false
    // The position is beyond what was read when the operator has just moved it.
    const stored = idOf(durable) < this.#last ? idOf(durable) : this.#last
    if (stored === this.#deletedTo) return false
    const isMore = await table.deleteRows(this.#deletedTo, stored)
    if (isMore) this.#deletedAtMs -= deleteMs
    else this.#deletedTo = stored
    return isMore
  }
}

function itemOf({ id, text, bytes }: EnvelopeRow, bytesMax: number): SourceItem {
  const item = { bytes: Buffer.from(text ?? "null"), cursor: String(id), keepsCursor: true }
  return bytes > bytesMax ? { ...item, fault: tooLong(bytes, bytesMax) } : item
}

/** Hints that there are rows. */
class Hints {
  readonly #clock: Clock
  readonly #signal: AbortSignal
  #next = new AbortController()

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock
    this.#signal = signal
    signal.addEventListener("abort", () => this.give(), { once: true })
  }

  /** Aborted by the next hint. */
  get next(): AbortSignal {
    return this.#next.signal
  }

  give(): void {
    this.#next.abort()
    this.#next = new AbortController()
  }

  /** Waits for a while, or until `hint`, which may have come already. */
  async wait(ms: number, hint: AbortSignal = this.#signal): Promise<void> {
    if (!this.#signal.aborted) await this.#clock.sleep(ms, hint)
  }
}
