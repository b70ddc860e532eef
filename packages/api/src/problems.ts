/** Base URL of X's problem types. Source: docs.x.com; captures show the older host api.twitter.com. */
const problemHost = "https://api.x.com/2/problems"

/** Types of error. Source: X's OpenAPI documents 2.159 and 2.167. */
export const problemTypes = {
  blank: "about:blank",
  clientForbidden: `${problemHost}/client-forbidden`,
  conflict: `${problemHost}/conflict`,
  credits: `${problemHost}/credits`,
  duplicateRules: `${problemHost}/duplicate-rules`,
  internalError: `${problemHost}/internal-error`,
  invalidRequest: `${problemHost}/invalid-request`,
  invalidRules: `${problemHost}/invalid-rules`,
  operationalDisconnect: `${problemHost}/operational-disconnect`,
  resourceNotFound: `${problemHost}/resource-not-found`,
  ruleCap: `${problemHost}/rule-cap`,
  streamingConnection: `${problemHost}/streaming-connection`,
  unavailable: `${problemHost}/resource-unavailable`,
  usageCapped: `${problemHost}/usage-capped`,
  unsupportedAuthentication: `${problemHost}/unsupported-authentication`,
} as const

/** One of X's problem types. */
export type ProblemType = (typeof problemTypes)[keyof typeof problemTypes]

/** An error in a response: always these five members, and X's extras of some types. */
export interface ErrorObject {
  readonly title: string
  readonly type: ProblemType
  readonly detail: string
  readonly status: number
  /** Text for clients that show nothing else: X's message where it has one, else the detail. */
  readonly message: string
  readonly [extra: string]: unknown
}

/** Why X ends a stream connection, by the name in its disconnect message. Source: X's OpenAPI document 2.159. */
export const disconnectTypes = [
  "OperationalDisconnect",
  "UpstreamOperationalDisconnect",
  "ForceDisconnect",
  "UpstreamUncleanDisconnect",
  "SlowReader",
  "InternalError",
  "ClientApplicationStateDegraded",
  "InvalidRules",
] as const

/** One of these names. */
export type DisconnectType = (typeof disconnectTypes)[number]
