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
import type {
  AppId,
  DeadLetterId,
  LinkId,
  MatchSeq,
  PostId,
  ReplayId,
  RuleId,
  UserId,
  WebhookId,
} from "../model/ids.ts"
import type { Attempt } from "../model/attempt.ts"
import type { DeadLetter, DeadLetterSelector } from "../model/dead-letter.ts"
import type {
  GapMarker,
  LinkProgress,
  LinkTally,
  LinkToDeliver,
  RetryEntry,
  StoredLink,
} from "../model/link.ts"
import type { Replay, ReplayProgress } from "../model/replay.ts"
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

/** A place in an app's match log, and how much to read from it. */
export interface MatchRange {
  readonly appId: AppId
  /** Exclusive. */
  readonly after: MatchSeq
  readonly limit: number
  /** Most bytes of posts; the last one may go over it, so that there is always one. Absent: no bound. */
  readonly bytesMax?: number
  readonly shape: PostShape
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
  /** Posts that the filter takes and that are damaged; they are not among `posts`. */
  readonly damaged: readonly PostId[]
}

/** What a look through the whole store found. */
export interface StoreAudit {
  /** Everything that is damaged, in words: each names the table and the row. At most 100. */
  readonly damage: readonly string[]
  readonly posts: {
    /** Ever stored, as counted in the transactions that stored them. */
    readonly accepted: number
    /** Taken away by retention. */
    readonly trimmed: number
    readonly stored: number
  }
  readonly logs: readonly {
    readonly appId: AppId
    readonly head: MatchSeq
    /** Retention has come up to here. */
    readonly trimmedTo: MatchSeq
    /** Entries after that; `head - trimmedTo` when none is missing. */
    readonly entries: number
  }[]
  readonly links: readonly LinkTally[]
}

/** What is gone of a log: everything up to a position, but for what is still needed. */
export interface TrimmedLog {
  readonly to: MatchSeq
  /** When the newest of it was appended, Unix ms. */
  readonly untilMs: number
}

/** What one step of retention did. */
export interface TrimmedMatches {
  /** Entries taken away, other than those that went with the last retry or dead letter that needed them. */
  readonly trimmed: number
  /** False while there is more to trim. */
  readonly isDone: boolean
  /** Gap markers made, or grown, each as far as it is new. */
  readonly gaps: readonly (GapMarker & {
    readonly linkId: LinkId
    readonly webhookId: WebhookId
  })[]
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
  /** Of every app that is not revoked, or of one of those; newest first. Those that come or go meanwhile may be missing. */
  allLinks(appId?: AppId): Promise<readonly LinkToDeliver[]>
  /** Of an app that is not revoked. */
  linkToDeliver(webhookId: WebhookId): Promise<LinkToDeliver | undefined>
  /** What a link's cursor has passed and what is not delivered, oldest first. As many as were saved: delivery bounds them. */
  retries(linkId: LinkId, shape: PostShape): Promise<readonly RetryEntry[]>

  /** The link's gap markers, oldest first: the newest 1,000. */
  gaps(linkId: LinkId): Promise<readonly GapMarker[]>
  linkTally(linkId: LinkId): Promise<LinkTally | undefined>
  /** The link's newest attempts, newest first. */
  attempts(linkId: LinkId, limit: number): Promise<readonly Attempt[]>
  /** Newest first; of one app, or of all, and of one webhook when given. */
  deadLetters(
    of: { readonly appId?: AppId; readonly webhookId?: WebhookId },
    range: KeysetRange<DeadLetterId>,
  ): Promise<readonly DeadLetter[]>
  /** Newest first; of one app, or of all. */
  replays(of: { readonly appId?: AppId; readonly state?: Replay["state"] }): Promise<readonly Replay[]>

  /** Another number after each control change, whichever process made it. Cheap to ask again and again. */
  controlVersion(): Promise<number>
  /** Heads of all match logs that are not empty. */
  heads(): Promise<ReadonlyMap<AppId, MatchSeq>>
  /** Position of the newest match of an app; 0 when it has none. */
  head(appId: AppId): Promise<MatchSeq>
  /** The position after which everything was appended at or after `atMs`. */
  positionAt(appId: AppId, atMs: number): Promise<MatchSeq>
  /** What retention has taken of an app's log; `undefined` when it has taken nothing. */
  trimmed(appId: AppId): Promise<TrimmedLog | undefined>
  /** Matches after `after`, oldest first. Empty when caught up. */
  matches(range: MatchRange): Promise<readonly MatchEntry[]>

