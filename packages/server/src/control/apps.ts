/**
 * Applications and the tokens that authenticate them.
 *
 * A token is a recognizable prefix and 256 bits. Only its SHA-256 is stored, so a stolen store reveals no token, and a
 * look-up by hash takes no secret-dependent time. An app's bearer token is not random but derived from the master key, the
 * app and its generation: `POST /oauth2/token` returns the same token every time, as X does, without storing it; a rotation
 * raises the generation.
 */
import { createHmac, hash, timingSafeEqual } from "node:crypto"
import type { OwnLimits } from "@sluice/api"
import { LRUCache } from "lru-cache"
import type { App, StoredToken, TokenKind } from "../model/app.ts"
import { asId, type AppId, type UserId } from "../model/ids.ts"
import type { Clock } from "../runtime/clock.ts"
import { clientSecretOf } from "../runtime/client-secret.ts"
import type { Random } from "../runtime/random.ts"
import type { SecretBox } from "../runtime/secret-box.ts"
import type { Snowflakes } from "../runtime/snowflakes.ts"
import type { Store } from "../store/store.ts"
import { ControlCache } from "./control-cache.ts"
import { TokenUses } from "./token-uses.ts"

/** Everything that an app's owner needs to use it, secrets in the clear. */
export interface AppCredentials {
  readonly application_id: string
  readonly business_user_id: string
  readonly instance_id: string
  readonly consumer_key: string
  readonly consumer_secret: string
  readonly client_id: string
  readonly client_secret: string
  readonly bearer_token: string
}

/** A token as operators see it. */
export interface ListedToken extends Pick<
  StoredToken,
  "kind" | "appId" | "userId" | "createdAtMs" | "name" | "lastUsedAtMs"
> {
  /** The first 63 bits of its SHA-256, as digits: they name it, and reveal nothing of it. */
  readonly id: string
}

/** The party that a token authenticates. */
export type Principal =
  | { readonly kind: "app"; readonly app: App }
  | { readonly kind: "user"; readonly app: App; readonly userId: UserId }
  | { readonly kind: "ingest" }
  | { readonly kind: "operator" }

/** The user that an app, or a user of it, acts as when it writes: an app without a user is its business user. */
export function actingUserOf(principal: Extract<Principal, { readonly app: App }>): UserId {
  return principal.kind === "user" ? principal.userId : asId<UserId>(principal.app.businessUserId)
}

/** The applications of this server. */
export interface Apps {
  create(name: string): Promise<AppCredentials>
  /** Newest first. Revoked ones included. */
  list(): Promise<readonly App[]>
  credentials(app: App): AppCredentials
  /**
   * New consumer key, consumer secret, client secret and bearer token; the old ones end, and the tokens of the app's users.
   * Absent: no such app, or it is revoked.
   */
  rotate(id: AppId): Promise<AppCredentials | undefined>
  /** Ends an app's token and stops its links. False when there is no such app. */
  revoke(id: AppId): Promise<boolean>
  /** Sets what an app has in place of the server's limits; with no members, nothing. False: no such app, or it is revoked. */
  setLimits(id: AppId, limits: OwnLimits): Promise<boolean>
  /** A new token of the server's own kinds. It is shown this once. */
  createToken(kind: "ingest" | "operator", name?: string): Promise<string>
  /** A new token for a user of an app, by their ids. It is shown this once. Absent: no such app, or it is revoked. */
  createUserToken(appId: string, userId: string, name?: string): Promise<string | undefined>
  /** All tokens, those of apps included, newest first. */
  listTokens(): Promise<readonly ListedToken[]>
  /**
   * Ends a token that is no app's, and the sessions that it began. False when there is none of this id. An app's token ends
   * by `rotate` or `revoke`.
   */
  revokeToken(id: string): Promise<boolean>
  /** The party that a bearer token authenticates; undefined when the token is invalid for any reason. */
  principal(token: string): Promise<Principal | undefined>
  /** The party whose token has this SHA-256, for sessions, which hold no token. Undefined as above. */
  principalByHash(hash: Uint8Array): Promise<Principal | undefined>
  /** An active app by its id, for an operator who acts for it. */
  active(id: AppId): Promise<App | undefined>
  /** Saves the last uses of tokens until aborted. */
  keepUses(signal: AbortSignal): Promise<void>
  /** The bearer token of the app with these credentials; absent when they are wrong. */
  bearerToken(consumerKey: string, consumerSecret: string): Promise<string | undefined>
}

