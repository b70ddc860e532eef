/** A directory of this user's: made when it is missing, refused when it belongs to another user. */
import { mkdirSync, statSync, type Stats } from "node:fs"
import { dirname, resolve } from "node:path"
import { ConfigError } from "../runtime/config-error.ts"

/**
 * Makes the directory, and those above it, when it is missing. Throws `ConfigError` when it cannot be made, is no
 * directory, or belongs to another user; then nothing was written.
 */
export function ensureOwnDirectory(directory: string): void {
  const found = statSync(directory, { throwIfNoEntry: false })
  if (found?.isDirectory() === true) refuseForeignOwner(directory, found)
  else makeDirectory(directory)
}

/**
 * Even of root: what root writes there would be root's, and the owner could not start again. On systems without user
 * ids every directory that the process may write to is accepted.
 */
function refuseForeignOwner(directory: string, { uid }: Stats): void {
  const self = process.geteuid?.()
  if (self === undefined || uid === self) return
  throw new ConfigError(
    `The data directory ${directory} belongs to user ${uid}, and this is user ${self}. Run Sluice as user ${uid}, ` +
      "or name another directory with --data.",
  )
}

/**
 * Each missing directory by itself: Node's recursive `mkdir` never returns where the system says that the parent of a
 * directory is missing although it is there, as below /proc.
 */
function makeDirectory(directory: string): void {
  const missing: string[] = []
  for (let at = resolve(directory); ; at = dirname(at)) {
    if (statSync(at, { throwIfNoEntry: false })?.isDirectory() === true || at === dirname(at)) break
    missing.unshift(at)
  }
  for (const path of missing) makeOne(directory, path)
}

function makeOne(directory: string, path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const isThere = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
    // Another process may be making it.
    if (code === "EEXIST" && isThere) return
    if (code === "EEXIST" || code === "ENOTDIR") {
      throw new ConfigError(`The data directory ${directory} is not a directory.`, { cause: error })
    }
    throw new ConfigError(`The data directory ${directory} cannot be made: ${message}.`, { cause: error })
  }
}
