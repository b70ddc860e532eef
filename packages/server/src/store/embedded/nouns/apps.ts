/** Apps and their tokens. */
import type { AppReads, AppWrites } from "../../port/app-store.ts"
import type { DatabaseSync } from "node:sqlite"
import type { StoredToken } from "../../../model/app.ts"
import { appColumns, appOf, limitsText, tokenColumns, type AppRow, type TokenRow } from "../../rows/app.ts"
import { recordOf } from "../../rows/record.ts"
import { damageOf, insertChecked, settingChecked, type CheckedRow } from "../connection/checked-rows.ts"
import { prepareNoteIds } from "../connection/last-id.ts"
import { prepareEndReplays } from "./replays.ts"
import { prepareRemoveRules } from "./rules.ts"
import { columnsAs, prepare } from "../connection/statements.ts"
import type { ReadContext, SyncReads, SyncWrites, WriteContext } from "../serving/sync-store.ts"

/** The reads of apps and tokens. */
export function createAppReads(db: DatabaseSync, { damaged }: ReadContext): SyncReads<AppReads> {
  type Checked<Row> = Row & CheckedRow
  const select = `SELECT ${columnsAs("apps", appColumns)}, consumer_secret AS consumerSecretSealed,
    ${damageOf("apps")} AS damage FROM apps`
  const all = prepare<Checked<AppRow>>(db, `${select} ORDER BY apps.id DESC`)
  const byId = prepare<Checked<AppRow>>(db, `${select} WHERE apps.id = ?`)
  const byConsumerKey = prepare<Checked<AppRow>>(db, `${select} WHERE consumer_key = ?`)
  const selectTokens = `SELECT ${columnsAs("tokens", tokenColumns)}, ${damageOf("tokens")} AS damage FROM tokens`
  const tokenByHash = prepare<Checked<TokenRow>>(db, `${selectTokens} WHERE hash = ?`)
  const allTokens = prepare<Checked<TokenRow>>(db, `${selectTokens} ORDER BY created_at_ms DESC, hash`)
  return {
    apps: () => damaged.whole("apps", all.all()).map(appOf),

    app: (id) => damaged.one("apps", byId.get(BigInt(id)), appOf),

    appByConsumerKey: (consumerKey) => damaged.one("apps", byConsumerKey.get(consumerKey), appOf),

    token(hash) {
      const row = tokenByHash.get(hash)
      return damaged.one("tokens", row && { ...row, id: row.hash }, tokenOf)
    },

    tokens() {
      const rows = allTokens.all().map((row) => ({ ...row, id: row.hash }))
      return damaged.whole("tokens", rows).map(tokenOf)
    },
  }
}

function tokenOf({ hash, kind, appId, userId, createdAtMs, name, lastUsedAtMs }: TokenRow): StoredToken {
  return recordOf({ hash, kind, appId, userId, createdAtMs, name, lastUsedAtMs })
}

/** The writes of apps and tokens. */
export function createAppWrites(db: DatabaseSync, { announceControl, clock }: WriteContext): SyncWrites<AppWrites> {
  const insert = prepare(db, insertChecked("apps"))
  const rotate = prepare(
    db,
    `UPDATE apps SET ${settingChecked("apps", { consumer_key: "?1", consumer_secret: "?2", generation: "?3" })}
     WHERE id = ?4 AND generation = ?3 - 1 AND NOT revoked`,
  )
  const replaceSecret = prepare(
    db,
    `UPDATE apps SET ${settingChecked("apps", { consumer_secret: "?1" })} WHERE id = ?2`,
  )
  const replaceKeys = prepare(
    db,
    `UPDATE webhooks SET ${settingChecked("webhooks", { signing_key: "?1", previous_key: "?2" })} WHERE id = ?3`,
  )
  const revoke = prepare(
    db,
    `UPDATE apps SET ${settingChecked("apps", { revoked: "1" }, { ends: true })} WHERE id = ? AND NOT revoked`,
  )
  const setLimits = prepare(
    db,
    `UPDATE apps SET ${settingChecked("apps", { limits: "?1" })} WHERE id = ?2 AND NOT revoked`,
  )
  const insertToken = prepare(db, insertChecked("tokens"))
  const deleteTokens = prepare(db, "DELETE FROM tokens WHERE app_id = ?")
  const deleteAppTokens = prepare(db, "DELETE FROM tokens WHERE app_id = ? AND kind = 'app'")
  const deleteToken = prepare(db, "DELETE FROM tokens WHERE hash = ? AND kind <> 'app'")
  const noteUse = prepare(
    db,
    "UPDATE tokens SET last_used_at_ms = ?1 WHERE hash = ?2 AND coalesce(last_used_at_ms, 0) < ?1",
  )
  const noteIds = prepareNoteIds(db)
  const removeRules = prepareRemoveRules(db)
  const endReplays = prepareEndReplays(db)

  function insertTokens(tokens: readonly StoredToken[]): void {
    for (const { hash, kind, appId, userId, createdAtMs, name = null } of tokens) {
      const [app, user] = [appId, userId].map((id) => (id === undefined ? null : BigInt(id)))
      insertToken.run(hash, kind, app ?? null, createdAtMs, user ?? null, name)
    }
  }

  return {
    createApp(app, tokens) {
      insert.run(
        BigInt(app.id),
        app.name,
        BigInt(app.businessUserId),
        BigInt(app.instanceId),
        app.consumerKey,
        app.consumerSecretSealed,
        app.generation,
        app.createdAtMs,
        0,
        limitsText(app.limits),
      )
      noteIds(app.id, app.businessUserId, app.instanceId)
      insertTokens(tokens)
      announceControl()
    },

    rotateApp(app, tokens) {
      const id = BigInt(app.id)
      if (rotate.run(app.consumerKey, app.consumerSecretSealed, app.generation, id) === 0) return false
      deleteTokens.run(id)
      insertTokens(tokens)
      return announceControl()
    },

    replaceSecrets({ apps, webhooks }) {
      for (const { id, consumerSecretSealed, tokens } of apps) {
        replaceSecret.run(consumerSecretSealed, BigInt(id))
        // Tokens of users are not derived of the key.
        deleteAppTokens.run(BigInt(id))
        insertTokens(tokens)
      }
      for (const { id, signingKeySealed, previousKeySealed = null } of webhooks) {
        replaceKeys.run(signingKeySealed, previousKeySealed, BigInt(id))
      }
      announceControl()
    },

    revokeApp(id) {
      const app = BigInt(id)
      if (revoke.run(app) === 0) return false
      deleteTokens.run(app)
      // The rules stay, and the links: the matcher follows the changes, and deliveries skip apps that are revoked.
      removeRules(app)
      endReplays(app, clock.nowMs())
      return announceControl()
    },

    setAppLimits: (id, limits) => announceControl(setLimits.run(limitsText(limits), BigInt(id)) > 0),

    createToken(token) {
      insertTokens([token])
    },

    noteTokenUses(uses) {
      for (const { hash, lastUsedAtMs } of uses) noteUse.run(lastUsedAtMs, hash)
    },

    deleteToken: (hash) => announceControl(deleteToken.run(hash) > 0),
  }
}
