/**
 * The way from one machine to many: a stopped embedded store, moved into an empty PostgreSQL store.
 *
 *     lock the directory ─► examine it, as `sluice doctor` does ─► copy ─► audit the copy ─► compare ─► commit
 *
 * The copy is made in one transaction (`store/cluster/serving/fill-store.ts`), so it is complete and compared, or it is not
 * there. The directory is only read, so there is always a way back to it.
 */
import { existsSync } from "node:fs"
import { loadConfig, type Config, type ConfigSources } from "../config.ts"
import { readKey } from "../doctor/read-key.ts"
import { readStore } from "../doctor/read-store.ts"
import { ConfigError } from "../runtime/config-error.ts"
import { armCrashPoint } from "../runtime/crash-points.ts"
import { keyFile, refuseForeignFiles } from "../startup/data-directory.ts"
import { ensureOwnDirectory } from "../startup/own-directory.ts"
import { startFault } from "../startup/start-fault.ts"
import type { StoreFiles } from "../store/engine.ts"
import { fillDatabase, storeEngineOf, storeFilesIn } from "../store/open.ts"
import type { StoreAudit } from "../store/store-audit.ts"
import { DataDirectoryInUse } from "../store/store-faults.ts"
import { compare, type ComparedNumber } from "./compare.ts"

/** A store to move. */
export interface Migration {
  /** The data directory. */
  readonly from: string
  /** URL of the database; absent when the environment names it. */
  readonly to?: string | undefined
  /** `SLUICE_MASTER_KEY` and `SLUICE_DATABASE` count. */
  readonly env: NonNullable<ConfigSources["env"]>
  readonly report?: MigrationReport
}

/** Callbacks of a migration. */
interface MigrationReport {
  /** A stage begins. So many rows are to be copied. */
  stage(stage: "examining" | "verifying"): void
  stage(stage: "copying", rows: number): void
  /** So many rows are copied. */
  progressed(rows: number): void
}

/** A store that was moved. */
export interface Migrated {
  /** The store's new place, without credentials. */
  readonly place: string
  /** The content of the directory, as a sentence. */
  readonly found: string
  /** The numbers of the directory and of the database: the same. */
  readonly numbers: readonly ComparedNumber[]
  /** Texts in which a NUL became U+FFFD, since PostgreSQL takes none. */
  readonly texts_changed: number
  /** The file of the master key that servers of the database need; absent when it is in the settings. */
  readonly key_is_at?: string
}

/**
 * Moves a store. Throws `ConfigError` for a directory that is served, is damaged or has another key, for a database that
 * is not empty, is in use or may lose what it acknowledges, and for a copy that is not the same; then nothing has changed.
 */
export async function migrateStore({ from, to, env, report }: Migration): Promise<Migrated> {
  const source = sourceConfig(from, env)
  const files = storeFilesIn(from)
  refuseMissing(files)
  using _lock = lockOf(files)
  armCrashPoint(source.crashPoint)
  report?.stage("examining")
  const { audit, found, masterKey } = await examined(source)
  const url = targetUrl(to, env, masterKey)
  const engine = storeEngineOf({ ...source, database: url })
  let result: Pick<Migrated, "numbers" | "texts_changed"> | undefined
  try {
    await files.readRows((rows) => {
      report?.stage(
        "copying",
        [...rows.counts.values()].reduce((sum, count) => sum + count, 0),
      )
      return fillDatabase(url, rows, {
        progressed: (count) => report?.progressed(count),
        verifying: () => report?.stage("verifying"),
        check({ textsChanged, ...filled }) {
          const { numbers, differences } = compare({ audit, counts: rows.counts }, filled)
          refuseDifferences(differences)
          result = { numbers, texts_changed: textsChanged }
        },
      })
    })
  } catch (error) {
    throw startFault(engine.place, error)
  }
  if (result === undefined) throw new Error("the copy was not compared")
  return {
    place: engine.place,
    found,
    ...result,
    ...(source.masterKey === undefined && { key_is_at: keyFile(from) }),
  }
}

/** The settings of the directory: of the environment only its key counts. */
function sourceConfig(data: string, { SLUICE_MASTER_KEY, SLUICE_CRASH_POINT }: Migration["env"]): Config {
  return loadConfig({ posture: "serve", flags: { data }, env: { SLUICE_MASTER_KEY, SLUICE_CRASH_POINT } })
}

/** The URL of the database, as the settings of a server take it. */
function targetUrl(to: string | undefined, { SLUICE_DATABASE }: Migration["env"], masterKey: string): string {
  const env = { SLUICE_MASTER_KEY: masterKey, ...(to === undefined && { SLUICE_DATABASE }) }
  const { database } = loadConfig({ posture: "serve", flags: { database: to }, env })
  if (database === undefined) throw new ConfigError("Name the database with --to or SLUICE_DATABASE.")
  return database
}

function refuseMissing(files: StoreFiles): void {
  const { directory } = files
  if (!existsSync(directory)) throw new ConfigError(`There is no data directory ${directory}.`)
  if (!files.find().exists) throw new ConfigError(`The data directory ${directory} holds no store.`)
  refuseForeignFiles(files)
}

function lockOf(files: StoreFiles): Disposable {
  try {
    // The lock may have to be made, and only the directory's owner may do that.
    ensureOwnDirectory(files.directory)
    return files.lock()
  } catch (error) {
    if (!(error instanceof DataDirectoryInUse)) throw startFault(`data directory ${files.directory}`, error)
    throw new ConfigError(`A server runs on the data directory ${files.directory}. Stop it first.`, { cause: error })
  }
}

/** Examines the store as `sluice doctor` does, and tries the key on its secrets. */
async function examined(
  config: Config,
): Promise<{ readonly audit: StoreAudit; readonly found: string; readonly masterKey: string }> {
  const { findings, seen, audit, olderVersion } = await readStore(storeEngineOf(config), config)
  refuseOlder(config.data, olderVersion)
  const key = readKey(config, seen)
  const faults = [
    ...findings.filter(({ subject }) => subject === "store" || subject === "proof"),
    ...key.findings,
  ].filter(({ level }) => level === "error")
  const [first, ...others] = faults.map(({ text }) => text)
  if (first !== undefined || audit === undefined || key.key === undefined) {
    const more = others.length === 0 ? "" : ` (and ${others.length} more)`
    throw new ConfigError(
      `The store in ${config.data} cannot be moved: ${first ?? "it cannot be read."}${more} ` +
        `Nothing was written. \`sluice doctor --data ${config.data}\` says more.`,
    )
  }
  return {
    audit,
    found: findings.find(({ subject }) => subject === "store")?.text ?? "",
    masterKey: Buffer.from(key.key).toString("hex"),
  }
}

/** Refuses a store that the server has still to bring to its version: the directory is only read here. */
function refuseOlder(
  directory: string,
  versions: { readonly version: number; readonly knownVersion: number } | undefined,
): void {
  if (versions === undefined) return
  throw new ConfigError(
    `The store in ${directory} has version ${versions.version}, and only one of version ${versions.knownVersion} can be ` +
      `moved. Start \`sluice serve --data ${directory}\` once, which brings it to that version, stop it, and run this ` +
      "again. Nothing was written.",
  )
}

function refuseDifferences([first, ...others]: readonly string[]): void {
  if (first === undefined) return
  throw new ConfigError(
    `The copy differs from the store and is not kept: ${first}` +
      `${others.length === 0 ? "" : `; ${others.slice(0, 10).join("; ")}`}${others.length > 10 ? "; …" : "."}`,
  )
}
