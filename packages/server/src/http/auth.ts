/**
 * Authentication by the token in the `Authorization` header, or without that header by the cookie of a session.
 *
 * A token that is missing, malformed, wrong, revoked or given twice gets the same response to the byte, so that a client
 * cannot distinguish them. Source: RFC 6750; RFC 9110 §11.1, by which the scheme is case-insensitive. An OAuth 1.0a
 * signature is not a token: it is refused whether valid or not, and the response names the supported kinds.
 *
 * A browser sends a cookie with every request of every page: to a cookie, another port of the same host is the same
 * site, and a plain-http page on it may load this server's addresses as images without any header that says where the
 * request comes from. So a cookie authenticates only what a page of this server provably requests:
 *
 *     request                       proof
 *     changes something, or streams the session's CSRF token in `Sluice-CSRF`
 *     reads                         that token, or `Sec-Fetch-Site: same-origin`
 *     reads the session itself      the header `Sluice-CSRF` with any value, since a page learns the token here
 *
 * A page of another origin can send neither header: `Sec-Fetch-Site` is the browser's own, and the browser asks the server
 * before it sends a header such as `Sluice-CSRF`, which the server never allows.
 */
import { hash, timingSafeEqual } from "node:crypto"
import { problemTypes } from "@sluice/api"
import { appHeader, csrfHeader, sessionCookie } from "@sluice/api/schemas"
import type { FastifyRequest } from "fastify"
import type { IncomingMessage } from "node:http"
import { actingUserOf, type Apps, type Principal } from "../control/apps.ts"
import { isCsrfToken, type Session, type Sessions } from "../control/sessions.ts"
import type { App } from "../model/app.ts"
import { asId, isId, type AppId, type UserId } from "../model/ids.ts"
import { notFound, Problem } from "../model/problem.ts"
import type { Clock } from "../runtime/clock.ts"
import { plainProblem } from "./problems.ts"
import { headerValues } from "./input/request-head.ts"

declare module "fastify" {
  interface FastifyRequest {
    /** Set by a guard, before the route's handler runs; null on routes without one. */
    principal: Principal | null
    /** Set by a guard when a session authenticates the request and no token does. */
    session: Session | null
  }
  interface FastifyContextConfig {
    /** Proof that a page of this server sent the request, where the route differs from others of its method. */
    readonly sessionProof?: "csrf-token" | "csrf-header"
  }
}

/** Remembers whom the credentials of requests have authenticated. */
interface KnownCallers {
  remember(request: IncomingMessage, principal: Principal): void
  forget(request: IncomingMessage): void
}

/**
 * Creates the hook of routes that require a token of these kinds, or a session of one. It throws 401, or 403 for a token
 * of another kind. On routes for apps an operator acts for the app that the header `Sluice-App` names.
 */
export function createGuard(
  { apps, sessions, callers }: { readonly apps: Apps; readonly sessions: Sessions; readonly callers: KnownCallers },
  allowed: readonly Principal["kind"][],
) {
  return async (request: FastifyRequest): Promise<void> => {
    const { principal, session } = await authenticated(request.raw, { apps, sessions })
    if (session !== undefined) {
      refuseWithoutProof(request, session)
      request.session = session
    }
    // For a page of another origin no cookie was looked up.
    const isLookedUp = request.raw.headers.authorization !== undefined || !isCrossOrigin(request.raw)
    if (principal === undefined && isLookedUp) callers.forget(request.raw)
    if (principal === undefined && isOAuth1(request.raw)) throw unsupportedAuthentication(oauth1, allowed)
    if (principal === undefined) throw plainProblem(401, "Unauthorized")
    callers.remember(request.raw, principal)
    const appId = request.headers[appHeader]
    const acting = typeof appId === "string" ? await actingFor(appId, principal) : principal
    if (!allowed.includes(acting.kind)) throw unsupportedAuthentication(kindNames[acting.kind], allowed)
    request.principal = acting
  }

  /** The app that the header names, for an operator; on routes that are not for apps the header has no effect. */
  async function actingFor(appId: string, principal: Principal): Promise<Principal> {
    if (!allowed.includes("app")) return principal
    if ("app" in principal && principal.app.id === appId) return principal
    const app = isId(appId) && principal.kind === "operator" ? await apps.active(asId<AppId>(appId)) : undefined
    if (app === undefined) throw notFound("app", "Sluice-App", appId)
    return { kind: "app", app }
  }
}

