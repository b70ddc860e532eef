/** The operations of the API by the names of their paths: the body and the result of each. */
import type {
  AddTroubleBody,
  AppCredentialsBody,
  AppLimitsBody,
  AppsBody,
  AttemptsQuery,
  ChangeLinkBody,
  ChangeWebhookBody,
  ChangeRuleTagBody,
  ChangeRulesBody,
  ChangeRulesQuery,
  ConnectionsBody,
  ConnectionsQuery,
  CountsBody,
  CountsQuery,
  CreateAppBody,
  CreateBackfillBody,
  CreateLinkQuery,
  CreateDeletionsBody,
  CreatePostBody,
  CreateReplayBody,
  CreateSessionBody,
  CreateTokenBody,
  CreateWebhookBody,
  CreatedPostBody,
  DeletionsBody,
  PostDeletedBody,
  CreatedTokenBody,
  DeadLettersBody,
  DeadLettersQuery,
  DeletedBody,
  DescriptionBody,
  DiscardedSourceDeadLettersBody,
  DisconnectStreamsBody,
  EndConnectionsBody,
  EndedConnectionsBody,
  Envelope,
  FoundUsersBody,
  IngestQuery,
  IngestedBody,
  LinkAttemptBody,
  LinkAttemptsBody,
  LinkDetailBody,
  LinkDetailsBody,
  LinkDetailsQuery,
  LinksBody,
  LinksQuery,
  MentionsQuery,
  OverviewBody,
  OwnLimits,
  PageMeta,
  PostByIdBody,
  PostByIdQuery,
  PostsBody,
  PostsByIdBody,
  PostsByIdQuery,
  ProvisionedBody,
  QuotesQuery,
  RedeliverBody,
  RedeliverMatchesBody,
  RedeliveredBody,
  RedeliveredMatchesBody,
  RepeatedSourceDeadLettersBody,
  ReplayBody,
  ReplayCreatedBody,
  ReplaysBody,
  RepostersQuery,
  RepostsQuery,
  RevokedBody,
  RewindSourceBody,
  RuleCostBody,
  RuleCountsBody,
  RuleCountsQuery,
  RuleDetailBody,
  RuleDetailsBody,
  RuleDetailsQuery,
  RuleTestedBody,
  RulesBody,
  RulesChangedBody,
  RulesQuery,
  SearchAllQuery,
  SearchRecentQuery,
  SessionBody,
  SessionEndedBody,
  SigningKeyBody,
  SourceBody,
  SourceDeadLetterIdsBody,
  SourceDeadLettersBody,
  SourceDeadLettersQuery,
  SourcesBody,
  StatusBody,
  StoredPostBody,
  StoredPostsBody,
  StoredPostsQuery,
  StreamsDisconnectedBody,
  TestRuleBody,
  TokenBody,
  TokenQuery,
  TestDeliveryBody,
  TokensBody,
  TroubleBody,
  TroublesBody,
  TroublesClearedBody,
  UsageBody,
  UsageQuery,
  UserBody,
  UserPostsQuery,
  UserQuery,
  UserSearchQuery,
  UsersBody,
  UsersByQuery,
  UsersPageBody,
  UsersQuery,
  WebhookBody,
  WebhookDetailBody,
  WebhookDetailsBody,
  WebhookDetailsQuery,
  WebhookValidBody,
  WebhooksBody,
  WebhooksQuery,
} from "@sluice/api"
import type { ParameterOf, paths } from "@sluice/api/paths"

/** The result of an operation, as JSON unless its name is among `textOperations`, its body, and its query parameters. */
interface Operation<Response, Body = never, Parameters = unknown> {
  readonly response: Response
  readonly body: Body
  readonly parameters: Parameters
}

/** An operation that reads. */
type Read<Response, Parameters = unknown> = Operation<Response, never, Parameters>

/** Pages of a search lead to older posts only. A page may be short or empty; the last one has no `next_token`. */
interface FoundPostsBody extends Omit<PostsBody, "meta"> {
  readonly meta?: Omit<PageMeta, "previous_token">
}

/**
 * By the name of the path, then by the method: every operation of a server's `/openapi.json` but the streams, which
 * `Client.stream` and its variants read.
 */
