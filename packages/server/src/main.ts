/** Configuration → store → stages → HTTP: the only file that knows all parts. */
import { consolePath, paths, webhookAnswerMsMax } from "@sluice/api"
import type { RuleOptions } from "@sluice/rules"
import type { Config } from "./config.ts"
import { ConfigError } from "./runtime/config-error.ts"
import { Activity } from "./control/activity.ts"
import { createApps, type Apps } from "./control/apps.ts"
import { createDeadLetters } from "./control/dead-letters.ts"
import { createLinks } from "./control/links.ts"
import { createRedeliveries } from "./control/redeliveries.ts"
import { createReplayRequests } from "./control/replays/replay-requests.ts"
import { createRetention } from "./control/retention.ts"
import { createSessions } from "./control/sessions.ts"
import { resealSecrets, type Resealed } from "./control/reseal-secrets.ts"
import { createRulesets } from "./control/rules/rulesets.ts"
import { createRuleTestQueue } from "./control/rule-tests/rule-test-queue.ts"
import { createWebhookRegistry } from "./control/webhooks/webhook-registry.ts"
import { ensureDirectory, freeBytes, refuseLostStore } from "./startup/data-directory.ts"
import { createReplays } from "./delivery/replays/replays.ts"
import { createStreamConnections } from "./delivery/streams/stream-connections.ts"
import { createWebhookLinks } from "./delivery/links/webhook-links.ts"
import { ConnectionTracker } from "./http/connection-tracker.ts"
import { loadIntakeThread, type IntakeSettings, type IntakeThread } from "./ingest/intake-thread.ts"
import { intakeThrough } from "./ingest/intake.ts"
import { EmbeddingsMissing } from "./matching/rule-index.ts"
import { systemClock as clock, type Clock } from "./runtime/clock.ts"
import { armCrashPoint, crashPoint } from "./runtime/crash-points.ts"
import { adoptNextKey, masterKey, nextMasterKey } from "./startup/master-key.ts"
import type { createJetStreamSource, Source } from "./sources/jetstream.ts"
import { createEmbeddings, type Embeddings, type EmbeddingsEndpoint } from "./runtime/embeddings.ts"
import type { Events } from "./runtime/events.ts"
import { recordEvents, type Metrics } from "./runtime/recorded-events.ts"
import { boundHeapGrowth } from "./runtime/heap-growth.ts"
import { logBytesMax, openLogDestination } from "./runtime/log-destination.ts"
import { createOutbound, type Outbound } from "./runtime/outbound.ts"
import { outboundPostureOf } from "./runtime/outbound-address.ts"
import { systemRandom as random, type Random } from "./runtime/random.ts"
import { createSecretBox, type SecretBox } from "./runtime/secret-box.ts"
import { createSnowflakes, type Snowflakes } from "./runtime/snowflakes.ts"
import { troubledOutbound, type TroubledOutbound } from "./trouble/troubled-outbound.ts"
import { Troubles } from "./trouble/troubles.ts"
import { createReadiness, Failures } from "./control/readiness.ts"
import { startFault } from "./startup/start-fault.ts"
import type { ServedStore, StoreEngine, StoreFiles } from "./store/engine.ts"
import type { Leases } from "./store/leases.ts"
import { storeEngineOf, type StoreSettings } from "./store/open.ts"
import type { Store } from "./store/store.ts"
import { createPageTokens } from "./paging/page-token.ts"
import { createStoredPosts } from "./queries/stored-posts.ts"
import { createUserPosts } from "./queries/user-posts.ts"

/** Longest wait for requests and deliveries in flight when a server closes: it ends within 10 s. */
const drainMsMax = 8_000

/** Connections that the system keeps until they are accepted, if it allows as many. Beyond, clients retry after 1 s. */
const connectionBacklog = 4_096

/** Most bytes of responses that clients have not read, over all connections. */
const unreadBytesMax = 128 * 1024 * 1024

