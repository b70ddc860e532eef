/**
 * The embedded store: one SQLite file.
 *
 * It is opened in one of two ways that behave the same. Directly, with both connections in this thread: by its
 * writer (`writer-thread.ts`), the command and the tests. Or with its writes through a port to the writer: by the
 * threads of the server, which must never wait for a flush of the disk.
 */
import type { MessagePort } from "node:worker_threads"
import { systemClock, type Clock } from "../../runtime/clock.ts"
import type { Store, StoreChange, StoreWrites } from "../store.ts"
import type { StoreFailed } from "../store-faults.ts"
import { openForReading, openForWriting } from "./database.ts"
import { GroupCommit } from "./group-commit.ts"
import { EmbeddedReads } from "./reads.ts"
import { writesThrough } from "./write-port.ts"
import { createWrites, writeNames } from "./writes.ts"

/** What an embedded store works on. */
export interface EmbeddedStoreSettings {
  readonly file: string
  /** For the time of gap markers. The machine's own unless given. */
  readonly clock?: Clock
  /** Called when the disk has failed and the process has to end. Unless given, the thread ends with the error. */
  readonly failed?: (error: StoreFailed) => void
}

type Listeners = Set<(change: StoreChange) => void>

/** The writing side of a store alone. */
export type WritableStore = StoreWrites & Pick<Store, "onChange" | typeof Symbol.asyncDispose>

/** Opens the store in this thread, and makes it when the file is not there. */
export async function openEmbeddedStore(settings: EmbeddedStoreSettings): Promise<Store> {
  using opening = new DisposableStack()
  const listeners: Listeners = new Set()
  const writes = openWrites(settings, listeners, opening)
  const reads = new EmbeddedReads(opening.use(openForReading(settings.file)))
  return assemble(reads, writes, listeners, opening.move())
}

/** Opens the writing side of the store in this thread, and makes it when the file is not there. */
export async function openToWrite(settings: EmbeddedStoreSettings): Promise<WritableStore> {
  using opening = new DisposableStack()
  const listeners: Listeners = new Set()
  return assemble({}, openWrites(settings, listeners, opening), listeners, opening.move())
}

/** The writes of a connection that is opened for them, and closed with `opening`. */
function openWrites(
  { file, clock = systemClock, failed = endThread }: EmbeddedStoreSettings,
  listeners: Listeners,
  opening: DisposableStack,
): StoreWrites {
  const writer = opening.use(openForWriting(file))
  let announced: StoreChange[] = []
  const groupCommit = new GroupCommit(writer, {
    committed() {
      const told = announced
      announced = []
      for (const change of told) for (const listener of listeners) listener(change)
    },
    failed,
  })
  const writes = createWrites(writer, { announce: (change) => announced.push(change), clock })
  const grouped = Object.fromEntries(
    writeNames.map((name) => {
      const write = writes[name] as (...args: readonly unknown[]) => unknown
      const holdsPosts = name === "append"
      return [name, (...args: readonly unknown[]) => groupCommit.run(() => write(...args), { holdsPosts })]
    }),
  ) as unknown as StoreWrites
  opening.defer(() => groupCommit.close())
  return grouped
}

/** Opens the store that another thread has open, and writes through it. The port is closed with the store. */
export async function openEmbeddedStoreThrough(
  port: MessagePort,
  { file }: { file: string },
): Promise<Store> {
  const listeners: Listeners = new Set()
  const writes = writesThrough(port, (change) => {
    for (const listener of listeners) listener(change)
  })
  using opening = new DisposableStack()
  opening.defer(() => port.close())
  const reads = new EmbeddedReads(opening.use(openForReading(file)))
  return assemble(reads, writes, listeners, opening.move())
}

function assemble<Reads extends object>(
  reads: Reads,
  writes: StoreWrites,
  listeners: Listeners,
  opened: Disposable,
): Reads & WritableStore {
  return Object.assign(reads, writes, {
    onChange(listener: (change: StoreChange) => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async [Symbol.asyncDispose]() {
      listeners.clear()
      opened[Symbol.dispose]()
    },
  })
}

/** Nobody can catch it: the thread ends with the error, and so does the process. */
function endThread(error: StoreFailed): void {
  setImmediate(() => {
    throw error
  })
}
