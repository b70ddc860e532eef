/**
 * The one interface to stored data: apps, rules, webhooks, links, posts, and each app's match log.
 *
 * Reads and writes are separate, because in the embedded store they happen in different threads. Each write is one
 * transaction and durable when its promise resolves. Arguments and results are plain data. A large read gives other
 * work its turns of the event loop. Changes are announced through `onChange`; an announcement is only a hint to read: it
 * may be lost, late or without cause.
 *
 * `contract/` holds the tests that every store passes, and `engine.ts` the way to open one.
 */
import type { App, StoredToken } from "../model/app.ts"
import type {
  AppId,
  AttemptId,
  DeadLetterId,
  LinkId,
  MatchSeq,
  PostId,
  ReplayId,
  RuleId,
  UserId,
  WebhookId,
} from "../model/ids.ts"
import type { Attempt, StoredAttempt } from "../model/attempt.ts"
import type { DeadLetter, DeadLetterSelector } from "../model/dead-letter.ts"
import type { GapMarker, LinkProgress, LinkTally, LinkToDeliver, RetryEntry, StoredLink } from "../model/link.ts"
import type { KnownTime } from "../model/known-time.ts"
import type { LinkMatch, RedeliveryOutcome } from "../model/redelivery.ts"
import type { Replay, ReplayProgress } from "../model/replay.ts"
import type { MatchEntry, MatchOfPost, PostMatch } from "../model/match.ts"
import type { AcceptedPost, PostShape, StoredPost } from "../model/post.ts"
import type { AddedRule, RuleChange, RuleMatches, RuleSelector, StoredRule } from "../model/rule.ts"
import type { StoredWebhook } from "../model/webhook.ts"
import type { NewEpoch } from "./epochs.ts"
import type { LinkLease } from "./leases.ts"

/** A page of a list that is ordered by id, newest first. */
export interface KeysetRange<Id extends string> {
  /** `older` reads below `from`, `newer` above it. Both return the newest first. */
  readonly direction: "older" | "newer"
  /** Exclusive. When absent, `older` begins with the newest, `newer` with the oldest. */
  readonly from?: Id
  readonly limit: number
}

/** For whom something is read that is no app's own. */
interface ReadFor {
  /** The app that asks, or another name. Its reads take turns with those of the others; without it, with all others that have none. */
  readonly reader?: string | undefined
}

/** A stretch of an app's match log. */
export interface MatchRange {
  readonly appId: AppId
  /** Exclusive. */
  readonly after: MatchSeq
  readonly limit: number
  /** Most bytes of posts and their matching rules. The last entry may exceed it, so that there is always one. */
  readonly bytesMax: number
  readonly shape: PostShape
}

/** A page of a user's posts, with a filter. */
export interface UserPostsRange extends KeysetRange<PostId>, UserPostsFilter, ReadFor {
  /** Most posts to scan, whether the filter takes them or not. */
  readonly scanMax: number
  /** Most bytes of those taken. The last one may exceed it, so that there is always one. */
  readonly bytesMax: number
  readonly shape: PostShape
}

/** A page of all posts. */
export interface PostsRange extends KeysetRange<PostId>, ReadFor {
  /** Most bytes of their envelopes. The last one may exceed it, so that there is always one. */
  readonly bytesMax: number
}

/** A part of a list of posts. */
export interface PostsScan {
  /** Newest first, as envelopes, at most `limit`. */
  readonly posts: readonly StoredPost[]
  /** The last post that was read, when the bytes ended the read; else absent. */
  readonly stoppedAt?: PostId
  /** Damaged posts, which are not in `posts`. */
  readonly damaged: readonly PostId[]
}

/** Which posts of which user. */
export interface UserPostsFilter {
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
}

/** The result of a scan. */
export interface UserPostsScan {
  /** Newest first, at most `limit`. */
  readonly posts: readonly StoredPost[]
  /** The last post that was scanned, when there are more in the range after it; else absent. */
  readonly stoppedAt?: PostId
  /** Damaged posts, and those that cannot be read, which are not in `posts`. */
  readonly damaged: readonly PostId[]
  /** Why some of them cannot be read; absent when all can. */
  readonly fault?: unknown
}

