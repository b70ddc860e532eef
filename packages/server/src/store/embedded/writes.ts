/**
 * The writing side of the embedded store. Every function here runs inside a transaction that the group commit
 * has begun; what it announces is told to listeners after the commit.
 */
import type { DatabaseSync } from "node:sqlite"
import type { App, StoredToken } from "../../model/app.ts"
import type { AppId, ReplayId, RuleId, WebhookId } from "../../model/ids.ts"
import type { StoredLink } from "../../model/link.ts"
import type { AddedRule, RuleSelector, StoredRule } from "../../model/rule.ts"
import type { AcceptedPost } from "../../model/post.ts"
import type { PostMatch } from "../../model/match.ts"
import type { StoredWebhook } from "../../model/webhook.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { StoreChange, StoreWrites } from "../store.ts"
import { holdsTime } from "../id-time.ts"
import { headChecksum, matchChecksum, textChecksum } from "./checksums.ts"
import { createDeliveryWrites } from "./delivery-writes.ts"
import { createRetentionWrites } from "./retention-writes.ts"
import { prepare } from "./statements.ts"

/** `StoreWrites` as functions that answer at once. */
export type SyncWrites = {
  readonly [Name in keyof StoreWrites]: (
    ...args: Parameters<StoreWrites[Name]>
  ) => Awaited<ReturnType<StoreWrites[Name]>>
}

/** Name of every write: what may come through a port. */
export const writeNames = [
  "createApp",
  "rotateApp",
  "revokeApp",
  "createToken",
  "addRules",
  "deleteRules",
  "forgetRuleChanges",
  "createWebhook",
  "setWebhookValid",
  "rotateSigningKey",
  "deleteWebhook",
  "createLink",
  "deleteLink",
  "setLinkOrdered",
  "saveProgress",
  "recordAttempts",
  "redeliver",
  "createReplay",
  "saveReplay",
  "endReplay",
  "trimMatches",
  "trimPosts",
  "trimDeadLetters",
  "append",
] as const satisfies readonly (keyof StoreWrites)[]

/** What writes need besides the connection. */
export interface WriteDeps {
  /** Tells of a change, once it is durable. */
  readonly announce: (change: StoreChange) => void
  readonly clock: Clock
}

interface RuleRow {
  id: RuleId
  value: string
  tag: string | null
}

const control: StoreChange = { kind: "control" }

