/** Which store the server, the commands and `sluice doctor` work on. */
import { clusterEngine } from "./cluster/engine.ts"
import { embeddedEngine } from "./embedded/engine.ts"
import type { StoreEngine, StoreFiles } from "./engine.ts"

/** The settings that say where the store is. */
export interface StoreSettings {
  readonly data: string
  /** URL of a PostgreSQL database; with it `data` is not used. */
  readonly database?: string
  readonly databasePoolMax: number
  readonly databaseStatementSecondsMax: number
}

/** The engine of the store that the settings name. */
export function storeEngineOf({
  data,
  database: url,
  databasePoolMax: poolMax,
  databaseStatementSecondsMax,
}: StoreSettings): StoreEngine {
  if (url === undefined) return embeddedEngine(data)
  return clusterEngine({ url, poolMax, statementMsMax: databaseStatementSecondsMax * 1_000 })
}

/** The files of a store in a directory, a backup for example, whatever the settings name. */
export function storeFilesIn(directory: string): StoreFiles {
  return embeddedEngine(directory).files
}
