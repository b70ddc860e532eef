/** Requests of apps and their users, within the bounds of their endpoints. */
import type { LimitedEndpoint } from "@sluice/api"
import type { App, OwnLimits } from "../../model/app.ts"
import type { UserId } from "../../model/ids.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { SharedLimits, UseLimit } from "../../store/shared-limits.ts"
import { requestWindows, type RequestWindow, type ServerLimits } from "./app-limits.ts"
import { RequestCounts } from "./request-counts.ts"

/** How a request stands to the bound of its endpoint. */
export interface RequestStanding {
  /** False: the bound is reached, and the request is refused. */
  readonly isGranted: boolean
  /** Most requests in the window, and how many more it has. */
  readonly limit: number
  readonly left: number
  readonly endsInMs: number
}

/** The bounds of requests. */
export interface RequestLimits {
  /**
   * Counts a request of an app, by its own token, or by one of this user. Absent: the endpoint is not bounded for it. The
   * standing is that of the window that refuses it, else of the longest.
   */
  count(
    caller: { readonly app: Pick<App, "id" | "limits">; readonly userId?: UserId },
    endpoint: LimitedEndpoint,
  ): Promise<RequestStanding | undefined>
}

/** Bounds of requests by the limits of a server. */
export function createRequestLimits({
  limits,
  clock,
  sharedLimits,
}: {
  readonly limits: ServerLimits
  readonly clock: Pick<Clock, "nowMs">
  readonly sharedLimits?: SharedLimits | undefined
}): RequestLimits {
  const counts = new RequestCounts(clock, sharedLimits)
  const windows = new KnownWindows(limits)
  return {
    async count({ app, userId }, endpoint) {
      let standing: RequestStanding | undefined
      for (const { use, limit } of windows.of(app, endpoint, userId === undefined ? "app" : "user")) {
        const taking = counts.take(app.id, userId === undefined ? use : `${use} ${userId}`, limit)
        const { granted, left, endsInMs } = taking instanceof Promise ? await taking : taking
        standing = { isGranted: granted > 0, limit: limit.max, left, endsInMs }
        if (!standing.isGranted) break
      }
      return standing
    },
  }
}

/** A window, and the name of the use that is counted in it. */
interface NamedWindow {
  readonly use: string
  readonly limit: UseLimit
}

/** The windows of the endpoints, made once for the server and for each app that has limits of its own. */
class KnownWindows {
  readonly #limits: ServerLimits
  readonly #ofServer = new Map<string, readonly NamedWindow[]>()
  readonly #ofApps = new WeakMap<OwnLimits, Map<string, readonly NamedWindow[]>>()

  constructor(limits: ServerLimits) {
    this.#limits = limits
  }

  of(app: Pick<App, "limits">, endpoint: LimitedEndpoint, per: RequestWindow["per"]): readonly NamedWindow[] {
    const all = this.#all(app)
    const key = `${per} ${endpoint}`
    let windows = all.get(key)
    if (windows === undefined) {
      windows = requestWindows(this.#limits, app, endpoint)
        .filter((window) => window.per === per)
        .map(({ max, windowMs }) => ({ use: `${endpoint} ${windowMs}`, limit: { max, windowMs } }))
      all.set(key, windows)
    }
    return windows
  }

  #all({ limits }: Pick<App, "limits">): Map<string, readonly NamedWindow[]> {
    if (limits === undefined) return this.#ofServer
    const known = this.#ofApps.get(limits) ?? new Map<string, readonly NamedWindow[]>()
    this.#ofApps.set(limits, known)
    return known
  }
}
