/** Apps and their tokens: a part of the store (`store.ts`). */
import type { App, OwnLimits, StoredToken, TokenUse } from "../../model/app.ts"
import type { AppId, WebhookId } from "../../model/ids.ts"

/** Secrets that are sealed anew, of every app and webhook. */
export interface ReplacedSecrets {
  readonly apps: readonly {
    readonly id: AppId
    readonly consumerSecretSealed: Uint8Array
    /** All that the app has from then on, but for the tokens of its users, which stay. */
    readonly tokens: readonly StoredToken[]
  }[]
  readonly webhooks: readonly {
    readonly id: WebhookId
    readonly signingKeySealed: Uint8Array
    /** Absent when the webhook has no previous key. */
    readonly previousKeySealed?: Uint8Array
  }[]
}

/** Reads: apps and their tokens. */
export interface AppReads {
  /** Newest first, revoked ones included. */
  apps(): Promise<readonly App[]>
  app(id: AppId): Promise<App | undefined>
  appByConsumerKey(consumerKey: string): Promise<App | undefined>
  /** `reader` as in `ReadFor`: whose the token was when it was read last. Unknown tokens take turns with each other. */
  token(hash: Uint8Array, reader?: string): Promise<StoredToken | undefined>
  /** All tokens, newest first. Damaged ones are left out. */
  tokens(): Promise<readonly StoredToken[]>
}

/** Writes: apps and their tokens. */
export interface AppWrites {
  createApp(app: App, tokens: readonly StoredToken[]): Promise<void>
  /** Replaces an app's credentials and tokens. False when no app has the generation before that of `app`, or it is revoked. */
  rotateApp(app: App, tokens: readonly StoredToken[]): Promise<boolean>
  /**
   * Replaces the sealed secrets of apps and webhooks, and the apps' tokens. All else about them stays. A store that several
   * processes share throws `StoreFailed` while one of them serves it.
   */
  replaceSecrets(secrets: ReplacedSecrets): Promise<void>
  /** Deletes an app's tokens, stops its links and ends its replays. False when there is no such app. */
  revokeApp(id: AppId): Promise<boolean>
  /** Sets what an app has in place of the server's limits; absent: nothing. False when there is no such app, or it is revoked. */
  setAppLimits(id: AppId, limits: OwnLimits | undefined): Promise<boolean>
  createToken(token: StoredToken): Promise<void>
  /** Saves last uses of tokens; an earlier one changes nothing, nor does one of a token that is gone. */
  noteTokenUses(uses: readonly TokenUse[]): Promise<void>
  /** Deletes a token that is no app's. False when there is none with this hash. */
  deleteToken(hash: Uint8Array): Promise<boolean>
}
