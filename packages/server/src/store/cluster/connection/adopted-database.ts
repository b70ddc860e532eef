/** The database that a store was in when it was opened last: another one begins a new epoch (`database-identity.ts`). */
import { systemClock } from "../../../runtime/clock.ts"
import { systemRandom } from "../../../runtime/random.ts"
import { chooseEpoch } from "../../epochs.ts"
import type { ClusterDatabase, Queries, WriteTransaction } from "./database.ts"
import { identityBy, identitySql, type IdentityRow } from "./database-identity.ts"
import { beginEpochIn } from "../nouns/log-epochs.ts"

/** Notes the identity of the database that a store is in. When the store was in another one, a new epoch begins. Returns it. */
export async function adoptDatabase(database: ClusterDatabase): Promise<string> {
  const identity = await identityOf(database)
  if ((await notedIn(database)) !== identity) await database.write((transaction) => adopt(transaction))
  return identity
}

async function adopt(transaction: WriteTransaction): Promise<void> {
  // Another process may be at it, and finds it done afterwards.
  await transaction.script("LOCK TABLE database_identity IN EXCLUSIVE MODE")
  const identity = await identityOf(transaction)
  const noted = await notedIn(transaction)
  if (noted === identity) return
  if (noted !== undefined) await beginEpochIn(transaction, chooseEpoch(systemClock, systemRandom))
  await noteDatabase(transaction)
}

/** Notes, as part of a transaction, that the store is in this database. */
export async function noteDatabase(transaction: WriteTransaction): Promise<void> {
  await transaction.run("DELETE FROM database_identity")
  await transaction.run("INSERT INTO database_identity (identity) VALUES ($1)", await identityOf(transaction))
}

async function notedIn(queries: Queries): Promise<string | undefined> {
  return (await queries.row<{ identity: string }>("SELECT identity FROM database_identity"))?.identity
}

function identityOf(queries: Queries): Promise<string> {
  return identityBy(() => queries.row<IdentityRow>(identitySql))
}