export interface Operations {
  /** A page for people. */
  readonly home: { readonly GET: Read<string> }
  /** With the app's key and secret as `Authorization: Basic …` among the request's `headers`. */
  readonly oauthToken: { readonly POST: Operation<TokenBody, URLSearchParams, TokenQuery> }
  readonly rules: {
    readonly GET: Read<RulesBody, RulesQuery>
    readonly POST: Operation<RulesChangedBody, ChangeRulesBody | undefined, ChangeRulesQuery>
  }
  readonly ruleCounts: { readonly GET: Read<RuleCountsBody, RuleCountsQuery> }
  readonly connections: {
    readonly GET: Read<ConnectionsBody, ConnectionsQuery>
    readonly DELETE: Operation<EndedConnectionsBody, EndConnectionsBody>
  }
  readonly allConnections: { readonly DELETE: Operation<EndedConnectionsBody> }
  readonly endpointConnections: { readonly DELETE: Operation<EndedConnectionsBody> }
  readonly links: { readonly GET: Read<LinksBody, LinksQuery> }
  readonly link: {
    readonly POST: Operation<ProvisionedBody, never, CreateLinkQuery>
    readonly DELETE: Operation<DeletedBody>
  }
  readonly webhooks: {
    readonly GET: Read<WebhooksBody, WebhooksQuery>
    readonly POST: Operation<WebhookBody, CreateWebhookBody>
  }
  readonly webhook: { readonly PUT: Operation<WebhookValidBody>; readonly DELETE: Operation<DeletedBody> }
  readonly webhookReplay: { readonly POST: Operation<ReplayCreatedBody, CreateReplayBody> }
  /** With `ids`, at most 100, in the query. */
  readonly postsById: {
    readonly GET: Read<PostsByIdBody, PostsByIdQuery>
    readonly POST: Operation<CreatedPostBody, CreatePostBody>
  }
  readonly postById: { readonly GET: Read<PostByIdBody, PostByIdQuery>; readonly DELETE: Operation<PostDeletedBody> }
  /** For ingest tokens and operators. */
  readonly deletions: { readonly POST: Operation<DeletionsBody, CreateDeletionsBody> }
  readonly users: { readonly GET: Read<UsersBody, UsersQuery> }
  readonly user: { readonly GET: Read<UserBody, UserQuery> }
  readonly usersBy: { readonly GET: Read<UsersBody, UsersByQuery> }
  readonly userByUsername: { readonly GET: Read<UserBody, UserQuery> }
  readonly userSearch: { readonly GET: Read<FoundUsersBody, UserSearchQuery> }
  /** With a token of a user. */
  readonly me: { readonly GET: Read<UserBody, UserQuery> }
  readonly userPosts: { readonly GET: Read<PostsBody, UserPostsQuery> }
  /** With a `query` in the query, and so the other searches. */
  readonly searchRecent: { readonly GET: Read<FoundPostsBody, SearchRecentQuery> }
  readonly searchAll: { readonly GET: Read<FoundPostsBody, SearchAllQuery> }
  /** Counts by the intervals of a page, which ascend; the next page is older. */
  readonly countsRecent: { readonly GET: Read<CountsBody, CountsQuery> }
  readonly countsAll: { readonly GET: Read<CountsBody, CountsQuery> }
  /** How many posts the app got. Without `usage.fields`, the members of the project. */
  readonly usage: { readonly GET: Read<UsageBody, UsageQuery> }
  readonly mentions: { readonly GET: Read<PostsBody, MentionsQuery> }
  readonly quotes: { readonly GET: Read<PostsBody, QuotesQuery> }
  readonly reposts: { readonly GET: Read<PostsBody, RepostsQuery> }
  /** The users who reposted a post. A page may be short or empty; the last one has no `next_token`. */
  readonly reposters: { readonly GET: Read<UsersPageBody, RepostersQuery> }
  /** The body is NDJSON, one envelope on each line, or a list of envelopes. */
  readonly posts: {
    readonly GET: Read<StoredPostsBody, StoredPostsQuery>
    readonly POST: Operation<IngestedBody, string | Uint8Array | readonly Envelope[], Omit<IngestQuery, "ack">>
  }
  readonly post: { readonly GET: Read<StoredPostBody> }
  readonly ruleDetails: { readonly GET: Read<RuleDetailsBody, RuleDetailsQuery> }
  readonly ruleDetail: { readonly PATCH: Operation<RuleDetailBody, ChangeRuleTagBody> }
  readonly linkDetails: { readonly GET: Read<LinkDetailsBody, LinkDetailsQuery> }
  readonly linkDetail: {
    readonly GET: Read<LinkDetailBody>
    readonly PATCH: Operation<LinkDetailBody, ChangeLinkBody>
  }
  readonly attempts: { readonly GET: Read<LinkAttemptsBody, AttemptsQuery> }
  readonly attempt: { readonly GET: Read<LinkAttemptBody> }
  readonly deadLetters: { readonly GET: Read<DeadLettersBody, DeadLettersQuery> }
  readonly redeliver: { readonly POST: Operation<RedeliveredBody, RedeliverBody> }
  readonly redeliverMatches: { readonly POST: Operation<RedeliveredMatchesBody, RedeliverMatchesBody> }
  readonly replays: {
    readonly GET: Read<ReplaysBody>
    readonly POST: Operation<ReplayBody, CreateBackfillBody>
  }
  readonly replay: { readonly DELETE: Operation<ReplayBody> }
  readonly webhookDetails: { readonly GET: Read<WebhookDetailsBody, WebhookDetailsQuery> }
  readonly webhookDetail: {
    readonly GET: Read<WebhookDetailBody>
    readonly PATCH: Operation<WebhookDetailBody, ChangeWebhookBody>
  }
  readonly webhookTest: { readonly POST: Operation<TestDeliveryBody> }
  readonly signingKey: {
    readonly GET: Read<SigningKeyBody>
    readonly POST: Operation<SigningKeyBody>
  }
  readonly ruleCost: { readonly GET: Read<RuleCostBody> }
  /** Only on a server for development; 403 elsewhere. */
  readonly troubles: {
    readonly GET: Read<TroublesBody>
    readonly POST: Operation<TroubleBody, AddTroubleBody>
    readonly DELETE: Operation<TroublesClearedBody>
  }
  readonly trouble: { readonly DELETE: Operation<TroublesClearedBody> }
  readonly troubleDisconnect: { readonly POST: Operation<StreamsDisconnectedBody, DisconnectStreamsBody> }
  readonly ruleTest: { readonly POST: Operation<RuleTestedBody, TestRuleBody> }
  readonly overview: { readonly GET: Read<OverviewBody> }
  readonly apps: { readonly GET: Read<AppsBody>; readonly POST: Operation<AppCredentialsBody, CreateAppBody> }
  readonly app: { readonly DELETE: Operation<RevokedBody> }
  /** The body of a PUT replaces all that was set for the app. */
  readonly appLimits: { readonly GET: Read<AppLimitsBody>; readonly PUT: Operation<AppLimitsBody, OwnLimits> }
  readonly limits: { readonly GET: Read<AppLimitsBody> }
  readonly rotateApp: { readonly POST: Operation<AppCredentialsBody> }
  readonly tokens: {
    readonly GET: Read<TokensBody>
    readonly POST: Operation<CreatedTokenBody, CreateTokenBody>
  }
  readonly token: { readonly DELETE: Operation<RevokedBody> }
  readonly session: {
    readonly GET: Read<SessionBody>
    readonly POST: Operation<SessionBody, CreateSessionBody>
    readonly DELETE: Operation<SessionEndedBody>
  }
  /** Sources of posts, for operators; so are the next seven. */
  readonly sources: { readonly GET: Read<SourcesBody> }
  readonly source: { readonly GET: Read<SourceBody> }
  readonly pauseSource: { readonly POST: Operation<SourceBody> }
  readonly resumeSource: { readonly POST: Operation<SourceBody> }
  readonly rewindSource: { readonly POST: Operation<SourceBody, RewindSourceBody> }
  readonly sourceDeadLetters: { readonly GET: Read<SourceDeadLettersBody, SourceDeadLettersQuery> }
  readonly repeatSourceDeadLetters: {
    readonly POST: Operation<RepeatedSourceDeadLettersBody, SourceDeadLetterIdsBody>
  }
  readonly discardSourceDeadLetters: {
    readonly POST: Operation<DiscardedSourceDeadLettersBody, SourceDeadLetterIdsBody>
  }
  readonly openapi: { readonly GET: Read<DescriptionBody> }
  readonly dialectOpenapi: { readonly GET: Read<DescriptionBody> }
  readonly healthz: { readonly GET: Read<StatusBody> }
  readonly readyz: { readonly GET: Read<StatusBody> }
  /** Metrics in the format of Prometheus. */
  readonly metrics: { readonly GET: Read<string> }
}

