/**
 * One attempt to deliver: what is sent, signed twice, and what the response means.
 *
 * X's signature covers the body alone, and its challenge can be made to sign; so deliveries carry the Standard
 * Webhooks headers too, under a key of the webhook's own, over id, time and body.
 *
 * Source: docs.x.com, "Securing webhooks"; Standard Webhooks 1.0.
 */
import { signatureHeader, standardHeaders } from "@sluice/api"
import type { AttemptOutcome } from "@sluice/api"
import { truncateForDisplay } from "../../model/truncate.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { Outbound } from "../../runtime/outbound.ts"
import { signature, standardSignature } from "../../runtime/signatures.ts"
import { retryAfterMs } from "./retry-after.ts"

/** Keys under which a webhook's deliveries are signed. */
export interface DeliveryKeys {
  readonly consumerSecret: string
  /** The keys themselves, out of their `whsec_` text, newest first; a second one while keys change. Never empty. */
  readonly signingKeys: readonly Uint8Array[]
}

/** How an attempt ended. */
export interface AttemptResult {
  readonly outcome: AttemptOutcome
  /** Of a complete response. */
  readonly status: number | undefined
  /**
   * The `Retry-After` of a response that is not 2xx, unclamped: 0, negative for a date that is past, or beyond all
   * bounds. `undefined` when there is none, or it cannot be parsed.
   */
  readonly retryAfterMs: number | undefined
  /**
   * What went wrong, in a few words for people; `undefined` when it is delivered. At most 200 characters without
   * control characters, and nothing of a response's body, which the webhook's owner may not be allowed to read.
   */
  readonly error: string | undefined
}

/** Headers of a delivery of exactly these bytes, sent at `atMs`. Each signing key adds a signature of its own. */
export function deliveryHeaders(
  keys: DeliveryKeys,
  eventId: string,
  body: Uint8Array,
  atMs: number,
): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1000))
  const message = { id: eventId, timestamp, body }
  return {
    "content-type": "application/json",
    [signatureHeader]: signature(keys.consumerSecret, body),
    [standardHeaders.id]: eventId,
    [standardHeaders.timestamp]: timestamp,
    [standardHeaders.signatures]: keys.signingKeys.map((key) => standardSignature(key, message)).join(" "),
  }
}

/**
 * Sends a delivery once. Any 2xx delivers; X's documents say 200, and no receiver means anything else by 204.
 * The clock is read only after a response with `Retry-After`.
 */
export async function attemptDelivery(
  outbound: Outbound,
  delivery: { url: string; headers: Readonly<Record<string, string>>; body: Uint8Array; deadlineMs: number },
  clock: Pick<Clock, "nowMs">,
): Promise<AttemptResult> {
  const { url, headers, body, deadlineMs } = delivery
  const result = await outbound.send({ method: "POST", url, headers, body, deadlineMs })
  if (result.kind === "failure") {
    const { outcome, detail } = result
    return { outcome, status: undefined, retryAfterMs: undefined, error: truncateForDisplay(detail) }
  }
  const { status, retryAfter } = result
  if (status < 300) return { outcome: "delivered", status, retryAfterMs: undefined, error: undefined }
  return {
    outcome: outcomeOf(status),
    status,
    retryAfterMs: retryAfter === undefined ? undefined : retryAfterMs(retryAfter, clock.nowMs()),
    error: `answered with status ${status}${remarkOf(status)}`,
  }
}

function outcomeOf(status: number): AttemptOutcome {
  if (status < 400) return "redirect"
  if (status >= 500) return "server_error"
  return status === gone ? "gone" : "rejected"
}

/** The status by which an endpoint refuses all further deliveries. Source: Standard Webhooks 1.0; RFC 9110, 15.5.11. */
const gone = 410

function remarkOf(status: number): string {
  if (status < 400) return "; redirects are not followed"
  return status === gone ? ": gone for good" : ""
}