/** The result of an audit of the whole store. */
export interface StoreAudit {
  /** A sentence for each damaged record, which names it. At most 100. */
  readonly damage: readonly string[]
  readonly posts: {
    /** Ever stored, counted in the transactions that stored them. */
    readonly accepted: number
    /** Deleted by retention. */
    readonly trimmed: number
    readonly stored: number
  }
  readonly logs: readonly {
    readonly appId: AppId
    readonly head: MatchSeq
    /** Retention has passed the entries up to here. */
    readonly trimmedTo: MatchSeq
    /** Entries after that; `head - trimmedTo` when none is missing. */
    readonly entries: number
  }[]
  readonly links: readonly LinkTally[]
}

/** The part of a log that retention has passed: everything up to a position. */
export interface TrimmedLog {
  readonly to: MatchSeq
  /** When the newest entry of it was appended, Unix ms. */
  readonly untilMs: number
}

/** The result of one step of retention. */
export interface TrimmedMatches {
  /** Deleted entries, without those that are deleted with the last retry or dead letter that needed them. */
  readonly trimmed: number
  /** False while there is more to trim. */
  readonly isDone: boolean
  /** The new parts of gap markers. */
  readonly gaps: readonly (GapMarker & {
    readonly linkId: LinkId
    readonly webhookId: WebhookId
  })[]
}

/** The reads of a store. They may follow one another in a loop: a store that blocks its thread yields between them. */
export interface StoreReads {
  /** Newest first, revoked ones included. */
  apps(): Promise<readonly App[]>
  app(id: AppId): Promise<App | undefined>
  appByConsumerKey(consumerKey: string): Promise<App | undefined>
  /** `reader` as in `ReadFor`: whose the token was when it was read last. Unknown tokens take turns with each other. */
  token(hash: Uint8Array, reader?: string): Promise<StoredToken | undefined>
  /** All tokens, newest first. Damaged ones are left out. */
  tokens(): Promise<readonly StoredToken[]>

  /** Whether a session of the console was ended. Unknown ones were not. `reader` as in `ReadFor`. */
  isSessionEnded(id: Uint8Array, reader?: string): Promise<boolean>

  /** Newest first; only those of `ids` when given. */
  rules(appId: AppId, range: KeysetRange<RuleId>, ids?: readonly RuleId[]): Promise<readonly StoredRule[]>
  /** The app's rules with one of these values, in any order. Costs a look-up for each value. */
  rulesByValue(appId: AppId, values: readonly string[]): Promise<readonly StoredRule[]>
  ruleCount(appId: AppId): Promise<number>
  /** How often these rules have matched, in any order; without those that never have. Costs a look-up for each. `reader` as in `ReadFor`. */
  ruleMatches(ids: readonly RuleId[], reader?: string): Promise<readonly RuleMatches[]>
  /**
   * Every rule of every app that is not revoked, oldest first, and a position in the history of rule changes. The rules
   * include all changes up to that position, and may include later ones.
   */
  allRules(): Promise<{ readonly rules: AsyncIterable<StoredRule>; readonly seq: number }>
  /**
   * Rule changes after `after`, oldest first. Empty when there are none yet; `undefined` when some of them are forgotten:
   * the reader has to begin anew with all rules.
   */
  ruleChanges(after: number, limit: number): Promise<readonly RuleChange[] | undefined>

  /** Newest first. */
  webhooks(appId: AppId): Promise<readonly StoredWebhook[]>
  webhook(appId: AppId, id: WebhookId): Promise<StoredWebhook | undefined>
  /** Newest first, of one app or of all that are not revoked; with `urlPart` those whose URL has it, in any case. */
  webhookPage(
    of: { readonly appId?: AppId; readonly urlPart?: string },
    range: KeysetRange<WebhookId>,
  ): Promise<readonly StoredWebhook[]>
  /** Of every app that is not revoked, newest first. */
  allWebhooks(): Promise<readonly StoredWebhook[]>

  /** Newest first. */
  links(appId: AppId, range: KeysetRange<LinkId>): Promise<readonly StoredLink[]>
  link(appId: AppId, webhookId: WebhookId): Promise<StoredLink | undefined>
  /** Of every app that is not revoked, or of one; newest first. Links created or deleted during the read may be missing. */
  allLinks(appId?: AppId): Promise<readonly LinkToDeliver[]>
  /** A page of `allLinks`. */
  linkPage(of: { readonly appId?: AppId }, range: KeysetRange<LinkId>): Promise<readonly LinkToDeliver[]>
  /** Of an app that is not revoked. */
  linkToDeliver(webhookId: WebhookId): Promise<LinkToDeliver | undefined>
  /** All retries of a link, oldest match first. Delivery bounds their number and bytes. `reader`: the link's app. */
  retries(linkId: LinkId, shape: PostShape, reader?: AppId): Promise<readonly RetryEntry[]>