const mebibyte = 1_048_576
const secondMs = 1_000
const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** A running server. */
export interface RunningServer {
  /** Where it listens, for example `http://127.0.0.1:8080`. */
  readonly url: string
  /** Where `/metrics` is when it has a port of its own, path included. */
  readonly metricsUrl?: string
  readonly apps: Apps
  /** A link that signs in to the console with this token, once, within ten minutes. */
  signInLink(token: string): string
  /** Rejects when the server can no longer work and must be ended; else stays pending. */
  readonly failed: Promise<never>
  /** Accepts nothing new, finishes what is in flight, and saves every cursor. */
  close(): Promise<void>
}

/** What an operator chooses for one start. */
export interface StartOptions {
  /** Starts with an empty store, even when a file shows that there was another one. */
  readonly isNew?: boolean
  /** Where the built console is; without it there is none. */
  readonly consoleDirectory?: string | undefined
}

/**
 * Starts the server. Throws `ConfigError`, `DataDirectoryInUse`, `StoreTooNew`, or the system's error when it cannot
 * listen; then nothing of it keeps running. `engine` is of the store that it works on, else the one of the settings.
 */
export async function startServer(
  config: Config,
  { engine = storeEngineOf(config), ...options }: StartOptions & { readonly engine?: StoreEngine } = {},
): Promise<RunningServer> {
  return start(config, options, engine).catch((error: unknown) => {
    throw startFault(engine.place, error)
  })
}

async function start(
  config: Config,
  { isNew = false, consoleDirectory }: StartOptions,
  engine: StoreEngine,
): Promise<RunningServer> {
  boundHeapGrowth()
  await using resources = new AsyncDisposableStack()
  const { metrics, failures, ...recorded } = openEvents(config, resources)
  armCrashPoint(config.crashPoint)
  resources.use(lockStore(engine, isNew))
  const { served, intakeThread, createHttpServer } = await loadAtOnce(config, engine, recorded.events, resources)
  const { store, leases, processNumber, sharedLimits, sharedLinkStates } = served
  const { activity, events } = await observed(recorded.events, store)
  const secretBox = await secretBoxOf(config, store)
  crashPoint("in-recovery")
  const endpoint = embeddingsEndpoint(config)
  const intake = intakeThrough(intakeThread.intakePort, events)
  const source = await createSource(config, { intake, clock, events, drainMsMax })

  const outbound = createOutbound(outboundPostureOf(config))
  resources.defer(() => outbound.close())
  const embeddings = endpoint && createEmbeddings({ ...endpoint, clock })
  resources.defer(async () => embeddings?.close())
  const snowflakes = createSnowflakes(clock, random, { after: await store.lastId(), processNumber })
  const base = { store, leases, sharedLimits, sharedLinkStates, snowflakes, secretBox, outbound, clock, random, events }
  const apps = createApps(base)
  const sessions = createSessions({ ...base, apps })
  const closing = new AbortController()
  const { signal } = closing
  const trouble = config.posture === "dev" ? createTrouble(base, signal) : undefined
  const readers = createReaders(config, base, trouble?.outbound)
  resources.defer(() => readers.streamConnections.close())
  const { retention, ...control } = createControl(config, base, { embeddings, troubled: trouble?.outbound })
  const ruleTestQueue = resources.use(
    createRuleTestQueue({
      ...base,
      storeAccess: () => served.grantReadAccess(),
      embeddings: endpoint,
      ruleOptions: ruleOptionsOf(config, embeddings),
    }),
  )
  const readiness = createReadiness({ store, failures, events, clock, closing: signal })
  const connections = trackConnections(config, events)
  const creatingHttp = createHttpServer({
    apps,
    sessions,
    activity,
    consoleDirectory,
    ...httpSettings(config, engine),
    ...control,
    ...createQueries(config, base, trouble?.troubles),
    troubles: trouble?.troubles,
    ...readers,
    ruleTestQueue,
    intake,
    events,
    clock,
    random,
    metrics,
    connections,
    closing: signal,
    notReady: () => readiness.reason(),
  })
  const startingIntake = startIntake(intakeThread, config, { storeAccess: served.grantAccess(), embeddings: endpoint })
  const [http, matching] = await Promise.all([creatingHttp, startingIntake])
  resources.defer(() => http.close())
  const url = await http.listen({ host: config.host, port: config.port, backlog: connectionBacklog })
  const metricsUrl = await listenForMetrics(config, { metrics, events, resources })

  const work = Promise.all([
    readers.webhookLinks.run(signal),
    readers.replays.run(signal),
    retention.run(signal),
    control.webhookRegistry.runSchedule(signal),
    readiness.run(signal),
    source?.run(signal),
    activity.run(signal, (error) => events.failed({ where: "overview", error })),
  ])
  const failed = firstFailure([served.failed, matching.failed, work], events)
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
        await Promise.all([connections.drain(drainMsMax), readers.streamConnections.close(), work])
      } finally {
        await running.disposeAsync()
      }
    },
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

