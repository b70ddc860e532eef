/** The stages of a server, each made of its settings and of what several of them need. */
import { parseRequestBounds, webhookResponseMsMax } from "@sluice/api"
import type { RuleOptions } from "@sluice/rules"
import { postRetentionMsOf, undeliveredRetentionMsOf, type Config } from "./config.ts"
import { ConfigError } from "./runtime/config-error.ts"
import type { Apps } from "./control/apps.ts"
import { createDeadLetters } from "./control/dead-letters.ts"
import { createDeletions, type Deletions } from "./control/deletions.ts"
import { limitsOf, type ServerLimits } from "./control/limits/app-limits.ts"
import type { Usage, UsageCounts } from "./control/limits/usage.ts"
import { createLinks } from "./control/links.ts"
import { createRedeliveries } from "./control/redeliveries.ts"
import { createReplayRequests } from "./control/replays/replay-requests.ts"
import { createRetention, type Retention } from "./control/retention.ts"
import { createRulesets } from "./control/rules/rulesets.ts"
import { createWebhookRegistry } from "./control/webhooks/webhook-registry.ts"
import { createReplays } from "./delivery/replays/replays.ts"
import { createStreamConnections, type StreamConnections } from "./delivery/streams/stream-connections.ts"
import { createWebhookLinks, type WebhookLinks } from "./delivery/links/webhook-links.ts"
import { loadDeliveryThread, type DeliveryPolicy, type DeliveryThread } from "./delivery/threads/delivery-thread.ts"
import { linksOfThreads } from "./delivery/threads/delivery-threads.ts"
import type { InstanceNumbers } from "./conversion/foreign-ids.ts"
import type { Intake } from "./ingest/intake.ts"
import { loadIntakeThread, type IntakeThread } from "./ingest/intake-thread.ts"
import { takeStoredUsers } from "./ingest/stored-users.ts"
import { EmbeddingsMissing } from "./matching/rule-index.ts"
import type { Clock } from "./runtime/clock.ts"
import { checkSources, type ConfiguredSource, type Sources } from "./sources/configured-sources.ts"
import { acknowledged } from "./sources/source-kinds.ts"
import type { Embeddings, EmbeddingsEndpoint } from "./runtime/embeddings.ts"
import type { Events } from "./runtime/events/events.ts"
import type { Outbound } from "./runtime/outbound/outbound.ts"
import { outboundPostureOf, sourcePostureOf } from "./runtime/outbound/outbound-address.ts"
import type { Random } from "./runtime/random.ts"
import type { SecretBox } from "./runtime/secret-box.ts"
import type { Snowflakes } from "./runtime/snowflakes.ts"
import { troubledOutbound, type TroubledOutbound } from "./trouble/troubled-outbound.ts"
import { Troubles } from "./trouble/troubles.ts"
import type { ServedStore, StoreEngine } from "./store/engine.ts"
import type { Leases } from "./store/leases.ts"
import type { Store } from "./store/store.ts"
import { createPageTokens } from "./paging/page-token.ts"
import { HeldPages } from "./queries/held-pages.ts"
import type { Searches } from "./search/searches.ts"
import { createPostSearches } from "./queries/post-searches.ts"
import { createRelatedPosts } from "./queries/related-posts.ts"
import { createReposters } from "./queries/reposters.ts"
import { createSearchCounts } from "./queries/search-counts.ts"
import { createSearchedRules } from "./queries/searched-rules.ts"
import { createStoredPosts } from "./queries/stored-posts.ts"
import { createPostsById } from "./queries/posts-by-id.ts"
import { createUserPosts } from "./queries/user-posts.ts"
import { createUsers } from "./queries/users.ts"
import { createPostWriter } from "./writing/post-writer.ts"

/** Longest wait for requests and deliveries in flight when a server closes: it ends within 10 s. */
export const drainMsMax = 8_000

const secondMs = 1_000
const hourMs = 3_600_000
const dayMs = 24 * hourMs

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
export function createTrouble(base: Base, { deliveryThreads }: ServerThreads, closing: AbortSignal) {
  const troubles = new Troubles({ ...base, meetsDeliveries: deliveryThreads.length === 0 })
  return { troubles, outbound: troubledOutbound(base.outbound, troubles, { clock: base.clock, closing }) }
}

/** How deliveries are made, whichever thread makes them. */
function deliveryPolicy(config: Config): DeliveryPolicy {
  return {
    deliveriesPerLinkPerSecondMax: config.deliveriesPerLinkPerSecondMax,
    attemptsKeptPerLink: config.attemptsKeptPerLink,
    attemptResponseBytesMax: config.attemptResponseBytesMax,
    attemptMsMax: webhookResponseMsMax,
    drainMsMax,
    concurrencyPerLink: config.deliveriesPerLinkMax,
    deliveryAttemptsMax: config.deliveryAttemptsMax,
    retryBaseMs: config.retrySecondsMin * secondMs,
    retryMaxMs: config.retrySecondsMax * secondMs,
  }
}

