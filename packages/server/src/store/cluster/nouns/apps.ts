/** Apps and their tokens. */
import type { AppReads, AppWrites } from "../../port/app-store.ts"
import type { StoredToken } from "../../../model/app.ts"
import { appColumns, appOf, limitsText, tokenColumns, type AppRow, type TokenRow } from "../../rows/app.ts"
import { recordOf } from "../../rows/record.ts"
import {
  columnsAs,
  type ClusterDatabase,
  type Queries,
  type WriteTransaction,
  type WriteContext,
} from "../connection/database.ts"
import { noteIds } from "../connection/last-id.ts"
import { refuseServed } from "./lease-rows.ts"
import { endReplaysOf } from "./replays.ts"
import { lockRuleHistory, removeRulesOf } from "./rules.ts"

const selectApps = `SELECT ${columnsAs("apps", appColumns)}, consumer_secret AS "consumerSecretSealed" FROM apps`

const selectTokens = `SELECT ${columnsAs("tokens", tokenColumns)} FROM tokens`

/** The reads of apps and tokens. */
export function createAppReads(queries: Queries): AppReads {
  return {
    async apps() {
      return (await queries.rows<AppRow>(`${selectApps} ORDER BY apps.id DESC`)).map(appOf)
    },
    async app(id) {
      const row = await queries.row<AppRow>(`${selectApps} WHERE apps.id = $1`, id)
      return row && appOf(row)
    },
    async appByConsumerKey(consumerKey) {
      const row = await queries.row<AppRow>(`${selectApps} WHERE consumer_key = $1`, consumerKey)
      return row && appOf(row)
    },
    async token(hash) {
      const row = await queries.row<TokenRow>(`${selectTokens} WHERE hash = $1`, hash)
      return row && recordOf(row)
    },
    async tokens() {
      return (await queries.rows<TokenRow>(`${selectTokens} ORDER BY created_at_ms DESC, hash`)).map(recordOf)
    },
  }
}

/** The writes of apps and tokens. */
export function createAppWrites(database: ClusterDatabase, { clock }: WriteContext): AppWrites {
  return {
    createApp: (app, tokens) =>
      database.write(async (transaction) => {
        await transaction.run(
          `INSERT INTO apps (id, name, business_user_id, instance_id, consumer_key, consumer_secret, generation,
             created_at_ms, revoked, limits) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, false, $9)`,
          app.id,
          app.name,
          app.businessUserId,
          app.instanceId,
          app.consumerKey,
          app.consumerSecretSealed,
          app.generation,
          app.createdAtMs,
          limitsText(app.limits),
        )
        await noteIds(transaction, app.id, app.businessUserId, app.instanceId)
        await insertTokens(transaction, tokens)
        await transaction.announceControl()
      }),

    rotateApp: (app, tokens) =>
      database.write(async (transaction) => {
        const rotated = await transaction.run(
          `UPDATE apps SET consumer_key = $1, consumer_secret = $2, generation = $3
           WHERE id = $4 AND generation = $3 - 1 AND NOT revoked`,
          app.consumerKey,
          app.consumerSecretSealed,
          app.generation,
          app.id,
        )
        if (rotated === 0) return false
        await transaction.run("DELETE FROM tokens WHERE app_id = $1", app.id)
        await insertTokens(transaction, tokens)
        return transaction.announceControl()
      }),

    replaceSecrets: ({ apps, webhooks }) =>
      database.write(async (transaction) => {
        // A process that begins waits for the end of the transaction, and then finds that its key is another one.
        await refuseServed(transaction)
        for (const { id, consumerSecretSealed, tokens } of apps) {
          await transaction.run("UPDATE apps SET consumer_secret = $1 WHERE id = $2", consumerSecretSealed, id)
          // Tokens of users are not derived of the key.
          await transaction.run("DELETE FROM tokens WHERE app_id = $1 AND kind = 'app'", id)
          await insertTokens(transaction, tokens)
        }
        for (const { id, signingKeySealed, previousKeySealed = null } of webhooks) {
          await transaction.run(
            "UPDATE webhooks SET signing_key = $1, previous_key = $2 WHERE id = $3",
            signingKeySealed,
            previousKeySealed,
            id,
          )
        }
        await transaction.announceControl()
      }),

    revokeApp: (id) =>
      database.write(async (transaction) => {
        await lockRuleHistory(transaction)
        if ((await transaction.run("UPDATE apps SET revoked = true WHERE id = $1 AND NOT revoked", id)) === 0) {
          return false
        }
        await transaction.run("DELETE FROM tokens WHERE app_id = $1", id)
        // The rules stay, and the links: the matcher follows the changes, and deliveries skip apps that are revoked.
        await removeRulesOf(transaction, id)
        await endReplaysOf(transaction, id, clock.nowMs())
        return transaction.announceControl()
      }),

    setAppLimits: (id, limits) =>
      database.runControl("UPDATE apps SET limits = $1 WHERE id = $2 AND NOT revoked", limitsText(limits), id),

    createToken: (token) => database.write((transaction) => insertTokens(transaction, [token])),

    async noteTokenUses(uses) {
      await database.run(
        `UPDATE tokens SET last_used_at_ms = used.at_ms
         FROM unnest($1::bytea[], $2::bigint[]) AS used (hash, at_ms)
         WHERE tokens.hash = used.hash AND coalesce(last_used_at_ms, 0) < used.at_ms`,
        uses.map(({ hash }) => hash),
        uses.map(({ lastUsedAtMs }) => lastUsedAtMs),
      )
    },

    deleteToken: (hash) => database.runControl("DELETE FROM tokens WHERE hash = $1 AND kind <> 'app'", hash),
  }
}

async function insertTokens(transaction: WriteTransaction, tokens: readonly StoredToken[]): Promise<void> {
  for (const { hash, kind, appId = null, userId = null, createdAtMs, name = null } of tokens) {
    await transaction.run(
      "INSERT INTO tokens (hash, kind, app_id, created_at_ms, user_id, name) VALUES ($1, $2, $3, $4, $5, $6)",
      hash,
      kind,
      appId,
      createdAtMs,
      userId,
      name,
    )
  }
}
