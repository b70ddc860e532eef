import type { DatabaseSync } from "node:sqlite"
import { AppRevoked } from "../../store-faults.ts"
import { prepare } from "../connection/statements.ts"

/** Prepares the refusal of what a revoked app is to get: throws `AppRevoked`. */
export function prepareRefuseRevoked(db: DatabaseSync): (app: bigint) => void {
  const revoked = prepare(db, "SELECT 1 FROM apps WHERE id = ? AND revoked")
  return (app) => {
    if (revoked.get(app) !== undefined) throw new AppRevoked("The app is revoked.")
  }
}
