/**
 * Config → store → stages → HTTP: the only file that knows all the parts.
 */
import { webhookAnswerMsMax } from "@sluice/api"
import { pino } from "pino"
import { Registry } from "prom-client"
import { ConfigError, type Config } from "./config.ts"
import { createApps, type Apps } from "./control/apps.ts"
import { createDeadLetters } from "./control/dead-letters.ts"
import { createLinks } from "./control/links.ts"
import { createReplayBook } from "./control/replay-book.ts"
import { createRetention } from "./control/retention.ts"
import { createRuleBook } from "./control/rule-book.ts"
import { createWebhookRegistry } from "./control/webhook-registry.ts"
import { ensureDirectory, masterKey, storeFile } from "./data-directory.ts"
import { createReplays } from "./delivery/replays.ts"
import { createStreamConnections } from "./delivery/stream-connections.ts"
import { createWebhookLinks } from "./delivery/webhook-links.ts"
import { createHttpServer } from "./http/server.ts"
import { startIntakeThread } from "./ingest/intake-thread.ts"
import { intakeThrough } from "./ingest/intake.ts"
import { EmbeddingsMissing } from "./matching/rule-index.ts"
import { systemClock as clock } from "./runtime/clock.ts"
import { armCrashPoint, crashPoint } from "./runtime/crash-points.ts"
import { createEmbeddings, type EmbeddingsEndpoint } from "./runtime/embeddings.ts"
import { createEvents } from "./runtime/events.ts"
import { createOutbound } from "./runtime/outbound.ts"
import { systemRandom as random } from "./runtime/random.ts"
import { createSecretBox } from "./runtime/secret-box.ts"
import { createSnowflakes } from "./runtime/snowflakes.ts"
import { lockDirectory } from "./store/embedded/directory-lock.ts"
import { openEmbeddedStore, openEmbeddedStoreThrough } from "./store/embedded/embedded-store.ts"
import { startStoreWriter } from "./store/embedded/writer-thread.ts"
import { createPageTokens } from "./timelines/page-token.ts"
import { createUserPosts } from "./timelines/user-posts.ts"

/** Longest that requests and deliveries under way keep a server that closes: below the 10 s in which it ends. */
const drainMsMax = 8_000

const secondMs = 1_000
const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** A running server. */
export interface RunningServer {
  /** Where it listens, for example `http://127.0.0.1:8080`. */
  readonly url: string
  readonly apps: Apps
  /** Rejects when the server can no longer do its work and must be ended; else pending for ever. */
  readonly failed: Promise<never>
  /** Takes nothing new, finishes what is under way, saves every cursor. */
  close(): Promise<void>
}

/**
 * Starts the server. Throws `ConfigError`, `DataDirectoryInUse`, or the system's error when it cannot listen; then
 * nothing of it is left running.
 */
