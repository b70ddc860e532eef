/** The reading side of the embedded store: prepared statements on a connection of its own. */
import type { DatabaseSync } from "node:sqlite"
import type { App, StoredToken } from "../../model/app.ts"
import type { AppId, LinkId, MatchSeq, PostId, RuleId, UserId, WebhookId } from "../../model/ids.ts"
import type { StoredLink } from "../../model/link.ts"
import type { MatchEntry } from "../../model/match.ts"
import type { PostShape, StoredPost } from "../../model/post.ts"
import type { RuleChange, StoredRule } from "../../model/rule.ts"
import type { StoredWebhook } from "../../model/webhook.ts"
import type {
  KeysetRange,
  MatchRange,
  StoreReads,
  TrimmedLog,
  UserPostsRange,
  UserPostsScan,
} from "../store.ts"
import { idsOfTimes } from "../id-time.ts"
import { headChecksum, textChecksum } from "./checksums.ts"
import { createDeliveryReads } from "./delivery-reads.ts"
import { idEnds, readKeyset, type Keyset } from "./keyset.ts"
import { linkOf, previousKeyOf, type LinkRow, type PreviousKeyRow } from "./link-row.ts"
import { prepareMatches, type ReadMatches } from "./match-reads.ts"
import { preparePositionAt, type PositionAt } from "./position-at.ts"
import { rememberingMatches } from "./recent-matches.ts"
import { prepare, type Statement } from "./statements.ts"

interface AppRow {
  id: AppId
  name: string
  business_user_id: string
  instance_id: string
  consumer_key: string
  consumer_secret: Uint8Array
  generation: number
  created_at_ms: number
  revoked: number
}

interface TokenRow {
  hash: Uint8Array
  kind: StoredToken["kind"]
  app_id: AppId | null
  created_at_ms: number
}

interface RuleRow {
  id: RuleId
  app_id: AppId
  value: string
  tag: string | null
}

interface RuleChangeRow {
  seq: number
  app_id: AppId
  rule_id: RuleId
  value: string | null
  tag: string | null
}

interface WebhookRow extends PreviousKeyRow {
  id: WebhookId
  app_id: AppId
  url: string
  created_at_ms: number
  valid: number
  invalid_reason: string | null
  checked_at_ms: number
  signing_key: Uint8Array
}

interface PostRow {
  id: PostId
  json: string
  checksum: number
}

interface ScanRow extends PostRow {
  author_id: UserId
  created_at_ms: number
  is_reply: number
  is_repost: number
  head_checksum: number
}

const appColumns = `CAST (id AS TEXT) AS id, name, CAST (business_user_id AS TEXT) AS business_user_id,
  CAST (instance_id AS TEXT) AS instance_id, consumer_key, consumer_secret, generation, created_at_ms, revoked`
const ruleColumns = "CAST (id AS TEXT) AS id, CAST (app_id AS TEXT) AS app_id, value, tag"
const webhookColumns = `CAST (id AS TEXT) AS id, CAST (app_id AS TEXT) AS app_id, url, created_at_ms, valid,
  invalid_reason, checked_at_ms, signing_key, previous_key, previous_until_ms`
const linkColumns = `CAST (id AS TEXT) AS id, CAST (app_id AS TEXT) AS app_id,
  CAST (webhook_id AS TEXT) AS webhook_id, created_at_ms, query`

/** Of one app. */
function prepareKeyset<Row>(db: DatabaseSync, table: "rules" | "links", columns: string): Keyset<Row> {
  // `id` with its table, since the bare name would be the column of the answer, which is text.
  const select = `SELECT ${columns} FROM ${table} WHERE ${table}.app_id = ? AND ${table}.id`
  return {
    older: prepare(db, `${select} <= ? ORDER BY ${table}.id DESC LIMIT ?`),
    newer: prepare(db, `${select} > ? ORDER BY ${table}.id LIMIT ?`),
  }
}

