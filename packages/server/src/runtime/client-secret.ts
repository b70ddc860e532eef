import { hkdfSync } from "node:crypto"

/** Bytes of a client secret, which is their base64url. Ours. */
const secretBytes = 32

/**
 * The OAuth 2.0 client secret of the app with this consumer secret. It is derived, so every app has one, it rotates with the
 * consumer secret, and a rotation of the master key leaves it as it is.
 *
 * HKDF takes the consumer secret as its input and not as a key: the response to a challenge is an HMAC of a caller's
 * text under the consumer secret, so an endpoint would give away any secret made by such an HMAC. Nothing leads from
 * the client secret back to the consumer secret.
 *
 * Source: RFC 5869. The derivation is ours.
 */
export function clientSecretOf(consumerSecret: string): string {
  return Buffer.from(hkdfSync("sha256", consumerSecret, "", "sluice client secret", secretBytes)).toString("base64url")
}