export async function startServer(config: Config): Promise<RunningServer> {
  await using resources = new AsyncDisposableStack()
  const registry = new Registry()
  // Logs go to standard error: standard output is for data.
  const events = createEvents(
    pino({ level: config.logLevel }, pino.destination({ dest: 2, sync: true })),
    registry,
  )

  armCrashPoint(config.crashPoint)
  ensureDirectory(config.data)
  resources.use(lockDirectory(config.data))
  const secretBox = createSecretBox(masterKey(config.data, config.masterKey, random), random)
  const file = storeFile(config.data)
  const endpoint = embeddingsEndpoint(config)
  const writer = await startStoreWriter({ file, crashPoint: config.crashPoint })
  resources.defer(() => writer.close())
  const store = resources.use(await openEmbeddedStoreThrough(writer.connect(), { file }))
  crashPoint("in-recovery")
  const intakeThread = await startIntakeThread({
    file,
    writePort: writer.connect(["control"]),
    embeddings: endpoint,
  }).catch((error: unknown) => {
    throw error instanceof EmbeddingsMissing ? rulesNeedEndpoint(error) : error
  })
  resources.defer(() => intakeThread.close())
  const intake = intakeThrough(intakeThread.intakePort, events)

  const allowPrivate = config.posture === "dev"
  const outbound = createOutbound({ allowPrivate })
  resources.defer(() => outbound.close())
  const embeddings = endpoint && createEmbeddings({ ...endpoint, clock })
  resources.defer(async () => embeddings?.close())
  const snowflakes = createSnowflakes(clock, random)
  const apps = createApps({ store, secretBox, snowflakes, clock, random })
  await refuseWrongKey(apps)
  const webhookRegistry = createWebhookRegistry({
    store,
    outbound,
    secretBox,
    snowflakes,
    clock,
    random,
    events,
    allowPrivate,
    webhooksPerAppMax: config.webhooksPerAppMax,
    signingKeyGraceMs: config.signingKeyGraceHours * hourMs,
  })
  const sending = {
    store,
    outbound,
    secretBox,
    clock,
    random,
    events,
    deliveriesPerLinkPerSecondMax: config.deliveriesPerLinkPerSecondMax,
    attemptsKeptPerLink: config.attemptsKeptPerLink,
    attemptMsMax: webhookAnswerMsMax,
    drainMsMax,
  }
  const webhookLinks = createWebhookLinks({
    ...sending,
    concurrencyPerLink: config.deliveriesPerLinkMax,
    deliveryAttemptsMax: config.deliveryAttemptsMax,
    retryBaseMs: config.retrySecondsMin * secondMs,
    retryMaxMs: config.retrySecondsMax * secondMs,
  })
  const replays = createReplays(sending)
  const matchRetentionMs = config.matchRetentionHours * hourMs
  const retention = createRetention({
    store,
    clock,
    events,
    matchRetentionMs,
    postRetentionMs: config.postRetentionDays * dayMs,
    deadLetterRetentionMs: config.deadLetterRetentionDays * dayMs,
  })
  const streamConnections = createStreamConnections({
    store,
    clock,
    events,
    connectionsPerAppMax: config.streamConnectionsPerAppMax,
    stalledMsMax: config.streamStalledSecondsMax * secondMs,
    matchRetentionMs,
  })
  resources.defer(() => streamConnections.close())
  const pageTokens = createPageTokens({
    key: secretBox.derive("page tokens"),
    lifetimeMs: config.pageTokenLifetimeHours * hourMs,
    clock,
  })

  const closing = new AbortController()
  const http = await createHttpServer({
    apps,
    ruleBook: createRuleBook({
      store,
      snowflakes,
      clock,
      rulesPerAppMax: config.rulesPerAppMax,
      ruleCharactersMax: config.ruleCharactersMax,
      strict: config.ruleDialect === "strict",
      embeddings,
    }),
    webhookRegistry,
    links: createLinks({ store, snowflakes, clock }),
    webhookLinks,
    deadLetters: createDeadLetters({ store }),
    replayBook: createReplayBook({ store, snowflakes, clock, matchRetentionMs }),
    streamConnections,
    userPosts: createUserPosts({ store, tokens: pageTokens, scanMax: config.pageScanMax }),
    pageTokens,
    intake,
    events,
    clock,
    registry,
    appTokensMayIngest: config.posture === "dev",
    requestMsMax: config.requestSecondsMax * secondMs,
    drainMsMax,
    closing: closing.signal,
    isReady: () => !closing.signal.aborted,
  })
  resources.defer(() => http.close())
  const url = await http.listen({ host: config.host, port: config.port })

  const { signal } = closing
  const work = Promise.all([
    webhookLinks.run(signal),
    replays.run(signal),
    retention.run(signal),
    webhookRegistry.runSchedule(signal),
  ])
  const failed = Promise.race([
    writer.failed,
    intakeThread.failed,
    work.then(() => new Promise<never>(() => undefined)),
  ])
  failed.catch((error: unknown) => {
    events.failed({ where: "server", error })
  })
  events.serverReady({ url, posture: config.posture })

  const running = resources.move()
  return {
    url,
    apps,
    failed,
    async close() {
      events.serverClosing({ reason: "asked to" })
      closing.abort()
      try {
        // Side by side, so that their times do not add up. Listening ends at once.
        await Promise.all([http.close(), streamConnections.close(), work])
      } finally {
        await running.disposeAsync()
      }
    },
  }
}

/**
 * Applications and tokens of a data directory, whether a server runs on it or not. Throws `ConfigError` when its key
 * cannot be had.
 */
export async function openApps(
  config: Pick<Config, "data" | "masterKey">,
): Promise<{ apps: Apps } & AsyncDisposable> {
  ensureDirectory(config.data)
  const secretBox = createSecretBox(masterKey(config.data, config.masterKey, random), random)
  await using resources = new AsyncDisposableStack()
  const store = resources.use(await openEmbeddedStore({ file: storeFile(config.data) }))
  const apps = createApps({ store, secretBox, snowflakes: createSnowflakes(clock, random), clock, random })
  await refuseWrongKey(apps)
  const opened = resources.move()
  return { apps, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** The endpoint as the settings say; their contradictions are refused where they are read. */
function embeddingsEndpoint(config: Config): EmbeddingsEndpoint | undefined {
  const { embeddingsUrl: url, embeddingsModel: model, embeddingsKey: key } = config
  if (url === undefined || model === undefined) return undefined
  return { url, model, ...(key !== undefined && { key }) }
}

/** A start without the endpoint would leave rules silent that an earlier start accepted. */
function rulesNeedEndpoint(cause: EmbeddingsMissing): ConfigError {
  return new ConfigError(
    `${cause.message} Set SLUICE_EMBEDDINGS_URL and SLUICE_EMBEDDINGS_MODEL; ` +
      "to do without, start with them once more and delete such rules.",
    { cause },
  )
}

/** With another key than the store's nothing could be signed, and no token derived: better not to start. */
async function refuseWrongKey(apps: Apps): Promise<void> {
  if (await apps.hasRightKey()) return
  throw new ConfigError(
    "The master key is not the one that this store's secrets are sealed under. " +
      "Use the key file that belongs to the store, or set SLUICE_MASTER_KEY to its key.",
  )
}