/** Most tokens whose owners are remembered; beyond it the least recently used is forgotten. Ours. */
const ownersMax = 10_000

const tokenPattern = /^sluice_(?:app|user|ingest|operator)_[A-Za-z0-9_-]{43}$/

/** The apps kept in a store. */
export function createApps(deps: {
  store: Store
  secretBox: SecretBox
  snowflakes: Snowflakes
  clock: Clock
  random: Random
}): Apps {
  const { store, secretBox, snowflakes, clock, random } = deps
  const bearerKey = secretBox.derive(bearerPurpose)
  const principals = new ControlCache<Principal>(store, clock)
  const uses = new TokenUses({ store, clock })
  /** The owner of each token when it was last read, also after a change of control: a known token waits for no other's read. */
  const owners = new LRUCache<string, string>({ max: ownersMax })

  const bearerTokenOf = (app: App): string => derivedToken(app, bearerKey)

  const storedTokenOf = (app: App): StoredToken => storedAppToken(app, secretBox, clock.nowMs())

  const credentials = (app: App): AppCredentials => {
    const consumerSecret = secretBox.open(app.consumerSecretSealed)
    return {
      application_id: app.id,
      business_user_id: app.businessUserId,
      instance_id: app.instanceId,
      consumer_key: app.consumerKey,
      consumer_secret: consumerSecret,
      client_id: clientIdOf(app),
      client_secret: clientSecretOf(consumerSecret),
      bearer_token: bearerTokenOf(app),
    }
  }

  const readActive = async (id: AppId): Promise<(Principal & { kind: "app" }) | undefined> => {
    const app = await store.app(id)
    return app === undefined || app.revoked ? undefined : { kind: "app", app }
  }

  const readPrincipal = async (digest: Uint8Array): Promise<Principal | undefined> => {
    const key = Buffer.from(digest).toString("base64url")
    const token = await store.token(digest, owners.get(key))
    if (token === undefined || !timingSafeEqual(token.hash, digest)) return undefined
    owners.set(key, token.appId ?? token.kind)
    uses.note(token.hash)
    const { kind, appId, userId } = token
    if (kind === "ingest" || kind === "operator") return { kind }
    const ofApp = appId === undefined ? undefined : await readActive(appId)
    if (kind === "app" || ofApp === undefined) return ofApp
    return userId === undefined ? undefined : { kind, app: ofApp.app, userId }
  }

  return {
    credentials,
    list: () => store.apps(),
    async create(name) {
      const app: App = {
        id: asId(snowflakes.next()),
        name,
        businessUserId: snowflakes.next(),
        instanceId: snowflakes.next(),
        ...freshSecrets(deps),
        generation: 1,
        createdAtMs: clock.nowMs(),
        revoked: false,
      }
      await store.createApp(app, [storedTokenOf(app)])
      return credentials(app)
    },
    async rotate(id) {
      // Another rotation may come between the two: then this one follows it.
      for (let old = await readActive(id); old !== undefined; old = await readActive(id)) {
        const app: App = { ...old.app, ...freshSecrets(deps), generation: old.app.generation + 1 }
        const hasRotated = await store.rotateApp(app, [storedTokenOf(app)])
        principals.clear()
        if (hasRotated) return credentials(app)
      }
      return undefined
    },
    async revoke(id) {
      const hasRevoked = await store.revokeApp(id)
      principals.clear()
      return hasRevoked
    },
    async setLimits(id, limits) {
      const isSet = await store.setAppLimits(id, Object.keys(limits).length === 0 ? undefined : limits)
      principals.clear()
      return isSet
    },
    ...createTokens({ store, clock, random, uses, readActive, changed: () => principals.clear() }),
    keepUses: (signal) => uses.run(signal),
    async principal(token) {
      if (!tokenPattern.test(token)) return undefined
      return principals.get(token, () => readPrincipal(tokenHash(token)))
    },
    principalByHash: (digest) =>
      principals.get(`sha256:${Buffer.from(digest).toString("base64url")}`, () => readPrincipal(digest)),
    async active(id) {
      const principal = await principals.get(`app:${id}`, () => readActive(id))
      return principal?.kind === "app" ? principal.app : undefined
    },
    async bearerToken(consumerKey, consumerSecret) {
      const app = await store.appByConsumerKey(consumerKey)
      if (app === undefined || app.revoked) return undefined
      const isRight = timingSafeEqual(tokenHash(secretBox.open(app.consumerSecretSealed)), tokenHash(consumerSecret))
      return isRight ? bearerTokenOf(app) : undefined
    },
  }
}

