/**
 * Who asks, by the token in the `Authorization` header.
 *
 * Missing, malformed, wrong, revoked or doubled: the answer is the same to the byte, so that nothing tells one
 * from the other. Source: RFC 6750; RFC 9110 §11.1, by which the scheme's letters may be of either case.
 */
import { problemTypes } from "@sluice/api"
import type { FastifyRequest } from "fastify"
import type { Apps, Principal } from "../control/apps.ts"
import type { App } from "../model/app.ts"
import type { AppId } from "../model/ids.ts"
import { Problem } from "../model/problem.ts"

declare module "fastify" {
  interface FastifyRequest {
    /** Set by a guard, before the route's handler runs; null on routes without one. */
    principal: Principal | null
  }
}

/** The one hook of routes that ask who is there. Throws 401, or 403 for a token of another kind. */
export type Guard = (request: FastifyRequest) => Promise<void>

/** A guard that lets through tokens of these kinds. */
export function createGuard(apps: Apps, allowed: ReadonlySet<Principal["kind"]>): Guard {
  return async (request) => {
    const token = bearerToken(request.raw.rawHeaders)
    const principal = token === undefined ? undefined : await apps.principal(token)
    if (principal === undefined) throw unauthorized()
    if (!allowed.has(principal.kind)) throw unsupportedToken(principal.kind, allowed)
    request.principal = principal
  }
}

/** The app that asks, on routes whose guard lets only apps through. */
export function appOf(request: FastifyRequest): App {
  const { principal } = request
  if (principal?.kind !== "app") throw new Error("the route's guard lets others than apps through")
  return principal.app
}

/** The app whose things may be seen and changed, on routes for apps and operators; absent for an operator: all. */
export function scopeOf({ principal }: FastifyRequest): AppId | undefined {
  if (principal?.kind === "app") return principal.app.id
  if (principal?.kind === "operator") return undefined
  throw new Error("the route's guard lets others than apps and operators through")
}

/** The token of the only `Authorization` header; Node's own view of headers would keep the first of several. */
export function bearerToken(rawHeaders: readonly string[]): string | undefined {
  return /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(onlyAuthorization(rawHeaders) ?? "")?.[1]
}

/** Consumer key and secret of a Basic `Authorization` header, each percent-decoded. Source: RFC 6749 §2.3.1. */
export function basicCredentials(
  rawHeaders: readonly string[],
): { readonly key: string; readonly secret: string } | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(onlyAuthorization(rawHeaders) ?? "")?.[1]
  const match = /^([^:]+):(.+)$/s.exec(Buffer.from(encoded ?? "", "base64").toString("utf8"))
  if (match?.[1] === undefined || match[2] === undefined) return undefined
  try {
    return { key: decodeURIComponent(match[1]), secret: decodeURIComponent(match[2]) }
  } catch {
    return undefined
  }
}

function onlyAuthorization(rawHeaders: readonly string[]): string | undefined {
  let found: string | undefined
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length !== 13 || name.toLowerCase() !== "authorization") continue
    if (found !== undefined) return undefined
    found = rawHeaders[index + 1]
  }
  return found
}

function unauthorized(): Problem {
  return new Problem({ status: 401, type: problemTypes.blank, title: "Unauthorized", detail: "Unauthorized" })
}

const kindNames = { app: "App Token", ingest: "Ingest Token", operator: "Operator Token" } as const

/** X's words, two spaces included, with our kinds of token. */
function unsupportedToken(kind: Principal["kind"], allowed: ReadonlySet<Principal["kind"]>): Problem {
  const supported = [...allowed].map((one) => kindNames[one]).join(", ")
  return new Problem({
    status: 403,
    type: problemTypes.unsupportedAuthentication,
    title: "Unsupported Authentication",
    detail:
      `Authenticating with ${kindNames[kind]} is forbidden for this endpoint.  ` +
      `Supported authentication types are [${supported}].`,
  })
}