/** What HTTP takes from the settings. */
function httpSettings(config: Config, { files }: StoreEngine) {
  return {
    posture: config.posture,
    freeBytes: async () => files && freeBytes(files.directory),
    servesMetrics: config.metricsPort === undefined,
    metricsToken: config.metricsToken,
    appTokensMayIngest: config.posture === "dev",
    requestMsMax: config.requestSecondsMax * secondMs,
    drainMsMax,
  }
}

/** The activity of the last hour, and the events that it observes. */
async function observed(events: Events, store: Store) {
  const activity = await Activity.begin({ store, clock })
  return { activity, events: activity.observe(events) }
}

function openEvents(config: Config, resources: AsyncDisposableStack) {
  const log = resources.use(openLogDestination(2, { bytesMax: logBytesMax, clock }))
  // Logs go to standard error: standard output is for data.
  const failures = new Failures(clock)
  const { events, metrics } = recordEvents(log, config.logLevel, clock)
  return { metrics, failures, events: failures.observe(events) }
}

/** The files of the store, if it has any, belong to this process from then on. */
function lockStore({ files }: StoreEngine, isNew: boolean): Disposable | undefined {
  if (files !== undefined) return lockFiles(files, { isNew })
  if (!isNew) return undefined
  throw new ConfigError("--new is for a data directory whose store is lost. Leave it out with a database.")
}

/** Has all that takes long to load do so at the same time: the store's thread, the intake thread, and HTTP here. */
async function loadAtOnce(
  config: Config,
  engine: StoreEngine,
  events: Pick<Events, "failed">,
  resources: AsyncDisposableStack,
) {
  const serving = serveStore(config, engine, events)
  const intakeThread = resources.use(loadIntakeThread())
  const loadingHttp = import("./http/server.ts")
  const served = resources.use(await serving)
  // Before the store, which it writes to until it has ended.
  resources.defer(() => intakeThread[Symbol.asyncDispose]())
  const { createHttpServer } = await loadingHttp
  return { served, intakeThread, createHttpServer }
}

async function serveStore(
  { cacheMegabytes, crashPoint: armedCrashPoint }: Config,
  engine: StoreEngine,
  events: Pick<Events, "failed">,
): Promise<ServedStore> {
  const cacheBytes = cacheMegabytes * mebibyte
  const report = (where: string, error: unknown): void => events.failed({ where, error })
  return engine.serve({ cacheBytes, crashPoint: armedCrashPoint, report })
}

/** Makes the data directory ready, and this process its only server. */
function lockFiles(files: StoreFiles, { isNew }: { readonly isNew: boolean }): Disposable {
  ensureDirectory(files)
  using taking = new DisposableStack()
  taking.use(files.lock())
  refuseLostStore(files, { isNew })
  return taking.move()
}

async function startIntake(
  intakeThread: IntakeThread,
  { postBytesMax, ruleStepsPerAppMax }: Config,
  needed: Pick<IntakeSettings, "storeAccess" | "embeddings">,
): Promise<Pick<ServedStore, "failed">> {
  return intakeThread.start({ ...needed, postBytesMax, ruleStepsPerAppMax }).catch((error: unknown) => {
    throw error instanceof EmbeddingsMissing ? rulesNeedEndpoint(error) : error
  })
}

