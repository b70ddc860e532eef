/**
 * Reads a file from its start to its end, and prints where the disk first fails, if it does: a process of its own.
 *
 * A process that closes a file loses all locks that it has on it, SQLite's too, so a server never opens its store's
 * file except through SQLite. Source: POSIX, fcntl.
 */
import { execFile } from "node:child_process"
import { closeSync, openSync, readSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

/** A place in a file that cannot be read. */
export interface UnreadablePlace {
  /** Offset of the first byte of which the disk gives nothing back. */
  readonly at: number
  /** The system's error. */
  readonly message: string
}

const readBytes = 1_048_576

/** Longest that the file is read. Ours: at 500 MB a second these are 60 GB. */
const readMsMax = 120_000

const script = fileURLToPath(import.meta.url)

/**
 * Finds the first place of a file that the disk fails to read; undefined when it reads all of it, or when that is not
 * known.
 */
export async function firstUnreadable(file: string): Promise<UnreadablePlace | undefined> {
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [script, file], { timeout: readMsMax })
    return stdout === "" ? undefined : (JSON.parse(stdout) as UnreadablePlace)
  } catch {
    return undefined
  }
}

function readThrough(file: string): UnreadablePlace | undefined {
  const handle = openSync(file, "r")
  const buffer = Buffer.allocUnsafe(readBytes)
  let at = 0
  try {
    for (let read = -1; read !== 0; at += read) read = readSync(handle, buffer, 0, readBytes, at)
    return undefined
  } catch (error) {
    return { at, message: (error as Error).message }
  } finally {
    closeSync(handle)
  }
}

const [, called, fileToRead] = process.argv
if (called === script && fileToRead !== undefined) {
  const found = readThrough(fileToRead)
  if (found !== undefined) process.stdout.write(JSON.stringify(found))
}
