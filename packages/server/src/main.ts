/** Configuration → store → stages → HTTP: what a server is, from its start to its end. The stages: `stages.ts`. */
import { consolePath, paths } from "@sluice/api"
import type { RuleOptions } from "@sluice/rules"
import { postRetentionMsOf, undeliveredRetentionMsOf, type Config } from "./config.ts"
import { ConfigError } from "./runtime/config-error.ts"
import { Activity } from "./control/activity.ts"
import { createApps, type Apps } from "./control/apps.ts"
import { createRequestLimits } from "./control/limits/request-limits.ts"
import { Usage } from "./control/limits/usage.ts"
import { createSessions } from "./control/sessions.ts"
import { createBackfillSearches } from "./delivery/replays/backfill-searches.ts"
import { createRuleTestQueue } from "./control/rule-tests/rule-test-queue.ts"
import { diskRoom, lockFiles } from "./startup/data-directory.ts"
import { ConnectionTracker } from "./http/connections/connection-tracker.ts"
import { corsOriginsOf } from "./http/cors.ts"
import { intakeThrough } from "./ingest/intake.ts"
import { systemClock, type Clock } from "./runtime/clock.ts"
import { armCrashPoint, crashPoint } from "./runtime/crash-points.ts"
import { createEmbeddings, type Embeddings, type EmbeddingsEndpoint } from "./runtime/embeddings.ts"
import type { Events } from "./runtime/events/events.ts"
import { FairRounds } from "./runtime/fair-rounds.ts"
import { recordEvents, type Metrics } from "./runtime/events/recorded-events.ts"
import { boundHeapGrowth } from "./runtime/heap-growth.ts"
import { logBytesMax, openLogDestination } from "./runtime/events/log-destination.ts"
import type { MovableClock } from "./runtime/movable-clock.ts"
import { createOutbound, type Outbound } from "./runtime/outbound/outbound.ts"
import { outboundPostureOf } from "./runtime/outbound/outbound-address.ts"
import { systemRandom as random } from "./runtime/random.ts"
import { createSnowflakes } from "./runtime/snowflakes.ts"
import { createSources, type ConfiguredSource } from "./sources/configured-sources.ts"
import { createNeverMatching } from "./conversion/never-matching-clauses.ts"
import { createSourceControl, type SourceControlDeps } from "./sources/source-control.ts"
import { noSearches, startSearches } from "./search/searches.ts"
import { createReadiness, Failures } from "./control/readiness.ts"
import { engineAt } from "./startup/engine-at.ts"
import { startFault } from "./startup/start-fault.ts"
import type { ServedStore, ServeSettings, StoreAccess, StoreEngine } from "./store/engine.ts"
import { storeEngineOf } from "./store/open.ts"
import type { Store } from "./store/store.ts"
import type { Source, SourcesDeps } from "./sources/source.ts"
import { storeKeyOf } from "./startup/store-key.ts"
import {
  createControl,
  createDeliveries,
  createQueries,
  checkedSources,
  createStreams,
  createTrouble,
  drainMsMax,
  embeddingsEndpoint,
  loadThreads,
  ruleOptionsOf,
  runUpkeep,
  sourceDepsOf,
  serverLimitsOf,
  startThreads,
} from "./stages.ts"

/** Connections that the system keeps until they are accepted, if it allows as many. Beyond, clients retry after 1 s. */
const connectionBacklog = 4_096

/** Most bytes of responses that clients have not read, over all connections. */
const unreadBytesMax = 128 * 1024 * 1024

/** Most bytes of heads and unparsed reads, over all connections that hold more than an ordinary one. */
const inputBytesMax = 64 * 1024 * 1024

const mebibyte = 1_048_576
const secondMs = 1_000

/** A running server. */
export interface RunningServer {
  /** Address it listens on, for example `http://127.0.0.1:8080`. */
  readonly url: string
  /** URL of `/metrics` when it has a port of its own, path included. */
  readonly metricsUrl?: string
  readonly apps: Apps
  /** A link that signs in to the console with this token, once, within ten minutes. */
  signInLink(token: string): string
  /** Rejects when the server can no longer work and must be ended; else stays pending. */
  readonly failed: Promise<never>
  /** Accepts nothing new, finishes what is in flight, and saves every cursor. */
  close(): Promise<void>
}

