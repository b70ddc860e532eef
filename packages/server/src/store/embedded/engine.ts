/** The embedded store as an engine: one SQLite file in a data directory, with a thread that writes. */
import { lstatSync, statSync } from "node:fs"
import { dirname } from "node:path"
import type { MessagePort } from "node:worker_threads"
import { systemClock } from "../../runtime/clock.ts"
import type {
  Examination,
  ExaminedStore,
  FoundStore,
  ServedStore,
  ServeSettings,
  StoreEngine,
  StoreFiles,
  StoreOpener,
} from "../engine.ts"
import { soleLeases } from "../leases.ts"
import type { StoreChange } from "../store.ts"
import { StoreFailed } from "../store-faults.ts"
import { isEmptyStore, isOutdatedStore, storeFile, storeName } from "./connection/database.ts"
import { removeSearchFile, searchFileOf, searchName } from "./connection/derived-files.ts"
import { copyStore } from "./connection/copy-store.ts"
import { lockDirectory } from "./connection/directory-lock.ts"
import { openEmbeddedStore, openEmbeddedStoreThrough, openToRead } from "./serving/embedded-store.ts"
import { ControlCount } from "./serving/known-changes.ts"
import { examineStore } from "./serving/examined-store.ts"
import { ReadFaults } from "./connection/read-faults.ts"
import { storeFault } from "./connection/sqlite-faults.ts"
import { openEmbeddedSearchIndex } from "./search/embedded-search-index.ts"
import { readStoredRows } from "./serving/stored-rows.ts"
import { allChanges } from "./serving/write-port.ts"
import { startStoreWriter } from "./serving/writer-thread.ts"

/**
 * Most bytes of the store's pages that a thread keeps which reads no logs. The intake thread reads all rules at its start,
 * and later only their changes. Ours.
 */
const accessCacheBytes = 2_097_152

/** Changes announced to a thread that reads no logs. */
const accessChangeKinds = ["control"] as const

interface AccessData {
  readonly file: string
  readonly cacheBytes: number
  readonly changeKinds: readonly StoreChange["kind"][]
  readonly controlCount: SharedArrayBuffer
  readonly writePort: MessagePort
}

type ReadAccessData = Pick<AccessData, "file">

/** The embedded store of a data directory. */
export function embeddedEngine(directory: string): StoreEngine & { readonly files: StoreFiles } {
  const file = storeFile(directory)
  return {
    place: `data directory ${directory}`,
    files: storeFiles(directory),
    serve: (settings) => opened(directory, serve(file, settings)),
    open: () => opened(directory, openEmbeddedStore({ file })),
    examine: (examination) => examine(file, examination),
  }
}

/**
 * Opens a granted access in another thread: its writes go to the connection of the writer.
 * @public `openStore` imports it by the URL of this module.
 */
export const opener: StoreOpener = {
  module: import.meta.url,
  openAccess(data) {
    const { writePort, controlCount, ...settings } = data as AccessData
    const store = openEmbeddedStoreThrough(writePort, { ...settings, controlCount: new ControlCount(controlCount) })
    return opened(dirname(settings.file), store)
  },
  openReadAccess: (data) => openToRead(data as ReadAccessData),
  openSearchIndex: (data, settings) => {
    const { file } = data as ReadAccessData
    return opened(dirname(file), openEmbeddedSearchIndex(searchFileOf(file), settings))
  },
}

/** Longest that the doctor waits until it is known whether the disk reads all of the store. Ours: it reads all of it too. */
const examinedWaitMsMax = 120_000

/** As `examineStore`. A file that cannot be read is not reported as damaged: it is not examined. */
async function examine<Result>(file: string, examination: Examination<Result>): Promise<ExaminedStore<Result>> {
  const faults = new ReadFaults(file)
  const options = { waitMs: examinedWaitMsMax }
  return faults.naming(async () => {
    try {
      return await examineStore(file, async (audit, reads) => {
        if (audit.damage.length > 0) await faults.refuseUnreadable(options)
        return examination(audit, reads)
      })
    } catch (error) {
      throw storeFault(error)
    }
  }, options)
}

function storeFiles(directory: string): StoreFiles {
  const file = storeFile(directory)
  return {
    directory,
    all: [
      { name: storeName, mayBeLink: true },
      { name: `${storeName}-wal`, mayBeLink: false },
      { name: `${storeName}-shm`, mayBeLink: false },
      { name: searchName, mayBeLink: false },
      { name: `${searchName}-wal`, mayBeLink: false },
      { name: `${searchName}-shm`, mayBeLink: false },
      { name: "server.lock", mayBeLink: false, isLock: true },
    ],
    lock: (options) => {
      try {
        return lockDirectory(directory, options)
      } catch (error) {
        throw openingFault(directory, error)
      }
    },
    find: () => find(file),
    isEmpty: () => isEmptyStore(file),
    isOutdated: () => isOutdatedStore(file),
    async copyTo(copy) {
      await copyStore(file, storeFile(copy)).catch((error: unknown) => {
        throw storeFault(error)
      })
    },
    readRows: (read) => readStoredRows(file, read),
  }
}

function find(path: string): FoundStore {
  const file = statSync(path, { throwIfNoEntry: false })
  const log = lstatSync(`${path}-wal`, { throwIfNoEntry: false })
  return {
    path,
    exists: file !== undefined,
    bytes: file?.size ?? 0,
    logBytes: log?.size ?? 0,
    remains: file === undefined && log !== undefined ? [`${storeName}-wal`] : [],
  }
}

async function serve(
  file: string,
  { cacheBytes, crashPoint, rounds, keepsSearchIndex = true }: ServeSettings,
): Promise<ServedStore> {
  if (!keepsSearchIndex) removeSearchFile(searchFileOf(file))
  await using opening = new AsyncDisposableStack()
  // Half for the pages of the writer, a quarter for the pages of reads, a quarter for recently read matches.
  const quarter = cacheBytes / 4
  const controlCount = new ControlCount()
  const { buffer } = controlCount
  const writer = await startStoreWriter({ file, cacheBytes: 2 * quarter, controlCount: buffer, crashPoint })
  opening.defer(() => writer.close())
  const settings = { file, cacheBytes: quarter, controlCount, rounds }
  const store = opening.use(await openEmbeddedStoreThrough(writer.connect(), settings))
  const resources = opening.move()
  return {
    store,
    clock: systemClock,
    leases: soleLeases,
    grantAccess({ readsLogs } = { readsLogs: false }) {
      const changeKinds = readsLogs ? allChanges : accessChangeKinds
      const writePort = writer.connect(changeKinds)
      const access: AccessData = {
        file,
        changeKinds,
        controlCount: buffer,
        cacheBytes: readsLogs ? quarter : accessCacheBytes,
        writePort,
      }
      return { module: opener.module, data: access, ports: [writePort] }
    },
    grantReadAccess: () => ({ module: opener.module, data: { file } satisfies ReadAccessData, ports: [] }),
    failed: writer.failed,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

async function opened<Result>(directory: string, opening: Promise<Result>): Promise<Result> {
  try {
    return await opening
  } catch (error) {
    throw openingFault(directory, error)
  }
}

/** Other errors of SQLite when it cannot open a store, such as a read-only disk. */
function openingFault(directory: string, error: unknown): unknown {
  if (!(error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR")) return error
  return new StoreFailed(`The data directory ${directory} cannot be used: ${error.message}.`, {
    cause: error,
  })
}
