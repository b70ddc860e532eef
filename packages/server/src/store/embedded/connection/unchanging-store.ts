/**
 * Reads a store that others may use, without leaving a trace.
 *
 * SQLite would leave its two files next to a store that no process has open. So such a store is opened as immutable,
 * and read again, the common way, when it did change after all.
 */
import { existsSync, statSync } from "node:fs"
import { pathToFileURL } from "node:url"

/** The result of `read`, which gets the place to open, may be called a second time, and throws what SQLite throws. */
export async function readWithoutTrace<Result>(
  file: string,
  read: (place: string | URL) => Promise<Result>,
): Promise<Result> {
  const log = `${file}-wal`
  if (existsSync(log)) return read(file)
  const before = statSync(file, { bigint: true })
  const isAsBefore = (): boolean => {
    const after = statSync(file, { bigint: true })
    return !existsSync(log) && after.mtimeNs === before.mtimeNs && after.size === before.size
  }
  try {
    const found = await read(placeToRead(file))
    if (isAsBefore()) return found
  } catch (error) {
    if (isAsBefore()) throw error
  }
  return read(file)
}

/** The place to open for reading a store that no process writes to: one without a log is opened as immutable. */
export function placeToRead(file: string): string | URL {
  if (existsSync(`${file}-wal`)) return file
  const unchanging = pathToFileURL(file)
  unchanging.searchParams.set("immutable", "1")
  return unchanging
}
