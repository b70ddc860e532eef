/**
 * The embedded store: one SQLite file.
 *
 * It is opened in one of two ways that behave the same. Directly, with both connections in this thread: by its
 * writer (`writer-thread.ts`), the command and the tests. Or with its writes through a port to the writer: by the
 * threads of the server, which must never wait for a flush of the disk.
 */
import type { MessagePort } from "node:worker_threads"
import { systemClock, type Clock } from "../../runtime/clock.ts"
import type { Store, StoreChange, StoreReads, StoreWrites } from "../store.ts"
import type { StoreFailed } from "../store-faults.ts"
import { defaultCacheBytes, openForReading, openForWriting } from "./database.ts"
import { GroupCommit } from "./group-commit.ts"
import { createReads } from "./reads.ts"
import { writeNames } from "./sync-store.ts"
import { writesThrough } from "./write-port.ts"
import { createWrites } from "./writes.ts"

/** What an embedded store works on. */
export interface EmbeddedStoreSettings {
  readonly file: string
  /** Most bytes that each of its connections keeps of the file's pages, and what reads keep of matches. */
  readonly cacheBytes?: number
  /** For the time of gap markers, and for the turns of reads. The machine's own unless given. */
  readonly clock?: Clock
  /** Called when the disk has failed and the process has to end. Unless given, the thread ends with the error. */
  readonly failed?: (error: StoreFailed) => void
}

type Listeners = Set<(change: StoreChange) => void>

/** The writing side of a store alone. */
export type WritableStore = StoreWrites & Pick<Store, "onChange" | typeof Symbol.asyncDispose>

/** Opens the store in this thread, and creates it when the file is not there. */
export async function openEmbeddedStore(settings: EmbeddedStoreSettings): Promise<Store> {
  using opening = new DisposableStack()
  const listeners: Listeners = new Set()
  const writes = openWrites(settings, listeners, opening)
  const reads = openReads(settings, opening)
  return assemble(reads, writes, listeners, opening.move())
}

/** Opens the writing side of the store in this thread, and creates it when the file is not there. */
export async function openToWrite(settings: EmbeddedStoreSettings): Promise<WritableStore> {
  using opening = new DisposableStack()
  const listeners: Listeners = new Set()
  return assemble({}, openWrites(settings, listeners, opening), listeners, opening.move())
}

/** The reads of a connection that is opened for them, and closed with `opening`. */
function openReads(
  { file, cacheBytes = defaultCacheBytes, clock = systemClock }: EmbeddedStoreSettings,
  opening: DisposableStack,
): StoreReads {
  const db = opening.use(openForReading(file, { cacheBytes }))
  return createReads(db, { recentBytesMax: cacheBytes, clock })
}

/** The writes of a connection that is opened for them, and closed with `opening`. */
function openWrites(
  { file, cacheBytes = defaultCacheBytes, clock = systemClock, failed = endThread }: EmbeddedStoreSettings,
  listeners: Listeners,
  opening: DisposableStack,
): StoreWrites {
  const writer = opening.use(openForWriting(file, { cacheBytes }))
  let announced: StoreChange[] = []
  const groupCommit = new GroupCommit(writer, {
    committed() {
      const changes = announced
      announced = []
      for (const change of changes) for (const listener of listeners) listener(change)
    },
    failed,
  })
  const writes = createWrites(writer, { announce: (change) => announced.push(change), clock })
  const grouped = Object.fromEntries(
    writeNames.map((name) => {
      const write = writes[name] as (...args: readonly unknown[]) => unknown
      return [
        name,
        (...args: readonly unknown[]) => {
          const posts = name === "append" ? (args[0] as readonly unknown[]).length : 0
          return groupCommit.run(() => write(...args), { posts })
        },
      ]
    }),
  ) as unknown as StoreWrites
  opening.defer(() => groupCommit.close())
  return grouped
}

/** Time between two checks for control changes that other processes made, such as `sluice app revoke`. Ours. */
const controlPollMs = 1_000

/**
 * Opens the store that another thread has open, and writes through it. The port is closed with the store. It announces
 * what other processes have changed in control too, within a second.
 */
export async function openEmbeddedStoreThrough(
  port: MessagePort,
  settings: Omit<EmbeddedStoreSettings, "failed">,
): Promise<Store> {
  const listeners: Listeners = new Set()
  const announce = (change: StoreChange): void => {
    for (const listener of listeners) listener(change)
  }
  const writes = writesThrough(port, announce)
  using opening = new DisposableStack()
  opening.defer(() => port.close())
  const reads = openReads(settings, opening)
  const closed = new AbortController()
  opening.defer(() => closed.abort())
  void watchControl(reads, settings.clock ?? systemClock, announce, closed.signal)
  return assemble(reads, writes, listeners, opening.move())
}

/** Announces a change whenever the control version is another one. What this process changed is announced once more. */
async function watchControl(
  reads: Pick<Store, "controlVersion">,
  clock: Clock,
  announce: (change: StoreChange) => void,
  signal: AbortSignal,
): Promise<void> {
  let seen: number | undefined
  while (!signal.aborted) {
    try {
      const version = await reads.controlVersion()
      if (seen !== undefined && version !== seen) announce({ kind: "control" })
      seen = version
    } catch {
      // Callers that read more than this meet the failure, and report it.
    }
    await clock.sleep(controlPollMs, signal)
  }
}

/** Opens the reading side of a store that exists, alone. */
export async function openToRead({ file }: { file: string }): Promise<StoreReads & AsyncDisposable> {
  using opening = new DisposableStack()
  const reads = openReads({ file }, opening)
  const opened = opening.move()
  return Object.assign(reads, { [Symbol.asyncDispose]: async () => opened.dispose() })
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
