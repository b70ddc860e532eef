/** What lies in a data directory: the store, the key file, the server's lock. */
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
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
    writeFileSync(file, `${Buffer.from(random.bytes(masterKeyBytes)).toString("hex")}\n`, {
      mode: 0o600,
      flag: "wx",
    })
    chmodSync(file, 0o600)
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
