/**
 * The writer of an embedded store: a thread with the one connection that writes, so that nobody else waits for the
 * disk, and nobody for a lock. Whoever writes does it through a port of its own (`write-port.ts`).
 */
import { MessageChannel, MessagePort } from "node:worker_threads"
import { armCrashPoint } from "../../runtime/crash-points.ts"
import { serveThread, startThread, ThreadRefused } from "../../runtime/thread.ts"
import { StoreTooNew } from "../store-faults.ts"
import { openEmbeddedStore } from "./embedded-store.ts"
import { serveWrites } from "./write-port.ts"

/** What the thread works on. */
interface WriterSettings {
  /** Of the store. */
  readonly file: string
  /** Where a test has the process killed. */
  readonly crashPoint?: string | undefined
}

/** A running writer, seen from another thread. */
export interface StoreWriter {
  /** A port to write through, for this thread or another. It is closed by whoever has it. */
  connect(): MessagePort
  /** Rejects when the writer fails; else pending for ever. */
  readonly failed: Promise<never>
  /** Ends the writer after what it is doing. Whoever needs an answer has waited for it before. */
  close(): Promise<void>
}

/**
 * Starts the writer of the store in `file`, and answers once that is there and up to date. Throws `StoreTooNew`.
 */
export async function startStoreWriter(settings: WriterSettings): Promise<StoreWriter> {
  const thread = await startThread(import.meta.url, settings).catch((error: unknown) => {
    throw error instanceof ThreadRefused ? new StoreTooNew(error.message) : error
  })
  return {
    connect() {
      const { port1, port2 } = new MessageChannel()
      thread.post(port2, [port2])
      return port1
    },
    failed: thread.failed,
    close: () => thread.close(),
  }
}

await serveThread(import.meta.url, async ({ file, crashPoint }: WriterSettings) => {
  armCrashPoint(crashPoint)
  const store = await openEmbeddedStore({ file }).catch((error: unknown) => {
    throw error instanceof StoreTooNew ? new ThreadRefused("store-too-new", error.message) : error
  })
  const ports: MessagePort[] = []
  return {
    receive(port) {
      if (!(port instanceof MessagePort)) return
      ports.push(port)
      serveWrites(port, store)
    },
    async [Symbol.asyncDispose]() {
      for (const port of ports) port.close()
      await store[Symbol.asyncDispose]()
    },
  }
})