/** The reads of a store, on a connection that may be inside a transaction. */
export class EmbeddedReads implements StoreReads {
  readonly allLinks: StoreReads["allLinks"]
  readonly linkToDeliver: StoreReads["linkToDeliver"]
  readonly retries: StoreReads["retries"]
  readonly gaps: StoreReads["gaps"]
  readonly linkTally: StoreReads["linkTally"]
  readonly attempts: StoreReads["attempts"]
  readonly deadLetters: StoreReads["deadLetters"]
  readonly replays: StoreReads["replays"]

  readonly #apps: Statement<AppRow>
  readonly #app: Statement<AppRow>
  readonly #appByConsumerKey: Statement<AppRow>
  readonly #token: Statement<TokenRow>
  readonly #rules: Keyset<RuleRow>
  readonly #ruleById: Statement<RuleRow>
  readonly #ruleCount: Statement<{ count: number }>
  readonly #allRules: Statement<RuleRow>
  readonly #lastRuleChange: Statement<{ seq: number }>
  readonly #ruleChanges: Statement<RuleChangeRow>
  readonly #webhooks: Statement<WebhookRow>
  readonly #webhook: Statement<WebhookRow>
  readonly #allWebhooks: Statement<WebhookRow>
  readonly #links: Keyset<LinkRow>
  readonly #link: Statement<LinkRow>
  readonly #head: Statement<{ head: MatchSeq }>
  readonly #controlVersion: Statement<{ version: number }>
  readonly #heads: Statement<{ app_id: AppId; head: MatchSeq }>
  readonly #positionAt: PositionAt
  readonly #trimmed: Statement<{ trimmed_to: MatchSeq; trimmed_until_ms: number }>
  readonly #matches: ReadMatches
  readonly #userPosts: Readonly<Record<PostShape, Readonly<Record<"older" | "newer", Statement<ScanRow>>>>>
  readonly #user: Statement<{ ids_hold_time: number }>
  readonly #recentPosts: Statement<PostRow>

