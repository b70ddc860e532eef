/** A copy of a store as it is at one moment, while a server may write to it. It is marked as a copy. */
import { closeSync, fsyncSync, openSync, rmSync } from "node:fs"
import { backup, DatabaseSync } from "node:sqlite"
import { makePrivate } from "./database.ts"
import { markAsCopy } from "../nouns/log-epochs.ts"
import { prepare } from "./statements.ts"
import { readWithoutTrace } from "./unchanging-store.ts"

/** How long a statement waits for a server that is just opening the store, or closing it. Ours. */
const busyMs = 5_000

/**
 * Pages in one step: 4 MiB of 16 KiB. Between two steps others may use the disk, and this thread has its turn. Ours:
 * larger steps are no faster.
 */
const pagesPerStep = 256

/** Copies the store of a file into a file that is made anew. When it resolves, the copy is durable, without its name. */
export async function copyStore(file: string, copy: string): Promise<void> {
  await readWithoutTrace(file, async (place) => {
    rmSync(copy, { force: true })
    makePrivate(copy)
    using source = new DatabaseSync(place, { timeout: busyMs, readOnly: true })
    // SQLite begins a copy anew whenever another connection has written between two steps. Under a server that takes
    // posts without a pause it would never end. A transaction that has read sees one moment, and its copy is of that.
    source.exec("BEGIN")
    prepare(source, "SELECT count(*) FROM sqlite_schema").get()
    await backup(source, copy, { rate: pagesPerStep })
  })
  // The first server or command that opens the copy to write begins a new epoch in it.
  {
    using marked = new DatabaseSync(copy)
    markAsCopy(marked)
  }
  const handle = openSync(copy, "r")
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
