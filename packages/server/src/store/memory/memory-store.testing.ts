/**
 * A store of maps and arrays, for tests: the second store, which shows that nothing above `store/` knows the first.
 *
 * It is the contract in its plainest form. Nothing is counted that can be looked up, nothing is indexed that can be
 * searched, and nothing outlives the process. A write is one synchronous function, and thereby one transaction.
 */
import { setImmediate as nextTurn } from "node:timers/promises"
import { AppRevoked } from "../store-faults.ts"
import type { OwnLimits } from "@sluice/api"
import type { App, StoredToken, TokenUse } from "../../model/app.ts"
import type { Attempt, StoredAttempt } from "../../model/attempt.ts"
import type { Deletion, DeletionOutcome, DeletionRequest, DeletionSeq } from "../../model/deletion.ts"
import { lostReason, type ConnectionEnded, type StreamConnection } from "../../model/connection.ts"
import type { DeadLetter, DeadLetterSelector } from "../../model/dead-letter.ts"
import { epochAt, type LogEpoch } from "../../model/event-id.ts"
import {
  beforeFirstMatch,
  compareIds,
  type AppId,
  type AttemptId,
  type ConnectionId,
  type DeadLetterId,
  type LinkId,
  type MatchSeq,
  type PostId,
  type ReplayId,
  type RuleId,
  type UserId,
  type WebhookId,
} from "../../model/ids.ts"
import type {
  GapMarker,
  LinkProgress,
  LinkTally,
  LinkToDeliver,
  Retry,
  RetryEntry,
  StoredLink,
} from "../../model/link.ts"
import type { KnownTime } from "../../model/known-time.ts"
import type { MatchEntry, MatchOfPost, PostMatch } from "../../model/match.ts"
import type { AcceptedPost, PostShape, StoredPost } from "../../model/post.ts"
import type { LinkMatch, RedeliveryOutcome } from "../../model/redelivery.ts"
import {
  isSearchOver,
  type BackfillFound,
  type BackfillMatch,
  type Replay,
  type ReplayEnd,
  type ReplayProgress,
} from "../../model/replay.ts"
import type { AddedRule, RuleChange, RuleMatches, RuleSelector, StoredRule } from "../../model/rule.ts"
import type {
  AssignedName,
  SourceAppend,
  SourceDeadLetter,
  StoredSourceGap,
  SourceProgress,
  StoredSource,
} from "../../model/source.ts"
import type { StoredWebhook, WebhookTexts } from "../../model/webhook.ts"
import { userWords } from "../../model/user.ts"
import { systemClock, type Clock } from "../../runtime/clock.ts"
import {
  connectionsKeptMax,
  endedReplaysMax,
  gapsPerLinkMax,
  sourceDeadLetterBytesMax,
  sourceDeadLettersMax,
  sourceGapsMax,
} from "../bounds.ts"
import { lastIdBefore, type NewEpoch } from "../epochs.ts"
import { holdsTime, idsOfTimes } from "../id-time.ts"
import { withinKeyset } from "../keyset-range.ts"
import { nameIn, takenAt } from "../ledger/foreign-names.ts"
import { faultOf } from "../rows/audit-faults.ts"
import { FairRedelivery, fewestRetriesFirst, oldestFirst } from "../ledger/fair-redelivery.ts"
import {
  maySendOld,
  shownIds,
  withoutDeleted,
  withoutDeletedUsers,
  withoutThese,
  type DeletedIds,
} from "../ledger/deletions.ts"
import { LinkLedger, type LinkChange, type OutstandingMatch } from "../ledger/link-change.ts"
import { overtake } from "../ledger/overtake.ts"
import { namedIn, progressChange } from "../ledger/progress.ts"
import { expire, redeliverDead, redeliverMatches, type RedeliverableMatch } from "../ledger/redeliver.ts"
import { RetryRoom } from "../ledger/retry-room.ts"
import { addRules } from "../ledger/rule-additions.ts"
import { unbrokenChanges } from "../ledger/rule-history.ts"
import { afterRecheck, trimEnd, trimStep, type Recheck } from "../ledger/trim.ts"
import { firstRememberedDay, remembersPosts } from "../ledger/usage-batch.ts"
import { newestUsers, usersToWrite, type UserBearer, type UserRow } from "../ledger/user-changes.ts"
import type { SupersededRange } from "../port/edit-store.ts"
import type { SourceDeadLetterRange } from "../port/source-store.ts"
import type { DailyUsage, UsedPosts } from "../port/usage-store.ts"
import type { FoundUser, UsernamesRange, UserWordsRange, UserWordsScan } from "../port/user-store.ts"
import { versionRows } from "../rows/edit-chain.ts"
import { foundUser, wordsScanOf } from "../rows/user.ts"
import type { LinkLease } from "../leases.ts"
import type { KeysetRange } from "../keyset-range.ts"
import type { MatchRange, TrimmedLog } from "../port/match-log.ts"
import type { DeletionRange } from "../port/deletion-store.ts"
import type {
  ArrivalPlace,
  ArrivalPlaceRange,
  ArrivalPosition,
  ArrivalRange,
  ArrivedPosts,
} from "../port/arrival-store.ts"
import type {
  PostsByIdRange,
  PostsByIdRead,
  PostsRange,
  PostsScan,
  UserPostsRange,
  UserPostsScan,
} from "../port/post-store.ts"
import { arrivalsOf } from "../change-listeners.ts"
import type { ConnectionChanges, ConnectionFilter, ConnectionSelector } from "../port/connection-store.ts"
import type { BackfillRange } from "../port/replay-store.ts"
import type { ReplacedSecrets } from "../port/app-store.ts"
import type { Store, StoreChange } from "../store.ts"
import type { StoreAudit } from "../store-audit.ts"
import type { TrimmedMatches } from "../port/retention-store.ts"
import { EndedSessionExpiry } from "../ended-sessions.ts"
import { numbersOf, positionOf } from "../rows/arrival.ts"

/** Items read in one turn of the event loop. */
const turnItemsMax = 500

/** A link and where each match that its cursor has passed is, but for those that are delivered or gone. */
interface Link {
  readonly stored: StoredLink
  readonly firstPosition: MatchSeq
  position: MatchSeq
  isOrdered: boolean
  pausedAtMs: number | undefined
  redeliveries: number
  delivered: number
  expired: number
  missed: number
  withdrawn: number
  readonly retries: Map<MatchSeq, Retry>
  readonly deadLetters: Map<MatchSeq, DeadLetter>
  gaps: GapMarker[]
  attempts: StoredAttempt[]
  /** How many were ever recorded. */
  attemptsMade: number
}

interface LogEntry extends Omit<PostMatch, "appId"> {
  readonly postId: PostId
  readonly atMs: number
  /** Its post is deleted. */
  readonly isDeleted?: true
}

interface Log {
  head: MatchSeq
  trimmedTo: MatchSeq
  trimmedUntilMs: number | undefined
  /** Entries up to `trimmedTo` and after this one may be needed no more: a link that needed them is gone. */
  leftoversAfter: MatchSeq | undefined
  readonly entries: Map<MatchSeq, LogEntry>
}

/** A post with its texts as strings. */
interface KeptPost extends Omit<AcceptedPost, "core" | "envelope"> {
  readonly core: string
  readonly envelope: string
  /** How many posts had been accepted with it. */
  readonly arrival: number
}

/** The contents of a store. Several stores may be open on one. */
export class MemoryState {
  readonly apps = new Map<AppId, App>()
  /** By hash, in hexadecimal. */
  readonly tokens = new Map<string, StoredToken>()
  /** By id, in hexadecimal: when they would have expired. */
  readonly endedSessions = new Map<string, number>()
  readonly connections = new Map<string, StreamConnection>()
  readonly rules = new Map<RuleId, StoredRule>()
  readonly ruleMatches = new Map<RuleId, RuleMatches>()
  ruleChanges: RuleChange[] = []
  lastRuleChange = 0
  readonly webhooks = new Map<WebhookId, StoredWebhook>()
  readonly links = new Map<LinkId, Link>()
  readonly replays = new Map<ReplayId, Replay>()
  /** Found by running backfills. */
  readonly backfillMatches = new Map<ReplayId, readonly BackfillMatch[]>()
  readonly logs = new Map<AppId, Log>()
  /** Epochs of logs after the first. */
  readonly epochs = new Map<AppId, readonly LogEpoch[]>()
  readonly posts = new Map<PostId, KeptPost>()
  /** Known users, each with whether the ids of all their posts hold the posts' times. */
  readonly users = new Map<UserId, boolean>()
  readonly userObjects = new Map<UserId, UserRow>()
  /** Versions of edited posts, by the first version of their chain. */
  readonly editVersions = new Map<PostId, Set<PostId>>()
  /** Oldest first. */
  deletions: Deletion[] = []
  readonly rewrittenAtMs = new Map<PostId, number>()
  lastDeletion = 0
  /** The posts that were counted for apps, by app and day. */
  readonly usage = new Map<AppId, Map<number, { posts: Set<PostId>; readonly count: number }>>()
  readonly sources = new Map<string, StoredSource>()
  /** The newest last. */
  sourceGaps: StoredSourceGap[] = []
  sourceDeadLetters: SourceDeadLetter[] = []
  readonly assignedNames = new Map<string, PostId>()
  postsAccepted = 0
  postsTrimmed = 0
  deadLettersMade = 0
  lastId = 0n
  knownTime: KnownTime | undefined
  controlVersion = 0
  readonly listeners = new Set<(change: StoreChange) => void>()
}

/** A store on a state. */
export class MemoryStore implements Store {
  readonly #state: MemoryState
  readonly #clock: Clock
  readonly #endedSessionExpiry: EndedSessionExpiry
  readonly #stopListening: (() => void)[] = []

  constructor(state: MemoryState, clock: Clock = systemClock) {
    this.#state = state
    this.#clock = clock
    this.#endedSessionExpiry = new EndedSessionExpiry(clock)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stopListening) stop()
  }

  onArrival(listener: () => void): () => void {
    return arrivalsOf({ onChange: (heard) => this.onChange(heard) })(listener)
  }

