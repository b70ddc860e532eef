/**
 * One attempt to deliver: what is sent, signed twice, and what the answer means.
 *
 * X's signature covers the body alone, and its challenge can be made to sign; so deliveries carry the Standard
 * Webhooks headers too, under a key of the webhook's own, over id, time and body.
 *
 * Source: docs.x.com, "Securing webhooks"; Standard Webhooks 1.0.
 */
import { createHmac } from "node:crypto"
import { signature, signatureHeader } from "@sluice/api"
import type { AttemptOutcome } from "../runtime/events.ts"
import type { Outbound } from "../runtime/outbound.ts"

/** Keys under which a webhook's deliveries are signed. */
export interface DeliveryKeys {
  readonly consumerSecret: string
  /** The key itself, out of its `whsec_` text. */
  readonly signingKey: Uint8Array
}

/** How an attempt ended. `status` is there when an answer came. */
export interface AttemptResult {
  readonly outcome: AttemptOutcome
  readonly status: number | undefined
}

/** Headers of a delivery of exactly these bytes, sent at `atMs`. */
export function deliveryHeaders(
  keys: DeliveryKeys,
  eventId: string,
  body: Uint8Array,
  atMs: number,
): Record<string, string> {
  const atS = Math.floor(atMs / 1000)
  const signed = createHmac("sha256", keys.signingKey)
    .update(`${eventId}.${atS}.`)
    .update(body)
    .digest("base64")
  return {
    "content-type": "application/json",
    [signatureHeader]: signature(keys.consumerSecret, body),
    "webhook-id": eventId,
    "webhook-timestamp": String(atS),
    "webhook-signature": `v1,${signed}`,
  }
}

/** Sends a delivery once. Any 2xx delivers; X's documents say 200, and no receiver means anything else by 204. */
export async function attemptDelivery(
  outbound: Outbound,
  delivery: { url: string; headers: Readonly<Record<string, string>>; body: Uint8Array; deadlineMs: number },
): Promise<AttemptResult> {
  const result = await outbound.send({ method: "POST", ...delivery })
  if (result.kind === "failure") return { outcome: result.outcome, status: undefined }
  return { outcome: outcomeOf(result.status), status: result.status }
}

function outcomeOf(status: number): AttemptOutcome {
  if (status < 300) return "delivered"
  return status < 400 ? "redirect" : "refused"
}