/** Operations whose responses are text. */
export const textOperations: ReadonlySet<keyof Operations> = new Set(["home", "metrics"] as const)

/** Operations that return a page, and tokens for its neighbours. */
export type PagedName = {
  [Name in keyof Operations]: ResponseOf<Name, "GET" & keyof Operations[Name]> extends infer Body
    ? Body extends { readonly meta?: infer Meta }
      ? "next_token" extends keyof NonNullable<Meta>
        ? Name
        : never
      : never
    : never
}[keyof Operations]

/** The result of an operation. */
export type ResponseOf<Name extends keyof Operations, Method extends keyof Operations[Name]> =
  Operations[Name][Method] extends Operation<infer Response, unknown> ? Response : never

/** The body of an operation; `never` when it has none. */
export type BodyOf<Name extends keyof Operations, Method extends keyof Operations[Name]> =
  Operations[Name][Method] extends Operation<unknown, infer Body> ? Body : never

/** The query parameters of an operation, by the API's names. */
export type ParametersOf<Name extends keyof Operations, Method extends keyof Operations[Name]> =
  Operations[Name][Method] extends Operation<unknown, unknown, infer Parameters> ? Given<Parameters> : never

/** Parameters as a caller gives them: any may be `undefined` that may be left out. */
type Given<Parameters> = {
  readonly [Name in keyof Parameters]: object extends Pick<Parameters, Name>
    ? Unchanging<Parameters[Name]> | undefined
    : Unchanging<Parameters[Name]>
}

