/** The operations of the API under the names of their paths: what each takes as its body, and what it returns. */
import type {
  AddTroubleBody,
  ChangeLinkBody,
  ChangeRulesBody,
  ChangeRuleTagBody,
  CreateReplayBody,
  CreateWebhookBody,
  DeadLettersBody,
  DeletedBody,
  DisconnectStreamsBody,
  IngestedBody,
  LinkAttemptBody,
  LinkAttemptsBody,
  LinksBody,
  LinkStateBody,
  LinkStatesBody,
  PostsBody,
  ProvisionedBody,
  RedeliverBody,
  RedeliveredBody,
  RedeliveredMatchesBody,
  RedeliverMatchesBody,
  ReplayCreatedBody,
  ReplaysBody,
  RuleCostBody,
  RuleCountsBody,
  RulesBody,
  RulesChangedBody,
  RuleStateBody,
  RuleStatesBody,
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
  StreamsDisconnectedBody,
  StoredPostBody,
  StoredPostsBody,
  TestRuleBody,
  TroubleBody,
  TroublesBody,
  TroublesClearedBody,
  WebhookBody,
  WebhooksBody,
  WebhookStateBody,
  WebhookStatesBody,
  WebhookValidBody,
} from "@sluice/api"
import type { ParameterOf, paths } from "@sluice/api/paths"

interface Operation<Response, Body = never> {
  readonly response: Response
  readonly body: Body
}

/** By the name of the path, then by the method. */
export interface Operations {
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
  readonly userPosts: { readonly GET: Operation<PostsBody> }
  /** The body is NDJSON: an envelope a line. */
  readonly ingest: {
    readonly GET: Operation<StoredPostsBody>
    readonly POST: Operation<IngestedBody, string | Uint8Array>
  }
  readonly post: { readonly GET: Operation<StoredPostBody> }
  readonly ruleStates: { readonly GET: Operation<RuleStatesBody> }
  readonly ruleState: { readonly PATCH: Operation<RuleStateBody, ChangeRuleTagBody> }
  readonly linkStates: { readonly GET: Operation<LinkStatesBody> }
  readonly linkState: {
    readonly GET: Operation<LinkStateBody>
    readonly PATCH: Operation<LinkStateBody, ChangeLinkBody>
  }
  readonly attempts: { readonly GET: Operation<LinkAttemptsBody> }
  readonly attempt: { readonly GET: Operation<LinkAttemptBody> }
  readonly deadLetters: { readonly GET: Operation<DeadLettersBody> }
  readonly redeliver: { readonly POST: Operation<RedeliveredBody, RedeliverBody> }
  readonly redeliverMatches: { readonly POST: Operation<RedeliveredMatchesBody, RedeliverMatchesBody> }
  readonly replays: { readonly GET: Operation<ReplaysBody> }
  readonly webhookStates: { readonly GET: Operation<WebhookStatesBody> }
  readonly webhookState: { readonly GET: Operation<WebhookStateBody> }
  readonly signingKey: {
    readonly GET: Operation<SigningKeyBody>
    readonly POST: Operation<SigningKeyBody>
  }
  readonly ruleCost: { readonly GET: Operation<RuleCostBody> }
  /** Only on a server for development; 403 elsewhere. */
  readonly trouble: {
    readonly GET: Operation<TroublesBody>
    readonly POST: Operation<TroubleBody, AddTroubleBody>
    readonly DELETE: Operation<TroublesClearedBody>
  }
  readonly oneTrouble: { readonly DELETE: Operation<TroublesClearedBody> }
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
  readonly oneToken: { readonly DELETE: Operation<RevokedBody> }
  readonly session: {
    readonly GET: Operation<SessionBody>
    readonly POST: Operation<SessionBody, CreateSessionBody>
    readonly DELETE: Operation<SessionEndedBody>
  }
}

/** Operations that return a page, and a token for the next one. */
export type PagedName = "rules" | "links" | "userPosts" | "deadLetters" | "ruleStates" | "ingest" | "webhookStates"

/** What an operation returns. */
export type ResponseOf<Name extends keyof Operations, Method extends keyof Operations[Name]> =
  Operations[Name][Method] extends Operation<infer Response, unknown> ? Response : never

/** Query parameters: by name, or as the text of a query string, which is sent as it is. */
export type Query = string | Readonly<Record<string, string | number | boolean | undefined>>

/** What any request may carry. */
export interface CommonOptions {
  readonly query?: Query | undefined
  readonly signal?: AbortSignal | undefined
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

/** The options of an operation; those that it needs make the argument mandatory. */
export type OptionsOf<Name extends keyof Operations, Method extends keyof Operations[Name]> = unknown extends WithBody<
  Name,
  Method
> &
  WithParameters<Name>
  ? [options?: CommonOptions]
  : [options: CommonOptions & WithBody<Name, Method> & WithParameters<Name>]