/** Webhook links, and the run that delivers over them and their replays. */
interface Deliveries {
  readonly webhookLinks: WebhookLinks
  /** As `WebhookLinks.run`, replays included. */
  run(signal: AbortSignal): Promise<unknown>
}

/** Deliveries by the delivery threads, if there are any, else by this one. */
export function createDeliveries(
  config: Config,
  base: Base,
  { deliveryThreads }: ServerThreads,
  troubled: TroubledOutbound | undefined,
): Deliveries {
  if (deliveryThreads.length > 0) {
    const webhookLinks = linksOfThreads(deliveryThreads, base)
    return { webhookLinks, run: (signal) => webhookLinks.run(signal) }
  }
  const sending = { ...base, ...deliveryPolicy(config), ...(troubled && { outboundTo: troubled.deliveriesTo }) }
  const webhookLinks = createWebhookLinks(sending)
  const replays = createReplays(sending)
  return { webhookLinks, run: (signal) => Promise.all([webhookLinks.run(signal), replays.run(signal)]) }
}

/** The limits of apps by the settings. */
export function serverLimitsOf(config: Config): ServerLimits {
  return {
    profile: config.limits,
    requests: config.requestBounds === undefined ? {} : parseRequestBounds(config.requestBounds),
    rulesMax: config.rulesPerAppMax,
    ruleCharactersMax: config.ruleCharactersMax,
    connectionsMax: config.streamConnectionsPerAppMax,
    postsPerSecondMax: config.postsPerSecondMax,
    postsPerMonthMax: config.postsPerMonthMax,
    capResetDay: config.capResetDay,
  }
}

/** The stream connections. */
export function createStreams(config: Config, base: Base, usage: UsageCounts): StreamConnections {
  const limits = serverLimitsOf(config)
  return createStreamConnections({
    ...base,
    usage,
    limitsOf: (app) => limitsOf(limits, app),
    connectionsOver: config.streamConnectionsOver,
    stalledMsMax: config.streamStalledSecondsMax * secondMs,
    matchRetentionMs: config.matchRetentionHours * hourMs,
    deletionsRememberedMs: config.deletionsRememberedHours * hourMs,
  })
}

/** Rules, webhooks, links, dead letters, replays and retention. */
export function createControl(
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
      ...(troubled && { outboundTo: troubled.challengesOf, deliveriesTo: troubled.deliveriesTo }),
      attemptMsMax: webhookResponseMsMax,
      attemptResponseBytesMax: config.attemptResponseBytesMax,
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
    deletions: createDeletions(base),
    retention: createRetention({
      ...base,
      matchRetentionMs,
      undeliveredRetentionMs: undeliveredRetentionMsOf(config),
      postRetentionMs: postRetentionMsOf(config),
      deadLetterRetentionMs: config.deadLetterRetentionDays * dayMs,
      deletionsRememberedMs: config.deletionsRememberedHours * hourMs,
      believesClock: config.clockJump === "believe",
    }),
  }
}

/**
 * Runs what keeps the store as it should be, until `signal` aborts: retention, the counts of usage, the last uses of
 * tokens, and what deletions and an upgrade have left to do.
 */
export function runUpkeep(
  base: Base,
  {
    retention,
    deletions,
    usage,
    apps,
  }: {
    readonly retention: Retention
    readonly deletions: Deletions
    readonly usage: Usage
    readonly apps: Pick<Apps, "keepUses">
  },
  signal: AbortSignal,
): Promise<unknown> {
  return Promise.all([
    retention.run(signal),
    deletions.run(signal),
    usage.run(signal),
    apps.keepUses(signal),
    takeStoredUsers(base, signal),
  ])
}

/** Queries on stored posts, the tokens of their pages, and the writing of posts, which refers to stored ones. */
export function createQueries(
  config: Config,
  {
    store,
    secretBox,
    snowflakes,
    clock,
    events,
    searches,
    intake,
    sources,
  }: Pick<Base, "store" | "secretBox" | "snowflakes" | "clock" | "events"> & {
    readonly searches: Searches
    readonly intake: Intake
    readonly sources: Pick<Sources, "configured">
  },
  troubles: Troubles | undefined,
) {
  const pageTokens = createPageTokens({
    key: secretBox.derive("page tokens"),
    lifetimeMs: config.pageTokenLifetimeHours * hourMs,
    clock,
    ...(troubles && { isExpiredEarly: (appId, issuedAtMs) => troubles.takeExpiry(appId, issuedAtMs) }),
  })
  const heldPages = new HeldPages()
  const postSearches = createPostSearches({ store, searches, tokens: pageTokens, heldPages, clock })
  const postsById = createPostsById({ store, searches, heldPages, events })
  const users = createUsers({ store, tokens: pageTokens, events })
  return {
    pageTokens,
    heldPages,
    storedPosts: createStoredPosts({ store, tokens: pageTokens, instances: instancesOf(sources.configured) }),
    postsById,
    postWriter: createPostWriter({ store, postsById, intake, snowflakes, clock, postBytesMax: config.postBytesMax }),
    users,
    userPosts: createUserPosts({ store, tokens: pageTokens, heldPages, scanMax: config.pageScanMax, events }),
    searchedRules: createSearchedRules({
      strict: config.ruleDialect === "strict",
      withReposts: config.searchReposts === "true",
    }),
    postSearches,
    relatedPosts: createRelatedPosts({ postSearches, postsById, store }),
    reposters: createReposters({ postSearches, postsById, users }),
    searchCounts: createSearchCounts({ searches, tokens: pageTokens }),
  }
}

