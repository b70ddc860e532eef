import { createHmac } from "node:crypto"

/** Header that carries the signature of a delivery. Source: docs.x.com, "Securing webhooks". */
export const signatureHeader = "x-twitter-webhooks-signature"

/** Headers of the second signature of a delivery. Source: Standard Webhooks 1.0. */
export const standardHeaders = {
  id: "webhook-id",
  /** Unix seconds. */
  timestamp: "webhook-timestamp",
  /** One signature for each key, with spaces between them. */
  signatures: "webhook-signature",
} as const

/**
 * `sha256=` and the base64 HMAC-SHA256 of exactly these bytes under the app's consumer secret.
 *
 * The same construction signs a delivery and the response to a challenge, as X has it; it holds no timestamp.
 * Source: docs.x.com, "Securing webhooks".
 */
export function signature(consumerSecret: string, bytes: string | Uint8Array): string {
  return `sha256=${createHmac("sha256", consumerSecret).update(bytes).digest("base64")}`
}

/** `v1,` and the base64 HMAC-SHA256 of id, Unix seconds and body under a webhook's key. Source: Standard Webhooks 1.0. */
export function standardSignature(
  key: Uint8Array,
  message: { readonly id: string; readonly timestamp: string; readonly body: string | Uint8Array },
): string {
  const { id, timestamp, body } = message
  return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64")}`
}

/** The key itself, from its text as Standard Webhooks writes it: `whsec_` and base64. */
export function signingKeyOf(text: string): Uint8Array {
  return Buffer.from(text.replace(/^whsec_/, ""), "base64")
}
