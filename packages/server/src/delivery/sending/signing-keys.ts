import type { LinkToDeliver } from "../../model/link.ts"
import type { SecretBox } from "../../runtime/secret-box.ts"
import { signingKeyOf } from "../../runtime/signatures.ts"
import { DeliverySigner } from "./delivery-signer.ts"

/** The opened keys of a link, with the previous signing key until it expires. */
export class LinkKeys {
  readonly #now: DeliverySigner
  readonly #before: { readonly signer: DeliverySigner; readonly untilMs: number } | undefined

  /** Throws when the secrets were sealed under another master key. */
  constructor({ consumerSecretSealed, signingKeySealed, previousKey }: LinkToDeliver, secretBox: SecretBox) {
    const consumerSecret = secretBox.open(consumerSecretSealed)
    // A signing key is kept as Standard Webhooks writes it.
    const newest = signingKeyOf(secretBox.open(signingKeySealed))
    this.#now = new DeliverySigner({ consumerSecret, signingKeys: [newest] })
    this.#before = previousKey && {
      signer: new DeliverySigner({
        consumerSecret,
        signingKeys: [newest, signingKeyOf(secretBox.open(previousKey.keySealed))],
      }),
      untilMs: previousKey.untilMs,
    }
  }

  /** Signs by those that are in use at this time. */
  at(atMs: number): DeliverySigner {
    return this.#before !== undefined && atMs < this.#before.untilMs ? this.#before.signer : this.#now
  }
}

/** True when the keys of a link, read twice, have stayed the same. */
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