/** Options of one start. */
export interface StartOptions {
  /** Starts with an empty store, even when a file shows that there was another one. */
  readonly isNew?: boolean
  /** Directory of the built console; without it the server has no console. */
  readonly consoleDirectory?: string | undefined
  /** Makes sources of posts in addition to those of the settings. */
  readonly moreSources?: (deps: SourcesDeps) => readonly Source[]
  /** The text of each line of the log, in place of its JSON; both have a line end. Empty: nothing is written. */
  readonly logLine?: ((json: string) => string) | undefined
  /** Time that its owner moves, in place of the machine's. Delivery threads would have the machine's: set none. */
  readonly clock?: MovableClock
}

/**
 * Starts the server. Throws `ConfigError`, `DataDirectoryInUse`, `StoreTooNew`, or the system's error when it cannot
 * listen; then nothing of it keeps running. `engine` is of the store that it works on, else the one of the settings.
 */
export async function startServer(
  config: Config,
  { engine = storeEngineOf(config), ...options }: StartOptions & { readonly engine?: StoreEngine } = {},
): Promise<RunningServer> {
  const { clock } = options
  return start(config, options, clock ? engineAt(clock, engine) : engine).catch((error: unknown) => {
    throw startFault(engine.place, error)
  })
}

async function start(
  config: Config,
  { isNew = false, consoleDirectory, moreSources, logLine, clock: movable }: StartOptions,
  engine: StoreEngine,
): Promise<RunningServer> {
  boundHeapGrowth()
  const configured = await checkedSources(config)
  await using resources = new AsyncDisposableStack()
  const { metrics, failures, ...recorded } = openEvents(config, logLine, resources)
  armCrashPoint(config.crashPoint)
  const lockLost = holdLock(engine, isNew, resources)
  const starting = { events: recorded.events, configured }
  const { served, threads, createHttpServer, rounds } = await loadAtOnce(config, engine, starting, resources)
  const { store, clock, leases, processNumber, sharedLimits, sharedLinkStates } = served
  const limiting = createLimits(config, served, recorded.events, resources)
  const { activity, events } = await observed(limiting.usage.observe(recorded.events), { store, clock })
  const { masterKey, secretBox } = await storeKeyOf(config, store, random)
  crashPoint("in-recovery")
  const endpoint = embeddingsEndpoint(config)
  const intake = intakeThrough(threads.intakeThreads, events)
  const outbound = openOutbound(config, movable, resources)
  const embeddings = endpoint && openEmbeddings(endpoint, clock, resources)
  const snowflakes = createSnowflakes(clock, random, { after: await store.lastId(), processNumber })
  const shared = { clock, random, events }
  const base = { ...shared, store, leases, sharedLimits, sharedLinkStates, snowflakes, secretBox, outbound }
  const sources = await createSources(configured, sourceDepsOf(config, { ...base, intake }), moreSources)
  const apps = createApps(base)
  const sessions = createSessions({ ...base, apps })
  const closing = new AbortController()
  const { signal } = closing
  const trouble = config.posture === "dev" ? createTrouble(base, threads, signal) : undefined
  const deliveries = createDeliveries(config, base, threads, trouble?.outbound)
  const streamConnections = createStreams(config, base, limiting.usage)
  resources.defer(() => streamConnections.close())
  const { retention, ...control } = createControl(config, base, { embeddings, troubled: trouble?.outbound })
  const ruleOptions = ruleOptionsOf(config, embeddings)
  const storeAccess = (): StoreAccess => served.grantReadAccess()
  const ruleTestQueue = resources.use(createRuleTestQueue({ ...base, storeAccess, embeddings: endpoint, ruleOptions }))
  const searching = await openSearches(config, { ...base, storeAccess }, resources)
  const readiness = createReadiness({ store, failures, events, clock, closing: signal })
  const connections = trackConnections(config, events)
  const creatingHttp = createHttpServer({
    apps,
    sessions,
    activity,
    ...limiting,
    consoleDirectory,
    ...httpSettings(config, engine),
    ...control,
    ...createQueries(config, { ...base, intake, sources, searches: searching ?? noSearches }, trouble?.troubles),
    troubles: trouble?.troubles,
    webhookLinks: deliveries.webhookLinks,
    streamConnections,
    ruleTestQueue,
    intake,
    ...sourceViews({ ...base, sources, intake, postBytesMax: config.postBytesMax }, ruleOptions),
    ...shared,
    metrics,
    connections,
    rounds,
    closing: signal,
    notReady: () => readiness.reason(),
    clockAheadMs: () => retention.clockAheadMs,
  })
  const startingThreads = startThreads(threads, config, { served, embeddings: endpoint, masterKey })
  const [http, { failed: threadFailed }] = await Promise.all([creatingHttp, startingThreads])
  resources.defer(() => http.close())
  const url = await http.listen({ host: config.host, port: config.port, backlog: connectionBacklog })
  const metricsUrl = await listenForMetrics(config, { metrics, events, rounds, resources })

  const work = Promise.all([
    deliveries.run(signal),
    createBackfillSearches({ ...base, pastPosts: ruleTestQueue }).run(signal),
    runUpkeep(base, { retention, deletions: control.deletions, usage: limiting.usage, apps }, signal),
    control.webhookRegistry.runSchedule(signal),
    readiness.run(signal),
    sources.run(signal),
    activity.run(signal, (error) => events.failed({ where: "overview", error })),
  ])
  const parts = [served.failed, threadFailed, ...(searching ? [searching.failed] : []), lockLost, work]
  const failed = firstFailure(parts, events)
  events.serverReady({ url, posture: config.posture })

  const running = resources.move()
  return {
    url,
    ...(metricsUrl !== undefined && { metricsUrl }),
    apps,
    signInLink: (token) => `${url}${consolePath}/sign-in#code=${sessions.createCode(token)}`,
    failed,
    async close() {
      events.serverClosing({ reason: "asked to" })
      closing.abort()
      try {
        // At the same time, so that their durations do not add up. Until all are done, new requests get 503.
        await Promise.all([connections.drain(drainMsMax), streamConnections.close(), work])
      } finally {
        await running.disposeAsync()
      }
    },
  }
}

