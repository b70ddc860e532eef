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
import type { AttemptOutcome } from "@sluice/api"
import type { Clock } from "../runtime/clock.ts"
import type { Outbound } from "../runtime/outbound.ts"
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
  /** Of a whole answer. */
  readonly status: number | undefined
  /**
   * How long an answer that is not 2xx asks to be left alone. As it was asked: 0, negative for a date that is past,
   * or beyond all bounds, which is for the caller to clamp. `undefined` when it did not ask, or not readably.
   */
  readonly retryAfterMs: number | undefined
  /**
   * What went wrong, in short words for people; `undefined` when it is delivered. At most 200 characters without
   * controls, and nothing of an answer's body, which may come from where the webhook's owner has no business to read.
   */
  readonly error: string | undefined
}

/** Most characters of an attempt's `error`. */
const errorCharactersMax = 200

/** Headers of a delivery of exactly these bytes, sent at `atMs`. Each signing key adds a signature of its own. */
export function deliveryHeaders(
  keys: DeliveryKeys,
  eventId: string,
  body: Uint8Array,
  atMs: number,
): Record<string, string> {
  const atS = Math.floor(atMs / 1000)
  const before = `${eventId}.${atS}.`
  return {
    "content-type": "application/json",
    [signatureHeader]: signature(keys.consumerSecret, body),
    "webhook-id": eventId,
    "webhook-timestamp": String(atS),
    "webhook-signature": keys.signingKeys.map((key) => standardSignature(key, before, body)).join(" "),
  }
}

function standardSignature(key: Uint8Array, before: string, body: Uint8Array): string {
  return `v1,${createHmac("sha256", key).update(before).update(body).digest("base64")}`
}

/**
 * Sends a delivery once. Any 2xx delivers; X's documents say 200, and no receiver means anything else by 204.
 * The clock is asked only after an answer that names a time.
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
    return { outcome, status: undefined, retryAfterMs: undefined, error: shortWords(detail) }
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
  if (status >= 500) return "failed"
  return status === gone ? "gone" : "rejected"
}

/** The status by which an endpoint says that it wants no more. Source: Standard Webhooks 1.0; RFC 9110, 15.5.11. */
const gone = 410

function remarkOf(status: number): string {
  if (status < 400) return "; redirects are not followed"
  return status === gone ? ": gone for good" : ""
}

/** A certificate's names and DNS are other people's texts, so what could hide or go on for ever is left out. */
function shortWords(text: string): string {
  const characters = Array.from(text.toWellFormed().replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " "))
  if (characters.length <= errorCharactersMax) return characters.join("")
  return `${characters.slice(0, errorCharactersMax - 1).join("")}…`
}
