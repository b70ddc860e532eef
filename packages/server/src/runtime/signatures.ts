/** The signatures of deliveries and of the responses to challenges, made at once; their form is in `@sluice/api`. */
import { createHmac } from "node:crypto"
import { signaturePrefix, signingKeyPrefix, standardPreamble, standardPrefix } from "@sluice/api"

/**
 * `sha256=` and the base64 HMAC-SHA256 of exactly these bytes under a secret of the app: consumer or client secret.
 *
 * The same construction signs a delivery and the response to a challenge, as X has it; it holds no timestamp.
 * Source: docs.x.com, "Securing webhooks".
 */
export function signature(secret: string, bytes: string | Uint8Array): string {
  return signaturePrefix + createHmac("sha256", secret).update(bytes).digest("base64")
}

/** `v1,` and the base64 HMAC-SHA256 of id, Unix seconds and body under a webhook's key. Source: Standard Webhooks 1.0. */
export function standardSignature(
  key: Uint8Array,
  message: { readonly id: string; readonly timestamp: string; readonly body: string | Uint8Array },
): string {
  const hmac = createHmac("sha256", key).update(standardPreamble(message)).update(message.body)
  return standardPrefix + hmac.digest("base64")
}

/** The key itself, from its text as Standard Webhooks writes it: `whsec_` and base64. */
export function signingKeyOf(text: string): Uint8Array {
  return Buffer.from(text.startsWith(signingKeyPrefix) ? text.slice(signingKeyPrefix.length) : text, "base64")
}
