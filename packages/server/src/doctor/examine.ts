/**
 * An examination of everything that a server stands on: settings, store, rules, clock, disk, endpoints; and the proof
 * that nothing acknowledged is lost.
 *
 * It works on the store itself, whether a server runs on it or not, and changes nothing there: no lock is taken, no file
 * made, no migration run. The store is seen as it was at one moment. Pure functions (`health/`,
 * `proof.ts`) judge what was read; the other files here read it.
 */
import { existsSync } from "node:fs"
import { basename } from "node:path"
import type { Config, ConfigSources } from "../config.ts"
import { diskRoom, refuseForeignFiles } from "../startup/data-directory.ts"
import type { StoreEngine, StoreFiles } from "../store/engine.ts"
import { checkSources } from "../sources/configured-sources.ts"
import { storeEngineOf } from "../store/open.ts"
import { challengeEndpoints } from "./challenge-endpoints.ts"
import { fault, subjects, warning, type Finding } from "./finding.ts"
import { diskFindings } from "./health/disk.ts"
import { databaseFindings } from "./health/store.ts"
import type { Proof } from "./proof.ts"
import { readKey } from "./read-key.ts"
import { readSettings } from "./read-settings.ts"
import { readStore } from "./read-store.ts"

/** The result of an examination. */
export interface Examination {
  /** True without errors; warnings may be there. */
  readonly ok: boolean
  /** In the order of `Subject`. Never empty. */
  readonly findings: readonly Finding[]
  /** Absent when the store could not be read to its end. */
  readonly proof?: Proof
}

/** The settings of the store to examine. */
export interface ExamineOptions {
  /** Settings as the server would take them. */
  readonly flags: NonNullable<ConfigSources["flags"]>
  readonly env: NonNullable<ConfigSources["env"]>
  /** Leaves the endpoints alone. */
  readonly isOffline: boolean
}

/** Examines a store. Rejects only for faults of its own. */
export async function examine(options: ExamineOptions): Promise<Examination> {
  const { config, findings } = readSettings(options)
  if (config === undefined) return examined(findings)
  const engine = storeEngineOf(config)
  const obstacle = engine.files && obstacleIn(engine.files)
  if (obstacle !== undefined) return examined([...findings, obstacle])
  const sources = await checkSettingsOfSources(config)
  const store = await readStore(engine, config)
  const key = readKey(config, store.seen)
  const disk = engine.files === undefined ? [] : await readDisk(engine.files)
  const database = await readDatabase(engine)
  const endpoints = options.isOffline ? [] : await challengeEndpoints(config, store.seen, key.secretBox)
  return examined(
    [...findings, ...sources, ...key.findings, ...database, ...store.findings, ...disk, ...endpoints],
    store.proof,
  )
}

/** The first source whose settings are wrong, if there is one. */
async function checkSettingsOfSources({ sources }: Config): Promise<readonly Finding[]> {
  try {
    await checkSources(sources)
    return []
  } catch (error) {
    return [fault("settings", (error as Error).message, "No server starts like this.")]
  }
}

/** Why a directory cannot be examined. A FIFO in the place of a file, for example, would make us wait forever. */
function obstacleIn(files: StoreFiles): Finding | undefined {
  const { directory } = files
  const advice = "Name the one that the server uses with --data or SLUICE_DATA."
  if (!existsSync(directory)) return fault("store", `There is no data directory ${directory}.`, advice)
  try {
    refuseForeignFiles(files)
  } catch (error) {
    return fault("store", (error as Error).message, "No server starts like this.")
  }
  const { path, exists } = files.find()
  if (exists) return undefined
  return fault("store", `The data directory ${directory} holds no store (${basename(path)}).`, advice)
}

function examined(findings: readonly Finding[], proof?: Proof): Examination {
  return {
    ok: findings.every(({ level }) => level !== "error"),
    findings: findings.toSorted((a, b) => subjects.indexOf(a.subject) - subjects.indexOf(b.subject)),
    ...(proof !== undefined && { proof }),
  }
}

/** Findings about the database's server. The read of the store reports a server that cannot be reached. */
async function readDatabase(engine: StoreEngine): Promise<readonly Finding[]> {
  const server = await engine.inspectDatabase?.().catch(() => undefined)
  return server === undefined ? [] : databaseFindings(engine.place, server)
}

async function readDisk(files: StoreFiles): Promise<readonly Finding[]> {
  try {
    const room = await diskRoom(files.directory)
    const { bytes: storeBytes, logBytes } = files.find()
    return diskFindings({ ...room, storeBytes, logBytes })
  } catch (error) {
    return [warning("disk", `The free space cannot be determined: ${(error as Error).message}`)]
  }
}
