/**
 * The one interface to what lasts: applications, rules, webhooks, links, posts, and each app's match log.
 *
 * Reads and writes are apart, because in the embedded store they happen in different threads. Every write is
 * one transaction, durable when its promise resolves, and plain data in and out. Whatever changes is announced
 * through `changes`; an announcement is only a hint to look: it may be missing, late or without cause.
 *
 * `contract.ts` holds the tests that every store passes.
 */
import type { App, StoredToken } from "../model/app.ts"
import type { AppId, LinkId, MatchSeq, PostId, RuleId, UserId, WebhookId } from "../model/ids.ts"
import type { LinkProgress, LinkToDeliver, RetryEntry, StoredLink } from "../model/link.ts"
import type { MatchEntry, PostMatch } from "../model/match.ts"
import type { AcceptedPost, PostShape, StoredPost } from "../model/post.ts"
import type { AddedRule, RuleChange, RuleSelector, StoredRule } from "../model/rule.ts"
import type { StoredWebhook } from "../model/webhook.ts"

/** A place in a list ordered by id, newest first, and which way to read from it. */
export interface KeysetRange<Id extends string> {
  /** `older` reads below `from`, `newer` above it; both answer newest first. */
  readonly direction: "older" | "newer"
  /** Exclusive. Absent with `older`: from the newest on. Absent with `newer`: from the oldest on. */
  readonly from?: Id
  readonly limit: number
}

/** Posts of a user, newest first, through a filter. */
export interface UserPostsRange extends KeysetRange<PostId> {
  readonly userId: UserId
  /** Exclusive. */
  readonly sinceId?: PostId
  /** Exclusive. */
  readonly untilId?: PostId
  /** Inclusive. */
  readonly startMs?: number
  /** Exclusive. */
  readonly endMs?: number
  readonly excludeReplies: boolean
  readonly excludeReposts: boolean
  /** Most posts to look at, whether the filter takes them or not. */
  readonly scanMax: number
  readonly shape: PostShape
}

/** What a scan found. */
export interface UserPostsScan {
  /** Newest first, at most `limit`. */
  readonly posts: readonly StoredPost[]
  /** The last post looked at, when there are more within the range after it; else absent. */
  readonly stoppedAt?: PostId
}

export interface StoreReads {
  /** Newest first. Revoked ones included. */
  apps(): Promise<readonly App[]>
  app(id: AppId): Promise<App | undefined>
  appByConsumerKey(consumerKey: string): Promise<App | undefined>
  token(hash: Uint8Array): Promise<StoredToken | undefined>

  /** Newest first; only those of `ids` when given. */
  rules(appId: AppId, range: KeysetRange<RuleId>, ids?: readonly RuleId[]): Promise<readonly StoredRule[]>
  ruleCount(appId: AppId): Promise<number>
  /** Every rule of every app that is not revoked, and the change up to which this is the state. */
  allRules(): Promise<{ readonly rules: readonly StoredRule[]; readonly seq: number }>
  /** Changes of rulesets after `after`, oldest first. Empty when caught up. */
  ruleChanges(after: number, limit: number): Promise<readonly RuleChange[]>

  /** Newest first. */
  webhooks(appId: AppId): Promise<readonly StoredWebhook[]>
  webhook(appId: AppId, id: WebhookId): Promise<StoredWebhook | undefined>
  /** Of every app, for the challenge schedule. */
  allWebhooks(): Promise<readonly StoredWebhook[]>

  /** Newest first. */
  links(appId: AppId, range: KeysetRange<LinkId>): Promise<readonly StoredLink[]>
  link(appId: AppId, webhookId: WebhookId): Promise<StoredLink | undefined>
  /** Of every app that is not revoked. */
  allLinks(): Promise<readonly LinkToDeliver[]>
  /** What a link's cursor has passed and what is not delivered, oldest first. As many as were saved: delivery bounds them. */
  retries(linkId: LinkId, shape: PostShape): Promise<readonly RetryEntry[]>

