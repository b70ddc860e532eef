import { paths } from "@sluice/api"
import { CreateSessionBody, NoQuery, SessionBody, SessionEndedBody, sessionCookie } from "@sluice/api/schemas"
import type { FastifyRequest } from "fastify"
import type { IncomingHttpHeaders } from "node:http"
import type { SessionOwner } from "../../control/sessions.ts"
import { invalidRequest } from "../../model/problem.ts"
import { cookieOf, isCrossOrigin } from "../auth.ts"
import type { HttpDeps, HttpServer } from "../deps.ts"
import { presentSession, presentSessionEnd } from "../present/session.ts"
import { plainProblem } from "../problems.ts"
import { bearerRoute, problemResponses } from "./route-schema.ts"

/**
 * Maximum size of the body that signs in. Callers without credentials may send one. Ours: a token has about 60 bytes.
 */
const signInBytesMax = 4_096

type SessionDeps = Pick<HttpDeps, "sessions" | "clock" | "posture">

/** Signing in to the console. */
export function signInRoutes(server: HttpServer, { sessions, clock, posture }: SessionDeps): void {
  /** POST /sluice/v1/session: exchanges a token, or the code of a sign-in link, for a cookie. */
  server.post(
    paths.session,
    {
      bodyLimit: signInBytesMax,
      schema: {
        summary: "Sign in to the console",
        security: [],
        querystring: NoQuery,
        body: CreateSessionBody,
        response: { 200: SessionBody, ...problemResponses },
      },
    },
    async (request, reply) => {
      // Otherwise another site could sign a browser in as another user.
      if (isCrossOrigin(request.raw)) throw plainProblem(403, "A page of another origin may not sign in here.")
      const { token, code } = request.body
      if ((token === undefined) === (code === undefined)) {
        throw invalidRequest("The body must have exactly one of [token] and [code]")
      }
      const session = await (code === undefined ? sessions.begin(token ?? "") : sessions.beginWithCode(code))
      if (session === undefined) throw plainProblem(401, "Unauthorized")
      const nowMs = clock.nowMs()
      const maxAgeS = Math.floor((session.expiresAtMs - nowMs) / 1000)
      void reply.header("set-cookie", cookieText(session.cookie, maxAgeS, request.headers))
      return presentSession({ owner: session.owner, session, posture, nowMs })
    },
  )
}

/** The session of a request: who is signed in, and the end of it. */
export function sessionRoutes(server: HttpServer, { sessions, clock, posture }: SessionDeps): void {
  /** GET /sluice/v1/session: who the caller is, by session or by token. */
  server.get(
    paths.session,
    { config: { sessionProof: "csrf-header" }, ...bearerRoute("Get the current session", SessionBody) },
    async (request) =>
      presentSession({ owner: ownerOf(request), session: request.session, posture, nowMs: clock.nowMs() }),
  )

  /** DELETE /sluice/v1/session: signs out. */
  server.delete(paths.session, bearerRoute("Sign out of the console", SessionEndedBody), async (request, reply) => {
    const cookie = cookieOf(request.raw)
    // Before the rest, which may be refused: the browser forgets its cookie all the same.
    void reply.header("set-cookie", cookieText("", 0, request.headers))
    if (request.session !== null && cookie !== undefined) await sessions.end(cookie)
    return presentSessionEnd(request.session !== null)
  })
}

function ownerOf({ principal }: FastifyRequest): SessionOwner {
  if (principal === null || principal.kind === "ingest" || principal.kind === "user")
    throw new Error("the route's guard accepts more")
  return principal
}

/** `Secure` where the browser came over TLS: this server itself speaks HTTP, behind a proxy that does TLS. */
function cookieText(value: string, maxAgeS: number, headers: IncomingHttpHeaders): string {
  const attributes = ["Path=/", `Max-Age=${maxAgeS}`, "HttpOnly", "SameSite=Strict"]
  if (isOverTls(headers)) attributes.push("Secure")
  return [`${sessionCookie}=${value}`, ...attributes].join("; ")
}

/**
 * True if the browser came over TLS, according to the browser itself or to the proxy nearest to it: the first of several
 * values. A proxy may use either header. Source: RFC 7239 §4 and §5.4.
 */
function isOverTls({ origin, forwarded = "", "x-forwarded-proto": protocols = "" }: IncomingHttpHeaders): boolean {
  const [protocol = ""] = [protocols].flat().join(",").split(",")
  const [nearest = ""] = forwarded.split(",")
  return (
    origin?.startsWith("https:") === true ||
    protocol.trim().toLowerCase() === "https" ||
    /(?:^|;)\s*proto="?https"?\s*(?:;|$)/i.test(nearest)
  )
}
