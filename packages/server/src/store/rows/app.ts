/** Apps and tokens as rows. */
import type { App, StoredToken } from "../../model/app.ts"
import type { AppId, UserId } from "../../model/ids.ts"
import { isTrue, recordOf, type StoredBoolean } from "./record.ts"

/** Columns of an app, but for its secret. */
export const appColumns = "id, name, business_user_id, instance_id, consumer_key, generation, created_at_ms, revoked"

/** Columns of a token. */
export const tokenColumns = "hash, kind, app_id, created_at_ms, user_id"

/** An app. */
export interface AppRow extends Omit<App, "revoked"> {
  readonly revoked: StoredBoolean
}

/** A token. */
export interface TokenRow extends Omit<StoredToken, "appId" | "userId"> {
  readonly appId: AppId | null
  readonly userId: UserId | null
}

/** A row as an app. */
export function appOf(row: AppRow): App {
  return { ...recordOf(row), revoked: isTrue(row.revoked) }
}