  /** The newest 1,000 gap markers of a link, oldest first. `reader`, here and below: the link's app. */
  gaps(linkId: LinkId, reader?: AppId): Promise<readonly GapMarker[]>
  linkTally(linkId: LinkId, reader?: AppId): Promise<LinkTally | undefined>
  /** The newest attempts of a link, newest first. */
  attempts(linkId: LinkId, limit: number, reader?: AppId): Promise<readonly StoredAttempt[]>
  /** `undefined` when it is none of the link's, or not among the newest that are kept. */
  attempt(linkId: LinkId, id: AttemptId, reader?: AppId): Promise<StoredAttempt | undefined>
  /** Newest first, of one app or of all, and of one webhook when given. */
  deadLetters(
    of: { readonly appId?: AppId; readonly webhookId?: WebhookId },
    range: KeysetRange<DeadLetterId>,
  ): Promise<readonly DeadLetter[]>
  /** Newest first, of one app or of all. */
  replays(of: { readonly appId?: AppId; readonly state?: Replay["state"] }): Promise<readonly Replay[]>

  /**
   * Descriptions of damaged apps, tokens, rules, webhooks, links and replays that reads of this store have found and
   * that still exist. At most 1,000. Lists leave damaged records out; the read of a single app, token, webhook or link
   * throws `RecordDamaged`.
   */
  damagedRecords(): Promise<readonly string[]>
  /** The largest id of any app, rule, webhook, link or replay, deleted ones included; `0` before the first. */
  lastId(): Promise<string>
  /** A number that differs after each control change of any process. Cheap to read often. */
  controlVersion(): Promise<number>
  /** What was saved last of the time; `undefined` before that, and `noKnownTime` when it is damaged. */
  knownTime(): Promise<KnownTime | undefined>
  /** The head of each match log that is not empty. */
  heads(): Promise<ReadonlyMap<AppId, MatchSeq>>
  /** The position of an app's newest match; 0 without matches. */
  head(appId: AppId): Promise<MatchSeq>
  /** The position after which everything was appended at or after `atMs`. */
  positionAt(appId: AppId, atMs: number): Promise<MatchSeq>
  /** The part of an app's log that retention has passed; `undefined` when there is none. */
  trimmed(appId: AppId): Promise<TrimmedLog | undefined>
  /** An entry of an app's log; `undefined` before it is there, and when retention has deleted it. */
  match(appId: AppId, seq: MatchSeq, shape: PostShape): Promise<MatchEntry | undefined>
  /** Matches after `after`, oldest first. Empty when there are none yet. */
  matches(range: MatchRange): Promise<readonly MatchEntry[]>

  /** Scans a user's posts. Only the texts of posts that the filter takes are read. */
  userPosts(range: UserPostsRange): Promise<UserPostsScan>
  /** True once a post by the user, or one that includes the user, was stored. */
  isUserKnown(id: UserId, reader?: string): Promise<boolean>
  /** A post as its envelope. Throws `RecordDamaged` for a damaged one. */
  post(id: PostId, reader?: string): Promise<StoredPost | undefined>
  /** A page of all posts, by id. */
  posts(range: PostsRange): Promise<PostsScan>
  /** The entries of a post in the match logs of all apps, or of one, at most 1,000. Damaged ones are left out. */
  matchesOfPost(id: PostId, appId?: AppId): Promise<readonly MatchOfPost[]>
  /**
   * The newest posts by id, newest first, as envelopes: at most `limit`, and at most `bytesMax` of text. The last one may
   * exceed it, so that there is always one. Damaged posts count and are left out. Posts are read as the caller iterates,
   * so it holds only what it keeps.
   */
  recentPosts(range: { readonly limit: number; readonly bytesMax: number }): AsyncIterable<StoredPost>
}

/** Secrets that are sealed anew, of every app and webhook. */
export interface ReplacedSecrets {
  readonly apps: readonly {
    readonly id: AppId
    readonly consumerSecretSealed: Uint8Array
    /** All that the app has from then on. */
    readonly tokens: readonly StoredToken[]
  }[]
  readonly webhooks: readonly {
    readonly id: WebhookId
    readonly signingKeySealed: Uint8Array
    /** Absent when the webhook has no previous key. */
    readonly previousKeySealed?: Uint8Array
  }[]
}

