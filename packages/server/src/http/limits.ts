/**
 * The limits of a request, before it is read: whether the app has credit, whether the endpoint takes more requests, and
 * whether the app may get more posts in this month.
 */
import { dialectPath } from "@sluice/api"
import type { FastifyReply, FastifyRequest } from "fastify"
import { endpointOf } from "../control/limits/app-limits.ts"
import { monthEnd } from "../control/limits/usage.ts"
import { noCredits, RateLimited, usageCapped } from "../model/problem.ts"
import { standingHeaders } from "./default-headers.ts"
import type { HttpDeps } from "./deps.ts"

declare module "fastify" {
  interface FastifyContextConfig {
    /** The route returns posts, which count as usage. */
    readonly returnsPosts?: true
  }
}

/**
 * Creates the hook that keeps apps to their limits, behind the guard. It throws 402 and 429, and sets the headers of the rate
 * limit. Routes of Sluice's own have no limits.
 */
export function createLimitsHook({
  limits,
  requestLimits,
  usage,
  clock,
}: Pick<HttpDeps, "limits" | "requestLimits" | "usage" | "clock">) {
  return async ({ principal, method, routeOptions }: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { url = "", config } = routeOptions
    if (principal === null || !("app" in principal) || !url.startsWith(dialectPath)) return
    const { app } = principal
    if (app.limits?.has_credits === false) throw noCredits()
    const endpoint = endpointOf(method, url)
    const standing = endpoint && (await requestLimits.count(principal, endpoint))
    if (standing !== undefined) {
      if (!standing.isGranted) throw new RateLimited({ limit: standing.limit, retryAfterMs: standing.endsInMs })
      void reply.headers(standingHeaders(standing, clock.nowMs()))
    }
    if (config.returnsPosts === true && (await usage.isCapped(app))) {
      const nowMs = clock.nowMs()
      throw usageCapped(app.id, monthEnd(nowMs, limits.capResetDay) - nowMs)
    }
  }
}
