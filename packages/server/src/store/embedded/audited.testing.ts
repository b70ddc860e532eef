import type { StoreAudit } from "../store.ts"
import { examineStore } from "./examined-store.ts"

/** What whoever examines a store finds in this file. */
export async function audited(file: string): Promise<StoreAudit> {
  const found = await examineStore(file, async (audit) => audit)
  if (found.kind !== "read") throw new Error(`The store has version ${found.version}.`)
  return found.seen
}
