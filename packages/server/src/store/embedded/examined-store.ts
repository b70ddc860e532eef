/**
 * A store that is only looked at: nothing is made, migrated, locked or written, whether a server runs on it or not.
 *
 * Everything is read in one transaction, so a server that writes meanwhile changes nothing of what is seen. SQLite
 * would leave its two files beside a store that nobody has open; so such a store is opened as one that does not
 * change, and looked at once more, the common way, when it did change after all.
 */
import { existsSync, statSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { pathToFileURL } from "node:url"
import type { StoreAudit, StoreReads } from "../store.ts"
import { audit } from "./audit.ts"
import { createDeliveryReads } from "./delivery-reads.ts"
import { storeVersion } from "./migrations.ts"
import { EmbeddedReads } from "./reads.ts"
import { prepare } from "./statements.ts"

/** How long a statement waits for a server that is just opening the store, or closing it. Ours. */
const busyMs = 5_000

/** A store as it was found. Of another version than this program's only SQLite's own check is known. */
export type ExaminedStore<Seen> =
  | { readonly kind: "read"; readonly version: number; readonly seen: Seen }
  | {
      readonly kind: "older" | "newer"
      readonly version: number
      readonly knownVersion: number
      readonly damage: readonly string[]
    }

/** Looks at what was audited. */
type Look<Seen> = (found: StoreAudit, reads: StoreReads) => Promise<Seen>

/** Looks at the store of a file that is there. Throws what SQLite throws when the file cannot be read at all. */
export async function examineStore<Seen>(file: string, look: Look<Seen>): Promise<ExaminedStore<Seen>> {
  const log = `${file}-wal`
  if (existsSync(log)) return lookThrough(file, look)
  const before = statSync(file, { bigint: true })
  const unchanging = pathToFileURL(file)
  unchanging.searchParams.set("immutable", "1")
  const isAsBefore = (): boolean => {
    const after = statSync(file, { bigint: true })
    return !existsSync(log) && after.mtimeNs === before.mtimeNs && after.size === before.size
  }
  try {
    const found = await lookThrough(unchanging, look)
    if (isAsBefore()) return found
  } catch (error) {
    if (isAsBefore()) throw error
  }
  return lookThrough(file, look)
}

async function lookThrough<Seen>(place: string | URL, look: Look<Seen>): Promise<ExaminedStore<Seen>> {
  // No memory map: a file that is shorter than it says would end the process instead of the statement.
  using db = new DatabaseSync(place, { timeout: busyMs, readOnly: true })
  // Never ended: there is nothing to keep, and a damaged store may not let it end.
  db.exec("BEGIN")
  const version = prepare<{ user_version: number }>(db, "PRAGMA user_version").get()?.user_version ?? 0
  if (version === storeVersion) {
    const found = audit(db)
    const reads = Object.assign(new EmbeddedReads(db), createDeliveryReads(db))
    return { kind: "read", version, seen: await look(found, reads) }
  }
  const rows = prepare<{ integrity_check: string }>(db, "PRAGMA integrity_check(100)").all()
  return {
    kind: version < storeVersion ? "older" : "newer",
    version,
    knownVersion: storeVersion,
    damage: rows.map((row) => row.integrity_check).filter((text) => text !== "ok"),
  }
}
