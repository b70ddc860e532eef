/**
 * The embedded store: one SQLite file.
 *
 * It is opened in one of two ways that behave the same. Directly, with both connections in this thread: by the
 * intake thread, the command and the tests. Or with its writes through a port: by the main thread, whose event
 * loop must never wait for the disk.
 */
import type { DatabaseSync } from "node:sqlite"
import type { MessagePort } from "node:worker_threads"
import type { Store, StoreChange, StoreWrites } from "../store.ts"
import { openForReading, openForWriting } from "./database.ts"
import { GroupCommit } from "./group-commit.ts"
import { EmbeddedReads } from "./reads.ts"
import { writesThrough } from "./write-port.ts"
import { createWrites, writeNames } from "./writes.ts"

/** Opens the store in this thread, and makes it when the file is not there. */
export async function openEmbeddedStore({ file }: { file: string }): Promise<Store> {
  const listeners = new Set<(change: StoreChange) => void>()
  const writer = openForWriting(file)
  const announced: StoreChange[] = []
  const groupCommit = new GroupCommit(writer, () => {
    for (const change of announced.splice(0)) for (const listener of listeners) listener(change)
  })
  const writes = createWrites(writer, (change) => announced.push(change))
  const grouped = Object.fromEntries(
    writeNames.map((name) => {
      const write = writes[name] as (...args: readonly unknown[]) => unknown
      return [name, (...args: readonly unknown[]) => groupCommit.run(() => write(...args))]
    }),
  ) as unknown as StoreWrites
  return assemble(openForReading(file), grouped, listeners, () => {
    groupCommit.close()
    writer.close()
  })
}

/** Opens the store that another thread has open, and writes through it. The port is not closed here. */
export async function openEmbeddedStoreThrough(
  port: MessagePort,
  { file }: { file: string },
): Promise<Store> {
  const listeners = new Set<(change: StoreChange) => void>()
  const writes = writesThrough(port, (change) => {
    for (const listener of listeners) listener(change)
  })
  return assemble(openForReading(file), writes, listeners, () => undefined)
}

function assemble(
  reader: DatabaseSync,
  writes: StoreWrites,
  listeners: Set<(change: StoreChange) => void>,
  closeWriter: () => void,
): Store {
  return Object.assign(new EmbeddedReads(reader), writes, {
    onChange(listener: (change: StoreChange) => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async [Symbol.asyncDispose]() {
      listeners.clear()
      reader.close()
      closeWriter()
    },
  })
}