function freshSecrets({
  random,
  secretBox,
}: {
  readonly random: Random
  readonly secretBox: SecretBox
}): Pick<App, "consumerKey" | "consumerSecretSealed"> {
  return {
    consumerKey: Buffer.from(random.bytes(16)).toString("hex"),
    consumerSecretSealed: secretBox.seal(Buffer.from(random.bytes(32)).toString("hex")),
  }
}

/** An app's OAuth 2.0 client id, in the form of X's. It stays when the secrets are rotated. */
function clientIdOf({ id }: App): string {
  return Buffer.from(`${id}:1:ci`).toString("base64url")
}

/** Purpose of the derived key of app tokens. */
const bearerPurpose = "bearer tokens"

function derivedToken(app: App, bearerKey: Uint8Array): string {
  return tokenText("app", createHmac("sha256", bearerKey).update(`${app.id}:${app.generation}`).digest())
}

/** An app's bearer token under the master key of `secretBox`, as it is stored. */
export function storedAppToken(app: App, secretBox: SecretBox, createdAtMs: number): StoredToken {
  const token = derivedToken(app, secretBox.derive(bearerPurpose))
  return { hash: tokenHash(token), kind: "app", appId: app.id, createdAtMs }
}

/** The tokens themselves: made, listed and revoked. */
function createTokens({
  store,
  clock,
  random,
  uses,
  readActive,
  changed,
}: {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly uses: Pick<TokenUses, "unsavedOf">
  /** An app by its id; undefined when it is revoked, or there is none. */
  readonly readActive: (id: AppId) => Promise<{ readonly app: App } | undefined>
  readonly changed: () => void
}): Pick<Apps, "createToken" | "createUserToken" | "listTokens" | "revokeToken"> {
  return {
    async createToken(kind, name) {
      const token = tokenText(kind, random.bytes(32))
      await store.createToken({ hash: tokenHash(token), kind, createdAtMs: clock.nowMs(), ...named(name) })
      return token
    },
    async createUserToken(appId, userId, name) {
      const found = await readActive(asId(appId))
      if (found === undefined) return undefined
      const token = tokenText("user", random.bytes(32))
      const owner = { appId: found.app.id, userId: asId<UserId>(userId), ...named(name) }
      await store.createToken({ hash: tokenHash(token), kind: "user", ...owner, createdAtMs: clock.nowMs() })
      return token
    },
    async listTokens() {
      const tokens = await store.tokens()
      return tokens.map(({ hash: digest, ...token }) => {
        const lastUsedAtMs = uses.unsavedOf(digest)
        return { id: tokenIdOf(digest), ...token, ...(lastUsedAtMs !== undefined && { lastUsedAtMs }) }
      })
    },
    async revokeToken(id) {
      const token = (await store.tokens()).find((one) => tokenIdOf(one.hash) === id)
      const hasRevoked = token !== undefined && (await store.deleteToken(token.hash))
      changed()
      return hasRevoked
    },
  }
}

function named(name: string | undefined): Pick<StoredToken, "name"> {
  return name === undefined ? {} : { name }
}

function tokenText(kind: TokenKind, bytes: Uint8Array): string {
  return `sluice_${kind}_${Buffer.from(bytes).toString("base64url")}`
}

/** SHA-256 of a token, under which the store has it. */
export function tokenHash(text: string): Buffer {
  return hash("sha256", text, "buffer")
}

function tokenIdOf(digest: Uint8Array): string {
  return (Buffer.from(digest).readBigUInt64BE() >> 1n).toString()
}
