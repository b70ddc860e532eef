/**
 * One trouble on demand: what is made to go wrong, and for how long.
 *
 * It is read from a request here, so that one that means nothing (a percentage of page tokens, the latency of a 500) is
 * refused with what would be right.
 */
import { webhookResponseMsMax, type AddTroubleBody, type TroubledResponse } from "@sluice/api"
import { asId, type TroubleId, type WebhookId } from "../model/ids.ts"
import { invalidRequests, type RequestFault } from "../model/problem.ts"

/** The occasions that it applies to: the next ones, each with its probability, or (for page tokens) all issued so far. */
export type Extent =
  | { readonly kind: "next"; readonly count: number }
  | { readonly kind: "percent"; readonly percent: number }
  | { readonly kind: "issued-until"; readonly atMs: number }

/** A response in place of the endpoint's, or what becomes of the endpoint's own. */
export type Fault =
  | { readonly kind: "status"; readonly status: number; readonly retryAfterS?: number }
  | { readonly kind: "wrong-token" }
  /** `latencyMs`: from the start of the attempt. */
  | { readonly kind: "slow"; readonly latencyMs: number }
  | { readonly kind: "cut" }

/** A trouble that an app requested. Without `webhookId` it applies to all webhooks of the app. */
export type TroubleRequest =
  | {
      readonly kind: "responses" | "challenges"
      readonly webhookId?: WebhookId
      readonly fault: Fault
      readonly extent: Extent
    }
  | { readonly kind: "repeats"; readonly webhookId?: WebhookId; readonly extent: Extent }
  | { readonly kind: "page_tokens"; readonly extent: Extent }

/** A trouble that waits for its time. */
export type Trouble = TroubleRequest & {
  readonly id: TroubleId
  readonly createdAtMs: number
  /** Number of times that it was applied. */
  readonly applied: number
}

/** Default delay of a slow response: long enough to be noticed, short enough to be delivered. Ours. */
const latencyMsDefault = 3_000

/** The members that mean something for each kind. */
const membersOf: Readonly<Record<string, readonly (keyof AddTroubleBody)[]>> = {
  responses: ["webhook_id", "response", "latency_ms", "retry_after_seconds", "next", "percent"],
  repeats: ["webhook_id", "next", "percent"],
  challenges: ["webhook_id", "response", "next", "percent"],
  page_tokens: ["next"],
}

const responsesOf: Readonly<Record<string, readonly TroubledResponse[]>> = {
  responses: ["429", "500", "503", "slow", "cut"],
  challenges: ["wrong_token", "500", "503", "cut"],
}

/** Reads a request that the schema has found well-formed. Throws a 400 `Problem` that says what would be right. */
export function parseTrouble(body: AddTroubleBody, nowMs: number): TroubleRequest {
  const faults = faultsOf(body)
  if (faults.length > 0) throw invalidRequests(faults)
  const webhook = body.webhook_id === undefined ? {} : { webhookId: asId<WebhookId>(body.webhook_id) }
  const extent = extentOf(body, nowMs)
  switch (body.kind) {
    case "page_tokens":
      return { kind: "page_tokens", extent }
    case "repeats":
      return { kind: "repeats", ...webhook, extent }
    case "challenges":
      return { kind: "challenges", ...webhook, fault: faultOf(body, "wrong_token"), extent }
    default:
      return { kind: "responses", ...webhook, fault: faultOf(body, "500"), extent }
  }
}

function faultsOf(body: AddTroubleBody): readonly RequestFault[] {
  const { kind, response, next, percent } = body
  const allowed = membersOf[kind] ?? []
  const stray = Object.keys(body).filter((name) => name !== "kind" && !(allowed as readonly string[]).includes(name))
  const faults = stray.map((name) => fault(name, `is not for ${kind}; known are ${allowed.join(", ")}`))
  const responses: readonly string[] = responsesOf[kind] ?? []
  if (kind === "responses" && response === undefined) {
    faults.push(fault("response", `is missing; it is one of ${responses.join(", ")}`))
  }
  if (response !== undefined && responses.length > 0 && !responses.includes(response)) {
    faults.push(fault("response", `must be one of ${responses.join(", ")} for ${kind}`))
  }
  if (next !== undefined && percent !== undefined) faults.push(fault("percent", "cannot be combined with `next`"))
  if (kind !== "responses") return faults
  if (body.latency_ms !== undefined && response !== "slow") faults.push(fault("latency_ms", "is for slow responses"))
  if (body.retry_after_seconds !== undefined && response !== "429" && response !== "503") {
    faults.push(fault("retry_after_seconds", "is for 429 and 503"))
  }
  return faults
}

function fault(name: string, what: string): RequestFault {
  return { message: `\`${name}\` ${what}`, parameters: { [name]: [] } }
}

function extentOf({ kind, next, percent }: AddTroubleBody, nowMs: number): Extent {
  if (percent !== undefined) return { kind: "percent", percent }
  if (next === undefined && kind === "page_tokens") return { kind: "issued-until", atMs: nowMs }
  return { kind: "next", count: next ?? 1 }
}

function faultOf(body: AddTroubleBody, otherwise: TroubledResponse): Fault {
  const response = body.response ?? otherwise
  if (response === "wrong_token") return { kind: "wrong-token" }
  if (response === "cut") return { kind: "cut" }
  if (response === "slow") {
    return { kind: "slow", latencyMs: Math.min(body.latency_ms ?? latencyMsDefault, webhookResponseMsMax) }
  }
  const retryAfterS = body.retry_after_seconds
  return { kind: "status", status: Number(response), ...(retryAfterS !== undefined && { retryAfterS }) }
}
