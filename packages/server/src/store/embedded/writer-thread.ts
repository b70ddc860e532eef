/**
 * The writer of an embedded store: a thread with the one connection that writes, so that nobody else waits for the
 * disk, and nobody for a lock. Whoever writes does it through a port of its own (`write-port.ts`).
 */
import { MessageChannel, type MessagePort } from "node:worker_threads"
import { armCrashPoint } from "../../runtime/crash-points.ts"
import { serveThread, startThread, ThreadRefused } from "../../runtime/thread.ts"
import { StoreTooNew } from "../store-faults.ts"
import { openToWrite } from "./embedded-store.ts"
import type { StoreChange } from "../store.ts"
import { allChanges, serveWrites } from "./write-port.ts"

/** What the thread works on. */
interface WriterSettings {
  /** Of the store. */
  readonly file: string
  /** Where a test has the process killed. */
  readonly crashPoint?: string | undefined
}

/** Somebody who writes. */
interface Connection {
  readonly port: MessagePort
  readonly told: readonly StoreChange["kind"][]
}

/** A running writer, seen from another thread. */
export interface StoreWriter {
  /**
   * A port to write through, for this thread or another, which hears of changes of these kinds; of all unless given,
   * though to hear of each match costs a thread something. It is closed by whoever has it.
   */
  connect(told?: readonly StoreChange["kind"][]): MessagePort
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
    connect(told = allChanges) {
      const { port1, port2 } = new MessageChannel()
      thread.post({ port: port2, told } satisfies Connection, [port2])
      return port1
    },
    failed: thread.failed,
    close: () => thread.close(),
  }
}

await serveThread(import.meta.url, async ({ file, crashPoint }: WriterSettings) => {
  armCrashPoint(crashPoint)
  const store = await openToWrite({ file }).catch((error: unknown) => {
    throw error instanceof StoreTooNew ? new ThreadRefused(error.message) : error
  })
  const ports: MessagePort[] = []
  return {
    receive(connection) {
      const { port, told } = connection as Connection
      ports.push(port)
      serveWrites(port, store, told)
    },
    async [Symbol.asyncDispose]() {
      for (const port of ports) port.close()
      await store[Symbol.asyncDispose]()
    },
  }
})
