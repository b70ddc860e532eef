import type { StoreAudit } from "../../store-audit.ts"
import { atOneMoment, audit } from "./audit.ts"
import type { ClusterSettings } from "../connection/connections.ts"
import { ClusterDatabase } from "../connection/database.ts"

/** Audits a store on a connection of its own, while others write. */
export async function auditOf(settings: ClusterSettings): Promise<StoreAudit> {
  await using database = new ClusterDatabase({ ...settings, poolMax: 1 }, () => undefined)
  return atOneMoment(database, (transaction) => audit(transaction))
}
