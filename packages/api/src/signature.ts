/**
 * The form of a delivery's signatures: their headers and the text that they cover. The HMAC is computed elsewhere, because
 * Node's is synchronous and a browser's is not.
 */

/** Header that carries X's signature under the consumer secret. Source: docs.x.com, "Securing webhooks". */
export const signatureHeader = "x-twitter-webhooks-signature"

/** Header that carries X's signature under the client secret. Source: public reports of X's webhook pages of October 2026. */
export const clientSignatureHeader = "x-twitter-webhooks-signature-oauth2"

/** Prefix of X's signature; the base64 of the HMAC-SHA256 follows it. Source: docs.x.com, "Securing webhooks". */
export const signaturePrefix = "sha256="

/** Headers of the Standard Webhooks signature of a delivery. Source: Standard Webhooks 1.0. */
export const standardHeaders = {
  id: "webhook-id",
  /** Unix seconds. */
  timestamp: "webhook-timestamp",
  /** One signature for each key, with spaces between them. */
  signatures: "webhook-signature",
} as const

/** Prefix of a Standard Webhooks signature; the base64 of the HMAC-SHA256 follows it. */
export const standardPrefix = "v1,"

/** Prefix of a signing key in text; its base64 follows it. Source: Standard Webhooks 1.0. */
export const signingKeyPrefix = "whsec_"

/** Text that a Standard Webhooks signature covers before the body. `timestamp`: Unix seconds. */
export function standardPreamble({ id, timestamp }: { readonly id: string; readonly timestamp: string }): string {
  return `${id}.${timestamp}.`
}