/** Whom a request authenticates: by its token, or without one by its session; without members where it has neither. */
export async function authenticated(
  request: IncomingMessage,
  { apps, sessions }: { readonly apps: Pick<Apps, "principal">; readonly sessions: Pick<Sessions, "of"> },
): Promise<{ readonly principal?: Principal | undefined; readonly session?: Session }> {
  if (request.headers.authorization !== undefined) {
    const token = bearerToken(request)
    return token === undefined ? {} : { principal: await apps.principal(token) }
  }
  const session = await sessionOf(request, sessions)
  return session === undefined ? {} : { principal: session.owner, session }
}

/** Least time between two look-ups of credentials. Ours: as long as a token that was looked up is remembered. */
const lookUpMs = 1_000

/**
 * Tells whether the token, or the session, of a request that takes long still is one. While the store cannot say, it is.
 */
export function credentialsWatch(
  { raw }: FastifyRequest,
  { clock, ...known }: Parameters<typeof authenticated>[1] & { readonly clock: Clock },
): () => Promise<boolean> {
  let lookedUpAtMs = clock.monotonicMs()
  return async () => {
    const nowMs = clock.monotonicMs()
    if (nowMs - lookedUpAtMs < lookUpMs) return true
    lookedUpAtMs = nowMs
    try {
      return (await authenticated(raw, known)).principal !== undefined
    } catch {
      return true
    }
  }
}

/** The session of the request's only cookie of that name, when a page of this server made the request. */
async function sessionOf(request: IncomingMessage, sessions: Pick<Sessions, "of">): Promise<Session | undefined> {
  const cookie = cookieOf(request)
  return cookie === undefined || isCrossOrigin(request) ? undefined : sessions.of(cookie)
}

/** The value of the session's cookie. Absent when there is none, or more than one. */
export function cookieOf({ headers: { cookie = "" } }: Pick<IncomingMessage, "headers">): string | undefined {
  const values = cookie.split(/; */).filter((pair) => pair.startsWith(`${sessionCookie}=`))
  return values.length === 1 ? values[0]?.slice(sessionCookie.length + 1) : undefined
}

/**
 * True if a page of another origin made the request: by `Sec-Fetch-Site`, which every current browser sends and no page
 * can change, else by `Origin`. To a cookie another port of the same host is the same site. Source: W3C, Fetch Metadata.
 */
export function isCrossOrigin({ headers }: Pick<IncomingMessage, "headers">): boolean {
  const { "sec-fetch-site": site, origin, host } = headers
  if (typeof site === "string") return site !== "same-origin" && site !== "none"
  return origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host)
}

function refuseWithoutProof(request: FastifyRequest, session: Session): void {
  if (!hasProof(request, session)) {
    throw plainProblem(
      403,
      "A session needs the header Sluice-CSRF here, with the csrf_token of GET /sluice/v1/session.",
    )
  }
}

/** True if a page of this server sent the request, rather than another page whose requests carry the same cookie. */
function hasProof({ method, headers, routeOptions }: FastifyRequest, session: Session): boolean {
  const given = headers[csrfHeader]
  if (typeof given === "string" && isCsrfToken(session, given)) return true
  if (method !== "GET" && method !== "HEAD") return false
  switch (routeOptions.config.sessionProof) {
    case "csrf-token":
      return false
    case "csrf-header":
      return given !== undefined || headers["sec-fetch-site"] === "same-origin"
    default:
      return headers["sec-fetch-site"] === "same-origin"
  }
}

