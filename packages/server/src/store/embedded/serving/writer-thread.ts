/**
 * The writer of an embedded store: a thread with the one connection that writes, so that no other thread waits for the
 * disk, and none for a lock. Each thread that writes has a port of its own (`write-port.ts`).
 */
import { MessageChannel, type MessagePort } from "node:worker_threads"
import { armCrashPoint } from "../../../runtime/crash-points.ts"
import { PortCalls, servePort } from "../../../runtime/port-calls.ts"
import { serveThread, startThread } from "../../../runtime/thread.ts"
import { openToWrite } from "./embedded-store.ts"
import { ControlCount } from "./known-changes.ts"
import type { StoreChange } from "../../store.ts"
import { allChanges, serveWrites } from "./write-port.ts"

/** The thread's settings. */
interface WriterSettings {
  /** The store's file. */
  readonly file: string
  /** Most bytes that it keeps of the file's pages. */
  readonly cacheBytes: number
  /** The buffer of the count of control changes. */
  readonly controlCount: SharedArrayBuffer
  /** The point at which a test kills the process. */
  readonly crashPoint?: string | undefined
}

/** Functions of the thread. */
interface WriterFunctions {
  /** Serves the writes of a thread, whose port this is. */
  connect(port: MessagePort, changeKinds: readonly StoreChange["kind"][]): void
}

/** A running writer, seen from another thread. */
export interface StoreWriter {
  /**
   * A port to write through, for this thread or another. It is notified of changes of these kinds, or of all; each
   * notification costs the thread something. The caller closes it.
   */
  connect(changeKinds?: readonly StoreChange["kind"][]): MessagePort
  /** Rejects when the writer fails; else stays pending. */
  readonly failed: Promise<never>
  /** Ends the writer after the write that is in progress. Callers await their own writes first. */
  close(): Promise<void>
}

/**
 * Starts the writer of the store in `file`. Resolves when the store exists and is migrated. Throws as
 * `StoreEngine.serve`.
 */
export async function startStoreWriter(settings: WriterSettings): Promise<StoreWriter> {
  const thread = await startThread(import.meta.url, settings)
  const writer = new PortCalls<WriterFunctions>(thread.port)
  return {
    connect(changeKinds = allChanges) {
      const { port1, port2 } = new MessageChannel()
      writer.tell("connect", [port2, changeKinds], [port2])
      return port1
    },
    failed: thread.failed,
    close: () => thread.close(),
  }
}

serveThread(import.meta.url, async (settings: WriterSettings, ownPort) => {
  const { file, cacheBytes, crashPoint } = settings
  armCrashPoint(crashPoint)
  const store = await openToWrite({ file, cacheBytes, controlCount: new ControlCount(settings.controlCount) })
  const ports: MessagePort[] = []
  servePort<WriterFunctions>(ownPort, {
    connect(port, changeKinds) {
      ports.push(port)
      serveWrites(port, store, changeKinds)
    },
  })
  return {
    async [Symbol.asyncDispose]() {
      for (const port of ports) port.close()
      await store[Symbol.asyncDispose]()
    },
  }
})
