/** The way back from a backup to a data directory. */
import { existsSync } from "node:fs"
import { basename } from "node:path"
import type { Config } from "../config.ts"
import { ConfigError } from "../runtime/config-error.ts"
import { systemRandom as random } from "../runtime/random.ts"
import { keyFile, refuseForeignFiles } from "../startup/data-directory.ts"
import { masterKey } from "../startup/master-key.ts"
import { storeFilesIn } from "../store/open.ts"
import { readDescription, sha256Of } from "./backup-description.ts"
import { placeStore, refuseDatabase, type ReportStage } from "./placed-store.ts"

/** A store that is in its place again. */
export interface Restored {
  readonly directory: string
  /** Its content, as a sentence. */
  readonly found: string
  /** The moment that it is of, ISO 8601. Absent for a copy that `sluice backup` did not make. */
  readonly made_at?: string
  /** True if the store's SHA-256 is that of the backup's description; without a description it cannot be compared. */
  readonly checksum: "checked" | "unknown"
  /**
   * The master key: `in-place` when the directory or the settings have it, `restored` when it came with the backup,
   * `missing` when it has to be put there before a server can start.
   */
  readonly master_key: "in-place" | "restored" | "missing"
}

/**
 * Puts the store of a backup into the data directory of `config`, which may hold a key and no store. Throws
 * `ConfigError` when the backup is not whole, its key is another one, or the directory has a store or a running server;
 * then nothing has changed.
 */
export async function restoreStore(
  from: string,
  config: Config,
  { report }: { readonly report?: ReportStage } = {},
): Promise<Restored> {
  refuseDatabase(config)
  const { data } = config
  const copied = storeFilesIn(from)
  if (!existsSync(from) || !copied.find().exists) throw new ConfigError(`There is no backup in ${from}.`)
  refuseForeignFiles(copied)
  refuseStore(data)
  const description = await readDescription(from)
  if (description !== undefined && description.sha256 !== (await sha256Of(copied.find().path))) {
    throw new ConfigError(
      `The store in ${from} is not as it was written: it is damaged, or a server has run on it. Use another backup.`,
    )
  }
  const keyOf = (directory: string, setting: string | undefined): Uint8Array | undefined =>
    setting !== undefined || existsSync(keyFile(directory))
      ? masterKey(directory, setting, random, { mayCreate: false })
      : undefined
  const present = keyOf(data, config.masterKey)
  const delivered = present === undefined ? keyOf(from, undefined) : undefined
  const found = await placeStore({
    from: copied,
    to: data,
    random,
    config,
    key: present ?? delivered,
    report,
    filesFor: async () =>
      delivered === undefined ? {} : { [basename(keyFile(data))]: `${Buffer.from(delivered).toString("hex")}\n` },
  })
  return {
    directory: data,
    found,
    ...(description !== undefined && { made_at: description.made_at }),
    checksum: description === undefined ? "unknown" : "checked",
    master_key: present !== undefined ? "in-place" : delivered !== undefined ? "restored" : "missing",
  }
}

function refuseStore(directory: string): void {
  const { path, exists, remains } = storeFilesIn(directory).find()
  const [inTheWay] = exists ? [path] : remains
  if (inTheWay === undefined) return
  throw new ConfigError(
    `The data directory ${directory} has a store already (${inTheWay}). ` +
      "Name another directory with --data, or move this one away first: nothing is overwritten.",
  )
}
