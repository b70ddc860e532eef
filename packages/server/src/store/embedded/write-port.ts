/**
 * Writes across a thread border: commands go one way, results and announcements come back.
 *
 *     another thread                           the writer
 *     store.createLink(…) ──► { id, name, args } ──► createLink(…)
 *     result              ◄── { id, result | error } ◄── after the commit
 *     listeners           ◄── { change }
 */
import type { MessagePort } from "node:worker_threads"
import type { Store, StoreChange, StoreWrites } from "../store.ts"
import { storeFaultCode, storeFaultOf, StoreFailed } from "../store-faults.ts"
import { writeNames } from "./sync-store.ts"

interface Command {
  readonly id: number
  readonly name: keyof StoreWrites
  readonly args: readonly unknown[]
}

type Reply =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: unknown; readonly code: string | undefined }
  | { readonly change: StoreChange }

/** A write as a port sees it: its name chooses it, and its arguments are what the other side was called with. */
type AnyWrite = (...args: readonly unknown[]) => Promise<unknown>

/** Every kind of change. */
export const allChanges = ["matches", "control"] as const satisfies readonly StoreChange["kind"][]

/** Lets the other end of `port` write to `store`, and notifies it of changes of these kinds. */
export function serveWrites(
  port: MessagePort,
  store: StoreWrites & Pick<Store, "onChange">,
  changeKinds: readonly StoreChange["kind"][] = allChanges,
): void {
  const reply = (message: Reply): void => port.postMessage(message)
  const stopListening = store.onChange((change) => {
    if (changeKinds.includes(change.kind)) reply({ change })
  })
  port.on("close", stopListening)
  port.on("message", ({ id, name, args }: Command) => {
    const write = store[name].bind(store) as AnyWrite
    write(...args).then(
      (result) => reply({ id, result }),
      (error: unknown) => reply({ id, error, code: storeFaultCode(error) }),
    )
  })
}

/** The writes of the store at the other end of `port`. Once that has closed, all reject, those in progress too. */
export function writesThrough(port: MessagePort, announce: (change: StoreChange) => void): StoreWrites {
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
  const write =
    (name: keyof StoreWrites): AnyWrite =>
    (...args) =>
      new Promise((resolve, reject) => {
        if (hasEnded) {
          reject(writerEnded())
          return
        }
        lastId += 1
        port.postMessage({ id: lastId, name, args } satisfies Command)
        waiting.set(lastId, { resolve, reject })
      })
  return Object.fromEntries(writeNames.map((name) => [name, write(name)])) as unknown as StoreWrites
}

/** Without it a write would stay pending forever when there is no writer any more. */
function writerEnded(): StoreFailed {
  return new StoreFailed("The writer of the store has ended.")
}
