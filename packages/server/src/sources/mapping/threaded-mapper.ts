/**
 * Maps items in a thread of their own, which starts with the first items.
 *
 *     batch ─► thread ─► lines
 *                │ the same item for 2.5 s, or the memory is full
 *                ▼
 *              ended ─► another thread gets the batch again, without the item once it has failed twice
 *
 * So an expression that loops costs dead letters, and time of its own source, and never the server's.
 */
import { PortCalls } from "../../runtime/port-calls.ts"
import type { Thread } from "../../runtime/thread.ts"
import type { ItemMapper, MappedLine } from "./item-mapper.ts"
import type { MappingBounds } from "./mapping-program.ts"
import { startMappingThread, type MappingFunctions } from "./mapping-thread.ts"
import type { SourceItem } from "./source-item.ts"

/** Longest time for one item before the thread is ended. Ours: far more than the bound that the thread itself keeps. */
const hangMsMax = 2_500

/** Time between looks at the thread's progress while it works. Ours. */
const pollMs = 100

/** Attempts at an item that ends its thread. Ours: the first may have been the fault of a machine that stood still. */
const attemptsMax = 2

interface Running {
  readonly thread: Thread
  readonly calls: PortCalls<MappingFunctions>
}

/** The mapper with an expression that can be compiled. */
export function threadedMapper(expression: string, bounds: MappingBounds): ItemMapper {
  return new ThreadedMapper(expression, bounds)
}

class ThreadedMapper implements ItemMapper {
  readonly #expression: string
  readonly #bounds: MappingBounds
  readonly #progress = new SharedArrayBuffer(4)
  readonly #current = new Int32Array(this.#progress)
  #running: Running | undefined
  #isClosed = false

  constructor(expression: string, bounds: MappingBounds) {
    this.#expression = expression
    this.#bounds = bounds
  }

  async map(items: readonly SourceItem[]): Promise<readonly MappedLine[]> {
    const sent = items.map(({ bytes, ...item }): SourceItem => {
      // A copy: otherwise the whole chunk that an item came in would be copied for it.
      return { ...item, bytes: Uint8Array.from(bytes) }
    })
    const failures = new Map<number, number>()
    for (;;) {
      const given = sent.map((item, index) => ((failures.get(index) ?? 0) < attemptsMax ? item : this.#failed(item)))
      if (this.#isClosed) throw new Error("The mapping has ended.")
      const lines = await this.#mapOnce(given)
      if (lines !== undefined) return lines
      const index = Atomics.load(this.#current, 0)
      failures.set(index, (failures.get(index) ?? 0) + 1)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await this.#end()
  }

  /** The lines, or undefined when the thread did not get beyond the current item. */
  async #mapOnce(items: readonly SourceItem[]): Promise<readonly MappedLine[] | undefined> {
    Atomics.store(this.#current, 0, 0)
    const { calls } = (this.#running ??= await this.#start())
    // A thread that ends rejects its calls.
    const answer = calls.call("map", [items]).catch(() => undefined)
    using hang = this.#watch()
    const lines = await Promise.race([answer, hang.hung])
    if (lines === undefined) await this.#end()
    return lines
  }

  /** Resolves `hung` when the thread works at one item for too long. */
  #watch(): Disposable & { readonly hung: Promise<undefined> } {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    let seen = -1
    let looks = 0
    const timer = setInterval(() => {
      const index = Atomics.load(this.#current, 0)
      looks = index === seen ? looks + 1 : 0
      seen = index
      if (looks * pollMs >= hangMsMax) resolve(undefined)
    }, pollMs)
    return { hung: promise, [Symbol.dispose]: () => clearInterval(timer) }
  }

  async #start(): Promise<Running> {
    const thread = await startMappingThread({
      ...this.#bounds,
      expression: this.#expression,
      progress: this.#progress,
    })
    return { thread, calls: new PortCalls<MappingFunctions>(thread.port) }
  }

  async #end(): Promise<void> {
    const running = this.#running
    this.#running = undefined
    await running?.thread.kill()
  }

  /** The item, whose fault the thread passes on. */
  #failed(item: SourceItem): SourceItem {
    const detail = "The mapping did not end, or took too much memory."
    return { ...item, fault: { title: "Mapping Too Slow", detail } }
  }
}
