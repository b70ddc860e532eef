/**
 * Shares of a pool of connections, so that no caller takes all of them.
 *
 *     requests ──► by app, in turn ──┐   one connection is left for the other class,
 *                                    ├─► and one for other apps of the same class
 *     logs ──────► by app, in turn ──┘
 *
 * A call holds its share from its first statement until its result is handled: what requests do with their results takes
 * turns, so that a hundred results that come at once do not hold up the thread. Without shares, one app whose transactions wait for each
 * other's locks would have all connections wait with them.
 */
import assert from "node:assert/strict"
import type { FairRounds } from "../../../runtime/fair-rounds.ts"
import { FairQueue } from "../../../runtime/fair-queue.ts"
import type { Reader } from "../../readers.ts"

/** The connections that are in use, and the calls that wait for one. */
export class ConnectionShares {
  readonly #connections: number
  readonly #rounds: Pick<FairRounds, "turn"> | undefined
  readonly #inUse = { log: 0, request: 0 }
  /** By class and owner. */
  readonly #ofOwners = new Map<string, number>()
  readonly #waiting = { log: new FairQueue<() => void>(), request: new FairQueue<() => void>() }

  /** For a pool of so many connections, two at least. Requests go on with their results in `rounds`, or at once. */
  constructor(connections: number, rounds?: Pick<FairRounds, "turn">) {
    assert(connections >= 2)
    this.#connections = connections
    this.#rounds = rounds
  }

  /** The result of `work`, which begins when its reader may use a connection. */
  async run<Result>(reader: Reader, work: () => Promise<Result>): Promise<Result> {
    if (this.#hasRoom(reader)) this.#count(reader, 1)
    else {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#waiting[reader.kind].push(reader.owner, () => {
        this.#count(reader, 1)
        resolve()
      })
      await promise
    }
    try {
      const result = await work()
      // Kept until then, so that results are not read faster than they are handled.
      if (reader.kind === "request") await this.#rounds?.turn(reader.owner)
      return result
    } finally {
      this.#count(reader, -1)
      this.#beginWaiting(reader.kind === "log" ? "request" : "log")
    }
  }

  #hasRoom({ kind, owner }: Reader): boolean {
    const { log, request } = this.#inUse
    return (
      log + request < this.#connections &&
      this.#inUse[kind] < this.#connections - 1 &&
      (this.#ofOwners.get(`${kind} ${owner}`) ?? 0) < Math.max(1, this.#connections - 2)
    )
  }

  #count({ kind, owner }: Reader, change: 1 | -1): void {
    this.#inUse[kind] += change
    const key = `${kind} ${owner}`
    const count = (this.#ofOwners.get(key) ?? 0) + change
    if (count === 0) this.#ofOwners.delete(key)
    else this.#ofOwners.set(key, count)
  }

  /** Has as many begin as there is room for, `first` before the other class. */
  #beginWaiting(first: Reader["kind"]): void {
    for (const kind of [first, first === "log" ? "request" : "log"] as const) {
      for (;;) {
        const begin = this.#waiting[kind].shift((owner) => this.#hasRoom({ kind, owner }))
        if (begin === undefined) break
        begin()
      }
    }
  }
}

/** The same calls, each of which waits for a share. `readerOf` says for whom it is. */
export function withShares<Calls extends object>(
  shares: ConnectionShares,
  calls: Calls,
  readerOf: { readonly [Name in keyof Calls]: unknown },
): Calls {
  const shared = Object.entries(calls).map(([name, call]) => {
    const readerOfCall = readerOf[name as keyof Calls] as (...args: readonly unknown[]) => Reader
    const run = call as (...args: readonly unknown[]) => Promise<unknown>
    return [name, (...args: readonly unknown[]) => shares.run(readerOfCall(...args), () => run(...args))]
  })
  return Object.fromEntries(shared) as Calls
}
