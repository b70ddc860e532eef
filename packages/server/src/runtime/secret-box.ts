import { createCipheriv, createDecipheriv, hkdfSync } from "node:crypto"
import type { Random } from "./random.ts"

/**
 * Secrets at rest, and keys for each purpose out of one master key.
 *
 * A sealed secret is `nonce (12) ‖ ciphertext ‖ tag (16)` of AES-256-GCM. Source: NIST SP 800-38D; RFC 5869.
 */
export interface SecretBox {
  seal(text: string): Uint8Array
  /** Throws when the bytes were not sealed under this key: the key file was changed, or the store was. */
  open(sealed: Uint8Array): string
  /** True when the bytes were sealed under this key. */
  opens(sealed: Uint8Array): boolean
  /** 32 bytes that serve this purpose alone. The same for the same master key. */
  derive(purpose: string): Uint8Array
}

/** Length of the master key. */
export const masterKeyBytes = 32

/** The box of a master key of `masterKeyBytes` bytes. */
export function createSecretBox(masterKey: Uint8Array, random: Random): SecretBox {
  const derive = (purpose: string): Uint8Array =>
    new Uint8Array(hkdfSync("sha256", masterKey, "", `sluice ${purpose}`, 32))
  const sealingKey = derive("secrets at rest")
  const open = (sealed: Uint8Array): string => {
    const decipher = createDecipheriv("aes-256-gcm", sealingKey, sealed.subarray(0, 12))
    decipher.setAuthTag(sealed.subarray(-16))
    return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]).toString("utf8")
  }
  return {
    seal(text) {
      const nonce = random.bytes(12)
      const cipher = createCipheriv("aes-256-gcm", sealingKey, nonce)
      return Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()])
    },
    open,
    opens(sealed) {
      try {
        open(sealed)
        return true
      } catch {
        // A seal that does not open is the result, not a fault.
        return false
      }
    },
    derive,
  }
}
