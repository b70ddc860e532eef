/**
 * Responds to a challenge and checks the signatures of a delivery, for the owner of a webhook.
 *
 * X signs under the app's client secret, its consumer secret or both, each in a header of its own; one that is right is
 * enough. X's signature covers the body alone, so anyone who has seen a delivery can send it again. The Standard Webhooks
 * signature covers an id and a time as well; Sluice sends both. By WebCrypto, as every platform has that.
 *
 * Source: docs.x.com, "Securing webhooks"; Standard Webhooks 1.0.
 */
import {
  clientSignatureHeader,
  signatureHeader,
  signaturePrefix,
  signingKeyPrefix,
  standardHeaders,
  standardPreamble,
  standardPrefix,
} from "@sluice/api/signature"

/** Secrets of a webhook: of the app's two, one or both. */
export interface WebhookSecrets {
  /** The app's OAuth 2.0 client secret, which answers challenges where it is given. */
  readonly clientSecret?: string | undefined
  /** The app's consumer secret. */
  readonly consumerSecret?: string | undefined
  /**
   * Keys of the Standard Webhooks signature, as `whsec_…`; more than one while keys are rotated. With them a delivery
   * needs both signatures and a fresh timestamp; without them X's signature is all that is checked.
   */
  readonly signingKeys?: readonly string[] | undefined
  /** Oldest and furthest timestamp that is taken, ms from now. By default five minutes, as Standard Webhooks has it. */
  readonly toleranceMs?: number | undefined
}

/** The verdict on a delivery. `fault`: the reason of a refusal, for a log; do not send it back. */
type Verification =
  | {
      readonly ok: true
      /** The same for every attempt at a delivery; no other party can make one. */
      readonly id: string
      /** When it was sent, as signed; `undefined` when X's signature alone was checked. */
      readonly sentAtMs: number | undefined
    }
  | { readonly ok: false; readonly fault: string }

type Bytes = Uint8Array<ArrayBuffer>

const toleranceMsDefault = 300_000

const encoder = new TextEncoder()

/** Throws `TypeError` for an empty or malformed secret: anyone could sign under it. */
export function checkSecrets(secrets: WebhookSecrets): void {
  const { clientSecret, consumerSecret, signingKeys = [] } = secrets
  if (clientSecret === "") throw new TypeError("The client secret of the webhook is empty.")
  if (consumerSecret === "") throw new TypeError("The consumer secret of the webhook is empty.")
  if (appSecrets(secrets).length === 0) throw new TypeError("The webhook has no client secret and no consumer secret.")
  for (const key of signingKeys) {
    const bytes = signingKeyOf(key)
    if (bytes === undefined || bytes.length === 0) {
      throw new TypeError("A signing key of the webhook is not of the form whsec_ and base64.")
    }
  }
}

/** A secret of the app, and the header that has X's signature under it. */
interface AppSecret {
  readonly secret: string
  readonly header: string
}

/** The given secrets, the client secret first, as X prefers it. */
function appSecrets({ clientSecret, consumerSecret }: WebhookSecrets): readonly AppSecret[] {
  return [
    ...(clientSecret === undefined ? [] : [{ secret: clientSecret, header: clientSignatureHeader }]),
    ...(consumerSecret === undefined ? [] : [{ secret: consumerSecret, header: signatureHeader }]),
  ]
}

/** The headers of X's signatures under these secrets; a signed delivery has at least one. */
export function signatureHeaders(secrets: WebhookSecrets): readonly string[] {
  return appSecrets(secrets).map(({ header }) => header)
}

/** The JSON response to `GET …?crc_token=…`. Throws as `checkSecrets` does. */
export async function challengeResponse(
  secrets: WebhookSecrets,
  crcToken: string,
): Promise<{ response_token: string }> {
  checkSecrets(secrets)
  const [{ secret }] = appSecrets(secrets) as readonly [AppSecret]
  return { response_token: await signature(secret, encoder.encode(crcToken)) }
}

/**
 * Checks a delivery: `body` as it came, byte for byte. Compares every signature to its end, also after a
 * wrong byte. Throws as `checkSecrets` does.
 */
export async function verifyDelivery(
  { headers, body }: { readonly headers: Headers; readonly body: Bytes },
  secrets: WebhookSecrets,
  nowMs: number,
): Promise<Verification> {
  checkSecrets(secrets)
  const { signingKeys = [], toleranceMs = toleranceMsDefault } = secrets
  const expectedOfX = await Promise.all(
    appSecrets(secrets).map(async ({ secret, header }) => ({ header, expected: await signature(secret, body) })),
  )
  const signedByX = expectedOfX.filter(({ header, expected }) => isSame(headers.get(header) ?? "", expected))
  if (signedByX.length === 0) return { ok: false, fault: missingSignature(secrets) }
  // The first secret makes the id, whichever header was right: a copy without one of the headers is still a repeat.
  if (signingKeys.length === 0) return { ok: true, id: expectedOfX[0]?.expected ?? "", sentAtMs: undefined }
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

/** The fault of a delivery that has none of X's signatures under these secrets. */
export function missingSignature(secrets: WebhookSecrets): string {
  return `${signatureHeaders(secrets).join(" or ")} is missing or wrong`
}

async function signature(secret: string, bytes: Bytes): Promise<string> {
  return signaturePrefix + base64Of(await hmac(encoder.encode(secret), bytes))
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
