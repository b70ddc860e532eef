/** The operations of the API by the names of their paths: the body and the result of each. */
import type {
  AddTroubleBody,
  ChangeLinkBody,
  ChangeRulesBody,
  ChangeRuleTagBody,
  CountsBody,
  CreateBackfillBody,
  CreateReplayBody,
  CreateWebhookBody,
  DeadLettersBody,
  DeletedBody,
  DescriptionBody,
  FoundUsersBody,
  DisconnectStreamsBody,
  IngestedBody,
  LinkAttemptBody,
  LinkAttemptsBody,
  LinksBody,
  LinkDetailBody,
  LinkDetailsBody,
  PostByIdBody,
  PostsBody,
  PostsByIdBody,
  ProvisionedBody,
  RedeliverBody,
  RedeliveredBody,
  RedeliveredMatchesBody,
  RedeliverMatchesBody,
  ReplayBody,
  ReplayCreatedBody,
  ReplaysBody,
  RuleCostBody,
  RuleCountsBody,
  RulesBody,
  RulesChangedBody,
  RuleDetailBody,
  RuleDetailsBody,
  RuleTestedBody,
  AppCredentialsBody,
  AppsBody,
  CreateAppBody,
  CreatedTokenBody,
  CreateTokenBody,
  RevokedBody,
  TokensBody,
  OverviewBody,
  CreateSessionBody,
  SessionBody,
  SessionEndedBody,
  SigningKeyBody,
  StatusBody,
  StreamsDisconnectedBody,
  StoredPostBody,
  StoredPostsBody,
  TestRuleBody,
  TokenBody,
  TroubleBody,
  TroublesBody,
  TroublesClearedBody,
  UserBody,
  UsersBody,
  UsersPageBody,
  WebhookBody,
  WebhooksBody,
  WebhookDetailBody,
  WebhookDetailsBody,
  WebhookValidBody,
} from "@sluice/api"
import type { ParameterOf, paths } from "@sluice/api/paths"

/** The result of an operation, as JSON unless its name is among `textOperations`, and its body. */
interface Operation<Response, Body = never> {
  readonly response: Response
  readonly body: Body
}

/**
 * By the name of the path, then by the method: every operation of a server's `/openapi.json` but the stream, which
 * `Client.stream` reads.
 */
