/**
 * A store engine: a kind of store at a place, and the one interface through which a program opens and examines the store
 * there. `open.ts` chooses the engine by the settings; nothing above `store/` knows which one it is, but only whether its
 * store is files on this machine.
 *
 *     main thread                                   another thread
 *     engine.serve() ──► served.store
 *     served.grantAccess() ──► StoreAccess, posted ──► openStore(access) ──► Store
 *
 * A store handle cannot be posted to a thread. So an access names a module, and the thread has the opener of that module
 * make a handle of its own.
 */
import type { MessagePort } from "node:worker_threads"
import type { Clock } from "../runtime/clock.ts"
import type { FairRounds } from "../runtime/fair-rounds.ts"
import type { Leases } from "./leases.ts"
import type { SharedLimits } from "./shared-limits.ts"
import type { SharedLinkStates } from "./shared-link-states.ts"
import type { SearchIndex, SearchIndexSettings } from "./search-index.ts"
import type { Store, StoreReads } from "./store.ts"
import type { StoreAudit } from "./store-audit.ts"
import type { StoredRows } from "./stored-rows.ts"

/** A kind of store at a place. Nothing is opened or created before a method is called. */
export interface StoreEngine {
  /** The place, to go behind "the" in a sentence, without credentials: `data directory /var/lib/sluice`. */
  readonly place: string
  /** The files of the store; absent when it is not kept in files of this machine. */
  readonly files?: StoreFiles
  /**
   * Inspects the server of the store's database; absent for a store in files. Throws the error of a database that
   * cannot be reached.
   */
  inspectDatabase?(): Promise<DatabaseServer>
  /**
   * Opens the store for a server, which has the lock of its files, and creates it when it is not there. Throws
   * `StoreTooNew`, `StoreFull`, `StoreFailed` or `StoreDamaged`.
   */
  serve(settings: ServeSettings): Promise<ServedStore>
  /** Opens the store for a command, whether a server runs on it or not, and creates it when it is not there. Throws as `serve`. */
  open(): Promise<Store>
  /**
   * Reads a store that is there, as it was at one moment, whether a server runs on it or not: nothing is created,
   * migrated, locked or written. Throws the error of a store that cannot be read at all.
   */
  examine<Result>(examination: Examination<Result>): Promise<ExaminedStore<Result>>
}

/** A database server, as far as a store depends on it. */
export interface DatabaseServer {
  readonly version: string
  readonly synchronousCommit: string
  /** Why no server starts on it: each goes behind the name of the database in a sentence. Empty when one does. */
  readonly faults: readonly string[]
  /** Settings that may lose data or stop processes from working: `text` as in `faults`, `advice` says what to set. */
  readonly warnings: readonly { readonly text: string; readonly advice: string }[]
}

/** A store that is files in a data directory. */
export interface StoreFiles {
  readonly directory: string
  /** All files that a store of this kind keeps there, by name. */
  readonly all: readonly DataFile[]
  /**
   * Makes this process the only server of the directory, until the lock is disposed of. Throws `DataDirectoryInUse`, or
   * why the lock cannot be taken. `lost` is called when another process took the lock because its file had been
   * removed.
   */
  lock(options?: { readonly lost?: (error: Error) => void }): Disposable
  /** Finds the store's files. Opens and creates nothing. */
  find(): FoundStore
  /** Whether nothing was ever made in the store that is there. False when that cannot be read. */
  isEmpty(): boolean
  /** Whether an earlier version made the store that is there, so that opening it changes it. False when that cannot be read. */
  isOutdated(): boolean
  /**
   * Copies the store that is there into another directory, as it was at one moment, whether a server runs on it or not,
   * and without holding that server up. The copy is durable when it resolves; a copy that was there is replaced.
   */
  copyTo(directory: string): Promise<void>
  /**
   * The result of `read`, which gets all rows of the store that is there. No process may serve it; nothing is changed.
   */
  readRows<Result>(read: (rows: StoredRows) => Promise<Result>): Promise<Result>
}

/** A file in the data directory. */
export interface DataFile {
  readonly name: string
  /** Whether an operator may keep it elsewhere and have a link in its place. */
  readonly mayBeLink: boolean
  /** Whether it is there for `lock` alone, and holds nothing. */
  readonly isLock?: boolean
}

