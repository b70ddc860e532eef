/**
 * One attempt to deliver: what is sent, signed twice, and what the response means.
 *
 * X's signature covers the body alone, and its challenge can be made to sign; so deliveries carry the Standard
 * Webhooks headers too, under a key of the webhook's own, over id, time and body.
 *
 * Source: docs.x.com, "Securing webhooks"; Standard Webhooks 1.0.
 */
import type { AttemptOutcome } from "@sluice/api"
import type { AttemptResponse, AttemptSignatures } from "../../model/attempt.ts"
import { webhookTimestamp } from "../../model/delivery-headers.ts"
import { truncateForDisplay } from "../../model/truncate.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { Outbound, ReceivedAnswer } from "../../runtime/outbound.ts"
import { signature, standardSignature } from "../../runtime/signatures.ts"
import { retryAfterMs } from "./retry-after.ts"

/** Keys under which a webhook's deliveries are signed. */
export interface DeliveryKeys {
  readonly consumerSecret: string
  /** The keys themselves, out of their `whsec_` text, newest first; a second one while keys change. Never empty. */
  readonly signingKeys: readonly Uint8Array[]
}

/** How an attempt ended. */
export interface AttemptResult {
  readonly outcome: AttemptOutcome
  /** Of a complete response. */
  readonly status: number | undefined
  /**
   * The `Retry-After` of a response that is not 2xx, unclamped: 0, negative for a date that is past, or beyond all
   * bounds. `undefined` when there is none, or it cannot be parsed.
   */
  readonly retryAfterMs: number | undefined
  /**
   * What went wrong, in a few words for people; `undefined` when it is delivered. At most 200 characters without
   * control characters, and nothing of a response's body.
   */
  readonly error: string | undefined
  /** What is kept of the response; `undefined` when none began, or nothing of it is to be kept. */
  readonly response: AttemptResponse | undefined
}

/** Signs a delivery of exactly these bytes, sent at `atMs`. Each signing key adds a signature of its own. */
export function signDelivery(keys: DeliveryKeys, eventId: string, body: Uint8Array, atMs: number): AttemptSignatures {
  const message = { id: eventId, timestamp: webhookTimestamp(atMs), body }
  return {
    x: signature(keys.consumerSecret, body),
    standard: keys.signingKeys.map((key) => standardSignature(key, message)).join(" "),
  }
}

/** Most headers of a response that are kept, and most characters of all their names and values. Ours. */
const headersMax = 40
const headerCharactersMax = 2_048

/** Headers whose values are credentials of somebody. */
const hiddenHeaders: ReadonlySet<string> = new Set(["set-cookie", "set-cookie2"])

/**
 * Sends a delivery once. Any 2xx delivers; X's documents say 200, and no receiver means anything else by 204.
 * The clock is read only after a response with `Retry-After`.
 */
export async function attemptDelivery(
  outbound: Pick<Outbound, "send">,
  delivery: {
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: Uint8Array
    readonly deadlineMs: number
    /** Most bytes of a response's body that the result repeats. 0: nothing of the response. */
    readonly responseBytesMax: number
  },
  clock: Pick<Clock, "nowMs">,
): Promise<AttemptResult> {
  const { url, headers, body, deadlineMs, responseBytesMax } = delivery
  const result = await outbound.send({ method: "POST", url, headers, body, deadlineMs })
  const response = responseBytesMax === 0 ? undefined : result.received && keptOf(result.received, responseBytesMax)
  if (result.kind === "failure") {
    const { outcome, detail } = result
    return { outcome, status: undefined, retryAfterMs: undefined, error: truncateForDisplay(detail), response }
  }
  const { status, retryAfter } = result
  if (status < 300) return { outcome: "delivered", status, retryAfterMs: undefined, error: undefined, response }
  return {
    outcome: outcomeOf(status),
    status,
    retryAfterMs: retryAfter === undefined ? undefined : retryAfterMs(retryAfter, clock.nowMs()),
    error: `answered with status ${status}${remarkOf(status)}`,
    response,
  }
}

/** What is kept of a response. It holds on to nothing of the response itself. */
function keptOf({ status, headers, bodyStart, bodyBytes }: ReceivedAnswer, bytesMax: number): AttemptResponse {
  const kept: [string, string][] = []
  let characters = 0
  for (const [name, value = ""] of Object.entries(headers)) {
    const text = hiddenHeaders.has(name) ? "(not kept)" : truncateForDisplay([value].flat().join(", "))
    const header: [string, string] = [truncateForDisplay(name), text]
    characters += header[0].length + text.length
    if (characters > headerCharactersMax || kept.length === headersMax) break
    kept.push(header)
  }
  const body = bodyBytes <= bytesMax ? bodyStart : Buffer.from(bodyStart).toString("utf8", 0, bytesMax)
  return { status, headers: kept, body, bytes: bodyBytes }
}

function outcomeOf(status: number): AttemptOutcome {
  if (status < 400) return "redirect"
  if (status >= 500) return "server_error"
  return status === gone ? "gone" : "rejected"
}

/** The status by which an endpoint refuses all further deliveries. Source: Standard Webhooks 1.0; RFC 9110, 15.5.11. */
const gone = 410

function remarkOf(status: number): string {
  if (status < 400) return "; redirects are not followed"
  return status === gone ? ": gone for good" : ""
}
