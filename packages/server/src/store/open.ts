/** Which store the server, the commands and `sluice doctor` work on. */
import { clusterEngine } from "./cluster/engine.ts"
import { embeddedEngine } from "./embedded/engine.ts"
import type { Filling } from "./cluster/serving/fill-store.ts"
import type { StoreEngine, StoreFiles } from "./engine.ts"
import type { StoredRows } from "./stored-rows.ts"

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

/** Fills the PostgreSQL store of an empty database with all rows of another store. Throws as `fillStore` does. */
export async function fillDatabase(url: string, rows: StoredRows, filling: Filling): Promise<void> {
  const { fillStore } = await import("./cluster/serving/fill-store.ts")
  await fillStore(url, rows, filling)
}

/** The files of a store in a given directory, for example a backup; independent of the settings. */
export function storeFilesIn(directory: string): StoreFiles {
  return embeddedEngine(directory).files
}
