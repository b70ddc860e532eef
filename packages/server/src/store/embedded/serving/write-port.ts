/**
 * Writes across a thread border: commands go one way, results and announcements come back.
 *
 *     another thread                           the writer
 *     store.createLink(…) ── createLink(…) ──► the store
 *     result              ◄── after the commit ─┘
 *     listeners           ◄── announce(change)
 *     recent matches      ── follow(log, …) ──► notes what is appended to it
 *
 * A batch of posts is packed on its way (`packed-batch.ts`).
 */
import type { MessagePort } from "node:worker_threads"
import { PortCalls } from "../../../runtime/port-calls.ts"
import type { Store, StoreChange, StoreWrites } from "../../store.ts"
import { announcedTo, type AnnouncedChange, type FollowedKey, type FollowedLogs } from "./appended-entries.ts"
import { StoreFailed } from "../../store-faults.ts"
import { packBatch, unpackBatch, type PackedBatch } from "./packed-batch.ts"
import { writeNames } from "./sync-store.ts"

/** Functions of the writer. */
interface WriterFunctions extends Omit<StoreWrites, "append"> {
  append(batch: PackedBatch, atMs: number): ReturnType<StoreWrites["append"]>
  /** Announces what is appended to a log with its changes, or all arrivals, from now on or no longer. */
  follow(log: FollowedKey, isFollowed: boolean): void
}

/** Functions of a thread that writes. */
interface ListenerFunctions {
  announce(change: AnnouncedChange): void
}

/** A write as a port sees it: its name chooses it, and its arguments are those of the call at the other end. */
type AnyWrite = (...args: readonly unknown[]) => Promise<unknown>

/** Every kind of change. */
export const allChanges = ["matches", "deletions", "control"] as const satisfies readonly StoreChange["kind"][]

/** The parts of a store that a port serves: writes, announcements, and the logs whose new entries go with these. */
type ServedWrites = StoreWrites & Pick<Store, "onChange"> & { readonly followed?: Pick<FollowedLogs, "add" | "delete"> }

/** Lets the other end of `port` write to `store`, and notifies it of changes of these kinds. */
export function serveWrites(
  port: MessagePort,
  store: ServedWrites,
  changeKinds: readonly StoreChange["kind"][] = allChanges,
): void {
  // The logs that this thread follows.
  const followed = new Set<FollowedKey>()
  const setFollowed = (log: FollowedKey, isFollowed: boolean): void => {
    if (followed.has(log) === isFollowed) return
    if (isFollowed) {
      followed.add(log)
      store.followed?.add(log)
    } else {
      followed.delete(log)
      store.followed?.delete(log)
    }
  }
  const writes = writeNames.map((name) => [name, (...args: unknown[]) => (store[name] as AnyWrite)(...args)])
  const append: WriterFunctions["append"] = (packed, atMs) => store.append(unpackBatch(packed), atMs)
  const functions = { ...Object.fromEntries(writes), append, follow: setFollowed } as WriterFunctions
  const closed = (): void => {
    stopListening()
    for (const log of followed) setFollowed(log, false)
  }
  const listener = new PortCalls<ListenerFunctions>(port, functions, { closed })
  const stopListening = store.onChange((change) => {
    const announced = changeKinds.includes(change.kind) ? announcedTo(followed, change) : undefined
    if (announced !== undefined) listener.tell("announce", [announced])
  })
}

/** Writes through a port, and the choice of logs whose new entries come with the changes, and of arrivals. */
export interface PortWrites {
  readonly writes: StoreWrites
  readonly follow: (log: FollowedKey, isFollowed: boolean) => void
}

/** The writes of the store at the other end of `port`. Once that has closed, all reject, those in progress too. */
export function writesThrough(port: MessagePort, announce: (change: AnnouncedChange) => void): PortWrites {
  const functions: ListenerFunctions = { announce }
  const writer = new PortCalls<WriterFunctions>(port, functions, {
    reason: () => new StoreFailed("The writer of the store has ended."),
  })
  const append: StoreWrites["append"] = (batch, atMs) => {
    const packed = packBatch(batch)
    return writer.call("append", [packed, atMs], [packed.texts.buffer])
  }
  const writes = writeNames.map((name) => [
    name,
    (...args: Parameters<WriterFunctions[typeof name]>) => writer.call(name, args),
  ])
  return {
    writes: { ...(Object.fromEntries(writes) as unknown as StoreWrites), append },
    follow: (log, isFollowed) => writer.tell("follow", [log, isFollowed]),
  }
}