/** The writes of a store on this connection. */
export function createWrites(db: DatabaseSync, outer: WriteDeps): SyncWrites {
  const countChange = prepare(db, "UPDATE totals SET control_changes = control_changes + 1")
  function announce(change: StoreChange): void {
    if (change.kind === "control") countChange.run()
    outer.announce(change)
  }
  const deps = { ...outer, announce }
  const deliveryWrites = createDeliveryWrites(db, deps)
  const insertApp = prepare(
    db,
    `INSERT INTO apps (id, name, business_user_id, instance_id, consumer_key, consumer_secret, generation,
       created_at_ms, revoked) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)`,
  )
  const updateApp = prepare(
    db,
    "UPDATE apps SET consumer_key = ?, consumer_secret = ?, generation = ? WHERE id = ? AND NOT revoked",
  )
  const revokeApp = prepare(db, "UPDATE apps SET revoked = 1 WHERE id = ? AND NOT revoked")
  const insertToken = prepare(
    db,
    "INSERT INTO tokens (hash, kind, app_id, created_at_ms) VALUES (?, ?, ?, ?)",
  )
  const deleteTokens = prepare(db, "DELETE FROM tokens WHERE app_id = ?")

  const selectRule = "SELECT CAST (id AS TEXT) AS id, value, tag FROM rules"
  const allRulesOf = prepare<RuleRow>(db, `${selectRule} WHERE app_id = ?`)
  const ruleById = prepare<RuleRow>(db, `${selectRule} WHERE app_id = ? AND rules.id = ?`)
  const ruleByValue = prepare<RuleRow>(db, `${selectRule} WHERE app_id = ? AND value = ?`)
  const ruleCount = prepare<{ count: number }>(db, "SELECT count(*) AS count FROM rules WHERE app_id = ?")
  const insertRule = prepare(db, "INSERT INTO rules (id, app_id, value, tag) VALUES (?, ?, ?, ?)")
  const deleteRule = prepare(db, "DELETE FROM rules WHERE id = ?")
  const insertRuleChange = prepare(
    db,
    "INSERT INTO rule_changes (app_id, rule_id, value, tag) VALUES (?, ?, ?, ?)",
  )

  const forgetRuleChanges = prepare(db, "DELETE FROM rule_changes WHERE seq <= ?")

  const webhookByUrl = prepare(db, "SELECT 1 FROM webhooks WHERE app_id = ? AND url = ?")
  const webhookCount = prepare<{ count: number }>(
    db,
    "SELECT count(*) AS count FROM webhooks WHERE app_id = ?",
  )
  const webhookById = prepare(db, "SELECT 1 FROM webhooks WHERE app_id = ? AND id = ?")
  const insertWebhook = prepare(
    db,
    `INSERT INTO webhooks (id, app_id, url, created_at_ms, valid, invalid_reason, checked_at_ms, signing_key,
       previous_key, previous_until_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const turnWebhook = prepare(
    db,
    `UPDATE webhooks SET valid = ?1, invalid_reason = ?2, checked_at_ms = iif(?1, ?3, checked_at_ms)
     WHERE id = ?4`,
  )
  const rotateKey = prepare(
    db,
    `UPDATE webhooks SET previous_key = signing_key, previous_until_ms = ?, signing_key = ?
     WHERE app_id = ? AND id = ?`,
  )
  const deleteWebhook = prepare(db, "DELETE FROM webhooks WHERE app_id = ? AND id = ?")

  const linkByWebhook = prepare(db, "SELECT 1 FROM links WHERE webhook_id = ?")
  const insertLink = prepare(
    db,
    `INSERT INTO links (id, app_id, webhook_id, created_at_ms, query, position, first_position)
     SELECT ?1, ?2, ?3, ?4, ?5, head, head
     FROM (SELECT coalesce((SELECT head FROM match_logs WHERE app_id = ?2), 0) AS head)`,
  )
  // What the link needed may be needed no more; what is beyond trimmed_to is looked at anyway when its time comes.
  const noteLeftovers = prepare(
    db,
    `UPDATE match_logs SET leftovers_after = min(coalesce(leftovers_after, first - 1), first - 1)
     FROM (
       SELECT min(seq) AS first FROM (
         SELECT min(seq) AS seq FROM retries WHERE link_id = (SELECT id FROM links WHERE webhook_id = ?2)
         UNION ALL
         SELECT min(seq) FROM dead_letters WHERE link_id = (SELECT id FROM links WHERE webhook_id = ?2)))
     WHERE match_logs.app_id = ?1 AND first <= trimmed_to`,
  )
  const deleteLink = prepare(db, "DELETE FROM links WHERE app_id = ? AND webhook_id = ?")
  const setOrdered = prepare(db, "UPDATE links SET ordered = ? WHERE app_id = ? AND webhook_id = ?")

  const runningReplays = prepare<{ id: ReplayId }>(
    db,
    "SELECT CAST (id AS TEXT) AS id FROM replays WHERE app_id = ? AND state = 'running'",
  )

  const insertPost = prepare(
    db,
    `INSERT OR IGNORE INTO posts (id, author_id, created_at_ms, is_reply, is_repost, core, envelope,
       head_checksum, core_checksum, envelope_checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const countPosts = prepare(db, "UPDATE totals SET posts_accepted = posts_accepted + ?")
  const insertUser = prepare(db, "INSERT OR IGNORE INTO users (id) VALUES (?)")
  const noteOtherIds = prepare(db, "UPDATE users SET ids_hold_time = 0 WHERE id = ?")
  const headOf = prepare<{ head: number }>(db, "SELECT head FROM match_logs WHERE app_id = ?")
  const saveHead = prepare(
    db,
    "INSERT INTO match_logs (app_id, head) VALUES (?1, ?2) ON CONFLICT (app_id) DO UPDATE SET head = ?2",
  )
  const insertMatch = prepare(
    db,
    "INSERT INTO matches (app_id, seq, post_id, at_ms, rules, checksum) VALUES (?, ?, ?, ?, ?, ?)",
  )

  function insertTokens(tokens: readonly StoredToken[]): void {
    for (const token of tokens) {
      const appId = token.appId === undefined ? null : BigInt(token.appId)
      insertToken.run(token.hash, token.kind, appId, token.createdAtMs)
    }
  }

  /** Adds one rule, unless something hinders it. */
  function addRule(app: bigint, rule: StoredRule, hasRoom: boolean): AddedRule {
    const existing = ruleByValue.get(app, rule.value)
    if (existing !== undefined) return { kind: "duplicate", id: existing.id }
    if (!hasRoom) return { kind: "over-cap" }
    insertRule.run(BigInt(rule.id), app, rule.value, rule.tag ?? null)
    insertRuleChange.run(app, BigInt(rule.id), rule.value, rule.tag ?? null)
    return { kind: "created" }
  }

  function selectRules(app: bigint, selector: RuleSelector): readonly RuleRow[] {
    switch (selector.kind) {
      case "all":
        return allRulesOf.all(app)
      case "ids":
        return [...new Set(selector.ids)].flatMap((id) => ruleById.all(app, BigInt(id)))
      case "values":
        return [...new Set(selector.values)].flatMap((value) => ruleByValue.all(app, value))
    }
  }

  /** What `change` answers, with nothing of it kept when `dryRun`. */
  function perhapsDry<Result>(dryRun: boolean, change: () => Result): Result {
    db.exec("SAVEPOINT dry_run")
    const result = change()
    if (dryRun) db.exec("ROLLBACK TO dry_run")
    else announce(control)
    db.exec("RELEASE dry_run")
    return result
  }

  function insertAccepted(post: AcceptedPost): boolean {
    const { id, authorId, createdAtMs, core, envelope } = post
    const author = authorId === undefined ? null : BigInt(authorId)
    const [isReply, isRepost] = [post.isReply ? 1 : 0, post.isRepost ? 1 : 0]
    const head = {
      author_id: authorId ?? null,
      created_at_ms: createdAtMs,
      is_reply: isReply,
      is_repost: isRepost,
    }
    const isNew =
      insertPost.run(
        BigInt(id),
        author,
        createdAtMs,
        isReply,
        isRepost,
        core,
        envelope,
        headChecksum(id, head),
        textChecksum(id, core),
        textChecksum(id, envelope),
      ) === 1
    if (!isNew) return false
    for (const userId of post.userIds) insertUser.run(BigInt(userId))
    if (author !== null && !holdsTime(post.id, post.createdAtMs)) noteOtherIds.run(author)
    return true
  }

  return {
    createApp(app: App, tokens) {
      insertApp.run(
        BigInt(app.id),
        app.name,
        BigInt(app.businessUserId),
        BigInt(app.instanceId),
        app.consumerKey,
        app.consumerSecretSealed,
        app.generation,
        app.createdAtMs,
      )
      insertTokens(tokens)
      announce(control)
    },

    rotateApp(app: App, tokens) {
      const changed = updateApp.run(app.consumerKey, app.consumerSecretSealed, app.generation, BigInt(app.id))
      if (changed === 0) return false
      deleteTokens.run(BigInt(app.id))
      insertTokens(tokens)
      announce(control)
      return true
    },

    revokeApp(id: AppId) {
      if (revokeApp.run(BigInt(id)) === 0) return false
      deleteTokens.run(BigInt(id))
      // The matcher hears of it rule by rule, like of any other removal.
      for (const rule of allRulesOf.all(BigInt(id)))
        insertRuleChange.run(BigInt(id), BigInt(rule.id), null, null)
      // Nobody sends them any further: deliveries read the links of apps that are not revoked.
      for (const replay of runningReplays.all(BigInt(id)))
        deliveryWrites.endReplay(replay.id, "incomplete", outer.clock.nowMs())
      announce(control)
      return true
    },

    createToken(token: StoredToken) {
      insertTokens([token])
    },

    addRules(appId: AppId, rules: readonly StoredRule[], { rulesMax, dryRun }) {
      const app = BigInt(appId)
      let room = rulesMax - (ruleCount.get(app)?.count ?? 0)
      return perhapsDry(dryRun, () =>
        rules.map((rule) => {
          const added = addRule(app, rule, room > 0)
          if (added.kind === "created") room -= 1
          return added
        }),
      )
    },

    deleteRules(appId: AppId, selector: RuleSelector, { dryRun }) {
      const app = BigInt(appId)
      return perhapsDry(dryRun, () =>
        selectRules(app, selector).map((row) => {
          deleteRule.run(BigInt(row.id))
          insertRuleChange.run(app, BigInt(row.id), null, null)
          return { id: row.id, appId, value: row.value, ...(row.tag !== null && { tag: row.tag }) }
        }),
      )
    },

    forgetRuleChanges(seq: number) {
      forgetRuleChanges.run(seq)
    },

    createWebhook(webhook: StoredWebhook, { webhooksMax }) {
      const app = BigInt(webhook.appId)
      if (webhookByUrl.get(app, webhook.url) !== undefined) return "duplicate"
      if ((webhookCount.get(app)?.count ?? 0) >= webhooksMax) return "over-limit"
      insertWebhook.run(
        BigInt(webhook.id),
        app,
        webhook.url,
        webhook.createdAtMs,
        webhook.valid ? 1 : 0,
        webhook.invalidReason ?? null,
        webhook.checkedAtMs,
        webhook.signingKeySealed,
        webhook.previousKey?.keySealed ?? null,
        webhook.previousKey?.untilMs ?? null,
      )
      announce(control)
      return "created"
    },

    setWebhookValid(id: WebhookId, result, atMs: number) {
      const reason = result.valid ? null : result.reason
      const changed = turnWebhook.run(result.valid ? 1 : 0, reason, atMs, BigInt(id))
      announce(control)
      return changed === 1
    },

    rotateSigningKey(appId: AppId, id: WebhookId, { signingKeySealed, previousUntilMs }) {
      const changed = rotateKey.run(previousUntilMs, signingKeySealed, BigInt(appId), BigInt(id)) === 1
      if (changed) announce(control)
      return changed
    },

    deleteWebhook(appId: AppId, id: WebhookId) {
      noteLeftovers.run(BigInt(appId), BigInt(id))
      const deleted = deleteWebhook.run(BigInt(appId), BigInt(id)) === 1
      if (deleted) announce(control)
      return deleted
    },

    createLink(link: StoredLink) {
      const [app, webhook] = [BigInt(link.appId), BigInt(link.webhookId)]
      if (webhookById.get(app, webhook) === undefined) return "no-webhook"
      if (linkByWebhook.get(webhook) !== undefined) return "exists"
      insertLink.run(BigInt(link.id), app, webhook, link.createdAtMs, link.query)
      announce(control)
      return "created"
    },

    deleteLink(appId: AppId, webhookId: WebhookId) {
      noteLeftovers.run(BigInt(appId), BigInt(webhookId))
      const deleted = deleteLink.run(BigInt(appId), BigInt(webhookId)) === 1
      if (deleted) announce(control)
      return deleted
    },

    setLinkOrdered(appId: AppId, webhookId: WebhookId, isOrdered: boolean) {
      const changed = setOrdered.run(isOrdered ? 1 : 0, BigInt(appId), BigInt(webhookId)) === 1
      if (changed) announce(control)
      return changed
    },

    ...deliveryWrites,
    ...createRetentionWrites(db, deps),

    append(batch: readonly { readonly post: AcceptedPost; readonly matches: readonly PostMatch[] }[], atMs) {
      const heads = new Map<AppId, number>()
      const accepted = batch.map(({ post, matches }) => {
        const isNew = insertAccepted(post)
        if (!isNew) return false
        for (const { appId, rules: matched } of matches) {
          const app = BigInt(appId)
          const seq = (heads.get(appId) ?? headOf.get(app)?.head ?? 0) + 1
          heads.set(appId, seq)
          const rules = JSON.stringify(matched)
          const checksum = matchChecksum(appId, { seq, post_id: post.id, at_ms: atMs, rules })
          insertMatch.run(app, seq, BigInt(post.id), atMs, rules, checksum)
        }
        return true
      })
      const newPosts = accepted.filter(Boolean).length
      if (newPosts > 0) countPosts.run(newPosts)
      for (const [appId, head] of heads) saveHead.run(BigInt(appId), head)
      if (heads.size > 0) announce({ kind: "matches", appIds: [...heads.keys()] })
      return accepted
    },
  }
}