/** The operators' views of the sources: their control, and the rules that none of them can match. */
function sourceViews(deps: SourceControlDeps, ruleOptions: RuleOptions) {
  return {
    sourceControl: createSourceControl(deps),
    neverMatching: createNeverMatching(deps.sources.configured, ruleOptions),
  }
}

/** Rejects, and reports it, when one of them does; else stays pending. */
function firstFailure(parts: readonly Promise<unknown>[], events: Events): Promise<never> {
  const pending = new Promise<never>(() => undefined)
  const failed = Promise.race(parts.map((part) => part.then(() => pending)))
  failed.catch((error: unknown) => {
    events.failed({ where: "server", error })
  })
  return failed
}

/** Settings of HTTP. */
function httpSettings(config: Config, { files }: StoreEngine) {
  return {
    posture: config.posture,
    // It is shown where it is known, and nothing depends on it.
    diskRoom: async () => files && diskRoom(files.directory).catch(() => undefined),
    servesMetrics: config.metricsPort === undefined,
    metricsToken: config.metricsToken,
    appTokensMayIngest: config.posture === "dev",
    corsOrigins: config.corsOrigins === undefined ? undefined : corsOriginsOf(config.corsOrigins),
    requestMsMax: config.requestSecondsMax * secondMs,
    undeliveredRetentionMs: undeliveredRetentionMsOf(config),
    drainMsMax,
  }
}

/** The limits of apps, and the counts of requests and of usage. */
function createLimits(
  config: Config,
  { store, clock, sharedLimits }: ServedStore,
  events: Events,
  resources: AsyncDisposableStack,
) {
  const limits = serverLimitsOf(config)
  const usage = new Usage({ store, clock, limits, events })
  // Posts that are read while the server closes count, too.
  resources.defer(() => usage.flush())
  return { limits, usage, requestLimits: createRequestLimits({ limits, clock, sharedLimits }) }
}

/** The activity of the last hour, and the events that it observes. */
async function observed(events: Events, from: { readonly store: Store; readonly clock: Clock }) {
  const activity = await Activity.begin(from)
  return { activity, events: activity.observe(events) }
}

function openEvents(config: Config, logLine: StartOptions["logLine"], resources: AsyncDisposableStack) {
  // Logs go to standard error: standard output is for data.
  const opened = resources.use(openLogDestination(2, { bytesMax: logBytesMax, clock: systemClock }))
  const log = logLine === undefined ? opened : { ...opened, write: (json: string) => opened.write(logLine(json)) }
  const failures = new Failures(systemClock)
  const { events, metrics } = recordEvents(log, config.logLevel, systemClock)
  return { metrics, failures, events: failures.observe(events) }
}

function openOutbound(config: Config, movable: MovableClock | undefined, resources: AsyncDisposableStack): Outbound {
  const outbound = createOutbound(outboundPostureOf(config))
  resources.defer(() => outbound.close())
  return movable ? { ...outbound, send: (request) => movable.counted(outbound.send(request)) } : outbound
}

function openEmbeddings(endpoint: EmbeddingsEndpoint, clock: Clock, resources: AsyncDisposableStack): Embeddings {
  const embeddings = createEmbeddings({ ...endpoint, clock })
  resources.defer(() => embeddings.close())
  return embeddings
}

