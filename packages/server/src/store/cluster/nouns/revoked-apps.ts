import type { AppId } from "../../../model/ids.ts"
import { AppRevoked } from "../../store-faults.ts"
import type { WriteTransaction } from "../connection/database.ts"

/** Refuses what a revoked app is to get: throws `AppRevoked`. A revocation waits until the transaction has ended. */
export async function refuseRevoked(transaction: WriteTransaction, appId: AppId): Promise<void> {
  const app = await transaction.row<{ revoked: boolean }>("SELECT revoked FROM apps WHERE id = $1 FOR SHARE", appId)
  if (app?.revoked === true) throw new AppRevoked("The app is revoked.")
}
