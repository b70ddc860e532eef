/** Which store the server, the commands and `sluice doctor` work on: the embedded one, which is the only one yet. */
import { embeddedEngine } from "./embedded/engine.ts"
import type { StoreEngine, StoreFiles } from "./engine.ts"

/** The settings that say where the store is. */
export interface StoreSettings {
  readonly data: string
}

/** The engine of the store that the settings name. A second kind of store is chosen here. */
export function storeEngineOf({ data }: StoreSettings): StoreEngine {
  return embeddedEngine(data)
}

/** The files of a store in a directory, a backup for example, whatever the settings name. */
export function storeFilesIn(directory: string): StoreFiles {
  return embeddedEngine(directory).files
}