  userPosts(range: UserPostsRange): Promise<UserPostsScan>
  /** True once a post by the user, or one whose includes show the user, was accepted. */
  isUserKnown(id: UserId): Promise<boolean>
  /** The newest posts by id, newest first, as envelopes. Damaged ones are left out. */
  recentPosts(limit: number): Promise<readonly StoredPost[]>
}

export interface StoreWrites {
  createApp(app: App, tokens: readonly StoredToken[]): Promise<void>
  /** Puts new credentials in the place of an app's old ones. False when there is no such app. */
  rotateApp(app: App, tokens: readonly StoredToken[]): Promise<boolean>
  /** Takes an app's tokens away, stops its links and ends its replays. False when there is no such app. */
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
  /**
   * Records a challenge's result, or that the endpoint wants no more. A success also moves `checkedAtMs` and clears
   * the reason. False when there is no such webhook.
   */
  setWebhookValid(
    id: WebhookId,
    result: { readonly valid: true } | { readonly valid: false; readonly reason: string },
    atMs: number,
  ): Promise<boolean>
  /** Gives a webhook another signing key; the present one becomes the previous one. False when the app has none such. */
  rotateSigningKey(
    appId: AppId,
    id: WebhookId,
    key: { readonly signingKeySealed: Uint8Array; readonly previousUntilMs: number },
  ): Promise<boolean>
  /** Deletes a webhook and its link with it. False when the app has no such webhook. */
  deleteWebhook(appId: AppId, id: WebhookId): Promise<boolean>

  /** Links from the newest match on. `exists` when the webhook is linked already. */
  createLink(link: StoredLink): Promise<"created" | "exists" | "no-webhook">
  deleteLink(appId: AppId, webhookId: WebhookId): Promise<boolean>
  /** False when the app has no such link. */
  setLinkOrdered(appId: AppId, webhookId: WebhookId, isOrdered: boolean): Promise<boolean>
  /**
   * Moves cursors, never back, keeps their retries, forgets the settled ones, and makes dead letters of the dead, in
   * one transaction: a cursor passes no match that is not delivered, a retry or a dead letter. Links that are gone are
   * passed over, and so is a new retry or death of a match that the cursor has passed before: retention has taken it,
   * and it counts as missed. `delivered` counts up, by no more than the cursor leaves room for, so that a progress which
   * is saved twice changes nothing.
   */
  saveProgress(progress: readonly LinkProgress[]): Promise<void>
  /** Keeps attempts, the newest `keptPerLink` of each link. Links that are gone are passed over. */
  recordAttempts(attempts: readonly Attempt[], options: { keptPerLink: number }): Promise<void>
  /**
   * Turns dead letters into retries that are due at once, of each link those that died first, and says how many: as
   * many of a link as leave it with at most 1,000 retries and 16 MiB to send for them, but one in any case when it has
   * none; and at most 10,000 in all, where links with fewer retries come first. The others stay as they are.
   */
  redeliver(selector: DeadLetterSelector): Promise<number>

  /** `conflict` when a replay to the webhook is running, `no-link` when the link is gone. */
  createReplay(replay: Replay): Promise<"created" | "conflict" | "no-link">
  saveReplay(progress: ReplayProgress): Promise<void>
  /** The end of a replay. Ended ones are kept: the newest 100 of each app. */
  endReplay(id: ReplayId, state: "complete" | "incomplete", atMs: number): Promise<void>

  /**
   * Takes away the oldest entries of an app's log that were appended before `beforeMs`, at most `limit` of them, in one
   * transaction; those that a retry or a dead letter still needs stay until the last of them is gone. A link's cursor
   * that has not come by yet is moved on and gets a gap marker.
   */
  trimMatches(appId: AppId, options: { beforeMs: number; limit: number }): Promise<TrimmedMatches>
  /**
   * Takes away posts that were made before `beforeMs` and that no match log needs, of the next `limit` posts after
   * `after`, by id. `next` is where to go on; absent at the end.
   */
  trimPosts(options: {
    after: PostId | undefined
    beforeMs: number
    limit: number
  }): Promise<{ readonly trimmed: number; readonly next?: PostId }>
  /** Takes away dead letters that died before `beforeMs`, at most `limit`, and says how many. */
  trimDeadLetters(options: { beforeMs: number; limit: number }): Promise<number>

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
