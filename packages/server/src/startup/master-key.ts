/** The master key, which all secrets are sealed under, and its file. */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs"
import { ConfigError } from "../runtime/config-error.ts"
import { keyFile, nextKeyFile } from "./data-directory.ts"
import type { Random } from "../runtime/random.ts"
import { masterKeyBytes } from "../runtime/secret-box.ts"

/** Largest key file. Ours: a key with room for white space. */
const fileBytesMax = 1_024

/**
 * The master key: from the setting, else from the key file. With `mayCreate` a missing file is created with mode 0600.
 * Throws `ConfigError` when others may read the file, or when it is missing and must not be created: a new key could
 * open none of the store's secrets.
 */
export function masterKey(
  directory: string,
  setting: string | undefined,
  random: Random,
  { mayCreate }: { readonly mayCreate: boolean },
): Uint8Array {
  if (setting !== undefined) return Buffer.from(setting, "hex")
  const file = keyFile(directory)
  const kept = readKeyFile(file)
  if (kept !== undefined) return kept
  if (!mayCreate) {
    throw new ConfigError(
      `The key file ${file} is missing, and the store next to it has secrets sealed under it, or a server that has the key ` +
        "in its settings. Put the file back, or set SLUICE_MASTER_KEY.",
    )
  }
  createKeyFile(directory, file, random)
  return masterKey(directory, setting, random, { mayCreate: false })
}

/**
 * The key that a rotation goes to, kept in a file of its own until the store is sealed under it: the same one when a
 * rotation that was cut short is made again. Throws `ConfigError` when the key file is a link, which leads to where only
 * the operator puts keys.
 */
export function nextMasterKey(directory: string, random: Random): Uint8Array {
  const [file, next] = [keyFile(directory), nextKeyFile(directory)]
  if (lstatSync(file).isSymbolicLink()) {
    throw new ConfigError(
      `The key file ${file} is a link, so Sluice does not replace it. Set SLUICE_MASTER_KEY to the key and ` +
        "SLUICE_NEW_MASTER_KEY to the new one, and put the new one where the link leads afterwards.",
    )
  }
  const begun = readKeyFile(next)
  if (begun !== undefined) return begun
  createKeyFile(directory, next, random)
  return nextMasterKey(directory, random)
}

/** Puts the next key in the place of the key. The old one gets a name with `nowMs` in it, which is returned. */
export function adoptNextKey(directory: string, nowMs: number): string {
  const file = keyFile(directory)
  const old = `${file}.until-${new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, "")}`
  linkSync(file, old)
  renameSync(nextKeyFile(directory), file)
  flushDirectory(directory)
  return old
}

/** The key in the file; `undefined` when there is no file. Does not wait when the path is a FIFO. */
function readKeyFile(file: string): Uint8Array | undefined {
  let handle: number
  try {
    handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
  try {
    const stats = fstatSync(handle)
    if (!stats.isFile()) throw new ConfigError(`The key file ${file} is not a regular file.`)
    if ((stats.mode & 0o077) !== 0) {
      throw new ConfigError(`The key file ${file} can be read by others. Make it yours alone: chmod 600 ${file}`)
    }
    const text = stats.size > fileBytesMax ? "" : readFileSync(handle, "utf8").trim()
    if (!/^[0-9a-fA-F]{64}$/.test(text)) throw new ConfigError(`The key file ${file} must hold 64 hexadecimal digits.`)
    return Buffer.from(text, "hex")
  } finally {
    closeSync(handle)
  }
}

/**
 * Creates the key file, complete and durable before it gets its name: a store without its key is lost. When another
 * process was first, its key stays.
 */
function createKeyFile(directory: string, file: string, random: Random): void {
  const draft = `${file}.${Buffer.from(random.bytes(8)).toString("hex")}`
  // An existing draft, or a link of its name, is another process's.
  const handle = openSync(draft, "wx", 0o600)
  try {
    writeSync(handle, `${Buffer.from(random.bytes(masterKeyBytes)).toString("hex")}\n`)
    fsyncSync(handle)
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
  } finally {
    closeSync(handle)
    rmSync(draft)
  }
  flushDirectory(directory)
}

function flushDirectory(directory: string): void {
  const entries = openSync(directory, "r")
  fsyncSync(entries)
  closeSync(entries)
}