/** The broker that posts are taken from, if there is one. */
async function createSource(
  config: Config,
  deps: Parameters<typeof createJetStreamSource>[1],
): Promise<Source | undefined> {
  const { natsUrl, natsStream } = config
  if (natsUrl === undefined || natsStream === undefined) return undefined
  const settings = {
    servers: natsUrl.split(","),
    stream: natsStream,
    consumer: config.natsConsumer,
    subject: config.natsSubject,
    deadLetterSubject: config.natsDeadLetterSubject,
    credentialsFile: config.natsCredentials,
    token: config.natsToken,
    caFile: config.natsCa,
  }
  const { createJetStreamSource } = await import("./sources/jetstream.ts")
  return createJetStreamSource(settings, deps)
}

/** Parts that several stages need. */
interface Base {
  readonly store: Store
  readonly leases: Leases
  readonly sharedLimits: ServedStore["sharedLimits"]
  readonly sharedLinkStates: ServedStore["sharedLinkStates"]
  readonly snowflakes: Snowflakes
  readonly secretBox: SecretBox
  readonly outbound: Outbound
  readonly clock: Clock
  readonly random: Random
  readonly events: Events
}

/** Trouble on demand: what apps ask for, and the outbound requests that meet it. For development only. */
function createTrouble(base: Base, closing: AbortSignal) {
  const troubles = new Troubles(base)
  return { troubles, outbound: troubledOutbound(base.outbound, troubles, { clock, closing }) }
}

/** The readers of the match logs. */
function createReaders(config: Config, base: Base, troubled: TroubledOutbound | undefined) {
  const sending = {
    ...base,
    ...(troubled && { outboundTo: troubled.deliveriesTo }),
    deliveriesPerLinkPerSecondMax: config.deliveriesPerLinkPerSecondMax,
    attemptsKeptPerLink: config.attemptsKeptPerLink,
    attemptResponseBytesMax: config.attemptResponseBytesMax,
    attemptMsMax: webhookAnswerMsMax,
    drainMsMax,
  }
  return {
    webhookLinks: createWebhookLinks({
      ...sending,
      concurrencyPerLink: config.deliveriesPerLinkMax,
      deliveryAttemptsMax: config.deliveryAttemptsMax,
      retryBaseMs: config.retrySecondsMin * secondMs,
      retryMaxMs: config.retrySecondsMax * secondMs,
    }),
    replays: createReplays(sending),
    streamConnections: createStreamConnections({
      ...base,
      connectionsPerAppMax: config.streamConnectionsPerAppMax,
      connectionsOver: config.streamConnectionsOver,
      stalledMsMax: config.streamStalledSecondsMax * secondMs,
      matchRetentionMs: config.matchRetentionHours * hourMs,
    }),
  }
}

/** Rules, webhooks, links, dead letters, replays and retention. */
function createControl(
  config: Config,
  base: Base,
  {
    embeddings,
    troubled,
  }: { readonly embeddings: Embeddings | undefined; readonly troubled: TroubledOutbound | undefined },
) {
  const matchRetentionMs = config.matchRetentionHours * hourMs
  return {
    rulesets: createRulesets({
      ...base,
      isStoreShared: base.sharedLimits !== undefined,
      embeddings,
      rulesPerAppMax: config.rulesPerAppMax,
      ruleStepsPerAppMax: config.ruleStepsPerAppMax,
      ruleOptions: ruleOptionsOf(config, embeddings),
    }),
    webhookRegistry: createWebhookRegistry({
      ...base,
      ...(troubled && { outboundTo: troubled.challengesOf }),
      ...outboundPostureOf(config),
      webhooksPerAppMax: config.webhooksPerAppMax,
      challengesPerAppMax: config.challengesPerAppMax,
      signingKeyGraceMs: config.signingKeyGraceHours * hourMs,
    }),
    links: createLinks(base),
    deadLetters: createDeadLetters(base),
    redeliveries: createRedeliveries(base),
    replayRequests: createReplayRequests({
      ...base,
      matchRetentionMs,
      mayReplayRecent: config.posture === "dev",
    }),
    retention: createRetention({
      ...base,
      matchRetentionMs,
      postRetentionMs: config.postRetentionDays * dayMs,
      deadLetterRetentionMs: config.deadLetterRetentionDays * dayMs,
    }),
  }
}

