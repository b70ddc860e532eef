/**
 * What a webhook's owner makes and checks: the response to a challenge, and the two signatures of a delivery.
 *
 * X's signature covers the body alone, so anybody who has seen a delivery can send it again. The Standard Webhooks
 * signature covers an id and a time as well; Sluice sends both. By WebCrypto, as every platform has that.
 *
 * Source: docs.x.com, "Securing webhooks"; Standard Webhooks 1.0.
 */
import {
  signatureHeader,
  signaturePrefix,
  signingKeyPrefix,
  standardHeaders,
  standardPreamble,
  standardPrefix,
} from "@sluice/api/signature"

/** Secrets of a webhook. */
export interface WebhookSecrets {
  /** The app's. */
  readonly consumerSecret: string
  /**
   * Keys of the Standard Webhooks signature, as `whsec_…`; more than one while keys are rotated. With them a delivery
   * needs both signatures and a fresh timestamp; without them X's signature is all that is checked.
   */
  readonly signingKeys?: readonly string[] | undefined
  /** Oldest and furthest timestamp that is taken, ms from now. By default five minutes, as Standard Webhooks has it. */
  readonly toleranceMs?: number | undefined
}

/** Whether a delivery is genuine. `fault`: why not, for a log; do not send it back. */
type Verification =
  | {
      readonly ok: true
      /** The same for every attempt at a delivery, and nobody else can make one. */
      readonly id: string
      /** When it was sent, as signed; `undefined` when X's signature alone was checked. */
      readonly sentAtMs: number | undefined
    }
  | { readonly ok: false; readonly fault: string }

type Bytes = Uint8Array<ArrayBuffer>

const toleranceMsDefault = 300_000

const encoder = new TextEncoder()

/** Throws `TypeError` for a secret that is none: anybody could sign under it. */
export function checkSecrets({ consumerSecret, signingKeys = [] }: WebhookSecrets): void {
  if (consumerSecret === "") throw new TypeError("The consumer secret of the webhook is empty.")
  for (const key of signingKeys) {
    const bytes = signingKeyOf(key)
    if (bytes === undefined || bytes.length === 0) {
      throw new TypeError("A signing key of the webhook is not of the form whsec_ and base64.")
    }
  }
}

/** The JSON to answer `GET …?crc_token=…` with. */
export async function challengeResponse(consumerSecret: string, crcToken: string): Promise<{ response_token: string }> {
  return { response_token: await signature(consumerSecret, encoder.encode(crcToken)) }
}

/**
 * Checks a delivery: `body` as it came, byte for byte. Compares every signature to its end, whatever part of it is wrong.
 * Throws as `checkSecrets` does.
 */
export async function verifyDelivery(
  { headers, body }: { readonly headers: Headers; readonly body: Bytes },
  secrets: WebhookSecrets,
  nowMs: number,
): Promise<Verification> {
  checkSecrets(secrets)
  const { consumerSecret, signingKeys = [], toleranceMs = toleranceMsDefault } = secrets
  const signedByX = await signature(consumerSecret, body)
  if (!isSame(headers.get(signatureHeader) ?? "", signedByX)) {
    return { ok: false, fault: `${signatureHeader} is missing or wrong` }
  }
  if (signingKeys.length === 0) return { ok: true, id: signedByX, sentAtMs: undefined }
  const id = headers.get(standardHeaders.id) ?? ""
  const timestamp = headers.get(standardHeaders.timestamp) ?? ""
  const given = (headers.get(standardHeaders.signatures) ?? "").split(" ")
  const message = joined(encoder.encode(standardPreamble({ id, timestamp })), body)
  let isSigned = false
  for (const key of signingKeys) {
    const expected = standardPrefix + base64Of(await hmac(signingKeyOf(key) ?? new Uint8Array(), message))
    for (const one of given) isSigned = isSame(one, expected) || isSigned
  }
  if (id === "" || !isSigned) return { ok: false, fault: `${standardHeaders.signatures} is missing or wrong` }
  const sentAtMs = Number(timestamp) * 1000
  const isFresh = /^\d{1,15}$/.test(timestamp) && Math.abs(sentAtMs - nowMs) <= toleranceMs
  return isFresh ? { ok: true, id, sentAtMs } : { ok: false, fault: `${standardHeaders.timestamp} is stale` }
}

async function signature(consumerSecret: string, bytes: Bytes): Promise<string> {
  return signaturePrefix + base64Of(await hmac(encoder.encode(consumerSecret), bytes))
}

async function hmac(key: Bytes, message: Bytes): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign("HMAC", await importedKey(key), message))
}

/** Keys that are ready to sign with, by their bytes: to make one takes as long as to sign. */
const importedKeys = new Map<string, Promise<CryptoKey>>()

/** Keys that are kept ready. Ours: a receiver has two or three. */
const importedKeysMax = 16

function importedKey(key: Bytes): Promise<CryptoKey> {
  const name = base64Of(key)
  const found = importedKeys.get(name)
  if (found !== undefined) return found
  if (importedKeys.size >= importedKeysMax) importedKeys.clear()
  const imported = crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
  importedKeys.set(name, imported)
  return imported
}

/** The key itself, from its text as Standard Webhooks writes it; `undefined` for text that is no base64. */
function signingKeyOf(text: string): Bytes | undefined {
  const base64 = text.startsWith(signingKeyPrefix) ? text.slice(signingKeyPrefix.length) : text
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

function base64Of(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}

function joined(a: Bytes, b: Bytes): Bytes {
  const whole = new Uint8Array(a.length + b.length)
  whole.set(a)
  whole.set(b, a.length)
  return whole
}

/** Compares in a time that depends on the length of what is expected alone. */
function isSame(given: string, expected: string): boolean {
  let difference = given.length ^ expected.length
  for (let at = 0; at < expected.length; at++) difference |= given.charCodeAt(at) ^ expected.charCodeAt(at)
  return difference === 0
}
