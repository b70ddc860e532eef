import type { LinkToDeliver } from "../../model/link.ts"
import type { SecretBox } from "../../runtime/secret-box.ts"
import { signingKeyOf } from "../../runtime/signatures.ts"
import type { DeliveryKeys } from "./attempt.ts"

/** The opened keys of a link, with the previous signing key until it expires. */
export class LinkKeys {
  readonly #now: DeliveryKeys
  readonly #before: { readonly keys: DeliveryKeys; readonly untilMs: number } | undefined

  /** Throws when the secrets were sealed under another master key. */
  constructor({ consumerSecretSealed, signingKeySealed, previousKey }: LinkToDeliver, secretBox: SecretBox) {
    const consumerSecret = secretBox.open(consumerSecretSealed)
    // A signing key is kept as Standard Webhooks writes it.
    const newest = signingKeyOf(secretBox.open(signingKeySealed))
    this.#now = { consumerSecret, signingKeys: [newest] }
    this.#before = previousKey && {
      keys: { consumerSecret, signingKeys: [newest, signingKeyOf(secretBox.open(previousKey.keySealed))] },
      untilMs: previousKey.untilMs,
    }
  }

  /** The keys to sign with at this time. */
  at(atMs: number): DeliveryKeys {
    return this.#before !== undefined && atMs < this.#before.untilMs ? this.#before.keys : this.#now
  }
}

/** Whether the keys of a link, read twice, have stayed the same. */
export function hasSameKeys(a: LinkToDeliver, b: LinkToDeliver): boolean {
  return (
    isSameBytes(a.consumerSecretSealed, b.consumerSecretSealed) &&
    isSameBytes(a.signingKeySealed, b.signingKeySealed) &&
    a.previousKey?.untilMs === b.previousKey?.untilMs &&
    isSameBytes(a.previousKey?.keySealed, b.previousKey?.keySealed)
  )
}

function isSameBytes(a: Uint8Array = Buffer.of(), b: Uint8Array = Buffer.of()): boolean {
  return Buffer.compare(a, b) === 0
}
