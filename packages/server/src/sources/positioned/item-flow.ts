/**
 * Items of a feed on their way to the records of a source: mapped in batches, in order.
 *
 *     item ─► wait for the batch before ─► mapped together ─► lines, one after the other ─► the sink
 *
 * While a batch is mapped and taken, the next one is gathered; when it is full, the reader waits. So a single item is
 * never held up, and many cost few messages between threads.
 */
import { type ItemMapper } from "../mapping/item-mapper.ts"
import type { SourceItem } from "../mapping/source-item.ts"
import type { RecordSink } from "./positioned-source.ts"

/** Most items of a batch. Ours: enough that the cost of a message between threads does not count. */
const batchItemsMax = 128

/** Most bytes of a batch before its last item. Ours. */
const batchBytesMax = 262_144

/**
 * Reads items by `work`, which takes them with a flow. When it fails, the items that have come are taken, so that a source
 * whose connection is always cut gets further. Returns soon once `signal` has aborted.
 */
export async function readItems(
  mapper: ItemMapper,
  sink: RecordSink,
  signal: AbortSignal,
  work: (flow: ItemFlow) => Promise<void>,
): Promise<void> {
  const flow = new ItemFlow(mapper, sink)
  try {
    await work(flow)
    if (!signal.aborted) await flow.end()
  } catch (error) {
    if (signal.aborted) return
    await flow.end()
    throw error
  } finally {
    await flow.stop()
  }
}

/** Takes items, one call at a time; `end` is the last. */
export class ItemFlow {
  readonly #mapper: ItemMapper
  readonly #sink: Pick<RecordSink, "take">
  #batch: SourceItem[] = []
  #batchBytes = 0
  #running: Promise<void> | undefined
  #room = Promise.withResolvers<void>()
  #failure: { readonly error: unknown } | undefined
  #position: string | undefined
  #isStopped = false

  constructor(mapper: ItemMapper, sink: Pick<RecordSink, "take">) {
    this.#mapper = mapper
    this.#sink = sink
  }

  /** The position after the items that the sink has taken; undefined while none of them has had one. */
  get position(): string | undefined {
    return this.#position
  }

  /** Takes an item. Resolves when another one may be taken. Throws the error of the mapper or the sink. */
  async take(item: SourceItem): Promise<void> {
    this.#throwFailure()
    this.#batch.push(item)
    this.#batchBytes += item.bytes.length
    this.#running ??= this.#run()
    while (this.#batch.length >= batchItemsMax || this.#batchBytes >= batchBytesMax) await this.#room.promise
    this.#throwFailure()
  }

  /** Takes nothing more, and waits until the sink has taken the current line. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#takeBatch()
    await this.#running
  }

  /** Waits until the sink has taken all. Throws the error of the mapper or the sink. */
  async end(): Promise<void> {
    await this.#running
    this.#throwFailure()
  }

  async #run(): Promise<void> {
    try {
      while (this.#batch.length > 0) await this.#mapBatch(this.#takeBatch())
    } catch (error) {
      this.#failure = { error }
      this.#takeBatch()
    } finally {
      this.#running = undefined
    }
  }

  #takeBatch(): readonly SourceItem[] {
    const batch = this.#batch
    this.#batch = []
    this.#batchBytes = 0
    this.#room.resolve()
    this.#room = Promise.withResolvers()
    return batch
  }

  async #mapBatch(batch: readonly SourceItem[]): Promise<void> {
    for (const { line, cursor } of await this.#mapper.map(batch)) {
      if (this.#isStopped) return
      await this.#sink.take(Buffer.from(line))
      this.#position = cursor ?? this.#position
    }
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }
}
