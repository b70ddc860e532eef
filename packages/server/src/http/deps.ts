/** The dependencies of the routes, and the type of the server that they are added to. */
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox"
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from "fastify"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Activity } from "../control/activity.ts"
import type { Apps } from "../control/apps.ts"
import type { NeverMatchingOf } from "../conversion/never-matching-clauses.ts"
import type { Deletions } from "../control/deletions.ts"
import type { DeadLetters } from "../control/dead-letters.ts"
import type { Links } from "../control/links.ts"
import type { ServerLimits } from "../control/limits/app-limits.ts"
import type { RequestLimits } from "../control/limits/request-limits.ts"
import type { Usage } from "../control/limits/usage.ts"
import type { DiskRoom } from "../control/problems/disk-room.ts"
import type { Redeliveries } from "../control/redeliveries.ts"
import type { ReplayRequests } from "../control/replays/replay-requests.ts"
import type { Rulesets } from "../control/rules/rulesets.ts"
import type { RuleTestQueue } from "../control/rule-tests/rule-test-queue.ts"
import type { Sessions } from "../control/sessions.ts"
import type { WebhookRegistry } from "../control/webhooks/webhook-registry.ts"
import type { WebhookLinks } from "../delivery/links/webhook-links.ts"
import type { StreamConnections } from "../delivery/streams/stream-connections.ts"
import type { Intake } from "../ingest/intake.ts"
import type { PageTokens } from "../paging/page-token.ts"
import type { HeldPages } from "../queries/held-pages.ts"
import type { PostSearches } from "../queries/post-searches.ts"
import type { RelatedPosts } from "../queries/related-posts.ts"
import type { Reposters } from "../queries/reposters.ts"
import type { SearchCounts } from "../queries/search-counts.ts"
import type { SearchedRules } from "../queries/searched-rules.ts"
import type { PostsById } from "../queries/posts-by-id.ts"
import type { StoredPosts } from "../queries/stored-posts.ts"
import type { UserPosts } from "../queries/user-posts.ts"
import type { Users } from "../queries/users.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events/events.ts"
import type { FairRounds } from "../runtime/fair-rounds.ts"
import type { Random } from "../runtime/random.ts"
import type { Metrics } from "../runtime/events/recorded-events.ts"
import type { SourceControl } from "../sources/source-control.ts"
import type { Troubles } from "../trouble/troubles.ts"
import type { PostWriter } from "../writing/post-writer.ts"
import type { ConnectionTracker } from "./connections/connection-tracker.ts"
import type { CorsOrigins } from "./cors.ts"

/** The dependencies of the server and its routes. A route takes only those that it uses. */
export interface HttpDeps {
  readonly apps: Apps
  readonly sessions: Sessions
  readonly activity: Activity
  /** The limits of apps, before what is set for single ones. */
  readonly limits: ServerLimits
  readonly requestLimits: RequestLimits
  readonly usage: Pick<Usage, "count" | "isCapped" | "of">
  readonly rulesets: Rulesets
  readonly ruleTestQueue: RuleTestQueue
  readonly webhookRegistry: WebhookRegistry
  readonly links: Links
  readonly webhookLinks: WebhookLinks
  readonly deadLetters: DeadLetters
  readonly redeliveries: Redeliveries
  readonly replayRequests: ReplayRequests
  readonly streamConnections: StreamConnections
  readonly userPosts: UserPosts
  readonly postsById: PostsById
  readonly users: Users
  readonly storedPosts: StoredPosts
  readonly postSearches: PostSearches
  readonly relatedPosts: RelatedPosts
  readonly reposters: Reposters
  readonly searchCounts: SearchCounts
  readonly searchedRules: SearchedRules
  readonly pageTokens: PageTokens
  readonly heldPages: HeldPages
  readonly intake: Intake
  readonly sourceControl: SourceControl
  /** The clauses of a rule that no post of the configured sources fulfils. */
  readonly neverMatching: NeverMatchingOf
  readonly postWriter: PostWriter
  readonly deletions: Deletions
  /** Trouble on demand; absent unless the server is for development. */
  readonly troubles: Troubles | undefined
  readonly events: Events
  readonly clock: Clock
  readonly random: Random
  readonly metrics: Metrics
  /** True if `/metrics` is served here; false if it has a port of its own. */
  readonly servesMetrics: boolean
  /** The token that `/metrics` requires; absent when it is open. */
  readonly metricsToken?: string | undefined
  readonly connections: ConnectionTracker
  /** The rounds of this thread, in which requests begin and long work continues. */
  readonly rounds: FairRounds
  /** The command that started the server. */
  readonly posture: "dev" | "serve"
  /** Directory of the built console. Absent when the server was started without one. */
  readonly consoleDirectory: string | undefined
  /** True if the ingest route accepts an app's bearer token. */
  readonly appTokensMayIngest: boolean
  /** Origins of pages whose programs may read responses; absent for none. */
  readonly corsOrigins?: CorsOrigins | undefined
  /** Time limit for a request's head, and again for its JSON body. */
  readonly requestMsMax: number
  /** Time limit for the requests in progress when the server closes. Those that remain are cut. */
  readonly drainMsMax: number
  /** Aborted when the server begins to close. Request bodies without an end are then ended with a response. */
  readonly closing: AbortSignal
  /** The data directory's disk; undefined when that cannot be found out, and for a database. */
  diskRoom(): Promise<DiskRoom | undefined>
  /** Retention of a match that a link has still to deliver, ms. */
  readonly undeliveredRetentionMs: number
  /** Milliseconds by which the clock is ahead of retention's time; 0 when retention goes by the clock. */
  clockAheadMs(): number
  /** The reason why the server is not ready, as text for the public; absent when it is ready. */
  notReady(): string | undefined
}

/** The server, with the types of the schemas on its routes. */
export type HttpServer = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>
