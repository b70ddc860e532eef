/**
 * Writes across a thread border: commands go one way, results and announcements come back.
 *
 *     another thread                           the writer
 *     store.createLink(…) ──► { id, name, args } ──► createLink(…)
 *     result              ◄── { id, result | error } ◄── after the commit
 *     listeners           ◄── { change }
 *     recent matches      ──► { log, isFollowed } ──► notes what is appended to it
 *
 * A batch of posts is packed on its way (`packed-batch.ts`).
 */
import type { MessagePort, Transferable } from "node:worker_threads"
import type { Store, StoreChange, StoreWrites } from "../../store.ts"
import { announcedTo, type AnnouncedChange, type FollowedLogs, type LogKey } from "./appended-entries.ts"
import { storeFaultCode, storeFaultOf, StoreFailed } from "../../store-faults.ts"
import { packBatch, unpackBatch, type PackedBatch } from "./packed-batch.ts"
import { writeNames } from "./sync-store.ts"

interface Command {
  readonly id: number
  readonly name: keyof StoreWrites
  readonly args: readonly unknown[]
}

interface AppendCommand extends Command {
  readonly name: "append"
  readonly args: readonly [PackedBatch, number]
}

interface Following {
  readonly log: LogKey
  readonly isFollowed: boolean
}

type Reply =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: unknown; readonly code: string | undefined }
  | { readonly change: AnnouncedChange }

/** A write as a port sees it: its name chooses it, and its arguments are what the other side was called with. */
type AnyWrite = (...args: readonly unknown[]) => Promise<unknown>

/** Every kind of change. */
export const allChanges = ["matches", "control"] as const satisfies readonly StoreChange["kind"][]

/** What a port serves: a store's writes, its announcements, and the logs whose new entries go with these. */
type ServedWrites = StoreWrites & Pick<Store, "onChange"> & { readonly followed?: Pick<FollowedLogs, "add" | "delete"> }

/** Lets the other end of `port` write to `store`, and notifies it of changes of these kinds. */
export function serveWrites(
  port: MessagePort,
  store: ServedWrites,
  changeKinds: readonly StoreChange["kind"][] = allChanges,
): void {
  const reply = (message: Reply): void => port.postMessage(message)
  // Of the logs that any thread follows, those that this one does.
  const followed = new Set<LogKey>()
  const follow = (log: LogKey): void => {
    if (!followed.has(log)) store.followed?.add(log)
    followed.add(log)
  }
  const unfollow = (log: LogKey): void => {
    if (followed.delete(log)) store.followed?.delete(log)
  }
  const stopListening = store.onChange((change) => {
    if (changeKinds.includes(change.kind)) reply({ change: announcedTo(followed, change) })
  })
  port.on("close", () => {
    stopListening()
    for (const log of followed) unfollow(log)
  })
  port.on("message", (message: Command | AppendCommand | Following) => {
    if ("log" in message) {
      if (message.isFollowed) follow(message.log)
      else unfollow(message.log)
      return
    }
    const { id } = message
    resultOf(store, message).then(
      (result) => reply({ id, result }),
      (error: unknown) => reply({ id, error, code: storeFaultCode(error) }),
    )
  })
}

function resultOf(store: StoreWrites, command: Command | AppendCommand): Promise<unknown> {
  if (isAppend(command)) {
    const [packed, atMs] = command.args
    return store.append(unpackBatch(packed), atMs)
  }
  const write = store[command.name].bind(store) as AnyWrite
  return write(...command.args)
}

function isAppend(command: Command | AppendCommand): command is AppendCommand {
  return command.name === "append"
}

/** The writes of the store at the other end of `port`. Once that has closed, all reject, those in progress too. */
export function writesThrough(port: MessagePort, announce: (change: AnnouncedChange) => void): StoreWrites {
  const waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: unknown) => void }>()
  let lastId = 0
  let hasEnded = false
  port.on("message", (message: Reply) => {
    if ("change" in message) {
      announce(message.change)
      return
    }
    const caller = waiting.get(message.id)
    waiting.delete(message.id)
    if ("error" in message) caller?.reject(storeFaultOf(message.code, message.error))
    else caller?.resolve(message.result)
  })
  port.on("close", () => {
    hasEnded = true
    for (const caller of waiting.values()) caller.reject(writerEnded())
    waiting.clear()
  })
  const send = (command: Omit<Command, "id">, transferred: readonly Transferable[] = []): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (hasEnded) {
        reject(writerEnded())
        return
      }
      lastId += 1
      port.postMessage({ ...command, id: lastId } satisfies Command, [...transferred])
      waiting.set(lastId, { resolve, reject })
    })
  const append: StoreWrites["append"] = (batch, atMs) => {
    const packed = packBatch(batch)
    const command: Omit<AppendCommand, "id"> = { name: "append", args: [packed, atMs] }
    return send(command, [packed.texts.buffer]) as Promise<readonly boolean[]>
  }
  const writes = writeNames.map((name) => [name, (...args: readonly unknown[]) => send({ name, args })])
  return { ...(Object.fromEntries(writes) as unknown as StoreWrites), append }
}

/** Without it a write would stay pending forever when there is no writer any more. */
function writerEnded(): StoreFailed {
  return new StoreFailed("The writer of the store has ended.")
}

/** Asks the other end of `port` for what is appended to a log, with the announcement of it, or no longer. */
export function followThrough(port: MessagePort, log: LogKey, isFollowed: boolean): void {
  port.postMessage({ log, isFollowed } satisfies Following)
}
