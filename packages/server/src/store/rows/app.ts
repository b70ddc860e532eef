/** Apps and tokens as rows. */
import type { App, OwnLimits, StoredToken } from "../../model/app.ts"
import type { AppId, UserId } from "../../model/ids.ts"
import { isTrue, recordOf, type StoredBoolean } from "./record.ts"

/** Columns of an app, but for its secret. */
export const appColumns =
  "id, name, business_user_id, instance_id, consumer_key, generation, created_at_ms, revoked, limits"

/** Columns of a token. */
export const tokenColumns = "hash, kind, app_id, created_at_ms, user_id, name, last_used_at_ms"

/** An app. */
export interface AppRow extends Omit<App, "revoked" | "limits"> {
  readonly revoked: StoredBoolean
  /** JSON text. */
  readonly limits: string | null
}

/** A token. */
export interface TokenRow extends Omit<StoredToken, "appId" | "userId" | "name" | "lastUsedAtMs"> {
  readonly appId: AppId | null
  readonly userId: UserId | null
  readonly name: string | null
  readonly lastUsedAtMs: number | null
}

/** A row as an app. */
export function appOf(row: AppRow): App {
  const { limits, ...app } = recordOf(row)
  return {
    ...app,
    revoked: isTrue(row.revoked),
    ...(limits !== undefined && { limits: JSON.parse(limits) as OwnLimits }),
  }
}

/** The text of what an app has in place of the server's limits. */
export function limitsText(limits: OwnLimits | undefined): string | null {
  return limits === undefined ? null : JSON.stringify(limits)
}
