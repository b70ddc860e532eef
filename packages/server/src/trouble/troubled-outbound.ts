/**
 * Applies trouble on demand to outbound requests. Deliveries and challenges are sent through one of these in place of the
 * real one, so the sending code is the same with and without trouble, and a server without trouble does nothing more.
 *
 *     429, 500, 503, wrong token     in place of the endpoint, as by a proxy in front of it: nothing is sent
 *     slow, cut                      the endpoint receives the delivery; its response comes late, or is lost
 *     repeat                         a delivery that the endpoint received is sent once more, byte for byte
 *
 * A challenge that is cut is not sent: all that its endpoint would do is lost anyway.
 */
import type { Clock } from "../runtime/clock.ts"
import type { Outbound, OutboundRequest, OutboundResult } from "../runtime/outbound/outbound.ts"
import type { Fault } from "./trouble.ts"
import type { Troubles, WebhookOfApp } from "./troubles.ts"

/** Sends for one webhook. */
type Sending = Pick<Outbound, "send">

/** Makes what deliveries and challenges are sent through. */
export interface TroubledOutbound {
  readonly deliveriesTo: (webhook: WebhookOfApp) => Sending
  readonly challengesOf: (webhook: WebhookOfApp) => Sending
}

/** Over the real one. A slow response waits no longer than until `closing` is aborted. */
export function troubledOutbound(
  outbound: Outbound,
  troubles: Troubles,
  { clock, closing }: { readonly clock: Clock; readonly closing: AbortSignal },
): TroubledOutbound {
  async function late(request: OutboundRequest, latencyMs: number): Promise<OutboundResult> {
    const startedMs = clock.monotonicMs()
    const result = await outbound.send(request)
    await clock.sleep(Math.max(0, latencyMs - (clock.monotonicMs() - startedMs)), closing)
    if (latencyMs < request.deadlineMs || closing.aborted) return result
    return {
      kind: "failure",
      outcome: "timeout",
      detail: `no response within ${request.deadlineMs} ms (trouble on demand)`,
    }
  }

  function meeting(request: OutboundRequest, fault: Fault): Promise<OutboundResult> | OutboundResult {
    switch (fault.kind) {
      case "slow":
        return late(request, fault.latencyMs)
      case "cut":
        return cut
      case "wrong-token":
        return { kind: "response", status: ok, body: '{"response_token":"sha256=wrong"}' }
      case "status": {
        const { status, retryAfterS } = fault
        const retryAfter = retryAfterS === undefined ? {} : { retryAfter: String(retryAfterS) }
        return { kind: "response", status, body: "", ...retryAfter }
      }
    }
  }

  async function troubledDelivery(request: OutboundRequest, webhook: WebhookOfApp): Promise<OutboundResult> {
    const fault = troubles.takeResponse(webhook)
    if (fault?.kind === "cut") await outbound.send(request)
    const result = await (fault === undefined ? outbound.send(request) : meeting(request, fault))
    if (isReceived(result) && troubles.takeRepeat(webhook)) await outbound.send(request)
    return result
  }

  return {
    deliveriesTo: (webhook) => ({
      send: (request) => (troubles.hasAny(webhook.appId) ? troubledDelivery(request, webhook) : outbound.send(request)),
    }),
    challengesOf: (webhook) => ({
      async send(request) {
        const fault = troubles.takeChallenge(webhook)
        return fault === undefined ? outbound.send(request) : meeting(request, fault)
      },
    }),
  }
}

const ok = 200

/** A response by which a delivery is received. */
function isReceived(result: OutboundResult): boolean {
  return result.kind === "response" && result.status < 300
}

const cut: OutboundResult = {
  kind: "failure",
  outcome: "connect",
  detail: "the connection was closed before a response began (trouble on demand)",
}
