/**
 * What a webhook's owner checks: the challenge, and the two signatures of a delivery.
 *
 * X's signature covers the body alone, so anybody who has seen a delivery can send it again. The Standard Webhooks
 * signature covers an id and a time as well; Sluice sends both.
 *
 * Source: docs.x.com, "Securing webhooks"; Standard Webhooks 1.0.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import {
  signatureHeader,
  signaturePrefix,
  standardHeaders,
  standardPreamble,
  standardPrefix,
} from "@sluice/api/signature"

/** Secrets of a webhook. */
export interface WebhookSecrets {
  /** The app's. */
  readonly consumerSecret: string
  /**
   * Keys of the Standard Webhooks signature, as `whsec_…`; more than one while keys are rotated. With them a delivery
   * needs both signatures and a fresh timestamp; without them X's signature is all that is checked.
   */
  readonly signingKeys?: readonly string[]
  /** Oldest and furthest timestamp that is taken, ms from now. By default five minutes, as Standard Webhooks has it. */
  readonly toleranceMs?: number
}

/** Headers with lower-case names, as `node:http` has them. */
export type WebhookHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** Whether a delivery is genuine. `fault`: why not, for a log; do not send it back. */
export type Verification =
  | {
      readonly ok: true
      /** The same for every attempt at a delivery; `undefined` when X's signature alone was checked. */
      readonly eventId: string | undefined
    }
  | { readonly ok: false; readonly fault: string }

const toleranceMsDefault = 300_000

/** The JSON to answer `GET …?crc_token=…` with. */
export function challengeResponse(consumerSecret: string, crcToken: string): { response_token: string } {
  return { response_token: signature(consumerSecret, crcToken) }
}

/**
 * Checks a delivery: `body` as it came, byte for byte. Takes the same time whatever part of a signature is wrong.
 * Throws `TypeError` for an empty secret, under which anybody could sign.
 */
export function verifyDelivery(
  delivery: { readonly headers: WebhookHeaders; readonly body: Uint8Array },
  { consumerSecret, signingKeys = [], toleranceMs = toleranceMsDefault }: WebhookSecrets,
  nowMs: number,
): Verification {
  const { headers, body } = delivery
  const keys = signingKeys.map(signingKeyOf)
  if (consumerSecret === "" || keys.some((key) => key.length === 0))
    throw new TypeError("a secret of the webhook is empty")
  if (!isSame(textOf(headers, signatureHeader), signature(consumerSecret, body)))
    return { ok: false, fault: `${signatureHeader} is missing or wrong` }
  if (keys.length === 0) return { ok: true, eventId: undefined }
  const [id, timestamp, signatures] = [
    textOf(headers, standardHeaders.id),
    textOf(headers, standardHeaders.timestamp),
    textOf(headers, standardHeaders.signatures),
  ]
  const expected = keys.map((key) => standardSignature(key, { id, timestamp, body }))
  const isSigned = signatures.split(" ").some((given) => expected.some((one) => isSame(given, one)))
  if (id === "" || !isSigned) return { ok: false, fault: `${standardHeaders.signatures} is missing or wrong` }
  const isFresh = /^\d{1,15}$/.test(timestamp) && Math.abs(Number(timestamp) * 1000 - nowMs) <= toleranceMs
  return isFresh ? { ok: true, eventId: id } : { ok: false, fault: `${standardHeaders.timestamp} is stale` }
}

/** The value of a header; empty when it is missing or was sent more than once. */
function textOf(headers: WebhookHeaders, name: string): string {
  const value = headers[name]
  return typeof value === "string" ? value : ""
}

function signature(consumerSecret: string, bytes: string | Uint8Array): string {
  return signaturePrefix + createHmac("sha256", consumerSecret).update(bytes).digest("base64")
}

function standardSignature(
  key: Uint8Array,
  message: { readonly id: string; readonly timestamp: string; readonly body: string | Uint8Array },
): string {
  const hmac = createHmac("sha256", key).update(standardPreamble(message)).update(message.body)
  return standardPrefix + hmac.digest("base64")
}

function signingKeyOf(text: string): Uint8Array {
  return Buffer.from(text.replace(/^whsec_/, ""), "base64")
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
