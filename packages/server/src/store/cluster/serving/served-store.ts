/**
 * The PostgreSQL store as a server has it open: any number of processes share a database.
 *
 *     main thread                                    intake thread
 *     store (pool) ◄── changes that it committed ──  store (pool)
 *       │   ▲      ── control changes ───────────►
 *       │   └── hints of other processes (one LISTEN connection)
 *       ├── leases (a connection of their own, which nothing else holds up)
 *       └── the time of day (`database-clock.ts`)
 */
import { randomUUID } from "node:crypto"
import { MessageChannel, type MessagePort } from "node:worker_threads"
import type { Clock } from "../../../runtime/clock.ts"
import { armCrashPoint } from "../../../runtime/crash-points.ts"
import { placeOf } from "../../../runtime/database-url.ts"
import { SharedClock } from "../../../runtime/shared-clock.ts"
import type {
  DatabaseServer,
  Examination,
  ExaminedStore,
  ServedStore,
  ServeSettings,
  StoreAccess,
  StoreOpener,
} from "../../engine.ts"
import { StoreReplaced } from "../../store-faults.ts"
import type { Store, StoreChange } from "../../store.ts"
import { atOneMoment, audit, auditMsMax } from "./audit.ts"
import { adoptDatabase } from "../connection/adopted-database.ts"
import { joinClusterStore, openClusterStore } from "./cluster-store.ts"
import { ConnectionShares } from "../connection/connection-shares.ts"
import { withShortTimeouts, type ClusterSettings } from "../connection/connections.ts"
import { keepByDatabase, setByDatabase } from "../connection/database-clock.ts"
import { ClusterDatabase } from "../connection/database.ts"
import { listenForHints } from "./hints.ts"
import { ClusterLeases } from "./leases.ts"
import { migrate, storeVersion, anyVersionOf } from "../connection/migrations.ts"
import { ensurePartitions } from "../nouns/partitions.ts"
import { openClusterSearchIndex } from "../search/cluster-search-index.ts"
import { isServerLost } from "../connection/postgres-faults.ts"
import { createReads } from "./reads.ts"
import { ClusterLimits } from "../nouns/shared-limits.ts"
import { inspectServer, refuseUnsafeServer } from "../connection/server-settings.ts"
import { clusterLinkStates } from "../nouns/shared-link-states.ts"

/** Connections of the intake thread: one appends while the next batch is prepared. */
const intakePool = 2

/** Connections of the search index: one fills it while others search. */
const searchPool = 3

/** Other users of one connection each: leases, the listener for hints, and once in an hour partitions. */
const singleConnections = 3

/** Connections of a command. */
const commandPool = 2

/** Time between two looks for partitions to create. */
const partitionsMs = 3_600_000

/** A message of the main thread to another one that has the store open. */
type AccessMessage = StoreChange | { readonly kind: "reconnect" }

interface AccessData {
  readonly settings: ClusterSettings
  readonly sender: string
  readonly crashPoint?: string | undefined
  readonly port: MessagePort
}

/** Opens the store for a command. */
export function openForCommand(settings: ClusterSettings): Promise<Store> {
  return openClusterStore({ ...settings, poolMax: commandPool }, { sender: randomUUID() })
}

/**
 * Opens a granted access in another thread, with connections of its own.
 * @public `openStore` imports it by the URL of this module.
 */
export const opener: StoreOpener = {
  module: import.meta.url,
  async openAccess(data) {
    const { settings, sender, crashPoint, port } = data as AccessData
    armCrashPoint(crashPoint)
    const committed = (changes: readonly StoreChange[]): void => port.postMessage(changes)
    const store = joinClusterStore({ ...settings, poolMax: intakePool }, { sender, committed })
    onMessage(port, (message) => {
      if (message.kind === "reconnect") store.reconnect()
      else store.announce(message)
    })
    return store
  },
  async openReadAccess(data) {
    const { settings, sender, port } = data as AccessData
    const store = joinClusterStore({ ...settings, poolMax: 1 }, { sender })
    reconnectWith(port, store)
    return store
  },
  async openSearchIndex(data, indexSettings) {
    const { settings, port } = data as AccessData
    const index = await openClusterSearchIndex({ ...settings, poolMax: searchPool }, indexSettings)
    reconnectWith(port, index)
    return index
  },
}

/** Calls `heard` for each message of the main thread. The port stays open until its thread ends, and does not delay that. */
function onMessage(port: MessagePort, heard: (message: AccessMessage) => void): void {
  port.on("message", heard)
  port.unref()
}

function reconnectWith(port: MessagePort, connections: { reconnect(): void }): void {
  onMessage(port, ({ kind }) => {
    if (kind === "reconnect") connections.reconnect()
  })
}

