/**
 * The writing side of the embedded store. Every function here runs inside a transaction that the group commit
 * has begun; what it announces is told to listeners after the commit.
 */
import type { DatabaseSync } from "node:sqlite"
import type { App, StoredToken } from "../../model/app.ts"
import type { AppId, RuleId, WebhookId } from "../../model/ids.ts"
import type { LinkProgress, StoredLink } from "../../model/link.ts"
import type { AddedRule, RuleSelector, StoredRule } from "../../model/rule.ts"
import type { AcceptedPost } from "../../model/post.ts"
import type { PostMatch } from "../../model/match.ts"
import type { StoredWebhook } from "../../model/webhook.ts"
import type { StoreChange, StoreWrites } from "../store.ts"
import { holdsTime } from "../id-time.ts"
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
  "deleteWebhook",
  "createLink",
  "deleteLink",
  "saveProgress",
  "append",
] as const satisfies readonly (keyof StoreWrites)[]

interface RuleRow {
  id: RuleId
  value: string
  tag: string | null
}

const control: StoreChange = { kind: "control" }

/** The writes of a store on this connection. */
export function createWrites(db: DatabaseSync, announce: (change: StoreChange) => void): SyncWrites {
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
    `INSERT INTO webhooks (id, app_id, url, created_at_ms, valid, checked_at_ms, signing_key)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  const turnWebhook = prepare(
    db,
    "UPDATE webhooks SET valid = ?1, checked_at_ms = iif(?1, ?2, checked_at_ms) WHERE id = ?3",
  )
  const deleteWebhook = prepare(db, "DELETE FROM webhooks WHERE app_id = ? AND id = ?")

  const linkByWebhook = prepare(db, "SELECT 1 FROM links WHERE webhook_id = ?")
  const insertLink = prepare(
    db,
    `INSERT INTO links (id, app_id, webhook_id, created_at_ms, query, position)
     VALUES (?1, ?2, ?3, ?4, ?5, coalesce((SELECT head FROM match_logs WHERE app_id = ?2), 0))`,
  )
  const deleteLink = prepare(db, "DELETE FROM links WHERE app_id = ? AND webhook_id = ?")
  const moveCursor = prepare(db, "UPDATE links SET position = max(position, ?) WHERE id = ?")
  const keepRetry = prepare(
    db,
    `INSERT INTO retries (link_id, seq, failures, due_at_ms) VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT (link_id, seq) DO UPDATE SET failures = ?3, due_at_ms = ?4`,
  )
  const forgetRetry = prepare(db, "DELETE FROM retries WHERE link_id = ? AND seq = ?")

  const insertPost = prepare(
    db,
    `INSERT OR IGNORE INTO posts (id, author_id, created_at_ms, is_reply, is_repost, core, envelope)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  const insertUser = prepare(db, "INSERT OR IGNORE INTO users (id) VALUES (?)")
  const noteOtherIds = prepare(db, "UPDATE users SET ids_hold_time = 0 WHERE id = ?")
  const headOf = prepare<{ head: number }>(db, "SELECT head FROM match_logs WHERE app_id = ?")
  const saveHead = prepare(
    db,
    "INSERT INTO match_logs (app_id, head) VALUES (?1, ?2) ON CONFLICT (app_id) DO UPDATE SET head = ?2",
  )
  const insertMatch = prepare(
    db,
    "INSERT INTO matches (app_id, seq, post_id, at_ms, rules) VALUES (?, ?, ?, ?, ?)",
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
    const author = post.authorId === undefined ? null : BigInt(post.authorId)
    const isNew =
      insertPost.run(
        BigInt(post.id),
        author,
        post.createdAtMs,
        post.isReply ? 1 : 0,
        post.isRepost ? 1 : 0,
        post.core,
        post.envelope,
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
        webhook.checkedAtMs,
        webhook.signingKeySealed,
      )
      announce(control)
      return "created"
    },

    setWebhookValid(id: WebhookId, valid: boolean, atMs: number) {
      const changed = turnWebhook.run(valid ? 1 : 0, atMs, BigInt(id))
      announce(control)
      return changed === 1
    },

    deleteWebhook(appId: AppId, id: WebhookId) {
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
      const deleted = deleteLink.run(BigInt(appId), BigInt(webhookId)) === 1
      if (deleted) announce(control)
      return deleted
    },

    saveProgress(progress: readonly LinkProgress[]) {
      for (const { linkId, position, retries, settled } of progress) {
        const link = BigInt(linkId)
        if (moveCursor.run(position, link) === 0) continue
        for (const { seq, failures, dueAtMs } of retries) keepRetry.run(link, seq, failures, dueAtMs)
        for (const seq of settled) forgetRetry.run(link, seq)
      }
    },

    append(batch: readonly { readonly post: AcceptedPost; readonly matches: readonly PostMatch[] }[], atMs) {
      const heads = new Map<AppId, number>()
      const accepted = batch.map(({ post, matches }) => {
        const isNew = insertAccepted(post)
        if (!isNew) return false
        for (const { appId, rules } of matches) {
          const app = BigInt(appId)
          const seq = (heads.get(appId) ?? headOf.get(app)?.head ?? 0) + 1
          heads.set(appId, seq)
          insertMatch.run(app, seq, BigInt(post.id), atMs, JSON.stringify(rules))
        }
        return true
      })
      for (const [appId, head] of heads) saveHead.run(BigInt(appId), head)
      if (heads.size > 0) announce({ kind: "matches", appIds: [...heads.keys()] })
      return accepted
    },
  }
}