/** The searches of the server; undefined where they are off. */
async function openSearches(
  config: Config,
  {
    storeAccess,
    ...base
  }: Omit<Parameters<typeof startSearches>[0], "storeAccess" | "postRetentionMs"> & {
    readonly storeAccess: () => StoreAccess
  },
  resources: AsyncDisposableStack,
) {
  if (config.search === "off") return undefined
  const postRetentionMs = postRetentionMsOf(config)
  return resources.use(await startSearches({ ...base, storeAccess: storeAccess(), postRetentionMs }))
}

/** Locks the store. The promise rejects when another process has taken the lock, and stays pending otherwise. */
function holdLock(engine: StoreEngine, isNew: boolean, resources: AsyncDisposableStack): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  // It is awaited only when the server is ready.
  promise.catch(() => undefined)
  resources.use(lockStore(engine, { isNew, lost: reject }))
  return promise
}

/** The files of the store, if it has any, belong to this process from then on. */
function lockStore(
  { files }: StoreEngine,
  options: { readonly isNew: boolean; readonly lost: (error: Error) => void },
): Disposable | undefined {
  if (files !== undefined) return lockFiles(files, options)
  if (!options.isNew) return undefined
  throw new ConfigError("--new is for a data directory whose store is lost. Leave it out with a database.")
}

/** Has all that takes long to load do so at the same time: the store's thread, the other threads, and HTTP here. */
async function loadAtOnce(
  config: Config,
  engine: StoreEngine,
  {
    events,
    configured,
  }: { readonly events: Pick<Events, "failed" | "databaseWarned">; readonly configured: readonly ConfiguredSource[] },
  resources: AsyncDisposableStack,
) {
  const rounds = new FairRounds(systemClock)
  const sources = configured.filter(({ isPositioned }) => isPositioned).map(({ name }) => name)
  const serving = serveStore(config, engine, { events, rounds, sources })
  const threads = loadThreads(config, engine)
  const all = [...threads.intakeThreads, ...threads.deliveryThreads]
  for (const thread of all) resources.use(thread)
  const loadingHttp = import("./http/server.ts")
  const served = resources.use(await serving)
  // Before the store, which it writes to until it has ended.
  for (const thread of all) resources.defer(() => thread[Symbol.asyncDispose]())
  const { createHttpServer } = await loadingHttp
  return { served, threads, createHttpServer, rounds }
}

async function serveStore(
  { cacheMegabytes, crashPoint: armedCrashPoint, search }: Config,
  engine: StoreEngine,
  {
    events,
    ...more
  }: { readonly events: Pick<Events, "failed" | "databaseWarned"> } & Pick<ServeSettings, "rounds" | "sources">,
): Promise<ServedStore> {
  const cacheBytes = cacheMegabytes * mebibyte
  const report = (where: string, error: unknown): void => events.failed({ where, error })
  const keepsSearchIndex = search !== "off"
  const warn = events.databaseWarned
  return engine.serve({ cacheBytes, crashPoint: armedCrashPoint, report, warn, keepsSearchIndex, ...more })
}

/** Most connections to the port of the metrics: a few scrapers, and room for those that stay open. Ours. */
const metricsConnectionsMax = 100

/** Listens on the port of the metrics, if they have one; where. */
async function listenForMetrics(
  config: Config,
  {
    metrics,
    events,
    rounds,
    resources,
  }: { metrics: Metrics; events: Events; rounds: FairRounds; resources: AsyncDisposableStack },
): Promise<string | undefined> {
  const { metricsPort: port, metricsHost: host = config.host, metricsToken } = config
  if (port === undefined) return undefined
  // Connections of its own: the metrics can be read when the API has all that it may have.
  const connections = trackConnections({ ...config, connectionsMax: metricsConnectionsMax }, events)
  const requestMsMax = config.requestSecondsMax * secondMs
  const { createMetricsServer } = await import("./http/server.ts")
  const http = await createMetricsServer({
    metrics,
    metricsToken,
    clock: systemClock,
    events,
    connections,
    rounds,
    requestMsMax,
    drainMsMax,
  })
  resources.defer(() => http.close())
  return (await http.listen({ host, port, backlog: connectionBacklog })) + paths.metrics
}

function trackConnections(config: Config, events: Events): ConnectionTracker {
  return new ConnectionTracker({
    clock: systemClock,
    events,
    connectionsMax: config.connectionsMax,
    unreadMsMax: config.streamStalledSecondsMax * secondMs,
    unreadBytesMax,
    inputBytesMax,
  })
}
