/** The PostgreSQL store: reads, writes and the announcement of changes, over the connections of one thread. */
import { systemClock, type Clock } from "../../../runtime/clock.ts"
import { arrivalsOf, ChangeListeners } from "../../change-listeners.ts"
import { readerOf, writerOf } from "../../readers.ts"
import type { Store, StoreChange, StoreReads } from "../../store.ts"
import { adoptDatabase } from "../connection/adopted-database.ts"
import type { ClusterSettings } from "../connection/connections.ts"
import { ClusterDatabase } from "../connection/database.ts"
import { HintSender } from "./hints.ts"
import { migrate } from "../connection/migrations.ts"
import { createReads } from "./reads.ts"
import { withShares, type ConnectionShares } from "../connection/connection-shares.ts"
import { createWrites } from "./writes.ts"

/** A store, and how the changes of others reach its listeners. */
export interface ClusterStore extends Store {
  /** Its connections, for what only servers keep in it. */
  readonly database: ClusterDatabase
  /** Calls the listeners with a change that this store did not make. */
  announce(change: StoreChange): void
  /** Gives up all connections, which are lost without notice. */
  reconnect(): void
}

/** How a store is opened. */
interface OpenOptions {
  /** Marks the hints of this process. */
  readonly sender: string
  readonly clock?: Clock
  /** Called with what each commit of this store has changed. */
  readonly committed?: (changes: readonly StoreChange[]) => void
  /** Shares of its connections, where many apps use them. */
  readonly shares?: ConnectionShares
}

/**
 * Opens the store, and creates it when it is not there. Throws `StoreTooNew`, `StoreUnavailable` or PostgreSQL's own error.
 */
export async function openClusterStore(settings: ClusterSettings, options: OpenOptions): Promise<ClusterStore> {
  const store = joinClusterStore(settings, options)
  try {
    await migrate(store.database, settings)
    await adoptDatabase(store.database)
    return store
  } catch (error) {
    await store[Symbol.asyncDispose]()
    throw error
  }
}

/** A store that the process has open already, over further connections. By now it may be of the next version. */
export function joinClusterStore(
  settings: ClusterSettings,
  { sender, clock = systemClock, committed, shares }: OpenOptions,
): ClusterStore {
  const listeners = new ChangeListeners<StoreChange>()
  const { announce, onChange } = listeners
  const database: ClusterDatabase = new ClusterDatabase(settings, (changes) => {
    for (const change of changes) announce(change)
    committed?.(changes)
    hints.send(changes)
  })
  const hints = new HintSender(database, sender)
  const reads = createReads(database)
  const writes = createWrites(database, { clock })
  return {
    ...(shares === undefined ? reads : sharedReads(shares, reads)),
    ...(shares === undefined ? writes : withShares(shares, writes, writerOf)),
    database,
    announce,
    reconnect: () => database.reconnect(),
    onChange,
    onArrival: arrivalsOf({ onChange }),
    async [Symbol.asyncDispose]() {
      listeners.clear()
      await database[Symbol.asyncDispose]()
    },
  }
}

/** Reads with shares, but for the one that returns no promise and runs elsewhere: in the thread of rule tests. */
function sharedReads(shares: ConnectionShares, reads: StoreReads): StoreReads {
  return { ...withShares(shares, reads, readerOf), recentPosts: (range) => reads.recentPosts(range) }
}
