/**
 * The three signatures of a delivery.
 *
 * X has two, under the app's consumer secret and under its client secret; a receiver checks the one whose secret it has.
 * They cover the body alone, and X's challenge can be made to sign; so deliveries carry the Standard Webhooks headers too,
 * under a key of the webhook's own, over id, time and body. All are made in one buffer, in which the body stands once:
 *
 *     │ block │ id.time. │ body │     Standard Webhooks
 *           │ block │      body │     X, whose block overwrites what stands before the body
 *
 * Source: docs.x.com, "Securing webhooks"; Standard Webhooks 1.0.
 */
import { signaturePrefix, standardPreamble, standardPrefix } from "@sluice/api"
import type { AttemptSignatures } from "../../model/attempt.ts"
import { webhookTimestamp } from "../../model/delivery-headers.ts"
import { clientSecretOf } from "../../runtime/client-secret.ts"
import { blockBytes, HmacKey } from "../../runtime/hmac-key.ts"

/** Keys under which a webhook's deliveries are signed. */
export interface DeliveryKeys {
  /** The app's, of which its client secret is derived. */
  readonly consumerSecret: string
  /** The keys themselves, out of their `whsec_` text, newest first; a second one while keys change. Never empty. */
  readonly signingKeys: readonly Uint8Array[]
}

/** Bytes of the buffer that all share. A larger delivery gets one of its own. Ours. */
const sharedBytes = 65_536

const shared = Buffer.alloc(sharedBytes)

/** Signs the deliveries of a webhook. */
export class DeliverySigner {
  readonly #consumerKey: HmacKey
  readonly #clientKey: HmacKey
  readonly #signingKeys: readonly HmacKey[]

  constructor({ consumerSecret, signingKeys }: DeliveryKeys) {
    this.#consumerKey = new HmacKey(consumerSecret)
    this.#clientKey = new HmacKey(clientSecretOf(consumerSecret))
    this.#signingKeys = signingKeys.map((key) => new HmacKey(key))
  }

  /** Signs a delivery of exactly these bytes, sent at `atMs`. Each signing key adds a signature of its own. */
  sign(eventId: string, body: Uint8Array, atMs: number): AttemptSignatures {
    const preamble = standardPreamble({ id: eventId, timestamp: webhookTimestamp(atMs) })
    const bodyAt = blockBytes + preamble.length
    const end = bodyAt + body.length
    const buffer = end <= sharedBytes ? shared : Buffer.alloc(end)
    // An event id is ASCII.
    buffer.write(preamble, blockBytes, "latin1")
    buffer.set(body, bodyAt)
    const whole = buffer.subarray(0, end)
    let standard = ""
    for (const key of this.#signingKeys) standard += (standard && " ") + standardPrefix + key.macOf(whole)
    const bodyOnly = buffer.subarray(bodyAt - blockBytes, end)
    return {
      x: signaturePrefix + this.#consumerKey.macOf(bodyOnly),
      client: signaturePrefix + this.#clientKey.macOf(bodyOnly),
      standard,
    }
  }
}
