import type { OwnLimits } from "@sluice/api"
import type { AppId, UserId } from "./ids.ts"

export type { OwnLimits } from "@sluice/api"

/** An application: the owner of rules, webhooks and links. */
export interface App {
  readonly id: AppId
  readonly name: string
  readonly businessUserId: string
  /** The app's filtered stream, as links name it. */
  readonly instanceId: string
  readonly consumerKey: string
  /** The consumer secret, sealed. It signs deliveries and answers challenges, and the client secret is derived of it. */
  readonly consumerSecretSealed: Uint8Array
  /** Raised by a rotation; the app's bearer token is derived from it. */
  readonly generation: number
  readonly createdAtMs: number
  readonly revoked: boolean
  /** The limits that an operator has set for it, in place of the server's. Absent: none. */
  readonly limits?: OwnLimits
}

/** Permission of a token: act for one app, act for a user of one app, send posts, or run the server. */
export type TokenKind = "app" | "user" | "ingest" | "operator"

/** A token at rest: its SHA-256 and whose it is. The token itself is nowhere kept. */
export interface StoredToken {
  /** SHA-256 of the token's text. */
  readonly hash: Uint8Array
  readonly kind: TokenKind
  /** Present exactly on tokens of kind `app` or `user`. */
  readonly appId?: AppId
  /** Present exactly on tokens of kind `user`. */
  readonly userId?: UserId
  readonly createdAtMs: number
  /** The name that its maker gave it. Absent: none. */
  readonly name?: string
  /** When it last authenticated a request, as far as that is saved (`control/token-uses.ts`). Absent: never. */
  readonly lastUsedAtMs?: number
}

/** The last use of a token. */
export interface TokenUse extends Pick<StoredToken, "hash"> {
  readonly lastUsedAtMs: number
}