  constructor(db: DatabaseSync) {
    const deliveries = createDeliveryReads(db)
    this.allLinks = deliveries.allLinks
    this.linkToDeliver = deliveries.linkToDeliver
    this.retries = deliveries.retries
    this.gaps = deliveries.gaps
    this.linkTally = deliveries.linkTally
    this.attempts = deliveries.attempts
    this.deadLetters = deliveries.deadLetters
    this.replays = deliveries.replays
    this.#apps = prepare(db, `SELECT ${appColumns} FROM apps ORDER BY apps.id DESC`)
    this.#app = prepare(db, `SELECT ${appColumns} FROM apps WHERE apps.id = ?`)
    this.#appByConsumerKey = prepare(db, `SELECT ${appColumns} FROM apps WHERE consumer_key = ?`)
    this.#token = prepare(
      db,
      "SELECT hash, kind, CAST (app_id AS TEXT) AS app_id, created_at_ms FROM tokens WHERE hash = ?",
    )
    this.#rules = prepareKeyset(db, "rules", ruleColumns)
    this.#ruleById = prepare(db, `SELECT ${ruleColumns} FROM rules WHERE rules.id = ? AND rules.app_id = ?`)
    this.#ruleCount = prepare(db, "SELECT count(*) AS count FROM rules WHERE app_id = ?")
    this.#allRules = prepare(
      db,
      `SELECT CAST (rules.id AS TEXT) AS id, CAST (app_id AS TEXT) AS app_id, value, tag
       FROM rules JOIN apps ON apps.id = app_id WHERE NOT revoked`,
    )
    this.#lastRuleChange = prepare(db, "SELECT coalesce(max(seq), 0) AS seq FROM rule_changes")
    this.#ruleChanges = prepare(
      db,
      `SELECT seq, CAST (app_id AS TEXT) AS app_id, CAST (rule_id AS TEXT) AS rule_id, value, tag
       FROM rule_changes WHERE seq > ? ORDER BY seq LIMIT ?`,
    )
    this.#webhooks = prepare(
      db,
      `SELECT ${webhookColumns} FROM webhooks WHERE webhooks.app_id = ? ORDER BY webhooks.id DESC`,
    )
    this.#webhook = prepare(
      db,
      `SELECT ${webhookColumns} FROM webhooks WHERE webhooks.app_id = ? AND webhooks.id = ?`,
    )
    this.#allWebhooks = prepare(
      db,
      `SELECT CAST (webhooks.id AS TEXT) AS id, CAST (app_id AS TEXT) AS app_id, url, webhooks.created_at_ms, valid,
         invalid_reason, checked_at_ms, signing_key, previous_key, previous_until_ms
       FROM webhooks JOIN apps ON apps.id = app_id WHERE NOT revoked ORDER BY webhooks.id DESC`,
    )
    this.#links = prepareKeyset(db, "links", linkColumns)
    this.#link = prepare(
      db,
      `SELECT ${linkColumns} FROM links WHERE links.app_id = ? AND links.webhook_id = ?`,
    )
    this.#head = prepare(db, "SELECT head FROM match_logs WHERE app_id = ?")
    this.#controlVersion = prepare(db, "SELECT control_changes AS version FROM totals")
    this.#heads = prepare(db, "SELECT CAST (app_id AS TEXT) AS app_id, head FROM match_logs WHERE head > 0")
    this.#positionAt = preparePositionAt(db)
    this.#trimmed = prepare(
      db,
      `SELECT trimmed_to, trimmed_until_ms FROM match_logs WHERE app_id = ? AND trimmed_until_ms IS NOT NULL`,
    )
    this.#matches = rememberingMatches(db, prepareMatches(db))
    const userPosts = (shape: PostShape, order: "" | "DESC"): Statement<ScanRow> =>
      prepare(
        db,
        `SELECT CAST (id AS TEXT) AS id, CAST (author_id AS TEXT) AS author_id, created_at_ms, is_reply, is_repost,
           head_checksum, ${shape} AS json, ${shape}_checksum AS checksum
         FROM posts WHERE posts.author_id = ? AND posts.id > ? AND posts.id <= ? ORDER BY posts.id ${order} LIMIT ?`,
      )
    this.#userPosts = {
      core: { older: userPosts("core", "DESC"), newer: userPosts("core", "") },
      envelope: { older: userPosts("envelope", "DESC"), newer: userPosts("envelope", "") },
    }
    this.#user = prepare(db, "SELECT ids_hold_time FROM users WHERE users.id = ?")
    this.#recentPosts = prepare(
      db,
      `SELECT CAST (id AS TEXT) AS id, envelope AS json, envelope_checksum AS checksum
       FROM posts ORDER BY posts.id DESC LIMIT ?`,
    )
  }

  async apps(): Promise<readonly App[]> {
    return this.#apps.all().map(appOf)
  }

  async app(id: AppId): Promise<App | undefined> {
    return optional(this.#app.get(BigInt(id)), appOf)
  }

  async appByConsumerKey(consumerKey: string): Promise<App | undefined> {
    return optional(this.#appByConsumerKey.get(consumerKey), appOf)
  }

  async token(hash: Uint8Array): Promise<StoredToken | undefined> {
    return optional(this.#token.get(hash), (row) => ({
      hash: row.hash,
      kind: row.kind,
      ...(row.app_id !== null && { appId: row.app_id }),
      createdAtMs: row.created_at_ms,
    }))
  }

  async rules(
    appId: AppId,
    range: KeysetRange<RuleId>,
    ids?: readonly RuleId[],
  ): Promise<readonly StoredRule[]> {
    if (ids === undefined) return readKeyset(this.#rules, range, [BigInt(appId)]).map(ruleOf)
    const found = [...new Set(ids)]
      .filter((id) => isWithin(id, range))
      .flatMap((id) => this.#ruleById.all(BigInt(id), BigInt(appId)))
      .toSorted((a, b) => compareIds(b.id, a.id))
    const cut = range.direction === "older" ? found.slice(0, range.limit) : found.slice(-range.limit)
    return cut.map(ruleOf)
  }

  async ruleCount(appId: AppId): Promise<number> {
    return this.#ruleCount.get(BigInt(appId))?.count ?? 0
  }

  async allRules(): Promise<{ readonly rules: readonly StoredRule[]; readonly seq: number }> {
    // The change first: a rule that comes between the two reads is then met again as a change, not missed.
    const seq = this.#lastRuleChange.get()?.seq ?? 0
    return { rules: this.#allRules.all().map(ruleOf), seq }
  }

  async ruleChanges(after: number, limit: number): Promise<readonly RuleChange[]> {
    return this.#ruleChanges.all(after, limit).map((row) =>
      row.value === null
        ? { seq: row.seq, kind: "removed", appId: row.app_id, ruleId: row.rule_id }
        : {
            seq: row.seq,
            kind: "added",
            rule: ruleOf({ id: row.rule_id, app_id: row.app_id, value: row.value, tag: row.tag }),
          },
    )
  }

  async webhooks(appId: AppId): Promise<readonly StoredWebhook[]> {
    return this.#webhooks.all(BigInt(appId)).map(webhookOf)
  }

  async webhook(appId: AppId, id: WebhookId): Promise<StoredWebhook | undefined> {
    return optional(this.#webhook.get(BigInt(appId), BigInt(id)), webhookOf)
  }

  async allWebhooks(): Promise<readonly StoredWebhook[]> {
    return this.#allWebhooks.all().map(webhookOf)
  }

  async links(appId: AppId, range: KeysetRange<LinkId>): Promise<readonly StoredLink[]> {
    return readKeyset(this.#links, range, [BigInt(appId)]).map(linkOf)
  }

  async link(appId: AppId, webhookId: WebhookId): Promise<StoredLink | undefined> {
    return optional(this.#link.get(BigInt(appId), BigInt(webhookId)), linkOf)
  }

  async controlVersion(): Promise<number> {
    return this.#controlVersion.get()?.version ?? 0
  }

  async heads(): Promise<ReadonlyMap<AppId, MatchSeq>> {
    return new Map(this.#heads.all().map((row) => [row.app_id, row.head]))
  }

  async head(appId: AppId): Promise<MatchSeq> {
    return this.#head.get(BigInt(appId))?.head ?? (0 as MatchSeq)
  }

  async positionAt(appId: AppId, atMs: number): Promise<MatchSeq> {
    return this.#positionAt(appId, atMs)
  }

  async trimmed(appId: AppId): Promise<TrimmedLog | undefined> {
    const row = this.#trimmed.get(BigInt(appId))
    return row && { to: row.trimmed_to, untilMs: row.trimmed_until_ms }
  }

  async matches(range: MatchRange): Promise<readonly MatchEntry[]> {
    return this.#matches(range)
  }

  async userPosts(range: UserPostsRange): Promise<UserPostsScan> {
    const { above, upTo } = this.#userPostsBounds(range)
    const takesAll =
      !range.excludeReplies &&
      !range.excludeReposts &&
      range.startMs === undefined &&
      range.endMs === undefined
    // One more than can be used, to know whether there are more.
    const scanMax = (takesAll ? Math.min(range.limit, range.scanMax) : range.scanMax) + 1
    const rows = this.#userPosts[range.shape][range.direction].iterate(
      BigInt(range.userId),
      above,
      upTo,
      scanMax,
    )
    const posts: StoredPost[] = []
    const damaged: PostId[] = []
    let looked = 0
    let last: PostId | undefined
    let hasMore = false
    for (const row of rows) {
      hasMore = posts.length === range.limit || looked === scanMax - 1
      if (hasMore) break
      looked += 1
      last = row.id
      // What the filter would say of a damaged post is not known, so it is named in any case.
      if (!isWholeInScan(row)) damaged.push(row.id)
      else if (isTaken(row, range)) posts.push({ id: row.id, json: row.json })
    }
    return {
      damaged: range.direction === "newer" ? damaged.toReversed() : damaged,
      posts: range.direction === "newer" ? posts.toReversed() : posts,
      ...(hasMore && last !== undefined && { stoppedAt: last }),
    }
  }

  /** The ids between which a scan reads: those over `above`, up to `upTo` and that one too. */
  #userPostsBounds(range: UserPostsRange): { above: bigint; upTo: bigint } {
    const lower = [idEnds.below]
    const upper = [idEnds.above]
    if (range.sinceId !== undefined) lower.push(BigInt(range.sinceId))
    if (range.untilId !== undefined) upper.push(BigInt(range.untilId) - 1n)
    if (range.from !== undefined) {
      if (range.direction === "newer") lower.push(BigInt(range.from))
      else upper.push(BigInt(range.from) - 1n)
    }
    if (this.#user.get(BigInt(range.userId))?.ids_hold_time === 1) {
      const { above, below } = idsOfTimes(range.startMs, range.endMs)
      if (above !== undefined) lower.push(above)
      if (below !== undefined) upper.push(below - 1n)
    }
    return {
      above: lower.reduce((a, b) => (a > b ? a : b)),
      upTo: upper.reduce((a, b) => (a < b ? a : b)),
    }
  }

  async isUserKnown(id: UserId): Promise<boolean> {
    return this.#user.get(BigInt(id)) !== undefined
  }

  async recentPosts(limit: number): Promise<readonly StoredPost[]> {
    return this.#recentPosts
      .all(limit)
      .filter(isWhole)
      .map((row) => ({ id: row.id, json: row.json }))
  }
}

function isWhole(row: PostRow): boolean {
  return textChecksum(row.id, row.json) === row.checksum
}

function isWholeInScan(row: ScanRow): boolean {
  return isWhole(row) && headChecksum(row.id, row) === row.head_checksum
}

function isTaken(row: ScanRow, range: UserPostsRange): boolean {
  return (
    !(range.excludeReplies && row.is_reply === 1) &&
    !(range.excludeReposts && row.is_repost === 1) &&
    !(range.startMs !== undefined && row.created_at_ms < range.startMs) &&
    !(range.endMs !== undefined && row.created_at_ms >= range.endMs)
  )
}

function isWithin<Id extends string>(id: Id, range: KeysetRange<Id>): boolean {
  if (range.from === undefined) return true
  const order = compareIds(id, range.from)
  return range.direction === "older" ? order < 0 : order > 0
}

function compareIds(a: string, b: string): number {
  const [left, right] = [BigInt(a), BigInt(b)]
  return left < right ? -1 : left > right ? 1 : 0
}

function optional<Row, Value>(row: Row | undefined, valueOf: (row: Row) => Value): Value | undefined {
  return row === undefined ? undefined : valueOf(row)
}

function appOf(row: AppRow): App {
  return {
    id: row.id,
    name: row.name,
    businessUserId: row.business_user_id,
    instanceId: row.instance_id,
    consumerKey: row.consumer_key,
    consumerSecretSealed: row.consumer_secret,
    generation: row.generation,
    createdAtMs: row.created_at_ms,
    revoked: row.revoked === 1,
  }
}

function ruleOf(row: RuleRow): StoredRule {
  return { id: row.id, appId: row.app_id, value: row.value, ...(row.tag !== null && { tag: row.tag }) }
}

function webhookOf(row: WebhookRow): StoredWebhook {
  return {
    id: row.id,
    appId: row.app_id,
    url: row.url,
    createdAtMs: row.created_at_ms,
    valid: row.valid === 1,
    ...(row.invalid_reason !== null && { invalidReason: row.invalid_reason }),
    checkedAtMs: row.checked_at_ms,
    signingKeySealed: row.signing_key,
    ...previousKeyOf(row),
  }
}