/** The instances of Mastodon that the sources read. */
function instancesOf(configured: readonly ConfiguredSource[]): InstanceNumbers {
  return new Map(configured.flatMap(({ instance }) => (instance ? [[instance.host, instance.number]] : [])))
}

export function ruleOptionsOf(config: Config, embeddings: Embeddings | undefined): RuleOptions {
  return {
    lengthMax: config.ruleCharactersMax,
    strict: config.ruleDialect === "strict",
    embeddings: embeddings !== undefined,
  }
}

/** The sources of posts, checked: those that are listed, and the one of the settings `nats…`, by the name `nats`. */
export async function checkedSources(config: Config): Promise<readonly ConfiguredSource[]> {
  const listed = await checkSources(config.sources)
  const { natsUrl, natsStream } = config
  if (natsUrl === undefined || natsStream === undefined) return listed
  const clash = config.sources.find(({ name }) => name === natsSourceName)
  if (clash !== undefined) {
    throw new ConfigError(`The source ${natsSourceName} (${clash.place}) has the name of the source of natsUrl.`)
  }
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
  const nats = acknowledged((deps) => createJetStreamSource(settings, deps))
  return [{ name: natsSourceName, type: "nats", place: "natsUrl", ...nats }, ...listed]
}

/** Dependencies of the sources of a server. */
export function sourceDepsOf<Deps>(config: Config, deps: Deps) {
  return { ...deps, posture: sourcePostureOf(config), postBytesMax: config.postBytesMax, drainMsMax }
}

/** Name of the source of the settings `nats…`. */
const natsSourceName = "nats"

/** The threads that start with a server, in addition to the store's. */
export interface ServerThreads {
  readonly intakeThreads: readonly IntakeThread[]
  /** None where the main thread delivers. */
  readonly deliveryThreads: readonly DeliveryThread[]
}

/** Has the threads load their modules, as many as the settings say. */
export function loadThreads({ intakeThreads, deliveryThreads }: Config, { files }: StoreEngine): ServerThreads {
  // On PostgreSQL each would need connections of its own, and more processes give more threads.
  const isShared = files === undefined
  return {
    intakeThreads: Array.from({ length: isShared ? 1 : intakeThreads }, loadIntakeThread),
    deliveryThreads: Array.from({ length: isShared ? 0 : deliveryThreads }, loadDeliveryThread),
  }
}

interface StartingThreads {
  readonly served: Pick<ServedStore, "grantAccess">
  readonly embeddings: EmbeddingsEndpoint | undefined
  readonly masterKey: Uint8Array
}

/** Has the threads begin. Throws `ConfigError` when a rule needs embeddings and there is no endpoint. */
export async function startThreads(
  { intakeThreads, deliveryThreads }: ServerThreads,
  config: Config,
  starting: StartingThreads,
): Promise<Pick<ServedStore, "failed">> {
  const started = await Promise.all([
    ...startIntake(intakeThreads, config, starting),
    ...startDelivery(deliveryThreads, config, starting),
  ])
  return { failed: Promise.race(started.map(({ failed }) => failed)) }
}

function startIntake(
  intakeThreads: ServerThreads["intakeThreads"],
  { postBytesMax, ruleStepsPerAppMax }: Config,
  { served, embeddings }: StartingThreads,
): readonly Promise<Pick<ServedStore, "failed">>[] {
  const settings = { embeddings, postBytesMax, ruleStepsPerAppMax }
  return intakeThreads.map(async (thread) => {
    const starting = thread.start({ ...settings, storeAccess: served.grantAccess() })
    return starting.catch((error: unknown) => {
      throw error instanceof EmbeddingsMissing ? rulesNeedEndpoint(error) : error
    })
  })
}

/** They deliver when `Deliveries` run. */
function startDelivery(
  deliveryThreads: ServerThreads["deliveryThreads"],
  config: Config,
  { served, masterKey }: StartingThreads,
): readonly Promise<Pick<ServedStore, "failed">>[] {
  const settings = {
    ...deliveryPolicy(config),
    deliveryThreads: deliveryThreads.length,
    outboundPosture: outboundPostureOf(config),
    masterKey,
    crashPoint: config.crashPoint,
  }
  return deliveryThreads.map((thread) =>
    thread.start({ ...settings, storeAccess: served.grantAccess({ readsLogs: true }) }),
  )
}

/** The endpoint of the settings, which are checked where they are read. */
export function embeddingsEndpoint(config: Config): EmbeddingsEndpoint | undefined {
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
