/**
 * Checks that a server may work on a data directory: only its owner may read or change the directory and its files, each
 * file is a regular file, and a store that was there is still there.
 */
import { accessSync, chmodSync, constants, existsSync, lstatSync, readdirSync, statSync, type Stats } from "node:fs"
import { statfs } from "node:fs/promises"
import { join } from "node:path"
import { ConfigError } from "../runtime/config-error.ts"
import type { DataFile, StoreFiles } from "../store/engine.ts"
import { ensureOwnDirectory } from "./own-directory.ts"

/** The file of the master key. */
export function keyFile(directory: string): string {
  return join(directory, keyName)
}

const keyName = "master.key"

/** The new key, during a rotation. */
export function nextKeyFile(directory: string): string {
  return join(directory, nextKeyName)
}

const nextKeyName = "master.key.next"
const credentialsName = "credentials.json"

/** Files other than those of the store. */
const files: readonly DataFile[] = [
  { name: keyName, mayBeLink: true },
  { name: nextKeyName, mayBeLink: false },
  { name: credentialsName, mayBeLink: false },
]

/**
 * Creates the directory when it is missing, and refuses one that belongs to another user. Takes the rights of other users
 * away; where the file system keeps them, and others may change the directory, it is refused. So is a directory with
 * another user's file in the place of one of ours, or with something that is not a regular file: opening a FIFO would wait
 * forever. Throws `ConfigError`, or the system's error for a directory that cannot be used.
 */
export function ensureDirectory(store: StoreFiles): void {
  const { directory } = store
  ensureOwnDirectory(directory)
  // The store would report a read-only disk as a file that it cannot open.
  accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK)
  ensurePrivate(directory)
  refuseForeignFiles(store)
}

/** Refuses a directory in which a file of ours is another user's, or not a regular file. Throws `ConfigError`. */
export function refuseForeignFiles({ directory, all }: StoreFiles): void {
  const owner = statSync(directory).uid
  for (const { name, mayBeLink } of [...all, ...files]) refuseForeignFile(join(directory, name), mayBeLink, owner)
}

/** Mode bits that let others do anything, and those that let them change something. */
const othersMask = 0o077
const othersWriteMask = 0o022

function ensurePrivate(directory: string): void {
  // On other systems a mode does not say who may do what.
  if (process.geteuid === undefined || (statSync(directory).mode & othersMask) === 0) return
  chmodSync(directory, 0o700)
  // Some file systems accept a mode and keep another one.
  if ((statSync(directory).mode & othersWriteMask) !== 0) {
    throw new ConfigError(
      `Others may change the data directory ${directory}, and its file system cannot forbid it. ` +
        "Name a directory on another one with --data.",
    )
  }
}

const rootUser = 0

/** `owner` is the user id of the directory's owner. */
function refuseForeignFile(path: string, mayBeLink: boolean, owner: number): void {
  const self = process.geteuid?.()
  const entry = lstatSync(path, { throwIfNoEntry: false })
  if (entry === undefined) return
  if (entry.isSymbolicLink() && !mayBeLink) {
    throw new ConfigError(`${path} is a link, and must be a file.`)
  }
  const target = statSync(path, { throwIfNoEntry: false })
  if (target === undefined) throw new ConfigError(`${path} is a link that leads nowhere.`)
  if (!target.isFile()) throw new ConfigError(`${path} is ${kindOf(target)}, and must be a file.`)
  if (self !== undefined && ![self, owner, rootUser].includes(target.uid)) {
    throw new ConfigError(
      `${path} belongs to user ${target.uid}, who may have put it there while others could change the directory. ` +
        "Check what it is, and remove it.",
    )
  }
}

function kindOf(entry: Stats): string {
  if (entry.isDirectory()) return "a directory"
  if (entry.isFIFO()) return "a FIFO"
  return entry.isSocket() ? "a socket" : "a device"
}

/**
 * Prefix of the directory in which a copy of a store is made before it is moved to its place. While that directory exists
 * and the store does not, a restore or a backup has not ended.
 */
export const partialPrefix = ".partial-"

/**
 * Refuses a directory whose store is missing or empty while another file shows that there was a store: a server would
 * serve it as if nothing had ever been stored. Refuses a directory with an unfinished restore, too. With `isNew`, an operator
 * wants an empty store, so an existing one is refused. A directory with neither a store nor such a file is a first start.
 * Throws `ConfigError`.
 */
export function refuseLostStore(store: StoreFiles, { isNew }: { readonly isNew: boolean }): void {
  const { directory } = store
  const { path, exists, remains } = store.find()
  if (exists && !store.isEmpty()) {
    if (!isNew) return
    throw new ConfigError(
      `The data directory ${directory} has a store already. --new is for one whose store is lost: leave it out.`,
    )
  }
  if (isNew) return
  const partial = existsSync(directory) && readdirSync(directory).find((name) => name.startsWith(partialPrefix))
  if (typeof partial === "string") {
    throw new ConfigError(
      `A restore into the data directory ${directory} was not finished (${partial}). Run \`sluice restore\` again; it ` +
        "begins anew. Or start with an empty store with --new.",
    )
  }
  // A start that is killed leaves no key without a store: the key is created last.
  const own = [keyName, credentialsName].filter((name) => lstatSync(join(directory, name), { throwIfNoEntry: false }))
  const [witness] = [...own, ...remains]
  if (witness === undefined) return
  throw new ConfigError(
    `The store ${path} is ${exists ? "empty" : "missing"}, and ${witness} next to it shows that there was ` +
      "one. Put the store back, or start with an empty one with --new.",
  )
}

/** The disk that a directory is on, in bytes: what this user may still write, and all. Throws the system's error. */
export async function diskRoom(
  directory: string,
): Promise<{ readonly freeBytes: number; readonly totalBytes: number }> {
  const { bavail, blocks, bsize } = await statfs(directory)
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
}

/**
 * Makes a data directory ready, and this process its only server until the result is disposed of. Throws as both do. `lost`
 * is called as that of `StoreFiles.lock`.
 */
export function lockFiles(
  store: StoreFiles,
  { isNew, ...options }: { readonly isNew: boolean; readonly lost?: (error: Error) => void },
): Disposable {
  ensureDirectory(store)
  using taking = new DisposableStack()
  taking.use(store.lock(options))
  refuseLostStore(store, { isNew })
  return taking.move()
}
