/**
 * A store engine: a kind of store, and the one interface through which a program finds, locks, opens and examines a
 * store of that kind. `open.ts` chooses the engine; nothing above `store/` knows which one it is.
 *
 *     main thread                                   another thread
 *     engine.serve() ──► served.store
 *     served.grantAccess() ──► StoreAccess, posted ──► openStore(access) ──► Store
 *
 * A store handle cannot be posted to a thread. So an access names the module of its engine, and the thread has that
 * engine open a handle of its own.
 */
import type { MessagePort } from "node:worker_threads"
import type { Store, StoreAudit, StoreReads } from "./store.ts"

/** A kind of store. Its module has it as the export `engine`. */
export interface StoreEngine {
  /** Files that a store of this kind keeps in the data directory, by name. */
  readonly files: readonly DataFile[]
  /**
   * Makes this process the only server of the data directory, until the lock is disposed of. Throws
   * `DataDirectoryInUse`, or why the lock cannot be taken.
   */
  lock(directory: string): Disposable
  /** What there is of a store in the data directory. Opens and creates nothing. */
  find(directory: string): FoundStore
  /** Whether nothing was ever made in the store that is there. False when that cannot be read. */
  isEmpty(directory: string): boolean
  /**
   * Opens the store for a server, which has the lock, and creates it when it is not there. Throws `StoreTooNew`,
   * `StoreFull`, `StoreFailed` or `StoreDamaged`.
   */
  serve(settings: ServeSettings): Promise<ServedStore>
  /** Opens the store for a command, whether a server runs on it or not, and creates it when it is not there. Throws as `serve`. */
  open(directory: string): Promise<Store>
  /**
   * Reads a store that is there, as it was at one moment, whether a server runs on it or not: nothing is created,
   * migrated, locked or written. Throws the error of a store that cannot be read at all.
   */
  examine<Result>(directory: string, examination: Examination<Result>): Promise<ExaminedStore<Result>>
  /**
   * Copies the store that is there into another directory, as it was at one moment, whether a server runs on it or not,
   * and without holding that server up. The copy is durable when it resolves; a copy that was there is replaced. Absent
   * when a store of this kind ends with its process.
   */
  readonly copy?: (from: string, to: string) => Promise<void>
  /** Opens what `grantAccess` gave, in the thread that it was posted to. */
  openAccess(data: unknown): Promise<Store>
  /** As `openAccess`, of what `grantReadAccess` gave. */
  openReadAccess(data: unknown): Promise<StoreReads & AsyncDisposable>
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
  readonly directory: string
  /** Most bytes that the store keeps in memory, over all threads but those that it grants access to. */
  readonly cacheBytes: number
  /** Where a test has the process killed. */
  readonly crashPoint: string | undefined
}

/** A store that a server has open. */
export interface ServedStore extends AsyncDisposable {
  /** For the thread that opened it. */
  readonly store: Store
  /** Access for another thread, which opens it once with `openStore`. It announces control changes only. */
  grantAccess(): StoreAccess
  /** Access for another thread that only reads, which opens it once with `openStoreToRead`. */
  grantReadAccess(): StoreAccess
  /** Rejects when the store has failed and the process has to end; else stays pending. */
  readonly failed: Promise<never>
}

/** What a thread needs to open a store: plain data that can be posted with `ports` in the transfer list. */
export interface StoreAccess {
  /** URL of the engine's module. */
  readonly module: string
  /** The engine's own. */
  readonly data: unknown
  /** Ports within `data`. */
  readonly ports: readonly MessagePort[]
}

/** What there is of a store in a data directory. */
export interface FoundStore {
  /** Where the store is, or would be. */
  readonly path: string
  readonly exists: boolean
  /** On the disk, without its log; 0 when it is missing. */
  readonly bytes: number
  /** What its write-ahead log takes on the disk; 0 without one. */
  readonly logBytes: number
  /** Names of files beside it that show that there was a store; empty when it exists. */
  readonly remains: readonly string[]
}

/** Reads what it needs of a store that was audited. */
export type Examination<Result> = (audit: StoreAudit, reads: StoreReads) => Promise<Result>

/** A store as it was found. Of another version than this program's only the damage that its own format shows is known. */
export type ExaminedStore<Result> =
  | { readonly kind: "read"; readonly version: number; readonly result: Result }
  | {
      readonly kind: "older" | "newer"
      readonly version: number
      readonly knownVersion: number
      readonly damage: readonly string[]
    }

/** Opens a store that another thread of the process serves. */
export async function openStore({ module, data }: StoreAccess): Promise<Store> {
  return (await engineOf(module)).openAccess(data)
}

/** Opens a store that another thread of the process serves, to read from it. */
export async function openStoreToRead({ module, data }: StoreAccess): Promise<StoreReads & AsyncDisposable> {
  return (await engineOf(module)).openReadAccess(data)
}

async function engineOf(module: string): Promise<StoreEngine> {
  const { engine } = (await import(module)) as { readonly engine: StoreEngine }
  return engine
}
