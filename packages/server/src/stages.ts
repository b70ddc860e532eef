/** The stages of a server, each made of its settings and of what several of them need. */
import { webhookAnswerMsMax } from "@sluice/api"
import type { RuleOptions } from "@sluice/rules"
import type { Config } from "./config.ts"
import { ConfigError } from "./runtime/config-error.ts"
import { createDeadLetters } from "./control/dead-letters.ts"
import { createLinks } from "./control/links.ts"
import { createRedeliveries } from "./control/redeliveries.ts"
import { createReplayRequests } from "./control/replays/replay-requests.ts"
import { createRetention } from "./control/retention.ts"
import { createRulesets } from "./control/rules/rulesets.ts"
import { createWebhookRegistry } from "./control/webhooks/webhook-registry.ts"
import { createReplays } from "./delivery/replays/replays.ts"
import { createStreamConnections } from "./delivery/streams/stream-connections.ts"
import { createWebhookLinks } from "./delivery/links/webhook-links.ts"
import type { IntakeSettings, IntakeThread } from "./ingest/intake-thread.ts"
import { EmbeddingsMissing } from "./matching/rule-index.ts"
import { systemClock as clock, type Clock } from "./runtime/clock.ts"
import type { JetStreamDeps, Source } from "./sources/jetstream.ts"
import type { Embeddings, EmbeddingsEndpoint } from "./runtime/embeddings.ts"
import type { Events } from "./runtime/events.ts"
import type { Outbound } from "./runtime/outbound.ts"
import { outboundPostureOf } from "./runtime/outbound-address.ts"
import type { Random } from "./runtime/random.ts"
import type { SecretBox } from "./runtime/secret-box.ts"
import type { Snowflakes } from "./runtime/snowflakes.ts"
import { troubledOutbound, type TroubledOutbound } from "./trouble/troubled-outbound.ts"
import { Troubles } from "./trouble/troubles.ts"
import type { ServedStore } from "./store/engine.ts"
import type { Leases } from "./store/leases.ts"
import type { Store } from "./store/store.ts"
import { createPageTokens } from "./paging/page-token.ts"
import { createStoredPosts } from "./queries/stored-posts.ts"
import { createUserPosts } from "./queries/user-posts.ts"

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
export function createTrouble(base: Base, closing: AbortSignal) {
  const troubles = new Troubles(base)
  return { troubles, outbound: troubledOutbound(base.outbound, troubles, { clock, closing }) }
}

/** The readers of the match logs. */
export function createReaders(config: Config, base: Base, troubled: TroubledOutbound | undefined) {
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
export function createQueries(
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

export function ruleOptionsOf(config: Config, embeddings: Embeddings | undefined): RuleOptions {
  return {
    lengthMax: config.ruleCharactersMax,
    strict: config.ruleDialect === "strict",
    embeddings: embeddings !== undefined,
  }
}

/** The broker that posts are taken from, if there is one. */
export async function createSource(
  config: Config,
  deps: Omit<JetStreamDeps, "drainMsMax">,
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
  return createJetStreamSource(settings, { ...deps, drainMsMax })
}

/** Has the intake threads begin. Throws `ConfigError` when a rule needs embeddings and there is no endpoint. */
export async function startIntake(
  intakeThreads: readonly IntakeThread[],
  { postBytesMax, ruleStepsPerAppMax }: Config,
  { served, embeddings }: Pick<IntakeSettings, "embeddings"> & { readonly served: Pick<ServedStore, "grantAccess"> },
): Promise<Pick<ServedStore, "failed">> {
  const settings = { embeddings, postBytesMax, ruleStepsPerAppMax }
  const starting = intakeThreads.map((thread) => thread.start({ ...settings, storeAccess: served.grantAccess() }))
  const started = await Promise.all(starting).catch((error: unknown) => {
    throw error instanceof EmbeddingsMissing ? rulesNeedEndpoint(error) : error
  })
  return { failed: Promise.race(started.map(({ failed }) => failed)) }
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