/** How a server opens its store. */
export interface ServeSettings {
  /** Most bytes that the store keeps in memory, over all threads but those that it grants access to. */
  readonly cacheBytes: number
  /** The rounds of this thread, in which its requests begin. */
  readonly rounds: FairRounds
  /** The point at which a test kills the process. */
  readonly crashPoint: string | undefined
  /**
   * Whether the server keeps the search index up to date; true when absent. Otherwise the store removes an index that no other
   * process uses: later it would have posts that were deleted meanwhile.
   */
  readonly keepsSearchIndex?: boolean
  /** Names of the sources that the server can drive, each unless another process does. */
  readonly sources?: readonly string[]
  /** Called when something fails that the store does by itself, and will try again. */
  readonly report: (where: string, error: unknown) => void
  /** Called at the start with each thing that the store's database should not be: a sentence, and what to set. */
  readonly warn: (warning: { readonly text: string; readonly advice: string }) => void
}

/** A store that a server has open. */
export interface ServedStore extends AsyncDisposable {
  /** For the thread that opened it. */
  readonly store: Store
  /** The time: this machine's, or that on which all processes agree which share the store. */
  readonly clock: Clock
  /**
   * Access for another thread, which opens it once with `openStore`. For one that reads no logs it announces control
   * changes only.
   */
  grantAccess(use?: { readonly readsLogs: boolean }): StoreAccess
  /** Access for another thread that only reads, which opens it once with `openStoreToRead`. */
  grantReadAccess(): StoreAccess
  /** The links and periodic tasks that this process drives. */
  readonly leases: Leases
  /** A number that no other process has had which shares the store; absent when none does. */
  readonly processNumber?: number
  /** Limits of apps over all processes; absent when no other process shares the store. */
  readonly sharedLimits?: SharedLimits
  /** States of links that any process drives; absent when no other process shares the store. */
  readonly sharedLinkStates?: SharedLinkStates
  /** Rejects when the store has failed and the process has to end; else stays pending. */
  readonly failed: Promise<never>
}

/** Access to a store from a thread: plain data that can be posted with `ports` in the transfer list. */
export interface StoreAccess {
  /** URL of the module of its `StoreOpener`. */
  readonly module: string
  /** The engine's own. */
  readonly data: unknown
  /** Ports within `data`. */
  readonly ports: readonly MessagePort[]
  /** Epoch of the clock that all processes of a shared store agree on; absent when the machine's clock counts. */
  readonly epoch?: SharedArrayBuffer
}

/** The files of a store in a data directory. */
export interface FoundStore {
  /** The path of the store, which may not exist yet. */
  readonly path: string
  readonly exists: boolean
  /** On the disk, without its log; 0 when it is missing. */
  readonly bytes: number
  /** Size of its write-ahead log; 0 without one. */
  readonly logBytes: number
  /** Names of files in its directory that a lost store left behind; empty when the store exists. */
  readonly remains: readonly string[]
}

/** Reads what it needs of a store that was audited. */
export type Examination<Result> = (audit: StoreAudit, reads: StoreReads) => Promise<Result>

/** A store as it was found. A store of another version reports only the damage that its format shows. */
export type ExaminedStore<Result> =
  | { readonly kind: "read"; readonly version: number; readonly result: Result }
  | {
      readonly kind: "older" | "newer"
      readonly version: number
      readonly knownVersion: number
      readonly damage: readonly string[]
    }

/** Opens what another thread was granted. An engine's module has it as the export `opener`. */
export interface StoreOpener {
  /** URL of the module. */
  readonly module: string
  /** Opens the `data` of what `grantAccess` gave, in the thread that it was posted to. */
  openAccess(data: unknown): Promise<Store>
  /** As `openAccess`, of what `grantReadAccess` gave. */
  openReadAccess(data: unknown): Promise<StoreReads & AsyncDisposable>
  /**
   * Opens the store's search index by the `data` of what `grantReadAccess` gave. In a process only one thread may have it open.
   */
  openSearchIndex(data: unknown, settings: SearchIndexSettings): Promise<SearchIndex>
}

/** Opens a store that another thread of the process serves. */
export async function openStore({ module, data }: StoreAccess): Promise<Store> {
  return (await openerOf(module)).openAccess(data)
}

/** Opens a store that another thread of the process serves, to read from it. */
export async function openStoreToRead({ module, data }: StoreAccess): Promise<StoreReads & AsyncDisposable> {
  return (await openerOf(module)).openReadAccess(data)
}

/** Opens the search index of a store that another thread of the process serves, by what `grantReadAccess` gave. */
export async function openSearchIndex(
  { module, data }: StoreAccess,
  settings: SearchIndexSettings,
): Promise<SearchIndex> {
  return (await openerOf(module)).openSearchIndex(data, settings)
}

async function openerOf(module: string): Promise<StoreOpener> {
  const { opener } = (await import(module)) as { readonly opener: StoreOpener }
  return opener
}
