/**
 * The challenge-response check: proof that the endpoint at a URL knows the app's consumer secret or its client secret.
 *
 *     GET url?crc_token=T&nonce=N  ──►  200 {"response_token": "sha256=" + base64(HMAC-SHA256(secret, T))}
 *
 * The nonce is X's, and changes nothing: it only makes each URL another one for what caches responses.
 *
 * Source: docs.x.com, "Webhooks: introduction" and "Securing webhooks"; for the client secret, public reports of X's webhook
 * pages of October 2026.
 */
import { hash, timingSafeEqual } from "node:crypto"
import { webhookResponseMsMax } from "@sluice/api"
import { truncateForDisplay } from "../../model/truncate.ts"
import type { Outbound, OutboundResult } from "../../runtime/outbound/outbound.ts"
import type { Random } from "../../runtime/random.ts"
import { clientSecretOf } from "../../runtime/client-secret.ts"
import { signature } from "../../runtime/signatures.ts"

/**
 * The result of a challenge. `invalid`: the endpoint gave a wrong response (a 2xx without the right token, a redirect, a
 * TLS error, a response without end), so it is not to be trusted; `isWrongToken` marks a 2xx without the right token. `unreachable`: it may only be down (4xx, 5xx, no
 * response); with `isOurs` no request was sent, for a cause on this machine. `detail` is the end of a sentence
 * that starts with "The endpoint".
 */
export type ChallengeResult =
  | { readonly kind: "valid" }
  | { readonly kind: "invalid"; readonly detail: string; readonly isWrongToken?: true }
  | { readonly kind: "unreachable"; readonly detail: string; readonly isOurs?: true }

/** The expected response to a challenge, in words. */
export const expectedResponse =
  'status 200 and {"response_token":"sha256=…"} with the base64 of the HMAC-SHA256 of crc_token under the consumer secret or the client secret'

/** Bytes of chance in a challenge's token, which is their base64url. */
const tokenBytes = 32

/** Bytes of chance in a challenge's nonce, which is their base64url. Ours. */
const nonceBytes = 12

/**
 * Challenges the endpoint at `url` once. Any 2xx counts as 200, and the content type does not matter: the token
 * is the proof.
 */
export async function challenge(
  deps: { readonly outbound: Pick<Outbound, "send">; readonly random: Random },
  endpoint: { readonly url: string; readonly consumerSecret: string },
  signal?: AbortSignal,
): Promise<ChallengeResult> {
  const token = Buffer.from(deps.random.bytes(tokenBytes)).toString("base64url")
  const nonce = Buffer.from(deps.random.bytes(nonceBytes)).toString("base64url")
  const result = await deps.outbound.send({
    method: "GET",
    url: withQuery(endpoint.url, `crc_token=${token}&nonce=${nonce}`),
    headers: { accept: "application/json" },
    deadlineMs: webhookResponseMsMax,
    ...(signal !== undefined && { signal }),
  })
  const { consumerSecret } = endpoint
  return judge(result, [signature(consumerSecret, token), signature(clientSecretOf(consumerSecret), token)])
}

/** Appends to the query as it was written: an endpoint's own parameters keep their order and their spelling. */
function withQuery(url: string, parameters: string): string {
  const separator = !url.includes("?") ? "?" : /[?&]$/.test(url) ? "" : "&"
  return `${url}${separator}${parameters}`
}

function judge(result: OutboundResult, expected: readonly string[]): ChallengeResult {
  if (result.kind === "failure") {
    const detail = `could not be asked: ${truncateForDisplay(result.detail)}`
    const isWrong = result.outcome === "tls" || result.outcome === "too_large"
    if (isWrong) return invalid(detail)
    return { kind: "unreachable", detail, ...(result.outcome === "local_error" && { isOurs: true }) }
  }
  const { status, body } = result
  if (status >= 400) return { kind: "unreachable", detail: `responded with status ${status}` }
  if (status >= 300) return invalid(`responded with status ${status}; redirects are not followed`)
  const fault = tokenFault(body, expected)
  if (fault === undefined) return { kind: "valid" }
  return { ...invalid(`responded with status ${status} and ${fault}`), isWrongToken: true }
}

/** Nothing of the body is repeated: the caller may have no right to read what is at that URL. */
function tokenFault(body: string, expected: readonly string[]): string | undefined {
  if (body === "") return "no body"
  const response = parsed(body)
  if (response === undefined) return "a body that is not JSON"
  if (typeof response !== "object" || response === null || !Object.hasOwn(response, "response_token")) {
    return "JSON without a response_token"
  }
  const token: unknown = Reflect.get(response, "response_token")
  if (typeof token !== "string") return "a response_token that is not a string"
  if (!token.startsWith("sha256=")) return 'a response_token that does not begin with "sha256="'
  // Each is compared, so that the time taken does not tell which secret was used.
  const isRight = expected.map((one) => isSame(token, one)).includes(true)
  return isRight
    ? undefined
    : "a response_token that is not this token's under the app's consumer secret or client secret"
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** Compares digests, so that the time taken reveals nothing, not even lengths. */
function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(hash("sha256", given, "buffer"), hash("sha256", expected, "buffer"))
}

function invalid(detail: string): { readonly kind: "invalid"; readonly detail: string } {
  return { kind: "invalid", detail }
}
