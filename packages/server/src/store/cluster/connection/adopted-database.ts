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
  if ((await notedIn(database))?.identity !== identity) await database.write((transaction) => adopt(transaction))
  return identity
}

async function adopt(transaction: WriteTransaction): Promise<void> {
  // Another process may be at it, and finds it done afterwards.
  await transaction.script("LOCK TABLE database_identity IN EXCLUSIVE MODE")
  const identity = await identityOf(transaction)
  const noted = await notedIn(transaction)
  if (noted?.identity === identity) return
  if (noted === undefined) return noteDatabase(transaction)
  // No append of the era before may commit after this.
  await transaction.script("LOCK TABLE ONLY posts IN SHARE ROW EXCLUSIVE MODE")
  await beginEpochIn(transaction, chooseEpoch(systemClock, systemRandom))
  await noteDatabase(transaction, noted.era + 1)
}

/** Notes, as part of a transaction, that the store is in this database, and in how many others it was before. */
export async function noteDatabase(transaction: WriteTransaction, era = 0): Promise<void> {
  await transaction.run("DELETE FROM database_identity")
  const identity = await identityOf(transaction)
  await transaction.run("INSERT INTO database_identity (identity, era) VALUES ($1, $2)", identity, era)
}

function notedIn(queries: Queries): Promise<{ readonly identity: string; readonly era: number } | undefined> {
  return queries.row("SELECT identity, era FROM database_identity")
}

function identityOf(queries: Queries): Promise<string> {
  return identityBy(() => queries.row<IdentityRow>(identitySql))
}
