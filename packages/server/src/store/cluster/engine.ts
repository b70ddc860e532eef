/** The PostgreSQL store as an engine. Its library is loaded when a store is opened: most servers need none of it. */
import { placeOf } from "../../runtime/database-url.ts"
import type { StoreEngine } from "../engine.ts"
import type { ClusterSettings } from "./connection/connections.ts"

/** The PostgreSQL store of a database. */
export function clusterEngine(settings: ClusterSettings): StoreEngine {
  const opening = () => import("./serving/served-store.ts")
  return {
    place: `database ${placeOf(settings.url)}`,
    serve: async (serving) => (await opening()).serve(settings, serving),
    open: async () => (await opening()).openForCommand(settings),
    inspectDatabase: async () => (await opening()).inspect(settings),
    examine: async (examination) => (await opening()).examine(settings, examination),
  }
}
