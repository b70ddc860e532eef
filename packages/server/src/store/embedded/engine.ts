/** The embedded store as an engine: one SQLite file in the data directory, with a thread that writes. */
import { lstatSync, statSync } from "node:fs"
import { dirname } from "node:path"
import type { MessagePort } from "node:worker_threads"
import type { FoundStore, ServedStore, ServeSettings, StoreEngine } from "../engine.ts"
import { StoreFailed } from "../store-faults.ts"
import { isEmptyStore, storeFile, storeName } from "./database.ts"
import { copyStore } from "./copy-store.ts"
import { lockDirectory } from "./directory-lock.ts"
import { openEmbeddedStore, openEmbeddedStoreThrough, openToRead } from "./embedded-store.ts"
import { examineStore } from "./examined-store.ts"
import { storeFault } from "./sqlite-faults.ts"
import { startStoreWriter } from "./writer-thread.ts"

/**
 * Most bytes of the store's pages that another thread keeps. The intake thread reads all rules at its start, and later
 * only their changes. Ours.
 */
const accessCacheBytes = 2_097_152

interface AccessData {
  readonly file: string
  readonly writePort: MessagePort
}

type ReadAccessData = Pick<AccessData, "file">

/** The engine of the embedded store. */
export const engine: StoreEngine = {
  files: [
    { name: storeName, mayBeLink: true },
    { name: `${storeName}-wal`, mayBeLink: false },
    { name: `${storeName}-shm`, mayBeLink: false },
    { name: "server.lock", mayBeLink: false, isLock: true },
  ],
  lock: (directory) => {
    try {
      return lockDirectory(directory)
    } catch (error) {
      throw openingFault(directory, error)
    }
  },
  find,
  isEmpty: (directory) => isEmptyStore(storeFile(directory)),
  serve: (settings) => opened(settings.directory, serve(settings)),
  open: (directory) => opened(directory, openEmbeddedStore({ file: storeFile(directory) })),
  examine: (directory, examination) => examineStore(storeFile(directory), examination),
  async copy(from, to) {
    await copyStore(storeFile(from), storeFile(to)).catch((error: unknown) => {
      throw storeFault(error)
    })
  },
  openAccess(data) {
    const { file, writePort } = data as AccessData
    return opened(dirname(file), openEmbeddedStoreThrough(writePort, { file, cacheBytes: accessCacheBytes }))
  },
  openReadAccess: (data) => openToRead(data as ReadAccessData),
}

function find(directory: string): FoundStore {
  const path = storeFile(directory)
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

async function serve({ directory, cacheBytes, crashPoint }: ServeSettings): Promise<ServedStore> {
  await using opening = new AsyncDisposableStack()
  const file = storeFile(directory)
  // Half for the pages of the writer, a quarter for the pages of reads, a quarter for recently read matches.
  const quarter = cacheBytes / 4
  const writer = await startStoreWriter({ file, cacheBytes: 2 * quarter, crashPoint })
  opening.defer(() => writer.close())
  const store = opening.use(await openEmbeddedStoreThrough(writer.connect(), { file, cacheBytes: quarter }))
  const resources = opening.move()
  return {
    store,
    grantAccess() {
      const writePort = writer.connect(["control"])
      return { module: import.meta.url, data: { file, writePort } satisfies AccessData, ports: [writePort] }
    },
    grantReadAccess: () => ({ module: import.meta.url, data: { file } satisfies ReadAccessData, ports: [] }),
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