/** Creates the hook of `/metrics` behind a token of its own. It throws 401 for any other. */
export function createMetricsGuard(token: string) {
  const expected = hash("sha256", token, "buffer")
  return async (request: FastifyRequest): Promise<void> => {
    const given = hash("sha256", bearerToken(request.raw) ?? "", "buffer")
    // Compares hashes, so that neither the time nor the length shows how much of a guess was right.
    if (!timingSafeEqual(given, expected)) throw plainProblem(401, "Unauthorized")
  }
}

/** The app that sent the request, itself or for a user, on routes whose guard accepts no others. */
export function appOf({ principal }: FastifyRequest): App {
  if (principal === null || !("app" in principal)) throw new Error("the route's guard accepts more than apps")
  return principal.app
}

/** The app that sent the request, and the user that it acts as, on routes whose guard accepts apps and their users. */
export function actorOf({ principal }: FastifyRequest): { readonly app: App; readonly userId: UserId } {
  if (principal === null || !("app" in principal)) throw new Error("the route's guard accepts more than apps")
  return { app: principal.app, userId: actingUserOf(principal) }
}

/** The app and the user for whom it sent the request, on routes whose guard accepts tokens of users only. */
export function userOf({ principal }: FastifyRequest): Principal & { readonly kind: "user" } {
  if (principal?.kind !== "user") throw new Error("the route's guard accepts more than users")
  return principal
}

/** The app whose resources the request may access, on routes for apps and operators. Absent for an operator: all apps. */
export function scopeOf({ principal }: FastifyRequest): AppId | undefined {
  if (principal?.kind === "app") return principal.app.id
  if (principal?.kind === "operator") return undefined
  throw new Error("the route's guard accepts more than apps and operators")
}

/** The headers as they came, one given twice included. */
type GivenHeaders = Pick<IncomingMessage, "rawHeaders">

/** The token of the only `Authorization` header; undefined when it holds none. */
export function bearerToken(request: GivenHeaders): string | undefined {
  return /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(onlyAuthorization(request))?.[1]
}

/** True if the only `Authorization` header is a signature of OAuth 1.0a. Source: RFC 5849 §3.5.1. */
function isOAuth1(request: GivenHeaders): boolean {
  return /^oauth /i.test(onlyAuthorization(request))
}

/** Consumer key and secret of a Basic `Authorization` header, each percent-decoded. Source: RFC 6749 §2.3.1. */
export function basicCredentials(request: GivenHeaders): { readonly key: string; readonly secret: string } | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(onlyAuthorization(request))?.[1]
  const match = /^([^:]+):(.+)$/s.exec(Buffer.from(encoded ?? "", "base64").toString("utf8"))
  if (match?.[1] === undefined || match[2] === undefined) return undefined
  try {
    return { key: decodeURIComponent(match[1]), secret: decodeURIComponent(match[2]) }
  } catch {
    return undefined
  }
}

/** Empty when there is none, or more than one: Node's `headers` would keep the first of several. */
function onlyAuthorization(request: GivenHeaders): string {
  const values = headerValues(request, "authorization")
  return values.length === 1 ? (values[0] ?? "") : ""
}

/** X's names for the tokens of apps and of their users; the other kinds are ours. */
const kindNames = {
  app: "OAuth 2.0 Application-Only",
  user: "OAuth 2.0 User Context",
  ingest: "Ingest Token",
  operator: "Operator Token",
} as const

/** A signature, which is never accepted. X names it wherever a user's token is. */
const oauth1 = "OAuth 1.0a User Context"

/** X's words, two spaces included. */
function unsupportedAuthentication(kind: string, allowed: readonly Principal["kind"][]): Problem {
  const names = allowed.map((one): string => kindNames[one])
  const supported = allowed.includes("user") && kind !== oauth1 ? [oauth1, ...names] : names
  return new Problem({
    status: 403,
    type: problemTypes.unsupportedAuthentication,
    title: "Unsupported Authentication",
    detail:
      `Authenticating with ${kind} is forbidden for this endpoint.  ` +
      `Supported authentication types are [${supported.join(", ")}].`,
  })
}