type Unchanging<Value> = Value extends readonly (infer Item)[] ? readonly Item[] : Value

/** Headers by name. */
export type RequestHeaders = Readonly<Record<string, string>>

/** Query parameters: by name, or as the text of a query string, which is sent as it is. Lists are joined by commas. */
export type Query =
  | string
  | Readonly<Record<string, string | number | boolean | readonly (string | number)[] | undefined>>

/** Options of any request, apart from what it asks for. */
export interface SendingOptions {
  readonly signal?: AbortSignal | undefined
  /** More headers, for this request. */
  readonly headers?: RequestHeaders | undefined
}

/** Options of any request. */
export interface CommonOptions extends SendingOptions {
  readonly query?: Query | undefined
}

/** Options of a request for pages. */
export interface PageOptions extends CommonOptions {
  /**
   * `older`: by `next_token`, to the last page. `newer`: by `previous_token`, from the page of the query's
   * `pagination_token` back to the first.
   */
  readonly direction?: "older" | "newer" | undefined
}

type WithParameters<Name extends keyof Operations> = [ParameterOf<(typeof paths)[Name]>] extends [never]
  ? unknown
  : { readonly parameters: Readonly<Record<ParameterOf<(typeof paths)[Name]>, string>> }

type WithBody<Name extends keyof Operations, Method extends keyof Operations[Name]> = [BodyOf<Name, Method>] extends [
  never,
]
  ? unknown
  : { readonly body: BodyOf<Name, Method> }

/** The options of an operation; required ones make the argument mandatory. */
export type OptionsOf<
  Name extends keyof Operations,
  Method extends keyof Operations[Name],
  Common = CommonOptions,
> = unknown extends WithBody<Name, Method> & WithParameters<Name>
  ? [options?: Common]
  : [options: Common & WithBody<Name, Method> & WithParameters<Name>]
