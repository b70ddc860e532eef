/** The reading side of the embedded store: prepared statements on a connection of its own. */
import type { DatabaseSync } from "node:sqlite"
import type { App, StoredToken } from "../../model/app.ts"
import type { AppId, LinkId, MatchSeq, PostId, RuleId, UserId, WebhookId } from "../../model/ids.ts"
import type { LinkToDeliver, RetryEntry, StoredLink } from "../../model/link.ts"
import type { MatchEntry } from "../../model/match.ts"
import type { PostShape, StoredPost } from "../../model/post.ts"
import type { RuleChange, StoredRule } from "../../model/rule.ts"
import type { StoredWebhook } from "../../model/webhook.ts"
import type { KeysetRange, StoreReads, UserPostsRange, UserPostsScan } from "../store.ts"
import { idsOfTimes } from "../id-time.ts"
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

interface WebhookRow {
  id: WebhookId
  app_id: AppId
  url: string
  created_at_ms: number
  valid: number
  checked_at_ms: number
  signing_key: Uint8Array
}

interface LinkRow {
  id: LinkId
  app_id: AppId
  webhook_id: WebhookId
  created_at_ms: number
  query: string
}

interface LinkToDeliverRow extends LinkRow {
  url: string
  valid: number
  position: MatchSeq
  consumer_secret: Uint8Array
  signing_key: Uint8Array
}

interface MatchRow {
  seq: MatchSeq
  post_id: PostId
  at_ms: number
  rules: string
  post: string
}

interface RetryRow extends MatchRow {
  failures: number
  due_at_ms: number
}

interface ScanRow {
  id: PostId
  created_at_ms: number
  is_reply: number
  is_repost: number
  json: string
}

const appColumns = `CAST (id AS TEXT) AS id, name, CAST (business_user_id AS TEXT) AS business_user_id,
  CAST (instance_id AS TEXT) AS instance_id, consumer_key, consumer_secret, generation, created_at_ms, revoked`
const ruleColumns = "CAST (id AS TEXT) AS id, CAST (app_id AS TEXT) AS app_id, value, tag"
const webhookColumns = `CAST (id AS TEXT) AS id, CAST (app_id AS TEXT) AS app_id, url, created_at_ms, valid,
  checked_at_ms, signing_key`
const linkColumns = `CAST (id AS TEXT) AS id, CAST (app_id AS TEXT) AS app_id,
  CAST (webhook_id AS TEXT) AS webhook_id, created_at_ms, query`

/** The greatest id, and a number below every id. */
const idEnds = { above: 9_223_372_036_854_775_807n, below: -1n }

/** The two ways to read a list that is ordered by `id`. */
interface Keyset<Row> {
  readonly older: Statement<Row>
  readonly newer: Statement<Row>
}

function prepareKeyset<Row>(db: DatabaseSync, table: "rules" | "links", columns: string): Keyset<Row> {
  // `id` with its table, since the bare name would be the column of the answer, which is text.
  const select = `SELECT ${columns} FROM ${table} WHERE ${table}.app_id = ? AND ${table}.id`
  return {
    older: prepare(db, `${select} <= ? ORDER BY ${table}.id DESC LIMIT ?`),
    newer: prepare(db, `${select} > ? ORDER BY ${table}.id LIMIT ?`),
  }
}

/** Rows of a list, newest first, whichever way they were read. */
function readKeyset<Row, Id extends string>(
  keyset: Keyset<Row>,
  appId: AppId,
  range: KeysetRange<Id>,
): readonly Row[] {
  if (range.direction === "newer") {
    const from = range.from === undefined ? idEnds.below : BigInt(range.from)
    return keyset.newer.all(BigInt(appId), from, range.limit).toReversed()
  }
  const upTo = range.from === undefined ? idEnds.above : BigInt(range.from) - 1n
  return keyset.older.all(BigInt(appId), upTo, range.limit)
}

export class EmbeddedReads implements StoreReads {
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
  readonly #allLinks: Statement<LinkToDeliverRow>
  readonly #retries: Readonly<Record<PostShape, Statement<RetryRow>>>
  readonly #head: Statement<{ head: MatchSeq }>
  readonly #atOf: Statement<{ at_ms: number }>
  readonly #matches: Readonly<Record<PostShape, Statement<MatchRow>>>
  readonly #userPosts: Readonly<Record<PostShape, Readonly<Record<"older" | "newer", Statement<ScanRow>>>>>
  readonly #user: Statement<{ ids_hold_time: number }>
  readonly #recentPosts: Statement<StoredPost>

