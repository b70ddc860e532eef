/** The master key of a store, compared with what the store is sealed under. */
import { ConfigError } from "../runtime/config-error.ts"
import type { Random } from "../runtime/random.ts"
import { createSecretBox, type SecretBox } from "../runtime/secret-box.ts"
import type { Store } from "../store/store.ts"
import { masterKey } from "./master-key.ts"

/** The key of a store. */
interface StoreKey {
  readonly masterKey: Uint8Array
  /** Seals secrets under it. */
  readonly secretBox: SecretBox
}

/**
 * The master key, and what seals secrets under it. The key file is created after the store, so a key without a store shows that the
 * store was lost; and only for an empty store. Throws `ConfigError` for another key than the store's: nothing could be
 * signed and no token derived. With `mayMakeKey` false it makes none: a server of the store may have the key in its
 * settings.
 */
export async function storeKeyOf(
  { data, masterKey: setting }: { readonly data: string; readonly masterKey?: string | undefined },
  store: Pick<Store, "apps" | "lastId">,
  random: Random,
  { mayMakeKey = true } = {},
): Promise<StoreKey> {
  const mayCreate = mayMakeKey && (await store.lastId()) === "0"
  const key = masterKey(data, setting, random, { mayCreate })
  const secretBox = createSecretBox(key, random)
  const [app] = await store.apps()
  if (app === undefined || secretBox.opens(app.consumerSecretSealed)) return { masterKey: key, secretBox }
  throw otherKey()
}

/** The key is not the store's. */
export function otherKey(): ConfigError {
  return new ConfigError(
    "The master key is not the one that this store's secrets are sealed under. " +
      "Use the key file that belongs to the store, or set SLUICE_MASTER_KEY to its key. After a rotation of the key that " +
      "was cut short, run it again.",
  )
}
