/**
 * Names the caller of a request as soon as its head has arrived, for what callers share: turns to begin, and bytes of bodies.
 *
 *     head ─► token or cookie, read as authentication reads it ─► has authenticated before? ── yes ─► its app
 *                                                                          └── no ─► one caller for all of these
 *
 * A name that the client makes up would be as many callers as it likes: spaces before a token, tokens that are none. Those
 * without a valid token are one caller, and not one of each address: one client may have thousands of addresses, and behind
 * a proxy all clients have one. A token is known from its first use on, which waits among the unknown ones.
 */
import type { IncomingMessage } from "node:http"
import type { Principal } from "../control/apps.ts"
import { bearerToken, cookieOf } from "./auth.ts"

/** Most credentials that are remembered; beyond it, the one that was used first is forgotten. Ours. */
const credentialsMax = 10_000

/** The caller of requests without a valid token. */
const unknownCaller = "unknown"

type GivenHeaders = Pick<IncomingMessage, "headers" | "rawHeaders">

/** The callers of the credentials that have authenticated requests. */
export class Callers {
  readonly #names = new Map<string, string>()

  /** The caller of a request. */
  of(request: GivenHeaders): string {
    return this.#names.get(credentialOf(request) ?? "") ?? unknownCaller
  }

  /** Forgets the token or cookie of a request, which was looked up and is invalid. */
  forget(request: GivenHeaders): void {
    this.#names.delete(credentialOf(request) ?? "")
  }

  /** Remembers who a request's token or cookie has authenticated: all tokens and sessions of an app are one caller, with its users. */
  remember(request: GivenHeaders, principal: Principal): void {
    const credential = credentialOf(request)
    if (credential === undefined) return
    const name = "app" in principal ? `app ${principal.app.id}` : ownName(request, principal, credential)
    if (this.#names.get(credential) === name) return
    this.#names.set(credential, name)
    for (const [oldest] of this.#names) {
      if (this.#names.size <= credentialsMax) return
      this.#names.delete(oldest)
    }
  }
}

/** Tokens that are no app's are callers of their own; sessions of operators are one. */
function ownName({ headers }: GivenHeaders, { kind }: Principal, credential: string): string {
  return headers.authorization === undefined ? kind : credential
}

/** The credential of a request: with an `Authorization` header its token alone, else its cookie. */
function credentialOf(request: GivenHeaders): string | undefined {
  return request.headers.authorization === undefined ? cookieOf(request) : bearerToken(request)
}
