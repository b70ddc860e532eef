/** Which store the server, the commands and `sluice doctor` work on. */
import { ConfigError } from "../runtime/config-error.ts"
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

/** The engine of the store that the settings name. Throws `ConfigError`. */
export function storeEngineOf({ data, database }: StoreSettings): StoreEngine {
  if (database !== undefined) throw new ConfigError("PostgreSQL as the store is not available yet.")
  return embeddedEngine(data)
}

/** The files of a store in a directory, a backup for example, whatever the settings name. */
export function storeFilesIn(directory: string): StoreFiles {
  return embeddedEngine(directory).files
}