/** Queries on stored posts, and the tokens of their pages. */
function createQueries(
  config: Config,
  { store, secretBox }: Pick<Base, "store" | "secretBox">,
  troubles: Troubles | undefined,
) {
  const pageTokens = createPageTokens({
    key: secretBox.derive("page tokens"),
    lifetimeMs: config.pageTokenLifetimeHours * hourMs,
    clock,
    ...(troubles && { isExpiredEarly: (appId, issuedAtMs) => troubles.takeExpiry(appId, issuedAtMs) }),
  })
  return {
    pageTokens,
    storedPosts: createStoredPosts({ store, tokens: pageTokens }),
    userPosts: createUserPosts({ store, tokens: pageTokens, scanMax: config.pageScanMax }),
  }
}

function ruleOptionsOf(config: Config, embeddings: Embeddings | undefined): RuleOptions {
  return {
    lengthMax: config.ruleCharactersMax,
    strict: config.ruleDialect === "strict",
    embeddings: embeddings !== undefined,
  }
}

/** Most connections to the port of the metrics: a few scrapers, and room for those that stay open. Ours. */
const metricsConnectionsMax = 100

/** Listens on the port of the metrics, if they have one; where. */
async function listenForMetrics(
  config: Config,
  { metrics, events, resources }: { metrics: Metrics; events: Events; resources: AsyncDisposableStack },
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
    clock,
    events,
    connections,
    requestMsMax,
    drainMsMax,
  })
  resources.defer(() => http.close())
  return (await http.listen({ host, port, backlog: connectionBacklog })) + paths.metrics
}

function trackConnections(config: Config, events: Events): ConnectionTracker {
  return new ConnectionTracker({
    clock,
    events,
    connectionsMax: config.connectionsMax,
    unreadMsMax: config.streamStalledSecondsMax * secondMs,
    unreadBytesMax,
  })
}

/** Apps and tokens of a store, whether a server runs on it or not. Throws `ConfigError` when it or its key cannot be used. */
export async function openApps(config: KeyedStore): Promise<{ apps: Apps } & AsyncDisposable> {
  const engine = storeEngineOf(config)
  return openAppsOf(config, engine).catch((error: unknown) => {
    throw startFault(engine.place, error)
  })
}

/** The settings of a store that is opened with its key. */
type KeyedStore = StoreSettings & Pick<Config, "masterKey">

