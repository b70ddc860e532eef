/**
 * Says of a read that failed whether the store is damaged or its disk fails.
 *
 * SQLite reports both as "database disk image is malformed", and what an operator does about them differs. So the files
 * are read through once, by another process, after the first such failure.
 */
import { existsSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { systemClock, type Clock } from "../../../runtime/clock.ts"
import { StoreUnreadable } from "../../store-faults.ts"
import { firstUnreadable } from "./read-through.ts"
import { isMalformed, unreadableText } from "./sqlite-faults.ts"

/** How long what was found counts. Ours: the files are read anew as often, while reads fail. */
const foundMs = 600_000

/** How long a failed read waits until that is found; after it, the read is reported as SQLite does. Ours. */
const waitMsMax = 5_000

/** The failed reads of one store. */
export class ReadFaults {
  readonly #file: string
  readonly #clock: Pick<Clock, "monotonicMs">
  #found: { readonly atMs: number; readonly place: Promise<string | undefined> } | undefined

  constructor(file: string, clock: Pick<Clock, "monotonicMs"> = systemClock) {
    this.#file = file
    this.#clock = clock
  }

  /** The fault of a read by its true kind. */
  async named(fault: unknown, { waitMs = waitMsMax } = {}): Promise<unknown> {
    if (!isMalformed(fault)) return fault
    const place = await this.#placeWithin(waitMs)
    return place === undefined ? fault : new StoreUnreadable(unreadableText(place), { cause: fault.cause })
  }

  /** The rows as they are read. A fault is thrown by its true kind. */
  async *namingRows<Row>(rows: AsyncIterable<Row>): AsyncGenerator<Row, void, void> {
    try {
      yield* rows
    } catch (error) {
      throw await this.named(error)
    }
  }

  /** Throws `StoreUnreadable` when the disk fails to read a part of the store. */
  async refuseUnreadable({ waitMs }: { readonly waitMs: number }): Promise<void> {
    const place = await this.#placeWithin(waitMs)
    if (place !== undefined) throw new StoreUnreadable(unreadableText(place))
  }

  /** The result of `read`, whose faults are thrown by their true kinds. */
  async naming<Result>(read: () => Result | Promise<Result>, options?: { waitMs: number }): Promise<Result> {
    try {
      return await read()
    } catch (error) {
      throw await this.named(error, options)
    }
  }

  async #placeWithin(waitMs: number): Promise<string | undefined> {
    const waiting = new AbortController()
    const late = sleep(waitMs, undefined, { signal: waiting.signal }).catch(() => undefined)
    const place = await Promise.race([this.#place(), late])
    waiting.abort()
    return place
  }

  #place(): Promise<string | undefined> {
    const nowMs = this.#clock.monotonicMs()
    if (this.#found === undefined || nowMs - this.#found.atMs > foundMs) {
      this.#found = { atMs: nowMs, place: unreadablePlace(this.#file) }
    }
    return this.#found.place
  }
}

/** Describes the first place of the store or its log that the disk fails to read. */
async function unreadablePlace(file: string): Promise<string | undefined> {
  for (const path of [file, `${file}-wal`]) {
    if (!existsSync(path)) continue
    const found = await firstUnreadable(path)
    if (found !== undefined) return `${path} from byte ${found.at} on: ${found.message}`
  }
  return undefined
}
