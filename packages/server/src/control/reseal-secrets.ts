/** Reseals all secrets under another master key, and derives anew what was derived from the old one. */
import type { SecretBox } from "../runtime/secret-box.ts"
import type { Clock } from "../runtime/clock.ts"
import type { ReplacedSecrets } from "../store/port/app-store.ts"
import type { Store } from "../store/store.ts"
import { storedAppToken } from "./apps.ts"

/** The number of secrets that were resealed. */
export interface Resealed {
  readonly apps: number
  readonly webhooks: number
}

/**
 * Seals the secrets of all apps and webhooks anew, those of revoked apps too, and replaces the tokens of apps by those
 * of the new key, in one transaction. Consumer keys and secrets, signing keys, and the tokens of operators and producers
 * stay. Throws when a secret does not open under `from`: nothing has changed then.
 */
export async function resealSecrets({
  store,
  from,
  to,
  clock,
}: {
  readonly store: Store
  readonly from: SecretBox
  readonly to: SecretBox
  readonly clock: Clock
}): Promise<Resealed> {
  const apps = await store.apps()
  const webhooks = (await Promise.all(apps.map(({ id }) => store.webhooks(id)))).flat()
  const anew = (sealed: Uint8Array): Uint8Array => to.seal(from.open(sealed))
  const nowMs = clock.nowMs()
  const secrets: ReplacedSecrets = {
    apps: apps.map((app) => ({
      id: app.id,
      consumerSecretSealed: anew(app.consumerSecretSealed),
      tokens: app.revoked ? [] : [storedAppToken(app, to, nowMs)],
    })),
    webhooks: webhooks.map(({ id, signingKeySealed, previousKey }) => ({
      id,
      signingKeySealed: anew(signingKeySealed),
      ...(previousKey !== undefined && { previousKeySealed: anew(previousKey.keySealed) }),
    })),
  }
  await store.replaceSecrets(secrets)
  return { apps: apps.length, webhooks: webhooks.length }
}