  onChange(listener: (change: StoreChange) => void): () => void {
    const own = (change: StoreChange): void => listener(change)
    const stop = (): void => void this.#state.listeners.delete(own)
    this.#state.listeners.add(own)
    this.#stopListening.push(stop)
    return stop
  }

  #announce(change: StoreChange): void {
    if (change.kind === "control") this.#state.controlVersion += 1
    for (const listener of this.#state.listeners) listener(change)
  }

  /** Announces a control change if there is one, and says whether. */
  #announceIf(isChanged: boolean): boolean {
    if (isChanged) this.#announce({ kind: "control" })
    return isChanged
  }

  #giveIds(...ids: readonly string[]): void {
    for (const id of ids.map(BigInt)) if (id > this.#state.lastId) this.#state.lastId = id
  }

  async lastId(): Promise<string> {
    return String(this.#state.lastId)
  }

  async knownTime(): Promise<KnownTime | undefined> {
    return this.#state.knownTime
  }

  async saveKnownTime(time: KnownTime): Promise<void> {
    this.#state.knownTime = { ...time }
  }

  async controlVersion(): Promise<number> {
    return this.#state.controlVersion
  }

  async damagedRecords(): Promise<readonly string[]> {
    return []
  }

  // Apps and tokens.

  async apps(): Promise<readonly App[]> {
    return newestFirst(this.#state.apps.values())
  }

  async app(id: AppId): Promise<App | undefined> {
    return this.#state.apps.get(id)
  }

  async appByConsumerKey(consumerKey: string): Promise<App | undefined> {
    return this.#state.apps.values().find((app) => app.consumerKey === consumerKey)
  }

  async token(hash: Uint8Array): Promise<StoredToken | undefined> {
    return this.#state.tokens.get(Buffer.from(hash).toString("hex"))
  }

  async tokens(): Promise<readonly StoredToken[]> {
    return [...this.#state.tokens.values()].toSorted(
      (a, b) => b.createdAtMs - a.createdAtMs || Buffer.compare(a.hash, b.hash),
    )
  }

  async isSessionEnded(id: Uint8Array): Promise<boolean> {
    return this.#state.endedSessions.has(Buffer.from(id).toString("hex"))
  }

  async endSession(id: Uint8Array, expiresAtMs: number): Promise<void> {
    const { endedSessions } = this.#state
    endedSessions.set(Buffer.from(id).toString("hex"), expiresAtMs)
    const due = this.#endedSessionExpiry.due(this.#state.knownTime)
    if (due === undefined) return
    const byExpiry = [...endedSessions].toSorted(([, a], [, b]) => a - b)
    const expired = byExpiry.filter(([, atMs]) => atMs < due.expiredBeforeMs).length
    const forgotten = Math.min(Math.max(expired, byExpiry.length - due.keptMax), due.forgottenMax)
    for (const [one] of byExpiry.slice(0, forgotten)) endedSessions.delete(one)
  }

  // The history of stream connections.

  async connectionPage(
    { appId, isOpen, endpoints }: ConnectionFilter,
    range: KeysetRange<ConnectionId>,
  ): Promise<readonly StreamConnection[]> {
    const found = [...this.#state.connections.values()].filter(
      (connection) =>
        connection.appId === appId &&
        (isOpen === undefined || (connection.ended === undefined) === isOpen) &&
        (endpoints === undefined || endpoints.includes(connection.endpoint)),
    )
    return withinKeyset(found, range)
  }

  async saveConnections({ opened, ended }: ConnectionChanges): Promise<void> {
    const { connections } = this.#state
    for (const connection of opened) {
      if (!connections.has(connection.uuid)) connections.set(connection.uuid, connection)
      const ofApp = newestFirst(connections.values().filter(({ appId }) => appId === connection.appId))
      for (const one of ofApp.slice(connectionsKeptMax)) if (one.ended !== undefined) connections.delete(one.uuid)
    }
    for (const { uuid, atMs, reason } of ended) this.#endConnection(uuid, { atMs, reason })
  }

  #endConnection(uuid: string, ended: ConnectionEnded): void {
    const connection = this.#state.connections.get(uuid)
    if (connection === undefined) return
    if (connection.ended !== undefined && connection.ended.reason !== lostReason) return
    this.#state.connections.set(uuid, { ...connection, ended })
  }

  async endConnections(ofApp: AppId, selector: ConnectionSelector, ended: ConnectionEnded): Promise<readonly string[]> {
    const chosen = [...this.#state.connections.values()].filter(
      ({ appId, endpoint, uuid, ended: itsEnd }) =>
        itsEnd === undefined &&
        appId === ofApp &&
        (selector.kind !== "endpoint" || endpoint === selector.endpoint) &&
        (selector.kind !== "uuids" || selector.uuids.includes(uuid)),
    )
    for (const { uuid } of chosen) this.#endConnection(uuid, ended)
    return chosen.map(({ uuid }) => uuid)
  }

  async endLostConnections(held: readonly string[], atMs: number): Promise<void> {
    for (const { uuid, ended } of this.#state.connections.values()) {
      if (ended === undefined && !held.includes(uuid)) this.#endConnection(uuid, { atMs, reason: lostReason })
    }
  }

  async trimConnections({ beforeMs, keptMax, limit }: Parameters<Store["trimConnections"]>[0]): Promise<number> {
    const ended = [...this.#state.connections.values()]
      .map(({ uuid, ended: { atMs } = { atMs: Number.POSITIVE_INFINITY } }) => ({ uuid, atMs }))
      .filter(({ atMs }) => Number.isFinite(atMs))
      .toSorted((a, b) => b.atMs - a.atMs)
    const firstKeptMs = Math.max(beforeMs, (ended[keptMax]?.atMs ?? -1) + 1)
    const old = ended.filter(({ atMs }) => atMs < firstKeptMs).slice(-limit)
    for (const { uuid } of old) this.#state.connections.delete(uuid)
    return old.length
  }

  #refuseRevoked(appId: AppId): void {
    if (this.#state.apps.get(appId)?.revoked === true) throw new AppRevoked("The app is revoked.")
  }

  #isLive(appId: AppId): boolean {
    return this.#state.apps.get(appId)?.revoked === false
  }

  async createApp(app: App, tokens: readonly StoredToken[]): Promise<void> {
    if (this.#state.apps.has(app.id)) throw new Error(`There is an app ${app.id} already.`)
    this.#state.apps.set(app.id, app)
    this.#giveIds(app.id, app.businessUserId, app.instanceId)
    this.#addTokens(tokens)
    this.#announce({ kind: "control" })
  }

  async setAppLimits(id: AppId, limits: OwnLimits | undefined): Promise<boolean> {
    const app = this.#state.apps.get(id)
    if (app === undefined || app.revoked) return false
    const { limits: _before, ...others } = app
    this.#state.apps.set(id, { ...others, ...(limits !== undefined && { limits }) })
    return this.#announceIf(true)
  }

  async createToken(token: StoredToken): Promise<void> {
    this.#addTokens([token])
  }

  // Usage.

  async usage(
    appId: AppId,
    { fromDay, toDay }: { readonly fromDay: number; readonly toDay: number },
  ): Promise<readonly DailyUsage[]> {
    return [...(this.#state.usage.get(appId) ?? [])]
      .filter(([day]) => day >= fromDay && day <= toDay)
      .map(([day, { count }]) => ({ day, posts: count }))
      .toSorted((a, b) => a.day - b.day)
  }

  async countUsage(used: readonly UsedPosts[]): Promise<void> {
    if (used.length === 0) return
    const from = firstRememberedDay(used)
    const all = [...this.#state.usage.values()].flatMap((days) => [...days])
    const counted = all.reduce((sum, [day, { count }]) => sum + (day >= from ? count : 0), 0)
    for (const { appId, day, postIds } of used) {
      const days = this.#state.usage.get(appId) ?? new Map<number, { posts: Set<PostId>; count: number }>()
      const { posts, count } = days.get(day) ?? { posts: new Set<PostId>(), count: 0 }
      const fresh = new Set(postIds).difference(posts)
      if (fresh.size === 0) continue
      days.set(day, { posts: remembersPosts(counted) ? posts.union(fresh) : posts, count: count + fresh.size })
      this.#state.usage.set(appId, days)
    }
  }

  async trimUsage({
    beforeDay,
    postsBeforeDay,
    limit,
  }: {
    readonly beforeDay: number
    readonly postsBeforeDay: number
    readonly limit: number
  }): Promise<boolean> {
    let forgotten = 0
    for (const days of this.#state.usage.values()) {
      for (const [day, { posts }] of days) {
        for (const id of day < postsBeforeDay ? posts : []) {
          if (forgotten === limit) return false
          posts.delete(id)
          forgotten += 1
        }
      }
    }
    if (forgotten === limit) return false
    for (const days of this.#state.usage.values()) {
      for (const day of days.keys()) if (day < beforeDay) days.delete(day)
    }
    return true
  }

  async deleteToken(hash: Uint8Array): Promise<boolean> {
    const key = Buffer.from(hash).toString("hex")
    const token = this.#state.tokens.get(key)
    if (token === undefined || token.kind === "app") return false
    this.#state.tokens.delete(key)
    return this.#announceIf(true)
  }

  async noteTokenUses(uses: readonly TokenUse[]): Promise<void> {
    for (const { hash, lastUsedAtMs } of uses) {
      const key = Buffer.from(hash).toString("hex")
      const token = this.#state.tokens.get(key)
      if (token !== undefined && (token.lastUsedAtMs ?? 0) < lastUsedAtMs) {
        this.#state.tokens.set(key, { ...token, lastUsedAtMs })
      }
    }
  }

  #addTokens(tokens: readonly StoredToken[]): void {
    for (const token of tokens) this.#state.tokens.set(Buffer.from(token.hash).toString("hex"), token)
  }

  #deleteTokens(appId: AppId, kinds: readonly StoredToken["kind"][] = ["app", "user"]): void {
    for (const [hash, token] of this.#state.tokens) {
      if (token.appId === appId && kinds.includes(token.kind)) this.#state.tokens.delete(hash)
    }
  }

  async rotateApp(
    { id, consumerKey, consumerSecretSealed, generation }: App,
    tokens: readonly StoredToken[],
  ): Promise<boolean> {
    const app = this.#state.apps.get(id)
    if (app === undefined || app.revoked || app.generation !== generation - 1) return false
    this.#state.apps.set(id, { ...app, consumerKey, consumerSecretSealed, generation })
    this.#deleteTokens(id)
    this.#addTokens(tokens)
    return this.#announceIf(true)
  }

  async replaceSecrets({ apps, webhooks }: ReplacedSecrets): Promise<void> {
    for (const { id, consumerSecretSealed, tokens } of apps) {
      const app = this.#state.apps.get(id)
      if (app !== undefined) this.#state.apps.set(id, { ...app, consumerSecretSealed })
      this.#deleteTokens(id, ["app"])
      this.#addTokens(tokens)
    }
    for (const { id, signingKeySealed, previousKeySealed: keySealed } of webhooks) {
      this.#changeWebhook(id, (webhook) => ({
        ...webhook,
        signingKeySealed,
        ...(webhook.previousKey !== undefined &&
          keySealed !== undefined && { previousKey: { ...webhook.previousKey, keySealed } }),
      }))
    }
    this.#announce({ kind: "control" })
  }

  async revokeApp(id: AppId): Promise<boolean> {
    const app = this.#state.apps.get(id)
    if (app === undefined || app.revoked) return false
    this.#state.apps.set(id, { ...app, revoked: true })
    this.#deleteTokens(id)
    for (const rule of this.#rulesOf(id)) this.#noteRemoved(rule)
    for (const replay of this.#state.replays.values()) {
      if (replay.appId === id) this.#endReplay(replay.id, "incomplete", this.#clock.nowMs())
    }
    return this.#announceIf(true)
  }

  // Rules.

  #rulesOf(appId: AppId): readonly StoredRule[] {
    return this.#state.rules
      .values()
      .filter((rule) => rule.appId === appId)
      .toArray()
  }

  async rules(appId: AppId, range: KeysetRange<RuleId>, ids?: readonly RuleId[]): Promise<readonly StoredRule[]> {
    return withinKeyset(
      this.#rulesOf(appId).filter(({ id }) => ids === undefined || ids.includes(id)),
      range,
    )
  }

  async rulesByValue(appId: AppId, values: readonly string[]): Promise<readonly StoredRule[]> {
    const rules = this.#rulesOf(appId)
    return values.flatMap((value) => rules.filter((rule) => rule.value === value))
  }

  async ruleCount(appId: AppId): Promise<number> {
    return this.#rulesOf(appId).length
  }

  async ruleMatches(ids: readonly RuleId[]): Promise<readonly RuleMatches[]> {
    return ids.flatMap((id) => this.#state.ruleMatches.get(id) ?? [])
  }

  async countRuleMatches(counts: readonly RuleMatches[]): Promise<void> {
    for (const { ruleId, matched, lastMatchedAtMs } of counts) {
      if (!this.#state.rules.has(ruleId)) continue
      const before = this.#state.ruleMatches.get(ruleId) ?? { matched: 0, lastMatchedAtMs: 0 }
      this.#state.ruleMatches.set(ruleId, {
        ruleId,
        matched: before.matched + matched,
        lastMatchedAtMs: Math.max(before.lastMatchedAtMs, lastMatchedAtMs),
      })
    }
  }

  async setRuleTag(appId: AppId, id: RuleId, tag: string | undefined): Promise<boolean> {
    this.#refuseRevoked(appId)
    const before = this.#state.rules.get(id)
    if (before?.appId !== appId) return false
    const rule = { id, appId, value: before.value, ...(tag !== undefined && { tag }) }
    this.#state.rules.set(id, rule)
    this.#state.ruleChanges.push({ seq: this.#nextRuleChange(), kind: "added", rule })
    return this.#announceIf(true)
  }

  async allRules(): Promise<{ readonly rules: AsyncIterable<StoredRule>; readonly seq: number }> {
    const live = this.#state.rules.values().filter(({ appId }) => this.#isLive(appId))
    return { rules: inTurns(newestFirst(live).toReversed()), seq: this.#state.lastRuleChange }
  }

  async ruleChanges(after: number, limit: number): Promise<readonly RuleChange[] | undefined> {
    const changes = this.#state.ruleChanges.filter(({ seq }) => seq > after).slice(0, limit)
    return unbrokenChanges(changes, { after, lastSeq: this.#state.lastRuleChange })
  }

  async forgetRuleChanges(upTo: number): Promise<void> {
    this.#state.ruleChanges = this.#state.ruleChanges.filter(({ seq }) => seq > upTo)
  }

  #nextRuleChange(): number {
    this.#state.lastRuleChange += 1
    return this.#state.lastRuleChange
  }

  #noteRemoved({ id: ruleId, appId }: StoredRule): void {
    this.#state.ruleChanges.push({ seq: this.#nextRuleChange(), kind: "removed", appId, ruleId })
  }

  async addRules(
    appId: AppId,
    rules: readonly StoredRule[],
    { rulesMax, unchangedSince }: { rulesMax: number; unchangedSince?: number | undefined },
  ): Promise<readonly AddedRule[]> {
    this.#refuseRevoked(appId)
    const isChanged = this.#state.ruleChanges.some(
      (change) =>
        change.seq > (unchangedSince ?? Number.POSITIVE_INFINITY) &&
        (change.kind === "added" ? change.rule.appId : change.appId) === appId,
    )
    if (isChanged) return rules.map(() => ({ kind: "ruleset-changed" }))
    const existing = this.#rulesOf(appId)
    const { outcomes, added } = addRules(rules, existing, rulesMax - existing.length)
    for (const rule of added) {
      this.#state.rules.set(rule.id, rule)
      this.#giveIds(rule.id)
      this.#state.ruleChanges.push({ seq: this.#nextRuleChange(), kind: "added", rule })
    }
    this.#announce({ kind: "control" })
    return outcomes
  }

  async deleteRules(appId: AppId, selector: RuleSelector): Promise<readonly StoredRule[]> {
    const deleted = this.#rulesOf(appId).filter(({ id, value }) => {
      switch (selector.kind) {
        case "all":
          return true
        case "ids":
          return selector.ids.includes(id)
        case "values":
          return selector.values.includes(value)
      }
    })
    for (const rule of deleted) {
      this.#state.rules.delete(rule.id)
      this.#state.ruleMatches.delete(rule.id)
      this.#noteRemoved(rule)
    }
    this.#announce({ kind: "control" })
    return deleted
  }

  // Webhooks.

  async webhooks(appId: AppId): Promise<readonly StoredWebhook[]> {
    return newestFirst(this.#state.webhooks.values().filter((webhook) => webhook.appId === appId))
  }

  async webhookPage(
    { appId, urlPart = "" }: { readonly appId?: AppId; readonly urlPart?: string },
    range: KeysetRange<WebhookId>,
  ): Promise<readonly StoredWebhook[]> {
    const found = (await this.allWebhooks()).filter(
      (webhook) =>
        (appId === undefined || webhook.appId === appId) && webhook.url.toLowerCase().includes(urlPart.toLowerCase()),
    )
    return withinKeyset(found, range)
  }

  async webhook(appId: AppId, id: WebhookId): Promise<StoredWebhook | undefined> {
    const webhook = this.#state.webhooks.get(id)
    return webhook?.appId === appId ? webhook : undefined
  }

  async allWebhooks(): Promise<readonly StoredWebhook[]> {
    return newestFirst(this.#state.webhooks.values().filter(({ appId }) => this.#isLive(appId)))
  }

  async createWebhook(
    webhook: StoredWebhook,
    { webhooksMax }: { webhooksMax: number },
  ): Promise<"created" | "duplicate" | "over-limit"> {
    this.#refuseRevoked(webhook.appId)
    const others = await this.webhooks(webhook.appId)
    if (others.some(({ url }) => url === webhook.url)) return "duplicate"
    if (others.length >= webhooksMax) return "over-limit"
    this.#state.webhooks.set(webhook.id, webhook)
    this.#giveIds(webhook.id)
    this.#announce({ kind: "control" })
    return "created"
  }

  #changeWebhook(id: WebhookId, change: (webhook: StoredWebhook) => StoredWebhook): boolean {
    const webhook = this.#state.webhooks.get(id)
    if (webhook !== undefined) this.#state.webhooks.set(id, change(webhook))
    return this.#announceIf(webhook !== undefined)
  }

  async markWebhookValid(id: WebhookId, checkedAtMs: number): Promise<boolean> {
    return this.#changeWebhook(id, (webhook) => {
      const { invalidReason: _, ...rest } = webhook
      return { ...rest, valid: true, checkedAtMs }
    })
  }

  async invalidateWebhook(id: WebhookId, invalidReason: string): Promise<boolean> {
    return this.#changeWebhook(id, (webhook) => ({ ...webhook, valid: false, invalidReason }))
  }

  async rotateSigningKey(
    appId: AppId,
    id: WebhookId,
    { signingKeySealed, previousUntilMs }: { signingKeySealed: Uint8Array; previousUntilMs: number },
  ): Promise<boolean> {
    if (this.#state.webhooks.get(id)?.appId !== appId) return false
    return this.#changeWebhook(id, (webhook) => ({
      ...webhook,
      signingKeySealed,
      previousKey: { keySealed: webhook.signingKeySealed, untilMs: previousUntilMs },
    }))
  }

  async describeWebhook(appId: AppId, id: WebhookId, texts: WebhookTexts): Promise<boolean> {
    if (this.#state.webhooks.get(id)?.appId !== appId) return false
    return this.#changeWebhook(id, (webhook) => {
      const { name = "", description = "", ...rest } = { ...webhook, ...texts }
      return { ...rest, ...(name !== "" && { name }), ...(description !== "" && { description }) }
    })
  }

  async deleteWebhook(appId: AppId, id: WebhookId): Promise<boolean> {
    if (this.#state.webhooks.get(id)?.appId !== appId) return false
    this.#deleteLink(this.#linkOf(appId, id))
    return this.#announceIf(this.#state.webhooks.delete(id))
  }

  // Links.

  #linkOf(appId: AppId, webhookId: WebhookId): Link | undefined {
    return this.#state.links.values().find(({ stored }) => stored.appId === appId && stored.webhookId === webhookId)
  }

  async links(appId: AppId, range: KeysetRange<LinkId>): Promise<readonly StoredLink[]> {
    const stored = [...this.#state.links.values()].map((link) => link.stored)
    return withinKeyset(
      stored.filter((link) => link.appId === appId),
      range,
    )
  }

  async link(appId: AppId, webhookId: WebhookId): Promise<StoredLink | undefined> {
    return this.#linkOf(appId, webhookId)?.stored
  }

  async allLinks(appId?: AppId): Promise<readonly LinkToDeliver[]> {
    const links = [...this.#state.links.values()].flatMap((link) => this.#toDeliver(link))
    return newestFirst(links.filter((link) => appId === undefined || link.appId === appId))
  }

  async linkPage({ appId }: { readonly appId?: AppId }, range: KeysetRange<LinkId>): Promise<readonly LinkToDeliver[]> {
    return withinKeyset(await this.allLinks(appId), range)
  }

  async linkToDeliver(webhookId: WebhookId): Promise<LinkToDeliver | undefined> {
    return (await this.allLinks()).find((link) => link.webhookId === webhookId)
  }

  #toDeliver({ stored, position, isOrdered, pausedAtMs, redeliveries }: Link): readonly LinkToDeliver[] {
    const webhook = this.#state.webhooks.get(stored.webhookId)
    const app = this.#state.apps.get(stored.appId)
    if (webhook === undefined || app === undefined || app.revoked) return []
    const { url, valid, signingKeySealed, previousKey } = webhook
    const { consumerSecretSealed } = app
    const keys = { consumerSecretSealed, signingKeySealed, ...(previousKey && { previousKey }) }
    const epochs = this.#state.epochs.get(stored.appId)
    const paused = pausedAtMs === undefined ? {} : { pausedAtMs }
    return [{ ...stored, url, valid, position, isOrdered, ...paused, redeliveries, ...keys, ...(epochs && { epochs }) }]
  }

  async createLink(stored: StoredLink): Promise<"created" | "exists" | "no-webhook"> {
    const { id, appId, webhookId } = stored
    this.#refuseRevoked(appId)
    if (this.#state.webhooks.get(webhookId)?.appId !== appId) return "no-webhook"
    if (this.#linkOf(appId, webhookId) !== undefined) return "exists"
    const position = this.#log(appId).head
    this.#state.links.set(id, {
      stored,
      firstPosition: position,
      position,
      isOrdered: false,
      pausedAtMs: undefined,
      redeliveries: 0,
      delivered: 0,
      expired: 0,
      missed: 0,
      withdrawn: 0,
      retries: new Map(),
      deadLetters: new Map(),
      gaps: [],
      attempts: [],
      attemptsMade: 0,
    })
    this.#giveIds(id)
    this.#announce({ kind: "control" })
    return "created"
  }

  async deleteLink(appId: AppId, webhookId: WebhookId): Promise<boolean> {
    return this.#announceIf(this.#deleteLink(this.#linkOf(appId, webhookId)))
  }

  #deleteLink(link: Link | undefined): boolean {
    if (link === undefined) return false
    const { id, appId } = link.stored
    const needed = [...link.retries.keys(), ...link.deadLetters.keys()]
    const log = this.#log(appId)
    const first = needed.reduce((a, b) => (a < b ? a : b), Number.POSITIVE_INFINITY as MatchSeq)
    if (first <= log.trimmedTo) {
      log.leftoversAfter = Math.min(log.leftoversAfter ?? first, first - 1) as MatchSeq
    }
    for (const replay of this.#state.replays.values()) {
      if (replay.linkId !== id) continue
      this.#state.replays.delete(replay.id)
      this.#state.backfillMatches.delete(replay.id)
    }
    return this.#state.links.delete(id)
  }

  async setLinkOrdered(appId: AppId, webhookId: WebhookId, isOrdered: boolean): Promise<boolean> {
    const link = this.#linkOf(appId, webhookId)
    if (link !== undefined) link.isOrdered = isOrdered
    return this.#announceIf(link !== undefined)
  }

  async setLinkPaused(appId: AppId, webhookId: WebhookId, pausedAtMs: number | undefined): Promise<boolean> {
    const link = this.#linkOf(appId, webhookId)
    if (link !== undefined) link.pausedAtMs = pausedAtMs === undefined ? undefined : (link.pausedAtMs ?? pausedAtMs)
    return this.#announceIf(link !== undefined)
  }

  // Deliveries.

  async linkTally(linkId: LinkId): Promise<LinkTally | undefined> {
    const link = this.#state.links.get(linkId)
    return link && tallyOf(link)
  }

  async gaps(linkId: LinkId): Promise<readonly GapMarker[]> {
    return this.#state.links.get(linkId)?.gaps ?? []
  }

  async attempts(linkId: LinkId, limit: number): Promise<readonly StoredAttempt[]> {
    const link = this.#state.links.get(linkId)
    return (link?.attempts ?? [])
      .toReversed()
      .slice(0, limit)
      .map((attempt) => this.#inEpoch(link, attempt))
  }

  async attempt(linkId: LinkId, id: AttemptId): Promise<StoredAttempt | undefined> {
    const link = this.#state.links.get(linkId)
    const found = link?.attempts.find((attempt) => attempt.id === id)
    return found && this.#inEpoch(link, found)
  }

  /** A record of a link's match with the epoch of the match. */
  #inEpoch<Kept extends { readonly seq: MatchSeq }>(link: Link | undefined, record: Kept): Kept & { epoch?: string } {
    const epoch = link && epochAt(this.#state.epochs.get(link.stored.appId), record.seq)
    return { ...record, ...(epoch !== undefined && { epoch }) }
  }

  async beginEpoch(next: NewEpoch): Promise<void> {
    const state = this.#state
    for (const appId of state.apps.keys()) {
      const fromSeq = (this.#log(appId).head + 1) as MatchSeq
      const before = (state.epochs.get(appId) ?? []).filter((one) => one.fromSeq < fromSeq)
      state.epochs.set(appId, [...before, { fromSeq, epoch: next.epoch }])
    }
    for (const link of state.links.values()) link.attemptsMade += next.numbersSkipped
    state.deadLettersMade += next.numbersSkipped
    state.lastId = BigInt(lastIdBefore(next, String(state.lastId)))
    this.#announceIf(true)
  }

  async recordAttempts(attempts: readonly Attempt[], { keptPerLink }: { keptPerLink: number }): Promise<void> {
    for (const attempt of attempts) {
      const link = this.#state.links.get(attempt.linkId)
      if (link !== undefined && keptPerLink > 0) {
        link.attemptsMade += 1
        const id = String(link.attemptsMade) as AttemptId
        const entry = this.#log(link.stored.appId).entries.get(attempt.seq)
        const isOld = maySendOld(attempt, entry && this.#state.rewrittenAtMs.get(entry.postId))
        const { response, ...rest } = attempt
        const kept = entry?.isDeleted === true || isOld || response === undefined ? rest : attempt
        link.attempts = [...link.attempts, { ...kept, id }].slice(-keptPerLink)
      }
    }
  }

  async retries(linkId: LinkId, shape: PostShape): Promise<readonly RetryEntry[]> {
    const link = this.#state.links.get(linkId)
    if (link === undefined) return []
    const log = this.#log(link.stored.appId)
    return [...link.retries.values()]
      .toSorted((a, b) => a.seq - b.seq)
      .map((retry) => ({ ...retry, entry: this.#entry(log, retry.seq, shape) }))
  }

  async saveProgress(all: readonly LinkProgress[]): Promise<readonly LinkLease[]> {
    for (const progress of all) {
      const link = this.#state.links.get(progress.linkId)
      if (link !== undefined) this.#saveProgress(link, progress)
    }
    return []
  }

  #saveProgress(link: Link, progress: LinkProgress): void {
    const outstanding = namedIn(progress).flatMap((seq): readonly OutstandingMatch[] =>
      link.retries.has(seq) || link.deadLetters.has(seq) ? [{ seq, isDead: link.deadLetters.has(seq) }] : [],
    )
    this.#change(link, progressChange({ ...this.#before(link), outstanding }, [progress]))
  }

  #before(link: Link) {
    const { head, trimmedTo } = this.#log(link.stored.appId)
    const { firstPosition, position, delivered } = link
    return { firstPosition, position, delivered, head, trimmedTo }
  }

  #change(link: Link, change: LinkChange): void {
    const { id: linkId, appId, webhookId } = link.stored
    const log = this.#log(appId)
    for (const seq of change.retriesGone) link.retries.delete(seq)
    for (const seq of change.deadGone) link.deadLetters.delete(seq)
    for (const retry of change.retries) link.retries.set(retry.seq, retry)
    for (const dead of change.dead) {
      const { postId, atMs: matchedAtMs } = this.#entry(log, dead.seq, "core")
      this.#state.deadLettersMade += 1
      const id = String(this.#state.deadLettersMade) as DeadLetterId
      link.deadLetters.set(dead.seq, { ...dead, id, appId, webhookId, linkId, postId, matchedAtMs })
    }
    link.position = change.position
    link.delivered += change.delivered
    link.expired += change.expired
    link.withdrawn += change.withdrawn
    link.redeliveries += change.redeliveries
    for (const seq of change.freed) this.#freeMatch(appId, log, seq)
  }

  #allDeadLetters(): readonly DeadLetter[] {
    return this.#state.links
      .values()
      .flatMap((link) => Array.from(link.deadLetters.values(), (letter) => this.#inEpoch(link, letter)))
      .toArray()
  }

  async deadLetters(
    { appId, webhookId }: { readonly appId?: AppId; readonly webhookId?: WebhookId },
    range: KeysetRange<DeadLetterId>,
  ): Promise<readonly DeadLetter[]> {
    const found = this.#allDeadLetters().filter(
      (dead) =>
        (appId === undefined || dead.appId === appId) && (webhookId === undefined || dead.webhookId === webhookId),
    )
    return withinKeyset(found, range)
  }

  async redeliver(selector: DeadLetterSelector): Promise<number> {
    const fair = new FairRedelivery()
    let redelivered = 0
    const links = [...this.#state.links.values()].map((link) => ({
      link,
      id: link.stored.id,
      retries: link.retries.size,
    }))
    for (const { link, id, retries } of links.toSorted(fewestRetriesFirst)) {
      const log = this.#log(link.stored.appId)
      const room = this.#room(link)
      const dead = [...link.deadLetters.values()].filter((one) => isSelected(one, selector)).toSorted(oldestFirst)
      if (dead.length === 0 || !fair.begin(retries)) continue
      const seqs = dead.map(({ seq }) => seq).filter((seq) => fair.take(id, room, this.#envelopeBytes(log, seq)))
      if (seqs.length > 0) this.#change(link, redeliverDead(link, seqs))
      redelivered += seqs.length
    }
    this.#announceIf(redelivered > 0)
    return redelivered
  }

  #room(link: Link): RetryRoom {
    const log = this.#log(link.stored.appId)
    const bytes = link.retries.keys().reduce((sum, seq) => sum + this.#envelopeBytes(log, seq), 0)
    return new RetryRoom(link.retries.size, bytes)
  }

  async redeliverMatches(matches: readonly LinkMatch[], appId?: AppId): Promise<readonly RedeliveryOutcome[]> {
    const all = new Map<LinkMatch, RedeliveryOutcome>()
    for (const [linkId, named] of Map.groupBy(matches, (match): LinkId => match.linkId)) {
      const link = this.#state.links.get(linkId)
      if (link === undefined || (appId !== undefined && link.stored.appId !== appId)) continue
      const found = named.map(({ seq }) => this.#redeliverable(link, seq))
      const { outcomes, change } = redeliverMatches(this.#before(link), found, this.#room(link), named)
      for (const [index, match] of named.entries()) all.set(match, outcomes[index] ?? "unknown")
      if (outcomes.includes("redelivered")) this.#change(link, change)
    }
    const outcomes = matches.map((match) => all.get(match) ?? "unknown")
    this.#announceIf(outcomes.includes("redelivered"))
    return outcomes
  }

  #redeliverable(link: Link, seq: MatchSeq): RedeliverableMatch {
    const log = this.#log(link.stored.appId)
    return {
      seq,
      epoch: epochAt(this.#state.epochs.get(link.stored.appId), seq) ?? null,
      failures: link.retries.get(seq)?.failures ?? null,
      isDead: link.deadLetters.has(seq),
      bytes: log.entries.has(seq) ? this.#envelopeBytes(log, seq) : 0,
    }
  }

  #envelopeBytes(log: Log, seq: MatchSeq): number {
    return Buffer.byteLength(this.#state.posts.get(this.#entry(log, seq, "core").postId)?.envelope ?? "")
  }

  async hastenRetries(webhookId: WebhookId, appId?: AppId): Promise<number> {
    let count = 0
    for (const link of this.#state.links.values()) {
      const isChosen = link.stored.webhookId === webhookId && (appId === undefined || link.stored.appId === appId)
      for (const retry of isChosen ? link.retries.values() : []) {
        if (retry.dueAtMs === 0) continue
        link.retries.set(retry.seq, { ...retry, dueAtMs: 0 })
        count += 1
      }
      if (isChosen && count > 0) link.redeliveries += 1
    }
    this.#announceIf(count > 0)
    return count
  }

  async trimDeadLetters({ beforeMs, limit }: { beforeMs: number; limit: number }): Promise<number> {
    const gone = this.#allDeadLetters()
      .filter(({ appId, seq, deadLetteredAtMs }) => deadLetteredAtMs < beforeMs && seq <= this.#log(appId).trimmedTo)
      .toSorted((a, b) => a.deadLetteredAtMs - b.deadLetteredAtMs)
      .slice(0, limit)
    for (const { linkId, seq } of gone) {
      const link = this.#state.links.get(linkId)
      if (link !== undefined) this.#change(link, expire(this.#before(link), [seq]))
    }
    return gone.length
  }

  // Replays.

  async replays({
    appId,
    state,
  }: {
    readonly appId?: AppId
    readonly state?: Replay["state"]
  }): Promise<readonly Replay[]> {
    return newestFirst(
      this.#state.replays
        .values()
        .filter((replay) => appId === undefined || replay.appId === appId)
        .filter((replay) => state === undefined || replay.state === state),
    )
  }

  async createReplay(replay: Replay): Promise<"created" | "conflict" | "no-link"> {
    const { appId, webhookId, linkId } = replay
    this.#refuseRevoked(appId)
    if (this.#linkOf(appId, webhookId)?.stored.id !== linkId) return "no-link"
    const running = await this.replays({ state: "running" })
    if (running.some((other) => other.webhookId === webhookId)) return "conflict"
    this.#state.replays.set(replay.id, replay)
    this.#giveIds(replay.id)
    this.#announce({ kind: "control" })
    return "created"
  }

  async saveReplay({ id, position, delivered, failed }: ReplayProgress): Promise<void> {
    const replay = this.#state.replays.get(id)
    if (replay?.state !== "running") return
    this.#state.replays.set(id, { ...replay, position, delivered, failed })
  }

  async backfillMatches({ id, after, limit, bytesMax, shape }: BackfillRange): Promise<readonly MatchEntry[]> {
    const { createdAtMs: atMs = 0 } = this.#state.replays.get(id) ?? {}
    const found: MatchEntry[] = []
    let bytes = 0
    for (const [index, { postId, rules }] of (this.#state.backfillMatches.get(id) ?? []).entries()) {
      if (index + 1 <= after) continue
      const postJson = this.#state.posts.get(postId)?.[shape]
      const rulesJson = JSON.stringify(rules)
      const seq = (index + 1) as MatchSeq
      if (postJson === undefined) found.push({ seq, postId, atMs, rulesJson: "[]", isDeleted: true })
      else found.push({ seq, postId, atMs, rulesJson, postJson })
      bytes += Buffer.byteLength(rulesJson) + Buffer.byteLength(postJson ?? "")
      if (found.length === limit || bytes >= bytesMax) break
    }
    return found
  }

  async addBackfillMatches({ id, matches, searchedId, lastId }: BackfillFound): Promise<boolean> {
    const replay = this.#state.replays.get(id)
    if (replay?.state !== "running" || replay.backfill === undefined) return false
    const found = [...(this.#state.backfillMatches.get(id) ?? []), ...matches]
    this.#state.backfillMatches.set(id, found)
    const backfill = { ...replay.backfill, searchedId, lastId }
    this.#state.replays.set(id, { ...replay, endSeq: found.length as MatchSeq, backfill })
    this.#announceIf(isSearchOver(backfill))
    return true
  }

  async endReplay(id: ReplayId, state: ReplayEnd, atMs: number): Promise<boolean> {
    const isEnded = this.#endReplay(id, state, atMs)
    this.#announceIf(isEnded)
    return isEnded
  }

  #endReplay(id: ReplayId, state: ReplayEnd, endedAtMs: number): boolean {
    const replay = this.#state.replays.get(id)
    if (replay?.state !== "running") return false
    this.#state.backfillMatches.delete(id)
    this.#state.replays.set(id, { ...replay, state, endedAtMs })
    const ended = this.#state.replays
      .values()
      .filter((other) => other.appId === replay.appId && other.state !== "running")
    for (const old of newestFirst(ended).slice(endedReplaysMax)) this.#state.replays.delete(old.id)
    return true
  }

  // Match logs.

  #log(appId: AppId): Log {
    return (
      this.#state.logs.get(appId) ?? {
        head: beforeFirstMatch,
        trimmedTo: beforeFirstMatch,
        trimmedUntilMs: undefined,
        leftoversAfter: undefined,
        entries: new Map<MatchSeq, LogEntry>(),
      }
    )
  }

  #entry({ entries }: Log, seq: MatchSeq, shape: PostShape): MatchEntry {
    const found = entries.get(seq)
    if (found?.isDeleted === true) {
      return { seq, postId: found.postId, atMs: found.atMs, rulesJson: "[]", isDeleted: true }
    }
    const post = found && this.#state.posts.get(found.postId)
    if (found === undefined || post === undefined) throw new Error(`Match ${seq} is not there.`)
    const { postId, atMs, rules, omitted } = found
    return {
      seq,
      postId,
      atMs,
      rulesJson: JSON.stringify(rules),
      ...(omitted !== undefined && { rulesOmitted: omitted }),
      postJson: post[shape],
    }
  }

  async append(
    batch: readonly { readonly post: AcceptedPost; readonly matches: readonly PostMatch[] }[],
    atMs: number,
  ): Promise<readonly boolean[]> {
    const changed = new Set<AppId>()
    const newPosts: AcceptedPost[] = []
    const accepted = batch.map(({ post: given, matches }) => {
      const post = withoutDeleted(given, this.#deleted())
      if (post === undefined || this.#state.posts.has(post.id)) return false
      this.#addPost(post)
      newPosts.push(post)
      for (const { appId, ...match } of matches) {
        const log = this.#log(appId)
        this.#state.logs.set(appId, log)
        log.head = (log.head + 1) as MatchSeq
        log.entries.set(log.head, { ...match, postId: post.id, atMs })
        changed.add(appId)
      }
      return true
    })
    this.#saveUsers(newPosts)
    this.#saveChains(newPosts)
    this.#announce({ kind: "matches", appIds: [...changed] })
    return accepted
  }

  // Sources.

  async sources(): Promise<readonly StoredSource[]> {
    return [...this.#state.sources.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  async beginSource(name: string): Promise<StoredSource> {
    return this.#steerSource(name)
  }

  async pauseSource(name: string, isPaused: boolean): Promise<void> {
    this.#steerSource(name, { isPaused })
    this.#announce({ kind: "control" })
  }

  async rewindSource(name: string, position: string): Promise<void> {
    this.#steerSource(name, { position })
    this.#announce({ kind: "control" })
  }

  #steerSource(name: string, to: Partial<StoredSource> = {}): StoredSource {
    const before = this.#state.sources.get(name) ?? { name, driver: 0, isPaused: false }
    const source = { ...before, ...to, driver: before.driver + 1 }
    this.#state.sources.set(name, source)
    return source
  }

  async appendFrom(
    progress: SourceProgress,
    batch: readonly { readonly post: AcceptedPost; readonly matches: readonly PostMatch[] }[],
    atMs: number,
  ): Promise<SourceAppend> {
    const { sources, assignedNames, posts } = this.#state
    const source = sources.get(progress.source)
    if (source?.driver !== progress.driver) return { kind: "superseded" }
    const at = takenAt(
      batch.map(({ post: { id } }, index) => ({ id, name: progress.names[index] })),
      {
        envelopes: new Map([...posts].map(([id, { envelope }]) => [id, envelope])),
        assigned: [...assignedNames].map(([name, id]) => ({ name, id })),
      },
    )
    if (at.length > 0) return { kind: "taken", at }
    for (const { name, id } of progress.assigned) {
      if (!assignedNames.has(name)) assignedNames.set(name, id)
    }
    this.#saveUsers(withoutDeletedUsers(progress.users, this.#deleted().users))
    this.#state.sourceDeadLetters.push(...progress.deadLetters)
    this.#forgetSourceDeadLetters()
    const { position } = progress
    if (position !== undefined) sources.set(source.name, { ...source, position, savedAtMs: atMs })
    return { kind: "appended", isNew: await this.append(batch, atMs) }
  }

  #forgetSourceDeadLetters(): void {
    const kept: SourceDeadLetter[] = []
    let bytes = 0
    for (const letter of this.#state.sourceDeadLetters.toReversed()) {
      bytes += letter.record.length
      if (kept.length < sourceDeadLettersMax && bytes <= sourceDeadLetterBytesMax) kept.unshift(letter)
    }
    this.#state.sourceDeadLetters = kept
  }

  async assignedNames(names: readonly string[]): Promise<readonly AssignedName[]> {
    return names.flatMap((name) => {
      const id = this.#state.assignedNames.get(name)
      return id === undefined ? [] : [{ name, id }]
    })
  }

  async trimAssignedNames(below: PostId, limit: number): Promise<number> {
    const old = [...this.#state.assignedNames].filter(([, id]) => compareIds(id, below) < 0).slice(0, limit)
    for (const [name] of old) this.#state.assignedNames.delete(name)
    return old.length
  }

  async noteSourceGap(gap: StoredSourceGap): Promise<void> {
    const own = [...this.#state.sourceGaps.filter(({ source }) => source === gap.source), gap]
    const others = this.#state.sourceGaps.filter(({ source }) => source !== gap.source)
    this.#state.sourceGaps = [...others, ...own.slice(-sourceGapsMax)]
  }

  async sourceGaps(of: string): Promise<readonly StoredSourceGap[]> {
    return this.#state.sourceGaps.filter(({ source }) => source === of).toReversed()
  }

  async sourceDeadLetters(range: SourceDeadLetterRange): Promise<readonly SourceDeadLetter[]> {
    const { source, direction, from, limit } = range
    const within = this.#state.sourceDeadLetters
      .filter((letter) => source === undefined || letter.source === source)
      .filter(({ id }) => from === undefined || (direction === "older" ? id < from : id > from))
      .toReversed()
    return direction === "older" ? within.slice(0, limit) : within.slice(-limit)
  }

  async sourceDeadLetterCounts(): Promise<ReadonlyMap<string, number>> {
    const bySource = Map.groupBy(this.#state.sourceDeadLetters, ({ source }) => source)
    return new Map([...bySource].map(([source, letters]) => [source, letters.length]))
  }

  async deleteSourceDeadLetters(source: string, ids: readonly string[]): Promise<readonly string[]> {
    const letters = this.#state.sourceDeadLetters
    const isDeleted = (letter: SourceDeadLetter): boolean => letter.source === source && ids.includes(letter.id)
    this.#state.sourceDeadLetters = letters.filter((letter) => !isDeleted(letter))
    return ids.filter((id) => letters.some((letter) => letter.id === id && isDeleted(letter)))
  }

  async head(appId: AppId): Promise<MatchSeq> {
    return this.#log(appId).head
  }

  async heads(): Promise<ReadonlyMap<AppId, MatchSeq>> {
    return new Map([...this.#state.logs].map(([appId, { head }]) => [appId, head]))
  }

  async trimmed(appId: AppId): Promise<TrimmedLog | undefined> {
    const { trimmedTo: to, trimmedUntilMs: untilMs } = this.#log(appId)
    return untilMs === undefined ? undefined : { to, untilMs }
  }

  async positionAt(appId: AppId, atMs: number): Promise<MatchSeq> {
    return positionAt(this.#log(appId), atMs)
  }

  async match(appId: AppId, seq: MatchSeq, shape: PostShape): Promise<MatchEntry | undefined> {
    const log = this.#log(appId)
    return log.entries.has(seq) ? this.#entry(log, seq, shape) : undefined
  }

  async matches({ appId, after, limit, bytesMax, shape }: MatchRange): Promise<readonly MatchEntry[]> {
    const log = this.#log(appId)
    const found: MatchEntry[] = []
    let bytes = 0
    for (let seq = Math.max(after, log.trimmedTo) + 1; seq <= log.head; seq += 1) {
      const entry = this.#entry(log, seq as MatchSeq, shape)
      found.push(entry)
      bytes += Buffer.byteLength(entry.rulesJson) + Buffer.byteLength(entry.postJson ?? "")
      if (found.length === limit || bytes >= bytesMax) break
    }
    return found
  }

  async trimMatches(
    appId: AppId,
    { beforeMs, owedBeforeMs = beforeMs, limit }: { beforeMs: number; owedBeforeMs?: number; limit: number },
  ): Promise<TrimmedMatches> {
    const log = this.#log(appId)
    const from = log.trimmedTo
    const links = this.#isLive(appId) ? [...this.#state.links.values()] : []
    const cursors = links.filter(({ stored }) => stored.appId === appId).map(({ position }) => position)
    const end = trimEnd({
      old: positionAt(log, beforeMs),
      owedOld: positionAt(log, owedBeforeMs),
      firstCursor: cursors.length === 0 ? undefined : (Math.min(...cursors) as MatchSeq),
    })
    const { to, isAtEnd, recheck } = trimStep(
      { trimmedTo: from, leftoversAfter: log.leftoversAfter ?? null },
      end,
      limit,
    )
    let trimmed = 0
    while (log.trimmedTo < to) {
      log.trimmedTo = (log.trimmedTo + 1) as MatchSeq
      const { atMs = 0 } = log.entries.get(log.trimmedTo) ?? {}
      log.trimmedUntilMs = Math.max(log.trimmedUntilMs ?? 0, atMs)
      trimmed += this.#freeMatch(appId, log, log.trimmedTo)
    }
    const gaps = this.#overtakeLinks(appId, to)
    this.#announceIf(gaps.length > 0)
    if (recheck === undefined) return { trimmed, isDone: isAtEnd, gaps }
    const freed = this.#recheck(appId, log, recheck)
    return { trimmed: trimmed + freed, isDone: log.leftoversAfter === undefined, gaps }
  }

  /** Moves the cursors before `to` on to it, and marks what they miss. */
  #overtakeLinks(appId: AppId, to: MatchSeq): TrimmedMatches["gaps"] {
    const atMs = this.#clock.nowMs()
    const overtaken = [...this.#state.links.values()].filter(
      ({ stored, position }) => stored.appId === appId && position < to,
    )
    return overtaken.map((link) => {
      const { missed, gap, marker } = overtake({ position: link.position, newest: link.gaps.at(-1) }, to, atMs)
      const others = link.gaps.filter(({ from }) => from !== marker.from)
      link.gaps = [...others, marker].slice(-gapsPerLinkMax)
      link.missed += missed
      link.position = to
      return { linkId: link.stored.id, webhookId: link.stored.webhookId, ...gap }
    })
  }

  /** Takes spared entries away that no link needs any more. Returns how many. */
  #recheck(appId: AppId, log: Log, recheck: Recheck): number {
    const { after, to, limit } = recheck
    const next = [...log.entries.keys()].filter((seq) => seq > after && seq <= to).slice(0, limit)
    log.leftoversAfter =
      afterRecheck(
        recheck,
        next.map((seq) => ({ seq })),
      ).leftoversAfter ?? undefined
    return next.reduce((sum, seq) => sum + this.#freeMatch(appId, log, seq), 0)
  }

  /** Takes an entry away that retention has passed and that no link needs. How many were taken: 1 or 0. */
  #freeMatch(appId: AppId, log: Log, seq: MatchSeq): 0 | 1 {
    const isNeeded = this.#state.links
      .values()
      .some((link) => link.stored.appId === appId && (link.retries.has(seq) || link.deadLetters.has(seq)))
    return seq <= log.trimmedTo && !isNeeded && log.entries.delete(seq) ? 1 : 0
  }

  // Deletions.

  async deletions({ after, limit }: DeletionRange): Promise<readonly Deletion[]> {
    return this.#state.deletions.filter(({ seq }) => seq > after).slice(0, limit)
  }

  async deletionsAt(seqs: readonly DeletionSeq[]): Promise<readonly Deletion[]> {
    return this.#state.deletions.filter(({ seq }) => seqs.includes(seq))
  }

  async deletionPositionAt(atMs: number): Promise<DeletionSeq | undefined> {
    const first = this.#state.deletions.find((deletion) => deletion.atMs >= atMs)
    return first && first.seq - 1
  }

  async deletedPosts(ids: readonly PostId[]): Promise<ReadonlySet<PostId>> {
    const { posts } = this.#deleted()
    return new Set(ids.filter((id) => posts.has(id)))
  }

  async deletionHead(): Promise<DeletionSeq> {
    return this.#state.lastDeletion
  }

  #deleted(): DeletedIds {
    const ids = (kind: Deletion["kind"]): readonly string[] =>
      this.#state.deletions.filter((deletion) => deletion.kind === kind).map(({ id }) => id)
    return { posts: new Set(ids("post") as readonly PostId[]), users: new Set(ids("user") as readonly UserId[]) }
  }

  async delete(requests: readonly DeletionRequest[], atMs: number): Promise<readonly DeletionOutcome[]> {
    const outcomes = requests.map((request) => {
      const isShown = this.#state.posts
        .values()
        .some((post) => (shownIds(post) as readonly string[]).includes(request.id))
      const wasStored =
        request.kind === "user" ? this.#state.users.has(request.id) : isShown || this.#state.posts.has(request.id)
      return { wasStored }
    })
    const appIds = new Set<AppId>()
    for (const request of requests) this.#delete(request, atMs, appIds, this.#takeOutDeletion(request)?.authorId)
    if (requests.length > 0) this.#announce({ kind: "deletions" })
    if (appIds.size > 0) this.#announce({ kind: "matches", appIds: [...appIds] })
    return outcomes
  }

  /** A deletion that is requested again is the newest one then. */
  #takeOutDeletion(request: DeletionRequest): Deletion | undefined {
    const { deletions } = this.#state
    const at = deletions.findIndex(({ kind, id }) => kind === request.kind && id === request.id)
    return at === -1 ? undefined : deletions.splice(at, 1)[0]
  }

  #delete(request: DeletionRequest, atMs: number, appIds: Set<AppId>, knownAuthor?: UserId): void {
    const { deletions, posts } = this.#state
    if (deletions.some(({ kind, id }) => kind === request.kind && id === request.id)) return
    const post = request.kind === "post" ? posts.get(request.id) : undefined
    this.#state.lastDeletion += 1
    const authorId = post?.authorId ?? knownAuthor
    deletions.push({ ...request, seq: this.#state.lastDeletion, atMs, ...(authorId !== undefined && { authorId }) })
    if (request.kind === "user") {
      const owned = posts.values().filter((each) => each.authorId === request.id)
      for (const { id } of owned.toArray()) this.#delete({ kind: "post", id }, atMs, appIds)
      this.#state.users.delete(request.id)
      this.#state.userObjects.delete(request.id)
      return
    }
    const { id } = request
    for (const version of this.#chainOf(id)) this.#delete({ kind: "post", id: version }, atMs, appIds)
    if (posts.delete(id)) this.#state.postsTrimmed += 1
    this.#forgetChains()
    for (const [appId, log] of this.#state.logs) this.#deleteMatches(appId, log, id, appIds)
    for (const other of posts.values().toArray()) {
      if (other.repostedId === id) this.#delete({ kind: "post", id: other.id }, atMs, appIds)
      else if (other.includedIds.includes(id)) {
        const includedIds = other.includedIds.filter((included) => included !== id)
        posts.set(other.id, {
          ...other,
          includedIds,
          envelope: withoutThese(other.envelope, { ...this.#deleted(), posts: new Set([id]) }),
        })
        this.#state.rewrittenAtMs.set(other.id, atMs)
        for (const [appId, log] of this.#state.logs) this.#dropResponses(appId, log, other.id)
      }
    }
  }

  #deleteMatches(appId: AppId, log: Log, id: PostId, appIds: Set<AppId>): void {
    for (const [seq, entry] of log.entries) {
      if (entry.postId !== id) continue
      log.entries.set(seq, { postId: id, atMs: entry.atMs, rules: [], isDeleted: true })
      appIds.add(appId)
      for (const link of this.#state.links.values()) {
        if (link.stored.appId !== appId) continue
        link.attempts = link.attempts.map((attempt) => (attempt.seq === seq ? withoutReceived(attempt) : attempt))
        if (!link.deadLetters.has(seq)) continue
        const ledger = new LinkLedger({ ...this.#before(link), outstanding: [{ seq, isDead: true }] })
        ledger.withdrawDead(seq)
        this.#change(link, ledger.change())
      }
    }
  }

  #dropResponses(appId: AppId, log: Log, id: PostId): void {
    for (const [seq, entry] of log.entries) {
      if (entry.postId !== id) continue
      for (const link of this.#state.links.values()) {
        if (link.stored.appId !== appId) continue
        link.attempts = link.attempts.map((attempt) => (attempt.seq === seq ? withoutReceived(attempt) : attempt))
      }
    }
  }

  async continueDeletions(): Promise<boolean> {
    return true
  }

  async forgetDeletions({ beforeMs, limit }: { readonly beforeMs: number; readonly limit: number }): Promise<number> {
    const old = this.#state.deletions.filter(({ atMs }) => atMs < beforeMs).slice(0, limit)
    this.#state.deletions = this.#state.deletions.filter((deletion) => !old.includes(deletion))
    return old.length
  }

  async overwriteDeleted(): Promise<boolean> {
    return true
  }

  async eraseDeleted(): Promise<boolean> {
    return true
  }

  // Posts.

  #addPost(post: AcceptedPost): void {
    this.#state.postsAccepted += 1
    this.#state.posts.set(post.id, keptPost(post, this.#state.postsAccepted))
    for (const id of post.userIds) if (!this.#state.users.has(id)) this.#state.users.set(id, true)
    const { id, authorId, createdAtMs } = post
    if (authorId !== undefined && !holdsTime(id, createdAtMs)) this.#state.users.set(authorId, false)
  }

  #saveUsers(posts: readonly UserBearer[]): void {
    for (const row of usersToWrite(newestUsers(posts), this.#state.userObjects.values())) {
      this.#state.userObjects.set(row.id, row)
    }
  }

  async takeUsers(posts: readonly AcceptedPost[]): Promise<void> {
    const [kept, appIds] = [[] as AcceptedPost[], new Set<AppId>()]
    for (const given of posts) {
      const post = withoutDeleted(given, this.#deleted())
      if (post === undefined) this.#delete({ kind: "post", id: given.id }, this.#clock.nowMs(), appIds)
      else kept.push(post)
      if (post !== undefined && post !== given) this.#takeShown(post, appIds)
    }
    this.#saveUsers(kept)
    this.#saveChains(kept)
    if (kept.some((post) => !posts.includes(post)) || kept.length < posts.length) this.#announce({ kind: "deletions" })
    if (appIds.size > 0) this.#announce({ kind: "matches", appIds: [...appIds] })
  }

  #takeShown({ id, envelope, includedIds }: AcceptedPost, appIds: Set<AppId>): void {
    const stored = this.#state.posts.get(id)
    if (stored === undefined) return
    this.#state.posts.set(id, { ...stored, includedIds, envelope: Buffer.from(envelope).toString() })
    this.#state.rewrittenAtMs.set(id, this.#clock.nowMs())
    for (const [appId, log] of this.#state.logs) {
      if (log.entries.values().some(({ postId }) => postId === id)) appIds.add(appId)
      this.#dropResponses(appId, log, id)
    }
  }

  #saveChains(posts: readonly AcceptedPost[]): void {
    for (const { firstId, id } of versionRows(posts)) {
      const versions = this.#state.editVersions.get(firstId) ?? new Set()
      this.#state.editVersions.set(firstId, versions.add(id))
    }
  }

  #chainOf(id: PostId): readonly PostId[] {
    const chains = [...this.#state.editVersions.values()].filter((versions) => versions.has(id))
    return [...new Set(chains.flatMap((versions) => [...versions]))].toSorted(compareIds)
  }

  #isSuperseded(id: PostId): boolean {
    return this.#chainOf(id).some((other) => compareIds(other, id) > 0 && this.#state.posts.has(other))
  }

  async chainsOf(ids: readonly PostId[]): Promise<ReadonlyMap<PostId, readonly PostId[]>> {
    const chains = ids.map((id) => [id, this.#chainOf(id)] as const)
    return new Map(chains.filter(([, chain]) => chain.length > 0))
  }

  async supersededOf(ids: readonly PostId[]): Promise<ReadonlySet<PostId>> {
    return new Set(ids.filter((id) => this.#isSuperseded(id)))
  }

  async supersededWithin({ above, upTo, limit }: SupersededRange): Promise<readonly PostId[]> {
    const ids = [...this.#state.posts.keys()].filter((id) => BigInt(id) > above && BigInt(id) <= upTo)
    return ids
      .filter((id) => this.#isSuperseded(id))
      .toSorted(compareIds)
      .slice(0, limit)
  }

  // No version of this store kept posts without their users.
  async userFill(): Promise<PostId | undefined> {
    return undefined
  }

  /** Users with their usernames, one for each username. */
  #owners(): UserRow[] {
    const owners = new Map<string, UserRow>()
    const bySight = [...this.#state.userObjects.values()].toSorted(
      (a, b) => a.seenAtMs - b.seenAtMs || compareIds(a.id, b.id),
    )
    for (const user of bySight) owners.set(user.username, user)
    return [...owners.values()]
  }

  async usersById(ids: readonly UserId[]): Promise<readonly FoundUser[]> {
    return ids.flatMap((id) => this.#state.userObjects.get(id) ?? []).map(foundUser)
  }

  async usersByName(usernames: readonly string[]): Promise<readonly FoundUser[]> {
    return this.#owners()
      .filter(({ username }) => usernames.includes(username))
      .map(foundUser)
  }

  async usersByPrefix({ prefix, after = "", limit }: UsernamesRange): Promise<readonly FoundUser[]> {
    return this.#owners()
      .filter(({ username }) => username.startsWith(prefix) && username > after)
      .toSorted((a, b) => (a.username < b.username ? -1 : 1))
      .slice(0, limit)
      .map(foundUser)
  }

  async usersByWords({
    words: [first = "", ...others],
    below,
    limit,
    scanMax,
  }: UserWordsRange): Promise<UserWordsScan> {
    const withFirst = [...this.#state.userObjects.values()].filter(
      ({ id, object }) => userWords(object).includes(first) && (below === undefined || BigInt(id) < BigInt(below)),
    )
    const rows = newestFirst(withFirst)
      .slice(0, scanMax)
      .map(({ id, object }) => ({ id, words: others.filter((word) => userWords(object).includes(word)).length }))
    const { ids, ...scan } = wordsScanOf(rows, { others: others.length, limit, scanMax })
    return { users: await this.usersById(ids), ...scan }
  }

  async isUserKnown(id: UserId): Promise<boolean> {
    return this.#state.users.has(id)
  }

  async userPosts(range: UserPostsRange): Promise<UserPostsScan> {
    const { userId, direction, limit, scanMax, bytesMax, shape } = range
    const holds = this.#state.users.get(userId) === true ? idsOfTimes(range.startMs, range.endMs) : undefined
    const within = [...this.#state.posts.values()].filter(
      ({ id, authorId }) =>
        authorId === userId &&
        (range.sinceId === undefined || BigInt(id) > BigInt(range.sinceId)) &&
        (range.untilId === undefined || BigInt(id) < BigInt(range.untilId)) &&
        (holds?.above === undefined || BigInt(id) > holds.above) &&
        (holds?.below === undefined || BigInt(id) < holds.below),
    )
    const ordered = withinKeyset(within, { ...range, limit: Number.POSITIVE_INFINITY })
    const posts: StoredPost[] = []
    let [scanned, bytes] = [0, 0]
    let last: PostId | undefined
    const scan = (): UserPostsScan => ({
      posts: direction === "newer" ? posts.toReversed() : posts,
      damaged: [],
    })
    for await (const post of inTurns(direction === "newer" ? ordered.toReversed() : ordered)) {
      const isOver = posts.length === limit || scanned === scanMax || bytes >= bytesMax
      if (isOver && last !== undefined) return { ...scan(), stoppedAt: last }
      scanned += 1
      last = post.id
      if (!isTaken(post, range) || this.#isSuperseded(post.id)) continue
      posts.push({ id: post.id, json: post[shape] })
      bytes += Buffer.byteLength(post[shape])
    }
    return scan()
  }

  async post(id: PostId): Promise<StoredPost | undefined> {
    const post = this.#state.posts.get(id)
    return post && { id, json: post.envelope }
  }

  async postsById({ ids, shape, bytesMax }: PostsByIdRange): Promise<PostsByIdRead> {
    const posts: StoredPost[] = []
    let bytes = 0
    for (const id of ids) {
      const post = this.#state.posts.get(id)
      if (post === undefined) continue
      const last = posts.at(-1)
      if (last !== undefined && bytes >= bytesMax) return { posts, damaged: [], stoppedAt: last.id }
      posts.push({ id, json: post[shape] })
      bytes += Buffer.byteLength(post[shape])
    }
    return { posts, damaged: [] }
  }

  async posts(range: PostsRange): Promise<PostsScan> {
    const within = withinKeyset([...this.#state.posts.values()], range)
    const inOrder = range.direction === "newer" ? within.toReversed() : within
    const posts: StoredPost[] = []
    let bytes = 0
    for (const { id, envelope } of inOrder) {
      const last = posts.at(-1)
      if (last !== undefined && bytes >= range.bytesMax) {
        return { posts: range.direction === "newer" ? posts.toReversed() : posts, damaged: [], stoppedAt: last.id }
      }
      posts.push({ id, json: envelope })
      bytes += Buffer.byteLength(envelope)
    }
    return { posts: range.direction === "newer" ? posts.toReversed() : posts, damaged: [] }
  }

  async matchesOfPost(id: PostId, appId?: AppId): Promise<readonly MatchOfPost[]> {
    return this.#state.logs
      .entries()
      .filter(([of]) => appId === undefined || of === appId)
      .flatMap(([of, { entries }]) =>
        entries
          .entries()
          .filter(([, { postId, isDeleted }]) => postId === id && isDeleted !== true)
          .map(([seq, { atMs, rules, omitted }]) => ({
            appId: of,
            seq,
            atMs,
            rulesJson: JSON.stringify(rules),
            ...(omitted !== undefined && { rulesOmitted: omitted }),
          })),
      )
      .toArray()
  }

  async *recentPosts({ limit, bytesMax }: { readonly limit: number; readonly bytesMax: number }) {
    let bytes = 0
    for await (const { id, envelope } of inTurns(newestFirst(this.#state.posts.values()).slice(0, limit))) {
      yield { id, json: envelope }
      bytes += Buffer.byteLength(envelope)
      if (bytes >= bytesMax) return
    }
  }

  async arrivedPosts({ after, limit, bytesMax }: ArrivalRange): Promise<ArrivedPosts> {
    const [passed] = numbersOf(after, ["0"]).map(Number)
    const posts: StoredPost[] = []
    let position: ArrivalPosition | undefined
    let bytes = 0
    const later = [...this.#state.posts.values()].filter(({ arrival }) => arrival > (passed ?? 0))
    for await (const { id, envelope, arrival } of inTurns(later)) {
      posts.push({ id, json: envelope })
      position = positionOf(arrival)
      bytes += Buffer.byteLength(envelope)
      if (posts.length === limit || bytes >= bytesMax) break
    }
    return { posts, damaged: [], ...(position !== undefined && { position }) }
  }

  async arrivalHead(): Promise<ArrivalPosition | undefined> {
    const newest = [...this.#state.posts.values()].at(-1)
    return newest && positionOf(newest.arrival)
  }

  async arrivalPlaces({ direction, from, limit }: ArrivalPlaceRange): Promise<readonly ArrivalPlace[]> {
    const edge = from === undefined ? undefined : Number(numbersOf(from, ["0"])[0])
    const all = [...this.#state.posts.values()]
    const ordered = direction === "newer" ? all : all.toReversed()
    const within = ordered.filter(
      ({ arrival }) => edge === undefined || (direction === "newer" ? arrival > edge : arrival < edge),
    )
    return within.slice(0, limit).map(({ id, arrival }) => ({ id, position: positionOf(arrival) }))
  }

  async trimPosts({
    after,
    beforeMs,
    limit,
  }: {
    after: PostId | undefined
    beforeMs: number
    limit: number
  }): Promise<{ readonly trimmed: number; readonly next?: PostId }> {
    const needed = new Set(
      this.#state.logs.values().flatMap(({ entries }) => entries.values().map(({ postId }) => postId)),
    )
    const byId = newestFirst(this.#state.posts.values()).toReversed()
    const posts = byId.filter(({ id }) => after === undefined || BigInt(id) > BigInt(after)).slice(0, limit)
    const old = posts.filter(({ id, createdAtMs }) => createdAtMs < beforeMs && !needed.has(id))
    for (const { id } of old) this.#state.posts.delete(id)
    this.#forgetChains()
    this.#state.postsTrimmed += old.length
    const last = posts.at(-1)
    return { trimmed: old.length, ...(posts.length === limit && last !== undefined && { next: last.id }) }
  }

  #forgetChains(): void {
    for (const [firstId, versions] of this.#state.editVersions) {
      if (![...versions].some((id) => this.#state.posts.has(id))) this.#state.editVersions.delete(firstId)
    }
  }

  /** Everything that there is, counted. */
  audit(): StoreAudit {
    const { links, logs, posts, postsAccepted: accepted, postsTrimmed: trimmed } = this.#state
    const damage = [...links.values()].flatMap((link) =>
      [...link.retries.keys(), ...link.deadLetters.keys()]
        .filter((seq) => !this.#log(link.stored.appId).entries.has(seq))
        .map((seq) => `links: link ${link.stored.id} needs match ${seq}, which is not there`),
    )
    const named = [...this.#state.assignedNames].flatMap(([name, id]) => {
      const envelope = posts.get(id)?.envelope
      return envelope === undefined || nameIn(envelope) === name ? [] : [faultOf.nameOfOther({ name, id })]
    })
    return {
      damage: [...damage, ...named],
      posts: { accepted, trimmed, stored: posts.size },
      logs: [...logs]
        .toSorted(([a], [b]) => compareIds(a, b))
        .map(([appId, { head, trimmedTo, entries }]) => ({
          appId,
          head,
          trimmedTo,
          entries: [...entries.keys()].filter((seq) => seq > trimmedTo).length,
        })),
      links: [...links.values()].map(tallyOf).toSorted((a, b) => compareIds(a.linkId, b.linkId)),
    }
  }
}

function newestFirst<Item extends { readonly id: string }>(items: Iterable<Item>): readonly Item[] {
  return [...items].toSorted((a, b) => compareIds(b.id, a.id))
}

async function* inTurns<Item>(items: readonly Item[]): AsyncGenerator<Item, void, void> {
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % turnItemsMax === 0) await nextTurn()
    yield item
  }
}

function positionAt({ trimmedTo, entries }: Log, atMs: number): MatchSeq {
  const older = [...entries].filter(([seq, entry]) => seq > trimmedTo && entry.atMs < atMs)
  return older.at(-1)?.[0] ?? trimmedTo
}

function isSelected(dead: DeadLetter, selector: DeadLetterSelector): boolean {
  if (selector.appId !== undefined && dead.appId !== selector.appId) return false
  if (selector.kind === "ids") return selector.ids.includes(dead.id)
  const { webhookId = dead.webhookId, sinceMs = dead.deadLetteredAtMs } = selector
  return dead.webhookId === webhookId && dead.deadLetteredAtMs >= sinceMs
}

function keptPost(post: AcceptedPost, arrival: number): KeptPost {
  const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString()
  return { ...post, core: textOf(post.core), envelope: textOf(post.envelope), arrival }
}

function isTaken(post: KeptPost, range: UserPostsRange): boolean {
  const { excludeReplies, excludeReposts, startMs, endMs } = range
  return (
    !(excludeReplies && post.isReply) &&
    !(excludeReposts && post.isRepost) &&
    (startMs === undefined || post.createdAtMs >= startMs) &&
    (endMs === undefined || post.createdAtMs < endMs)
  )
}

function tallyOf({ stored, retries, deadLetters, ...link }: Link): LinkTally {
  const { firstPosition, position, delivered, expired, missed, withdrawn } = link
  return {
    linkId: stored.id,
    appId: stored.appId,
    webhookId: stored.webhookId,
    firstPosition,
    position,
    delivered,
    retries: retries.size,
    deadLetters: deadLetters.size,
    expired,
    missed,
    withdrawn,
  }
}

/** The attempt without what its endpoint has sent back. */
function withoutReceived({ response: _response, ...attempt }: StoredAttempt): StoredAttempt {
  return attempt
}
