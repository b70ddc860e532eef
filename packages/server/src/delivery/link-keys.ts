import type { LinkToDeliver } from "../model/link.ts"
import type { SecretBox } from "../runtime/secret-box.ts"
import type { DeliveryKeys } from "./attempt.ts"

/** The keys of a link, opened: with the previous signing key until its time has come. */
export class LinkKeys {
  readonly #now: DeliveryKeys
  readonly #before: { readonly keys: DeliveryKeys; readonly untilMs: number } | undefined

  constructor(
    now: DeliveryKeys,
    previous: { readonly key: Uint8Array; readonly untilMs: number } | undefined,
  ) {
    this.#now = now
    this.#before = previous && {
      keys: { ...now, signingKeys: [...now.signingKeys, previous.key] },
      untilMs: previous.untilMs,
    }
  }

  /** Those to sign with now. */
  at(atMs: number): DeliveryKeys {
    return this.#before !== undefined && atMs < this.#before.untilMs ? this.#before.keys : this.#now
  }
}

/** Throws when the secrets were sealed under another master key. */
export function openKeys(link: LinkToDeliver, secretBox: SecretBox): LinkKeys {
  // A signing key is kept as Standard Webhooks writes it.
  const keyOf = (sealed: Uint8Array): Uint8Array =>
    Buffer.from(secretBox.open(sealed).replace(/^whsec_/, ""), "base64")
  const { previousKey } = link
  return new LinkKeys(
    {
      consumerSecret: secretBox.open(link.consumerSecretSealed),
      signingKeys: [keyOf(link.signingKeySealed)],
    },
    previousKey && { key: keyOf(previousKey.keySealed), untilMs: previousKey.untilMs },
  )
}
