/** Apps and tokens as API bodies show them. */
import type { Application, ListedToken as TokenShown, TokenBody } from "@sluice/api"
import type { ListedToken } from "../../control/apps.ts"
import type { App } from "../../model/app.ts"
import { instant } from "../../model/date-time.ts"

/** An app without its secrets. */
export function presentApp({ id, name, consumerKey, createdAtMs, revoked }: App): Application {
  return { id, name, consumer_key: consumerKey, created_at: instant(createdAtMs), revoked }
}

/** A token without its text. */
export function presentToken({ id, kind, appId, userId, createdAtMs, name, lastUsedAtMs }: ListedToken): TokenShown {
  return {
    id,
    kind,
    ...(name !== undefined && { name }),
    created_at: instant(createdAtMs),
    ...(appId !== undefined && { application_id: appId }),
    ...(userId !== undefined && { user_id: userId }),
    ...(lastUsedAtMs !== undefined && { last_used_at: instant(lastUsedAtMs) }),
  }
}

/** A token that was just created, with its text. */
export function presentNewToken(kind: "ingest" | "operator" | "user", token: string) {
  return { data: { kind, token } }
}

/** The result of revoking an app or a token. */
export function presentRevoked(revoked: boolean) {
  return { data: { revoked } }
}

/** The bearer token of an app. */
export function presentBearerToken(token: string): TokenBody {
  return { token_type: "bearer", access_token: token }
}
