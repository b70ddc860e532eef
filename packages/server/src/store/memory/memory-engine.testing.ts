/**
 * The in-memory store as an engine, for tests that run the whole server on it.
 *
 * The state is in the main thread. Another thread has no state:
 * each of its calls goes through a port to the main thread, as plain data, and the result comes back.
 */
import { Readable } from "node:stream"
import { MessageChannel, type MessagePort } from "node:worker_threads"
import type { StoredPost } from "../../model/post.ts"
import type { StoredRule } from "../../model/rule.ts"
import type { ServedStore, StoreAccess, StoreEngine, StoreOpener } from "../engine.ts"
import { systemClock } from "../../runtime/clock.ts"
import { soleLeases } from "../leases.ts"
import type { Store, StoreChange } from "../store.ts"
import { MemorySearchIndex } from "./memory-search-index.testing.ts"
import { MemoryState, MemoryStore } from "./memory-store.testing.ts"

/** The engine of an in-memory store of its own, which lives as long as the engine. */
export function memoryEngine(): StoreEngine {
  const state = new MemoryState()
  return {
    place: "memory of this process",
    open: async () => new MemoryStore(state),
    serve: async () => serve(new MemoryStore(state)),
    async examine(examination) {
      const store = new MemoryStore(state)
      return { kind: "read", version: 1, result: await examination(store.audit(), store) }
    },
  }
}

/**
 * Opens a granted access: the port through which it reaches the main thread.
 * @public `openStore` imports it by the URL of this module.
 */
export const opener: StoreOpener = {
  module: import.meta.url,
  openAccess: async (data) => storeThrough(data as MessagePort),
  openReadAccess: async (data) => storeThrough(data as MessagePort),
  openSearchIndex: async () => new MemorySearchIndex(),
}

function serve(store: MemoryStore): ServedStore {
  const ports: MessagePort[] = []
  const grant = (): StoreAccess => {
    const { port1, port2 } = new MessageChannel()
    serveThrough(port1, store)
    ports.push(port1)
    return { module: opener.module, data: port2, ports: [port2] }
  }
  return {
    store,
    clock: systemClock,
    leases: soleLeases,
    grantAccess: grant,
    grantReadAccess: grant,
    failed: new Promise<never>(() => undefined),
    async [Symbol.asyncDispose]() {
      for (const port of ports) port.close()
      await store[Symbol.asyncDispose]()
    },
  }
}

interface Call {
  readonly id: number
  readonly name: keyof Store
  readonly args: readonly unknown[]
}

type Reply =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: unknown }
  | { readonly change: StoreChange }

type Method = (...args: unknown[]) => unknown

function serveThrough(port: MessagePort, store: MemoryStore): void {
  const reply = (message: Reply): void => port.postMessage(message)
  const stopListening = store.onChange((change) => {
    if (change.kind === "control") reply({ change })
  })
  port.on("close", stopListening)
  port.on("message", ({ id, name, args }: Call) => {
    callOf(store, name, args).then(
      (result) => reply({ id, result }),
      (error: unknown) => reply({ id, error }),
    )
  })
}

/** The result of a call as plain data: what comes one by one comes all at once. */
async function callOf(store: Store, name: keyof Store, args: readonly unknown[]): Promise<unknown> {
  const result = (store[name] as Method).apply(store, [...args])
  if (name === "recentPosts") return Array.fromAsync(result as ReturnType<Store["recentPosts"]>)
  if (name !== "allRules") return result
  const { rules, seq } = await (result as ReturnType<Store["allRules"]>)
  return { rules: await Array.fromAsync(rules), seq }
}

/** The store at the other end of `port`, which is closed with it. */
function storeThrough(port: MessagePort): Store {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  const listeners = new Set<(change: StoreChange) => void>()
  let lastId = 0
  port.on("message", (message: Reply) => {
    if ("change" in message) {
      for (const listener of listeners) listener(message.change)
      return
    }
    const caller = waiting.get(message.id)
    waiting.delete(message.id)
    if ("error" in message) caller?.reject(message.error)
    else caller?.resolve(message.result)
  })
  port.on("close", () => {
    for (const caller of waiting.values()) caller.reject(new Error("The store is closed."))
  })
  const call = (name: keyof Store, ...args: readonly unknown[]): Promise<unknown> => {
    lastId += 1
    const caller = Promise.withResolvers<unknown>()
    waiting.set(lastId, caller)
    port.postMessage({ id: lastId, name, args } satisfies Call)
    return caller.promise
  }
  const own: Partial<Store> = {
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async *recentPosts(range) {
      yield* (await call("recentPosts", range)) as readonly StoredPost[]
    },
    async allRules() {
      const { rules, seq } = (await call("allRules")) as { rules: readonly StoredRule[]; seq: number }
      return { rules: Readable.from(rules), seq }
    },
    [Symbol.asyncDispose]: async () => port.close(),
  }
  return new Proxy(own as Store, {
    get(target, name: keyof Store | "then") {
      // `await` reads this member of any value.
      if (name === "then") return undefined
      return target[name] ?? ((...args: readonly unknown[]) => call(name, ...args))
    },
  })
}
