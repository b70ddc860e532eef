/**
 * The form of the signatures of a delivery: their headers, and what they cover. The HMAC itself is made where it is
 * needed, since Node's is at once and a browser's is not.
 */

/** Header that carries X's signature under the consumer secret. Source: docs.x.com, "Securing webhooks". */
export const signatureHeader = "x-twitter-webhooks-signature"

/** Header that carries X's signature under the client secret. Source: public reports of X's webhook pages of October 2026. */
export const clientSignatureHeader = "x-twitter-webhooks-signature-oauth2"

/** What stands before X's signature: the base64 of the HMAC-SHA256. Source: docs.x.com, "Securing webhooks". */
export const signaturePrefix = "sha256="

/** Headers of the Standard Webhooks signature of a delivery. Source: Standard Webhooks 1.0. */
export const standardHeaders = {
  id: "webhook-id",
  /** Unix seconds. */
  timestamp: "webhook-timestamp",
  /** One signature for each key, with spaces between them. */
  signatures: "webhook-signature",
} as const

/** What stands before a Standard Webhooks signature: the base64 of the HMAC-SHA256. */
export const standardPrefix = "v1,"

/** What stands before a signing key where it is written as text: its base64. Source: Standard Webhooks 1.0. */
export const signingKeyPrefix = "whsec_"

/** What a Standard Webhooks signature covers before the body. `timestamp`: Unix seconds. */
export function standardPreamble({ id, timestamp }: { readonly id: string; readonly timestamp: string }): string {
  return `${id}.${timestamp}.`
}
