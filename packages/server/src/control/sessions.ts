/**
 * Sessions of the console: a bearer token, exchanged for a sealed cookie.
 *
 * The cookie holds the hash of the token, never the token, and is sealed under a key of its own. The store keeps only
 * the sessions that were ended before their time, so every process knows them. Each request looks the hash up, so a token
 * that is revoked or rotated ends its sessions too. The codes of sign-in links are this process's, in memory.
 */
import { timingSafeEqual } from "node:crypto"
import { LRUCache } from "lru-cache"
import type { App } from "../model/app.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Random } from "../runtime/random.ts"
import { createSecretBox, type SecretBox } from "../runtime/secret-box.ts"
import type { SessionStore } from "../store/port/session-store.ts"
import { tokenHash, type Apps } from "./apps.ts"
import { SignOutLimits } from "./sign-out-limits.ts"

/** Longest session. Ours: a working day. */
const sessionMsMax = 12 * 3_600_000

/** Lifetime of a sign-in link. Ours: time to find it in a terminal. */
const codeMsMax = 10 * 60_000

/** Most unused codes; beyond it the oldest is forgotten. Ours. */
const codesMax = 100

/** The party of a session. */
export type SessionOwner = { readonly kind: "app"; readonly app: App } | { readonly kind: "operator" }

/** A valid session. */
export interface Session {
  readonly owner: SessionOwner
  /** The token that a request that changes something must repeat. */
  readonly csrfToken: string
  readonly expiresAtMs: number
}

/** A session that has just begun. */
interface BegunSession extends Session {
  /** Value of its cookie. */
  readonly cookie: string
}

/** The sessions of this server. */
export interface Sessions {
  /** Begins one for the owner of a token; undefined for an invalid token, and for one that only ingests. */
  begin(token: string): Promise<BegunSession | undefined>
  /** Begins one with the code of a sign-in link, which ends the code; undefined when it is unknown, used or expired. */
  beginWithCode(code: string): Promise<BegunSession | undefined>
  /** The session of a cookie; undefined when it is forged, expired or ended, or its token is no longer valid. */
  of(cookie: string): Promise<Session | undefined>
  /** Ends one, at all processes that share the store. Throws `RateLimited` when its token has signed out too often. */
  end(cookie: string): Promise<void>
  /** A code that signs in with this token, once. */
  createCode(token: string): string
}

/** The content of a cookie. */
interface Sealed {
  readonly id: string
  readonly hash: string
  readonly csrf: string
  readonly until: number
}

/** Sessions for the tokens of these apps. */
export function createSessions(deps: {
  readonly apps: Apps
  readonly store: SessionStore
  readonly secretBox: SecretBox
  readonly clock: Clock
  readonly random: Random
}): Sessions {
  const { apps, store, clock, random } = deps
  // A key of its own: nothing else that is sealed can pass for a session.
  const box = createSecretBox(deps.secretBox.derive("console sessions"), random)
  const signOutLimits = new SignOutLimits(clock)
  const codes = new LRUCache<string, { readonly hash: Buffer; readonly untilMs: number }>({ max: codesMax })

  const ownerOf = async (hash: Uint8Array): Promise<SessionOwner | undefined> => {
    const principal = await apps.principalByHash(hash)
    return principal === undefined || principal.kind === "ingest" || principal.kind === "user" ? undefined : principal
  }

  const beginFor = async (hash: Buffer): Promise<BegunSession | undefined> => {
    const owner = await ownerOf(hash)
    if (owner === undefined) return undefined
    const csrfToken = secretText(random)
    const expiresAtMs = clock.nowMs() + sessionMsMax
    const sealed: Sealed = {
      id: secretText(random),
      hash: hash.toString("base64url"),
      csrf: csrfToken,
      until: expiresAtMs,
    }
    return {
      owner,
      csrfToken,
      expiresAtMs,
      cookie: Buffer.from(box.seal(JSON.stringify(sealed))).toString("base64url"),
    }
  }

  const opened = (cookie: string): Sealed | undefined => {
    const bytes = Buffer.from(cookie, "base64url")
    // One spelling of a cookie, so that it is one caller: the decoder skips foreign characters.
    if (bytes.toString("base64url") !== cookie) return undefined
    return box.opens(bytes) ? (JSON.parse(box.open(bytes)) as Sealed) : undefined
  }

  return {
    begin: (token) => beginFor(tokenHash(token)),
    async beginWithCode(code) {
      const known = codes.get(code)
      codes.delete(code)
      if (known === undefined || known.untilMs <= clock.nowMs()) return undefined
      try {
        return await beginFor(known.hash)
      } catch (error) {
        // The store is away, and the code may be tried again.
        codes.set(code, known)
        throw error
      }
    },
    async of(cookie) {
      const sealed = opened(cookie)
      if (sealed === undefined || sealed.until <= clock.nowMs()) return undefined
      const owner = await ownerOf(Buffer.from(sealed.hash, "base64url"))
      if (owner === undefined) return undefined
      const isEnded = await store.isSessionEnded(idOf(sealed), owner.kind === "app" ? owner.app.id : undefined)
      return isEnded ? undefined : { owner, csrfToken: sealed.csrf, expiresAtMs: sealed.until }
    },
    async end(cookie) {
      const sealed = opened(cookie)
      if (sealed === undefined) return
      signOutLimits.count(sealed.hash)
      await store.endSession(idOf(sealed), sealed.until)
    },
    createCode(token) {
      const code = secretText(random)
      codes.set(code, { hash: tokenHash(token), untilMs: clock.nowMs() + codeMsMax })
      return code
    },
  }
}

/** True if a request repeats the session's CSRF token. Takes no secret-dependent time. */
export function isCsrfToken({ csrfToken }: Session, given: string): boolean {
  return timingSafeEqual(tokenHash(csrfToken), tokenHash(given))
}

function idOf({ id }: Sealed): Uint8Array {
  return Buffer.from(id, "base64url")
}

/** 256 bits as text. */
function secretText(random: Random): string {
  return Buffer.from(random.bytes(32)).toString("base64url")
}
