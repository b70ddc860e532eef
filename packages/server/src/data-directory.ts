/** What lies in a data directory: the store, the key file, the server's lock. */
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs"
import { join } from "node:path"
import { ConfigError } from "./config.ts"
import type { Random } from "./runtime/random.ts"
import { masterKeyBytes } from "./runtime/secret-box.ts"

/** The embedded store's file. */
export function storeFile(directory: string): string {
  return join(directory, "sluice.db")
}

/** Makes the directory, for its owner alone, when it is not there. */
export function ensureDirectory(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
}

/**
 * The master key: from the setting, else from the key file, which is made on first use with mode 0600. Throws
 * `ConfigError` when others may read the file, or when the store exists and the key does not: a new key could open
 * none of its secrets.
 */
export function masterKey(directory: string, setting: string | undefined, random: Random): Uint8Array {
  if (setting !== undefined) return Buffer.from(setting, "hex")
  const file = join(directory, "master.key")
  if (!existsSync(file)) {
    if (existsSync(storeFile(directory))) {
      throw new ConfigError(
        `The key file ${file} is missing, and the store beside it has secrets sealed under it. ` +
          "Put the file back, or set SLUICE_MASTER_KEY.",
      )
    }
    createKeyFile(directory, file, random)
  }
  if ((statSync(file).mode & 0o077) !== 0) {
    throw new ConfigError(
      `The key file ${file} can be read by others. Make it yours alone: chmod 600 ${file}`,
    )
  }
  const text = readFileSync(file, "utf8").trim()
  if (!/^[0-9a-fA-F]{64}$/.test(text))
    throw new ConfigError(`The key file ${file} must hold 64 hexadecimal digits.`)
  return Buffer.from(text, "hex")
}

/**
 * Makes the key file whole and durable before it has its name: a store whose key a power cut took is lost. When
 * another process was first, its key stays.
 */
function createKeyFile(directory: string, file: string, random: Random): void {
  const draft = `${file}.${Buffer.from(random.bytes(8)).toString("hex")}`
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
  const entries = openSync(directory, "r")
  fsyncSync(entries)
  closeSync(entries)
}
