/**
 * The figures of X's limits, by profile, and the endpoints that they are about.
 *
 * Source: docs.x.com, "Rate limits", "Post caps" and "Filtered stream" as of 2026-08. Enterprise is by contract: its requests
 * are those that the page names for all, and the rest is what it names as a beginning.
 */

/** Profiles of limits. `none` bounds no requests, no posts a second and no posts a month. */
export const limitProfiles = ["none", "x-pay-per-use", "x-enterprise"] as const

/** One of these profiles. */
export type LimitProfile = (typeof limitProfiles)[number]

/** Most requests of an endpoint in a window. Absent: no bound. */
interface RequestFigures {
  /** With the token of the app. */
  readonly app?: number
  /** With tokens of one user of the app. */
  readonly user?: number
}

/** X's figures for an endpoint. */
interface EndpointFigures extends RequestFigures {
  /** Length of the app's window, where it is not X's usual one. */
  readonly appWindowMs?: number
  /** Most requests in a second, of the app or of one of its users, in addition. */
  readonly perSecond?: number
}

/** X's usual window. */
export const requestWindowMs = 15 * 60_000

const dayMs = 86_400_000
const webhookRequests: EndpointFigures = { app: 450 }
const userRequests: EndpointFigures = { app: 300, user: 900 }
const referenceRequests: EndpointFigures = { app: 75, user: 75 }

/** X's figures by method and path: of the endpoints that X bounds. */
const endpointFigures = {
  "GET /2/tweets": { app: 3_500, user: 5_000 },
  "GET /2/tweets/:id": { app: 450, user: 900 },
  "POST /2/tweets": { app: 10_000, appWindowMs: dayMs, user: 100 },
  "DELETE /2/tweets/:id": { user: 50 },
  "GET /2/tweets/:id/quote_tweets": referenceRequests,
  "GET /2/tweets/:id/retweets": referenceRequests,
  "GET /2/tweets/:id/retweeted_by": referenceRequests,
  "GET /2/tweets/search/recent": { app: 450, user: 300 },
  "GET /2/tweets/search/all": { app: 300, perSecond: 1 },
  "GET /2/tweets/counts/recent": { app: 300 },
  "GET /2/tweets/counts/all": { app: 300 },
  "GET /2/tweets/search/stream": { app: 50 },
  "GET /2/tweets/sample10/stream": { app: 100 },
  "GET /2/tweets/search/stream/rules": { app: 450 },
  "POST /2/tweets/search/stream/rules": { app: 100 },
  "GET /2/users": userRequests,
  "GET /2/users/:id": userRequests,
  "GET /2/users/by": userRequests,
  "GET /2/users/by/username/:username": userRequests,
  "GET /2/users/search": userRequests,
  "GET /2/users/me": { user: 75 },
  "GET /2/users/:id/tweets": { app: 10_000, user: 900 },
  "GET /2/users/:id/mentions": { app: 450, user: 300 },
  "GET /2/usage/tweets": { app: 50 },
  "DELETE /2/connections/all": { app: 25, user: 25 },
  "GET /2/webhooks": webhookRequests,
  "POST /2/webhooks": webhookRequests,
  "PUT /2/webhooks/:webhook_id": webhookRequests,
  "DELETE /2/webhooks/:webhook_id": webhookRequests,
  "GET /2/tweets/search/webhooks": webhookRequests,
  "POST /2/tweets/search/webhooks/:webhook_id": webhookRequests,
  "DELETE /2/tweets/search/webhooks/:webhook_id": webhookRequests,
  "POST /2/webhooks/replay": { app: 100 },
} as const satisfies Readonly<Record<string, EndpointFigures>>

/** An endpoint whose requests may be bounded, by method and path. */
export type LimitedEndpoint = keyof typeof endpointFigures

/** All of them. */
export const limitedEndpoints = Object.keys(endpointFigures) as readonly LimitedEndpoint[]

/** Whether this method and path name an endpoint whose requests may be bounded. */
export function isLimitedEndpoint(name: string): name is LimitedEndpoint {
  return Object.hasOwn(endpointFigures, name)
}

/** The figures of a profile for an endpoint. The length of a window is the same in every profile. */
export function profileFigures(profile: LimitProfile, endpoint: LimitedEndpoint): EndpointFigures {
  const figures: EndpointFigures = endpointFigures[endpoint]
  if (profile !== "none") return figures
  return figures.appWindowMs === undefined ? {} : { appWindowMs: figures.appWindowMs }
}

/** Bounds of an app other than those of requests. */
export interface AppFigures {
  /** Most rules. */
  readonly rules: number
  /** Most characters of a rule. */
  readonly ruleCharacters: number
  /** Most stream connections. */
  readonly connections: number
  /** Most posts a second on a stream connection; 0: no bound. */
  readonly postsPerSecond: number
  /** Most posts in a month, as usage counts them; 0: no bound. */
  readonly postsPerMonth: number
}

/** The figures of each profile; those of `none` are ours. */
export const appFigures: Readonly<Record<LimitProfile, AppFigures>> = {
  none: { rules: 25_000, ruleCharacters: 2_048, connections: 1, postsPerSecond: 0, postsPerMonth: 0 },
  "x-pay-per-use": {
    rules: 1_000,
    ruleCharacters: 1_024,
    connections: 1,
    postsPerSecond: 250,
    postsPerMonth: 3_000_000,
  },
  "x-enterprise": { rules: 25_000, ruleCharacters: 2_048, connections: 2, postsPerSecond: 0, postsPerMonth: 0 },
}

/** The bounds of requests by endpoint, as an operator sets them. */
export type RequestBounds = { readonly [Endpoint in LimitedEndpoint]?: RequestFigures }

/**
 * Reads bounds as an operator writes them in a setting: `GET /2/tweets/search/recent app 1000, GET /2/users/me user 10`, and
 * 0 for no bound. Throws an `Error` whose message continues "setting … must …".
 */
export function parseRequestBounds(text: string): RequestBounds {
  const bounds: { [Endpoint in LimitedEndpoint]?: RequestFigures } = {}
  for (const part of text.split(",")) {
    const [, endpoint = "", kind = "", figure = ""] = /^(\S+ \S+) (app|user) (\d{1,9})$/.exec(part.trim()) ?? []
    if (!isLimitedEndpoint(endpoint)) {
      throw new Error(
        "must name endpoints, each with app or user and a number up to 999999999, with commas between them, such as " +
          '"GET /2/tweets/search/recent app 1000, GET /2/users/me user 10".',
      )
    }
    bounds[endpoint] = { ...bounds[endpoint], [kind]: Number(figure) }
  }
  return bounds
}
