/** SQLite's errors as faults of the store. Source: sqlite.org, "Result and Error Codes". */
import { StoreDamaged, StoreFailed, StoreFull, StoreUnreadable } from "../../store-faults.ts"

/** The low byte of a result code is its kind. */
const kindMask = 0xff
const ioError = 10
const corrupt = 11
const full = 13
const cannotOpen = 14
const notADatabase = 26
/** Reads that failed. Most are reported as damage (`read-faults.ts`). */
const ioErrorRead = ioError | (1 << 8)
const ioErrorData = ioError | (32 << 8)
const ioErrorCorruptFileSystem = ioError | (33 << 8)
/** No room for the index of the write-ahead log. It is no part of what lasts, so nothing has failed but this try. */
const ioErrorSharedMemorySize = ioError | (19 << 8)

/** The error by its kind, if it is one of the disk's; else as it is. */
export function storeFault(error: unknown): unknown {
  const code = (error as { errcode?: unknown } | null | undefined)?.errcode
  if (typeof code !== "number" || !(error instanceof Error)) return error
  const cause = { cause: error }
  const kind = code & kindMask
  if (kind === full || code === ioErrorSharedMemorySize) {
    return new StoreFull("The disk of the data directory is full. Make room: Sluice goes on by itself.", cause)
  }
  if (kind === cannotOpen) {
    return new StoreFull(
      `A file beside the store cannot be opened (${error.message}, code ${code}). Look at how many files the process ` +
        "may have open, and at the rights of the data directory: Sluice goes on by itself.",
      cause,
    )
  }
  if (code === ioErrorRead || code === ioErrorData || code === ioErrorCorruptFileSystem) {
    return new StoreUnreadable(unreadableText(`${error.message}, code ${code}`), cause)
  }
  if (kind === ioError) {
    return new StoreFailed(
      `The disk of the data directory failed (${error.message}, code ${code}). Look at the disk, then start Sluice again.`,
      cause,
    )
  }
  if (kind === corrupt || kind === notADatabase) {
    return new StoreDamaged(
      `The store is damaged (${error.message}). Run \`sluice doctor\` to see where, and restore a backup (\`sluice restore\`).`,
      cause,
    )
  }
  return error
}

/** The message about a part of the store that the disk fails to read. `what` says where, or how that was found. */
export function unreadableText(what: string): string {
  return `The disk fails to read a part of the store (${what}). Look at the disk, and move the data to another one.`
}

/** Whether a fault is what SQLite says of a page that makes no sense, and of one that the disk does not give back. */
export function isMalformed(fault: unknown): fault is StoreDamaged {
  if (!(fault instanceof StoreDamaged)) return false
  const { errcode } = (fault.cause ?? {}) as { readonly errcode?: unknown }
  return typeof errcode === "number" && (errcode & kindMask) === corrupt
}

/** The result of `work`. An error of SQLite within it is thrown as the fault of its kind. */
export function withStoreFaults<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw storeFault(error)
  }
}
