import type { StoreAudit } from "../../store-audit.ts"
import { examineStore } from "./examined-store.ts"

/** The audit of the store in this file. */
export async function audited(file: string): Promise<StoreAudit> {
  const found = await examineStore(file, async (audit) => audit)
  if (found.kind !== "read") throw new Error(`The store has version ${found.version}.`)
  return found.result
}