/** The writes of a store. */
export interface StoreWrites {
  createApp(app: App, tokens: readonly StoredToken[]): Promise<void>
  /** Replaces an app's credentials and tokens. False when there is no such app. */
  rotateApp(app: App, tokens: readonly StoredToken[]): Promise<boolean>
  /**
   * Replaces the sealed secrets of apps and webhooks, and the apps' tokens. All else about them stays. A store that several
   * processes share throws `StoreFailed` while one of them serves it.
   */
  replaceSecrets(secrets: ReplacedSecrets): Promise<void>
  /** Deletes an app's tokens, stops its links and ends its replays. False when there is no such app. */
  revokeApp(id: AppId): Promise<boolean>
  createToken(token: StoredToken): Promise<void>
  /** Deletes a token that is no app's. False when there is none with this hash. */
  deleteToken(hash: Uint8Array): Promise<boolean>

  /**
   * Ends a session of the console. At most once a minute it also forgets sessions that expired more than a day ago, and
   * those that expire first of more than 100,000.
   */
  endSession(id: Uint8Array, expiresAtMs: number): Promise<void>

  /**
   * Adds rules one by one, except those whose value the app has already and those beyond `rulesMax`. Returns an outcome
   * for each, in order. With `unchangedSince`, a position in the history of rule changes, none is added when the app's
   * rules have changed after it, or when that is not known any more: each outcome is `ruleset-changed`.
   */
  addRules(
    appId: AppId,
    rules: readonly StoredRule[],
    options: { rulesMax: number; unchangedSince?: number | undefined },
  ): Promise<readonly AddedRule[]>
  /**
   * Deletes rules of an app, and returns them. A store that several processes share deletes many in several transactions,
   * between which others may change rules; when it rejects, some of them may be deleted.
   */
  deleteRules(appId: AppId, selector: RuleSelector): Promise<readonly StoredRule[]>

  /** Gives a rule another tag, or none; its id and its matches stay. False when the app has no such rule. */
  setRuleTag(appId: AppId, id: RuleId, tag: string | undefined): Promise<boolean>
  /** Adds to the numbers of rules what they have matched since the last time. Deleted rules are ignored. */
  countRuleMatches(counts: readonly RuleMatches[]): Promise<void>

  /** The rule changes up to `seq` may be deleted: this process has read them. Another one may need them for a while. */
  forgetRuleChanges(seq: number): Promise<void>

  createWebhook(
    webhook: StoredWebhook,
    options: { webhooksMax: number },
  ): Promise<"created" | "duplicate" | "over-limit">
  /** Records that a challenge succeeded at `checkedAtMs`: the webhook is valid. False when there is no such webhook. */
  markWebhookValid(id: WebhookId, checkedAtMs: number): Promise<boolean>
  /** Makes a webhook invalid, for `reason`, until a challenge succeeds. False when there is no such webhook. */
  invalidateWebhook(id: WebhookId, reason: string): Promise<boolean>
  /** Gives a webhook another signing key; the present one becomes the previous one. False when the app has none such. */
  rotateSigningKey(
    appId: AppId,
    id: WebhookId,
    key: { readonly signingKeySealed: Uint8Array; readonly previousUntilMs: number },
  ): Promise<boolean>
  /** Deletes a webhook and its link with it. False when the app has no such webhook. */
  deleteWebhook(appId: AppId, id: WebhookId): Promise<boolean>

