/** Which store the server, the commands and `sluice doctor` work on: the embedded one, which is the only one yet. */
import { engine } from "./embedded/engine.ts"
import type { StoreEngine } from "./engine.ts"

/** The engine of every store that this program opens. A second engine is chosen here, by a setting. */
export const storeEngine: StoreEngine = engine