  constructor(db: DatabaseSync) {
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
         checked_at_ms, signing_key
       FROM webhooks JOIN apps ON apps.id = app_id WHERE NOT revoked ORDER BY webhooks.id DESC`,
    )
    this.#links = prepareKeyset(db, "links", linkColumns)
    this.#link = prepare(
      db,
      `SELECT ${linkColumns} FROM links WHERE links.app_id = ? AND links.webhook_id = ?`,
    )
    this.#allLinks = prepare(
      db,
      `SELECT CAST (links.id AS TEXT) AS id, CAST (links.app_id AS TEXT) AS app_id,
         CAST (webhook_id AS TEXT) AS webhook_id, links.created_at_ms, query, url, valid, position,
         consumer_secret, signing_key
       FROM links JOIN webhooks ON webhooks.id = webhook_id JOIN apps ON apps.id = links.app_id
       WHERE NOT revoked ORDER BY links.id DESC`,
    )
    this.#head = prepare(db, "SELECT head FROM match_logs WHERE app_id = ?")
    this.#atOf = prepare(db, "SELECT at_ms FROM matches WHERE app_id = ? AND seq = ?")
    const matchColumns = (shape: PostShape): string =>
      `matches.seq, CAST (post_id AS TEXT) AS post_id, at_ms, rules, ${shape} AS post`
    const retries = (shape: PostShape): Statement<RetryRow> =>
      prepare(
        db,
        `SELECT ${matchColumns(shape)}, failures, due_at_ms
         FROM retries JOIN links ON links.id = link_id
           JOIN matches ON matches.app_id = links.app_id AND matches.seq = retries.seq
           JOIN posts ON posts.id = post_id
         WHERE link_id = ? ORDER BY retries.seq`,
      )
    this.#retries = { core: retries("core"), envelope: retries("envelope") }
    const matches = (shape: PostShape): Statement<MatchRow> =>
      prepare(
        db,
        `SELECT ${matchColumns(shape)}
         FROM matches JOIN posts ON posts.id = post_id WHERE app_id = ? AND seq > ? ORDER BY seq LIMIT ?`,
      )
    this.#matches = { core: matches("core"), envelope: matches("envelope") }
    const userPosts = (shape: PostShape, order: "" | "DESC"): Statement<ScanRow> =>
      prepare(
        db,
        `SELECT CAST (id AS TEXT) AS id, created_at_ms, is_reply, is_repost, ${shape} AS json
         FROM posts WHERE author_id = ? AND posts.id > ? AND posts.id <= ? ORDER BY posts.id ${order} LIMIT ?`,
      )
    this.#userPosts = {
      core: { older: userPosts("core", "DESC"), newer: userPosts("core", "") },
      envelope: { older: userPosts("envelope", "DESC"), newer: userPosts("envelope", "") },
    }
    this.#user = prepare(db, "SELECT ids_hold_time FROM users WHERE users.id = ?")
    this.#recentPosts = prepare(
      db,
      "SELECT CAST (id AS TEXT) AS id, envelope AS json FROM posts ORDER BY posts.id DESC LIMIT ?",
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
    if (ids === undefined) return readKeyset(this.#rules, appId, range).map(ruleOf)
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
    return readKeyset(this.#links, appId, range).map(linkOf)
  }

  async link(appId: AppId, webhookId: WebhookId): Promise<StoredLink | undefined> {
    return optional(this.#link.get(BigInt(appId), BigInt(webhookId)), linkOf)
  }

  async allLinks(): Promise<readonly LinkToDeliver[]> {
    return this.#allLinks.all().map((row) => ({
      ...linkOf(row),
      url: row.url,
      valid: row.valid === 1,
      position: row.position,
      consumerSecretSealed: row.consumer_secret,
      signingKeySealed: row.signing_key,
    }))
  }

  async retries(linkId: LinkId, shape: PostShape): Promise<readonly RetryEntry[]> {
    return this.#retries[shape].all(BigInt(linkId)).map((row) => ({
      seq: row.seq,
      failures: row.failures,
      dueAtMs: row.due_at_ms,
      entry: entryOf(row),
    }))
  }

  async head(appId: AppId): Promise<MatchSeq> {
    return this.#head.get(BigInt(appId))?.head ?? (0 as MatchSeq)
  }

  async positionAt(appId: AppId, atMs: number): Promise<MatchSeq> {
    // Entries are appended in the order of time (the clock of one writer, steps back aside), so this is a
    // search by halves for the first that is new enough.
    let before = 0
    let newEnough = (await this.head(appId)) + 1
    while (newEnough - before > 1) {
      const middle = Math.floor((before + newEnough) / 2)
      const entry = this.#atOf.get(BigInt(appId), middle)
      if (entry !== undefined && entry.at_ms >= atMs) newEnough = middle
      else before = middle
    }
    return before as MatchSeq
  }

  async matches(range: {
    appId: AppId
    after: MatchSeq
    limit: number
    shape: PostShape
  }): Promise<readonly MatchEntry[]> {
    return this.#matches[range.shape].all(BigInt(range.appId), range.after, range.limit).map(entryOf)
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
    let looked = 0
    let last: PostId | undefined
    let hasMore = false
    for (const row of rows) {
      hasMore = posts.length === range.limit || looked === scanMax - 1
      if (hasMore) break
      looked += 1
      last = row.id
      if (isTaken(row, range)) posts.push({ id: row.id, json: row.json })
    }
    return {
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
    return this.#recentPosts.all(limit).map((row) => ({ id: row.id, json: row.json }))
  }
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
    checkedAtMs: row.checked_at_ms,
    signingKeySealed: row.signing_key,
  }
}

function linkOf(row: LinkRow): StoredLink {
  return {
    id: row.id,
    appId: row.app_id,
    webhookId: row.webhook_id,
    createdAtMs: row.created_at_ms,
    query: row.query,
  }
}

function entryOf(row: MatchRow): MatchEntry {
  return {
    seq: row.seq,
    postId: row.post_id,
    atMs: row.at_ms,
    rulesJson: row.rules,
    postJson: row.post,
  }
}