async function openAppsOf(config: KeyedStore, engine: StoreEngine): Promise<{ apps: Apps } & AsyncDisposable> {
  if (engine.files !== undefined) {
    ensureDirectory(engine.files)
    refuseLostStore(engine.files, { isNew: false })
  }
  await using resources = new AsyncDisposableStack()
  const store = resources.use(await engine.open())
  const secretBox = await secretBoxOf(config, store)
  const snowflakes = createSnowflakes(clock, random, { after: await store.lastId() })
  const apps = createApps({ store, secretBox, snowflakes, clock, random })
  const opened = resources.move()
  return { apps, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** How a rotation of the master key ended. */
export interface RotatedMasterKey extends Resealed {
  /** Where the old key is kept, for the backups made before; absent when it came from the settings. */
  readonly oldKeyIsAt?: string
}

/**
 * Replaces the master key of a store on which no server runs: by `newKey` when the key is from the settings, else
 * by one that is made here and takes the place of the key file. What was cut short is completed by the same call. Throws
 * `ConfigError` or `DataDirectoryInUse`; then nothing has changed.
 */
export async function rotateMasterKey(
  config: KeyedStore & Pick<Config, "crashPoint">,
  newKey: string | undefined,
): Promise<RotatedMasterKey> {
  const engine = storeEngineOf(config)
  return rotateMasterKeyOf(config, newKey, engine).catch((error: unknown) => {
    throw startFault(engine.place, error)
  })
}

async function rotateMasterKeyOf(
  config: KeyedStore & Pick<Config, "crashPoint">,
  newKey: string | undefined,
  engine: StoreEngine,
): Promise<RotatedMasterKey> {
  const { data, masterKey: setting } = config
  armCrashPoint(config.crashPoint)
  using _lock = engine.files && lockFiles(engine.files, { isNew: false })
  await using store = await engine.open()
  const current = masterKey(data, setting, random, { mayCreate: false })
  const next = setting === undefined ? nextMasterKey(data, random) : newMasterKey(newKey, setting)
  const [from, to] = [createSecretBox(current, random), createSecretBox(next, random)]
  const [app] = await store.apps()
  const isResealed = app !== undefined && to.opens(app.consumerSecretSealed)
  const damaged = await store.damagedRecords()
  if (damaged.length > 0) {
    throw new ConfigError(`The store is damaged (${damaged[0]}). Run \`sluice doctor\`, and rotate the key afterwards.`)
  }
  if (!isResealed && app !== undefined && !from.opens(app.consumerSecretSealed)) throw otherKey()
  const resealed = await resealSecrets({ store, from: isResealed ? to : from, to, clock })
  crashPoint("in-rotation")
  return { ...resealed, ...(setting === undefined && { oldKeyIsAt: adoptNextKey(data, clock.nowMs()) }) }
}

/** The key of a rotation whose old key is from the settings. */
function newMasterKey(text: string | undefined, current: string): Uint8Array {
  if (text === undefined) {
    throw new ConfigError(
      "The master key is from the settings (masterKey), so the new one has to be given, too: set SLUICE_NEW_MASTER_KEY " +
        "to 64 hexadecimal digits, for example of `openssl rand -hex 32`.",
    )
  }
  if (!/^[0-9a-fA-F]{64}$/.test(text)) throw new ConfigError("SLUICE_NEW_MASTER_KEY must be 64 hexadecimal digits.")
  if (text.toLowerCase() === current.toLowerCase()) {
    throw new ConfigError("SLUICE_NEW_MASTER_KEY is the key that the store has already.")
  }
  return Buffer.from(text, "hex")
}

/**
 * Seals secrets under the master key. The key file is created after the store, so a key without a store shows that the
 * store was lost; and only for an empty store. Throws `ConfigError` for another key than the store's: nothing could be
 * signed and no token derived.
 */
async function secretBoxOf(
  { data, masterKey: setting }: Pick<Config, "data" | "masterKey">,
  store: Store,
): Promise<SecretBox> {
  const mayCreate = (await store.lastId()) === "0"
  const secretBox = createSecretBox(masterKey(data, setting, random, { mayCreate }), random)
  const [app] = await store.apps()
  if (app === undefined || secretBox.opens(app.consumerSecretSealed)) return secretBox
  throw otherKey()
}

function otherKey(): ConfigError {
  return new ConfigError(
    "The master key is not the one that this store's secrets are sealed under. " +
      "Use the key file that belongs to the store, or set SLUICE_MASTER_KEY to its key. After a rotation of the key that " +
      "was cut short, run it again.",
  )
}

/** The endpoint of the settings, which are checked where they are read. */
function embeddingsEndpoint(config: Config): EmbeddingsEndpoint | undefined {
  const { embeddingsUrl: url, embeddingsModel: model, embeddingsKey: key } = config
  if (url === undefined || model === undefined) return undefined
  return { url, model, ...(key !== undefined && { key }) }
}

/** Without the endpoint, rules that were accepted earlier would match nothing. */
function rulesNeedEndpoint(cause: EmbeddingsMissing): ConfigError {
  return new ConfigError(
    `${cause.message} Set SLUICE_EMBEDDINGS_URL and SLUICE_EMBEDDINGS_MODEL; ` +
      "to do without, start with them once more and delete such rules.",
    { cause },
  )
}