export interface Operations {
  /** A page for people. */
  readonly home: { readonly GET: Operation<string> }
  /** With the app's key and secret as `Authorization: Basic …` among the request's `headers`. */
  readonly oauthToken: { readonly POST: Operation<TokenBody, URLSearchParams> }
  readonly rules: {
    readonly GET: Operation<RulesBody>
    readonly POST: Operation<RulesChangedBody, ChangeRulesBody>
  }
  readonly ruleCounts: { readonly GET: Operation<RuleCountsBody> }
  readonly links: { readonly GET: Operation<LinksBody> }
  readonly link: { readonly POST: Operation<ProvisionedBody>; readonly DELETE: Operation<DeletedBody> }
  readonly webhooks: {
    readonly GET: Operation<WebhooksBody>
    readonly POST: Operation<WebhookBody, CreateWebhookBody>
  }
  readonly webhook: { readonly PUT: Operation<WebhookValidBody>; readonly DELETE: Operation<DeletedBody> }
  readonly webhookReplay: { readonly POST: Operation<ReplayCreatedBody, CreateReplayBody> }
  /** With `ids`, at most 100, in the query. */
  readonly postsById: { readonly GET: Operation<PostsByIdBody> }
  readonly postById: { readonly GET: Operation<PostByIdBody> }
  readonly users: { readonly GET: Operation<UsersBody> }
  readonly user: { readonly GET: Operation<UserBody> }
  readonly usersBy: { readonly GET: Operation<UsersBody> }
  readonly userByUsername: { readonly GET: Operation<UserBody> }
  readonly userSearch: { readonly GET: Operation<FoundUsersBody> }
  /** With a token of a user. */
  readonly me: { readonly GET: Operation<UserBody> }
  readonly userPosts: { readonly GET: Operation<PostsBody> }
  /** With a `query` in the query, and so the other searches. A page may be short or empty; the last one has no `next_token`. */
  readonly searchRecent: { readonly GET: Operation<PostsBody> }
  readonly searchAll: { readonly GET: Operation<PostsBody> }
  /** Counts by the intervals of a page, which ascend; the next page is older. */
  readonly countsRecent: { readonly GET: Operation<CountsBody> }
  readonly countsAll: { readonly GET: Operation<CountsBody> }
  readonly mentions: { readonly GET: Operation<PostsBody> }
  readonly quotes: { readonly GET: Operation<PostsBody> }
  readonly reposts: { readonly GET: Operation<PostsBody> }
  /** The users who reposted a post. A page may be short or empty; the last one has no `next_token`. */
  readonly reposters: { readonly GET: Operation<UsersPageBody> }
  /** The body is NDJSON: one envelope on each line. */
  readonly posts: {
    readonly GET: Operation<StoredPostsBody>
    readonly POST: Operation<IngestedBody, string | Uint8Array>
  }
  readonly post: { readonly GET: Operation<StoredPostBody> }
  readonly ruleDetails: { readonly GET: Operation<RuleDetailsBody> }
  readonly ruleDetail: { readonly PATCH: Operation<RuleDetailBody, ChangeRuleTagBody> }
  readonly linkDetails: { readonly GET: Operation<LinkDetailsBody> }
  readonly linkDetail: {
    readonly GET: Operation<LinkDetailBody>
    readonly PATCH: Operation<LinkDetailBody, ChangeLinkBody>
  }
  readonly attempts: { readonly GET: Operation<LinkAttemptsBody> }
  readonly attempt: { readonly GET: Operation<LinkAttemptBody> }
  readonly deadLetters: { readonly GET: Operation<DeadLettersBody> }
  readonly redeliver: { readonly POST: Operation<RedeliveredBody, RedeliverBody> }
  readonly redeliverMatches: { readonly POST: Operation<RedeliveredMatchesBody, RedeliverMatchesBody> }
  readonly replays: {
    readonly GET: Operation<ReplaysBody>
    readonly POST: Operation<ReplayBody, CreateBackfillBody>
  }
  readonly replay: { readonly DELETE: Operation<ReplayBody> }
  readonly webhookDetails: { readonly GET: Operation<WebhookDetailsBody> }
  readonly webhookDetail: { readonly GET: Operation<WebhookDetailBody> }
  readonly signingKey: {
    readonly GET: Operation<SigningKeyBody>
    readonly POST: Operation<SigningKeyBody>
  }
  readonly ruleCost: { readonly GET: Operation<RuleCostBody> }
  /** Only on a server for development; 403 elsewhere. */
  readonly troubles: {
    readonly GET: Operation<TroublesBody>
    readonly POST: Operation<TroubleBody, AddTroubleBody>
    readonly DELETE: Operation<TroublesClearedBody>
  }
  readonly trouble: { readonly DELETE: Operation<TroublesClearedBody> }
  readonly troubleDisconnect: { readonly POST: Operation<StreamsDisconnectedBody, DisconnectStreamsBody> }
  readonly ruleTest: { readonly POST: Operation<RuleTestedBody, TestRuleBody> }
  readonly overview: { readonly GET: Operation<OverviewBody> }
  readonly apps: { readonly GET: Operation<AppsBody>; readonly POST: Operation<AppCredentialsBody, CreateAppBody> }
  readonly app: { readonly DELETE: Operation<RevokedBody> }
  readonly rotateApp: { readonly POST: Operation<AppCredentialsBody> }
  readonly tokens: {
    readonly GET: Operation<TokensBody>
    readonly POST: Operation<CreatedTokenBody, CreateTokenBody>
  }
  readonly token: { readonly DELETE: Operation<RevokedBody> }
  readonly session: {
    readonly GET: Operation<SessionBody>
    readonly POST: Operation<SessionBody, CreateSessionBody>
    readonly DELETE: Operation<SessionEndedBody>
  }
  readonly openapi: { readonly GET: Operation<DescriptionBody> }
  readonly dialectOpenapi: { readonly GET: Operation<DescriptionBody> }
  readonly healthz: { readonly GET: Operation<StatusBody> }
  readonly readyz: { readonly GET: Operation<StatusBody> }
  /** Metrics in the format of Prometheus. */
  readonly metrics: { readonly GET: Operation<string> }
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

/** Headers by name. */
export type RequestHeaders = Readonly<Record<string, string>>

/** Query parameters: by name, or as the text of a query string, which is sent as it is. Lists are joined by commas. */
export type Query =
  | string
  | Readonly<Record<string, string | number | boolean | readonly (string | number)[] | undefined>>

/** Options of any request. */
export interface CommonOptions {
  readonly query?: Query | undefined
  readonly signal?: AbortSignal | undefined
  /** More headers, for this request. */
  readonly headers?: RequestHeaders | undefined
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

type WithBody<Name extends keyof Operations, Method extends keyof Operations[Name]> =
  Operations[Name][Method] extends Operation<unknown, infer Body>
    ? [Body] extends [never]
      ? unknown
      : { readonly body: Body }
    : never

/** The options of an operation; required ones make the argument mandatory. */
export type OptionsOf<
  Name extends keyof Operations,
  Method extends keyof Operations[Name],
  Common = CommonOptions,
> = unknown extends WithBody<Name, Method> & WithParameters<Name>
  ? [options?: Common]
  : [options: Common & WithBody<Name, Method> & WithParameters<Name>]