  /** Links a webhook, from the newest match on. `exists` when it is linked already. */
  createLink(link: StoredLink): Promise<"created" | "exists" | "no-webhook">
  deleteLink(appId: AppId, webhookId: WebhookId): Promise<boolean>
  /** False when the app has no such link. */
  setLinkOrdered(appId: AppId, webhookId: WebhookId, isOrdered: boolean): Promise<boolean>
  /**
   * Moves cursors, never back, and saves their retries, deletes the settled ones, and adds dead letters, in one
   * transaction: a cursor passes no match that is not delivered, a retry or a dead letter. Progress of a deleted link is
   * ignored. So is a new retry or dead letter of a match that the cursor has passed before: retention has passed it, and
   * it counts as missed. `delivered` grows by no more than the cursor has moved, so progress that is saved twice changes
   * nothing. Progress that was made under a lease which is not the link's any more is ignored; returns those leases.
   */
  saveProgress(progress: readonly LinkProgress[]): Promise<readonly LinkLease[]>
  /** Adds attempts, and keeps the newest `keptPerLink` of each link. Attempts of deleted links are ignored. */
  recordAttempts(attempts: readonly Attempt[], options: { keptPerLink: number }): Promise<void>
  /**
   * Turns dead letters into retries that are due at once, the oldest of each link first, and returns their number. A link
   * gets at most 1,000 retries with 16 MiB to send, but at least one retry; all links together at most 10,000, those with
   * the fewest retries first. The other dead letters stay.
   */
  redeliver(selector: DeadLetterSelector): Promise<number>
  /**
   * Sends matches of links again, only the app's own when it is given. Returns an outcome for each, in order. A match that
   * is delivered or a dead letter becomes a retry that is due at once, and no longer counts as what it was; a retry
   * becomes due at once. A link has room for retries as with `redeliver`.
   */
  redeliverMatches(matches: readonly LinkMatch[], appId?: AppId): Promise<readonly RedeliveryOutcome[]>
  /** Makes all retries of the webhook's link due at once that wait for their time, and returns their number. */
  hastenRetries(webhookId: WebhookId, appId?: AppId): Promise<number>

  /** `conflict` when a replay to the webhook is running, `no-link` when the link is gone. */
  createReplay(replay: Replay): Promise<"created" | "conflict" | "no-link">
  /** Throws `LeaseLost` for progress that was made under a lease which is not the link's any more. */
  saveReplay(progress: ReplayProgress): Promise<void>
  /** Ends a replay. The newest 100 ended replays of each app are kept. `lease` as for `saveReplay`, and it throws as that. */
  endReplay(id: ReplayId, state: "complete" | "incomplete", atMs: number, lease?: number): Promise<void>

  /** Replaces what is known of the time. */
  saveKnownTime(time: KnownTime): Promise<void>
  /**
   * Deletes the oldest entries of an app's log that were appended before `beforeMs`, at most `limit` of them. Entries
   * after the cursor of a link stay until they were appended before `owedBeforeMs`, too: absent, or when the app is
   * revoked, no link keeps any. Entries that a retry or a dead letter needs stay until the last of those is gone. A
   * cursor before what is deleted is moved on, and its link gets a gap marker.
   */
  trimMatches(
    appId: AppId,
    options: { beforeMs: number; owedBeforeMs?: number; limit: number },
  ): Promise<TrimmedMatches>
  /**
   * Of the next `limit` posts after `after`, by id, deletes those that were made before `beforeMs` and that no match log
   * needs. `next` is where to continue; absent at the end.
   */
  trimPosts(options: {
    after: PostId | undefined
    beforeMs: number
    limit: number
  }): Promise<{ readonly trimmed: number; readonly next?: PostId }>
  /**
   * Deletes at most `limit` dead letters that are older than `beforeMs`, and returns their number. Those whose match
   * retention has not passed stay: so whatever a log still has and its link's cursor has passed is a retry, a dead letter
   * or delivered.
   */
  trimDeadLetters(options: { beforeMs: number; limit: number }): Promise<number>

  /**
   * Stores posts and appends their matches to the logs of their apps. A post whose id is stored already is ignored with
   * its matches. Returns which posts were new, in order. A store that several processes share keeps the `rulesSeq` of
   * each match.
   */
  append(
    batch: readonly { readonly post: AcceptedPost; readonly matches: readonly PostMatch[] }[],
    atMs: number,
  ): Promise<readonly boolean[]>

  /**
   * Begins an epoch: matches that are appended from then on, attempts, dead letters and what else gets an id, have none
   * that another copy of this store gives out. A store that several processes share throws `StoreFailed` while one of them
   * serves it.
   */
  beginEpoch(next: NewEpoch): Promise<void>
}

/** A change: new matches of these apps, or of any when they are absent; or a change of apps, rules, webhooks or links. */
export type StoreChange =
  | { readonly kind: "matches"; readonly appIds?: readonly AppId[] }
  | { readonly kind: "control" }

/** A store. */
export interface Store extends StoreReads, StoreWrites, AsyncDisposable {
  /**
   * Calls `listener` after each change, until the returned function is called. A server's store announces control changes
   * of other processes within a second.
   */
  onChange(listener: (change: StoreChange) => void): () => void
}