/** Opens the store for a server. Throws `StoreFailed` for a PostgreSQL that may lose what it has acknowledged. */
export async function serve(
  given: ClusterSettings,
  { report, warn, crashPoint, rounds, sources }: ServeSettings,
): Promise<ServedStore> {
  await using opening = new AsyncDisposableStack()
  const settings = { ...given, identity: await prepareDatabase(given, warn) }
  const sender = randomUUID()
  const poolMax = settings.poolMax - intakePool - singleConnections
  const shares = new ConnectionShares(poolMax, rounds)
  const database = opening.use(new ClusterDatabase({ ...settings, poolMax: 1 }, () => undefined))
  const clock = new SharedClock()
  await setByDatabase(clock, database)
  const store = opening.use(joinClusterStore({ ...settings, poolMax }, { sender, clock, shares }))
  const leaseDatabase = opening.use(new ClusterDatabase(withShortTimeouts(settings), () => undefined))
  await ensurePartitions(database, clock.nowMs())
  const closing = new AbortController()
  const ports = new Set<MessagePort>()
  const reconnect = (): void => {
    for (const one of [store, database, leaseDatabase]) one.reconnect()
    for (const port of ports) port.postMessage({ kind: "reconnect" } satisfies AccessMessage)
  }
  /** A port for another thread, open until that thread ends, and the access with the port's other end. */
  const openPort = (): readonly [MessagePort, StoreAccess] => {
    const { port1, port2 } = new MessageChannel()
    ports.add(port1)
    port1.on("close", () => ports.delete(port1))
    const data: AccessData = { settings, sender, crashPoint, port: port2 }
    return [port1, { module: opener.module, data, ports: [port2] }]
  }
  const replaced = Promise.withResolvers<never>()
  // It may not be awaited yet.
  replaced.promise.catch(() => undefined)
  const failed = (error: unknown): void => {
    report("leases", error)
    if (error instanceof StoreReplaced) replaced.reject(error)
    // A server that one connection has lost is lost for all, and the others would wait for much longer.
    if (isServerLost(error)) reconnect()
  }
  const leases = opening.use(await ClusterLeases.begin({ database: leaseDatabase, store, clock, sources, failed }))
  const sharedLimits = opening.use(
    new ClusterLimits({
      database: store.database,
      shares,
      store,
      clock,
      processNumber: () => leases.processNumber,
      failed: (error) => report("shared limits", error),
    }),
  )
  const listening = listenForHints(
    { settings, clock, sender, heard: (change) => store.announce(change) },
    closing.signal,
  )
  const partitioning = keepPartitions(database, { clock, report }, closing.signal)
  const keepingTime = keepByDatabase(clock, database, closing.signal)
  opening.defer(async () => {
    closing.abort()
    await Promise.all([listening, partitioning, keepingTime])
  })
  const resources = opening.move()
  return {
    store,
    clock,
    leases,
    processNumber: leases.processNumber,
    sharedLimits,
    sharedLinkStates: clusterLinkStates(store.database),
    grantAccess(): StoreAccess {
      const [port, access] = openPort()
      port.on("message", (changes: readonly StoreChange[]) => {
        for (const change of changes) store.announce(change)
      })
      const stopListening = store.onChange((change) => {
        if (change.kind === "control") port.postMessage(change)
      })
      port.on("close", stopListening)
      return { ...access, epoch: clock.epoch }
    },
    grantReadAccess: () => openPort()[1],
    // A database that is away comes back, and does not end the process; another one in its place does.
    failed: replaced.promise,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

async function keepPartitions(
  database: ClusterDatabase,
  { clock, report }: { readonly clock: Clock; readonly report: ServeSettings["report"] },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(partitionsMs, signal)
    // Without one, rows go to the partition for all others; the next time comes in an hour.
    if (signal.aborted) return
    await ensurePartitions(database, clock.nowMs()).catch((error: unknown) => report("partitions", error))
  }
}

/** Makes the database ready for a server, which is to work on no other one. Returns its identity. */
async function prepareDatabase(settings: ClusterSettings, warn: ServeSettings["warn"]): Promise<string> {
  const place = placeOf(settings.url)
  await using database = new ClusterDatabase({ ...settings, poolMax: 1 }, () => undefined)
  const server = await inspectServer(database, settings, { joining: 1 })
  refuseUnsafeServer(server, place)
  for (const { text, advice } of server.warnings) warn({ text: `The database ${place} ${text}`, advice })
  await migrate(database, settings)
  return await adoptDatabase(database)
}

/** Inspects the server of the database. */
export async function inspect(settings: ClusterSettings): Promise<DatabaseServer> {
  await using database = new ClusterDatabase({ ...settings, poolMax: 1 }, () => undefined)
  return await inspectServer(database, settings)
}

/** Reads a store that is there, as it was at one moment. */
export async function examine<Result>(
  settings: ClusterSettings,
  examination: Examination<Result>,
): Promise<ExaminedStore<Result>> {
  await using database = new ClusterDatabase({ ...settings, poolMax: 1, statementMsMax: auditMsMax }, () => undefined)
  return atOneMoment(database, async (transaction) => {
    const version = await anyVersionOf(transaction)
    if (version !== storeVersion) {
      return { kind: version < storeVersion ? "older" : "newer", version, knownVersion: storeVersion, damage: [] }
    }
    return { kind: "read", version, result: await examination(await audit(transaction), createReads(transaction)) }
  })
}
