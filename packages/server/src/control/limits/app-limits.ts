/**
 * The limits that hold for an app: one decision for everything that keeps to them.
 *
 *     of the profile ◄── the operator's settings ◄── the app's own
 *
 * Each figure is the rightmost that is set. 0 is no bound, and absent here.
 */
import {
  isLimitedEndpoint,
  limitedEndpoints,
  profileFigures,
  requestWindowMs,
  type LimitedEndpoint,
  type LimitProfile,
  type RequestBounds,
} from "@sluice/api"
import type { App } from "../../model/app.ts"

/** The limits of a server, before what is set for single apps. */
export interface ServerLimits {
  readonly profile: LimitProfile
  readonly requests: RequestBounds
  readonly rulesMax: number
  readonly ruleCharactersMax: number
  readonly connectionsMax: number
  /** 0: no bound. */
  readonly postsPerSecondMax: number
  /** 0: no bound. */
  readonly postsPerMonthMax: number
  /** Day of the month on which the month of usage begins. */
  readonly capResetDay: number
}

/** The limits of an app, but for those of its requests. */
export interface AppLimits {
  readonly rulesMax: number
  readonly ruleCharactersMax: number
  readonly connectionsMax: number
  readonly postsPerSecondMax?: number
  readonly postsPerMonthMax?: number
  readonly capResetDay: number
  /** False: its requests get 402. */
  readonly hasCredits: boolean
  /** Whether it may read the compliance streams. */
  readonly hasComplianceStreams: boolean
}

/** A bound of requests to an endpoint. */
export interface RequestWindow {
  /** Requests of the app by its token, or of each of its users by tokens of the user. */
  readonly per: "app" | "user"
  readonly max: number
  readonly windowMs: number
}

/** An app, as far as limits depend on it. */
export type LimitedApp = Pick<App, "limits">

/** The limits of an app. */
export function limitsOf(server: ServerLimits, { limits: own = {} }: LimitedApp): AppLimits {
  return {
    rulesMax: own.rules ?? server.rulesMax,
    ruleCharactersMax: own.rule_characters ?? server.ruleCharactersMax,
    connectionsMax: own.connections ?? server.connectionsMax,
    ...boundOf("postsPerSecondMax", own.posts_per_second ?? server.postsPerSecondMax),
    ...boundOf("postsPerMonthMax", own.posts_per_month ?? server.postsPerMonthMax),
    capResetDay: server.capResetDay,
    hasCredits: own.has_credits ?? true,
    hasComplianceStreams: own.compliance_streams ?? false,
  }
}

function boundOf<Name extends string>(name: Name, figure: number): { readonly [Each in Name]?: number } {
  return figure === 0 ? {} : ({ [name]: figure } as { readonly [Each in Name]: number })
}

/** The bounds of requests to an endpoint, those of the shortest windows first. */
export function requestWindows(
  { profile, requests }: ServerLimits,
  { limits: own }: LimitedApp,
  endpoint: LimitedEndpoint,
): readonly RequestWindow[] {
  const { appWindowMs = requestWindowMs, perSecond, ...figures } = profileFigures(profile, endpoint)
  const { app = 0, user = 0 } = { ...figures, ...requests[endpoint], ...own?.requests?.[endpoint] }
  const windows: readonly RequestWindow[] = [
    { per: "app", max: perSecond ?? 0, windowMs: 1_000 },
    { per: "user", max: perSecond ?? 0, windowMs: 1_000 },
    { per: "app", max: app, windowMs: appWindowMs },
    { per: "user", max: user, windowMs: requestWindowMs },
  ]
  return windows.filter(({ max }) => max > 0)
}

/** All bounds of requests of an app, by endpoint. */
export function allRequestWindows(
  server: ServerLimits,
  app: LimitedApp,
): readonly (RequestWindow & { readonly endpoint: LimitedEndpoint })[] {
  return limitedEndpoints.flatMap((endpoint) =>
    requestWindows(server, app, endpoint).map((window) => ({ endpoint, ...window })),
  )
}

/** The endpoint of a route, if its requests may be bounded. A HEAD counts as the GET that it asks about. */
export function endpointOf(method: string, path: string | undefined): LimitedEndpoint | undefined {
  const name = `${method === "HEAD" ? "GET" : method} ${path ?? ""}`
  return isLimitedEndpoint(name) ? name : undefined
}
