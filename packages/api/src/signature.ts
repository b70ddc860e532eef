import { createHmac } from "node:crypto"

/** Header that carries the signature of a delivery. Source: docs.x.com, "Securing webhooks". */
export const signatureHeader = "x-twitter-webhooks-signature"

/**
 * `sha256=` and the base64 HMAC-SHA256 of exactly these bytes under the app's consumer secret.
 *
 * The same construction signs a delivery and answers a challenge, as X has it; it holds no time stamp.
 * Source: docs.x.com, "Securing webhooks".
 */
export function signature(consumerSecret: string, bytes: string | Uint8Array): string {
  return `sha256=${createHmac("sha256", consumerSecret).update(bytes).digest("base64")}`
}