  /** Position of the newest match of an app; 0 when it has none. */
  head(appId: AppId): Promise<MatchSeq>
  /** The position after which everything was appended at or after `atMs`. */
  positionAt(appId: AppId, atMs: number): Promise<MatchSeq>
  /** Matches after `after`, oldest first, at most `limit`. Empty when caught up. */
  matches(range: {
    appId: AppId
    after: MatchSeq
    limit: number
    shape: PostShape
  }): Promise<readonly MatchEntry[]>

  userPosts(range: UserPostsRange): Promise<UserPostsScan>
  /** True once a post by the user, or one whose includes show the user, was accepted. */
  isUserKnown(id: UserId): Promise<boolean>
  /** The newest posts by id, newest first, as envelopes. */
  recentPosts(limit: number): Promise<readonly StoredPost[]>
}

export interface StoreWrites {
  createApp(app: App, tokens: readonly StoredToken[]): Promise<void>
  /** Puts new credentials in the place of an app's old ones. False when there is no such app. */
  rotateApp(app: App, tokens: readonly StoredToken[]): Promise<boolean>
  /** Takes an app's tokens away and stops its links. False when there is no such app. */
  revokeApp(id: AppId): Promise<boolean>
  createToken(token: StoredToken): Promise<void>

  /**
   * Adds rules one by one, each unless the app has its value already or `rulesMax` rules; an outcome for each, in
   * order. With `dryRun` the outcomes are the same and nothing is kept.
   */
  addRules(
    appId: AppId,
    rules: readonly StoredRule[],
    options: { rulesMax: number; dryRun: boolean },
  ): Promise<readonly AddedRule[]>
  /** The rules that were deleted (or, with `dryRun`, would have been). */
  deleteRules(
    appId: AppId,
    selector: RuleSelector,
    options: { dryRun: boolean },
  ): Promise<readonly StoredRule[]>

  /** Forgets changes of rulesets up to `seq`, which everyone who follows them has taken in. */
  forgetRuleChanges(seq: number): Promise<void>

  createWebhook(
    webhook: StoredWebhook,
    options: { webhooksMax: number },
  ): Promise<"created" | "duplicate" | "over-limit">
  /** Records a challenge's result. A success also moves `checkedAtMs`. False when there is no such webhook. */
  setWebhookValid(id: WebhookId, valid: boolean, atMs: number): Promise<boolean>
  /** Deletes a webhook and its link with it. False when the app has no such webhook. */
  deleteWebhook(appId: AppId, id: WebhookId): Promise<boolean>

  /** Links from the newest match on. `exists` when the webhook is linked already. */
  createLink(link: StoredLink): Promise<"created" | "exists" | "no-webhook">
  deleteLink(appId: AppId, webhookId: WebhookId): Promise<boolean>
  /**
   * Moves cursors, never back, keeps their retries and forgets the settled ones, in one transaction: a cursor passes
   * no match that is neither delivered nor a retry. Links that are gone are passed over. Safe to repeat.
   */
  saveProgress(progress: readonly LinkProgress[]): Promise<void>

  /**
   * Stores posts and appends their matches to the logs of their apps, in one transaction. A post whose id is
   * stored already is left alone, and its matches are not logged. Answers, in order, which posts were new.
   */
  append(
    batch: readonly { readonly post: AcceptedPost; readonly matches: readonly PostMatch[] }[],
    atMs: number,
  ): Promise<readonly boolean[]>
}

/** Something has changed: matches of these apps, or apps, rules, webhooks and links. */
export type StoreChange =
  | { readonly kind: "matches"; readonly appIds: readonly AppId[] }
  | { readonly kind: "control" }

export interface Store extends StoreReads, StoreWrites, AsyncDisposable {
  /** Calls `listener` after changes, until the function that it answers is called. */
  onChange(listener: (change: StoreChange) => void): () => void
}
