/** The master key, and whether it opens the secrets of the store. */
import type { Config } from "../config.ts"
import { systemRandom as random } from "../runtime/random.ts"
import { createSecretBox, type SecretBox } from "../runtime/secret-box.ts"
import { masterKey } from "../startup/master-key.ts"
import { fault, type Finding } from "./finding.ts"
import { damageNamedMax, restore, type SeenStore } from "./read-store.ts"

/** The key, and whether it opens what the store holds sealed. */
export function readKey(
  config: Config,
  seen: SeenStore | undefined,
): { readonly findings: readonly Finding[]; readonly secretBox?: SecretBox; readonly key?: Uint8Array } {
  let key: Uint8Array
  let secretBox: SecretBox
  try {
    key = masterKey(config.data, config.masterKey, random, { mayCreate: false })
    secretBox = createSecretBox(key, random)
  } catch (error) {
    // The file may be there and not be this user's to read.
    return { findings: [fault("settings", error instanceof Error ? error.message : String(error))] }
  }
  const sealed = [
    ...(seen?.apps ?? []).map(({ id, consumerSecretSealed }) => ({
      what: `The consumer secret of app ${id}`,
      bytes: consumerSecretSealed,
    })),
    ...(seen?.webhooks ?? []).map(({ id, signingKeySealed }) => ({
      what: `The signing key of webhook ${id}`,
      bytes: signingKeySealed,
    })),
  ]
  const shut = sealed.filter(({ bytes }) => !secretBox.opens(bytes))
  if (shut.length === 0) return { findings: [], secretBox, key }
  if (shut.length === sealed.length) {
    return {
      findings: [
        fault(
          "settings",
          "The master key is not the one that this store's secrets are sealed under.",
          "Use the key file that belongs to the store, or set SLUICE_MASTER_KEY to its key.",
        ),
      ],
    }
  }
  const findings = shut.map(({ what }) =>
    fault("store", `${what} does not open under the master key that opens the others.`, restore),
  )
  return { findings: findings.slice(0, damageNamedMax), secretBox, key }
}
