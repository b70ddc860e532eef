/** A backup: a copy of the store in a directory of its own, made while a server runs or not. */
import { existsSync, readdirSync } from "node:fs"
import { stat } from "node:fs/promises"
import { basename } from "node:path"
import type { Config } from "../config.ts"
import { ConfigError } from "../runtime/config-error.ts"
import { systemClock as clock } from "../runtime/clock.ts"
import { systemRandom as random } from "../runtime/random.ts"
import { keyFile } from "../startup/data-directory.ts"
import { masterKey } from "../startup/master-key.ts"
import { storeFilesIn } from "../store/open.ts"
import { descriptionName, sha256Of, type BackupDescription } from "./backup-description.ts"
import { isLeftOver, placeStore, refuseDatabase, type ReportStage } from "./placed-store.ts"

/** Options of a backup. */
export interface BackupOptions {
  /** Puts the master key next to the store: the two together reveal every secret. */
  readonly withKey?: boolean
  readonly report?: ReportStage
}

/** A backup that is complete and checked. */
export interface Backup extends BackupDescription {
  readonly directory: string
  /** Its content, as a sentence. */
  readonly found: string
  /** Place of the master key that seals its secrets, when it is not in the backup. */
  readonly keyIsAt?: string
}

/**
 * Backs the store of a data directory up into a directory that is missing or empty. Throws `ConfigError` when there is
 * nothing to back up, no place for it, or the copy is not whole; then nothing is left of it.
 */
export async function backUpStore(
  config: Config,
  directory: string,
  { withKey = false, report }: BackupOptions = {},
): Promise<Backup> {
  refuseDatabase(config)
  const { data } = config
  const files = storeFilesIn(data)
  if (!existsSync(data) || !files.find().exists) {
    throw new ConfigError(`The data directory ${data} holds no store. Name the one that the server uses with --data.`)
  }
  refuseUsed(directory)
  const key = withKey ? masterKey(data, config.masterKey, random, { mayCreate: false }) : undefined
  const madeAtMs = clock.nowMs()
  let description: BackupDescription | undefined
  const found = await placeStore({
    from: files,
    to: directory,
    random,
    config,
    key,
    report,
    description: descriptionName,
    async filesFor(copy) {
      const { path } = copy.find()
      description = {
        made_at: new Date(madeAtMs).toISOString(),
        bytes: (await stat(path)).size,
        sha256: await sha256Of(path),
        has_master_key: withKey,
      }
      return {
        [descriptionName]: `${JSON.stringify(description, null, 2)}\n`,
        ...(key !== undefined && { [basename(keyFile(data))]: `${Buffer.from(key).toString("hex")}\n` }),
      }
    },
  })
  if (description === undefined) throw new Error("a copy was placed without its description")
  const keyIsAt = config.masterKey === undefined ? keyFile(data) : "SLUICE_MASTER_KEY"
  return { ...description, directory, found, ...(!withKey && { keyIsAt }) }
}

/** Refuses a directory in which anything is that a backup that was cut short would not have left. */
function refuseUsed(directory: string): void {
  if (!existsSync(directory)) return
  const files = storeFilesIn(directory)
  const stranger = readdirSync(directory).find((name) => !isLeftOver(name, files))
  if (stranger === undefined) return
  throw new ConfigError(
    `${directory} is not empty (${stranger}). Name a directory that is empty or not there yet: nothing is overwritten.`,
  )
}
