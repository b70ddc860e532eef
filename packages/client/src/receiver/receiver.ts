/**
 * A webhook endpoint as a function from a request to its response: it responds to challenges, and hands on deliveries that
 * are signed, fresh and new.
 *
 *     request ─► signed at all? ─► body, bounded ─► signatures, time ─► repeat? ─► onDelivery ─► response
 *                     └─ 403           └─ 413             └─ 403           └─ 200       └─ throws: 500, to come again
 */
import type { Post, StreamedBody } from "@sluice/api"
import { memoryRepeats, type RepeatStore } from "./repeats.ts"
import {
  challengeResponse,
  checkSecrets,
  missingSignature,
  signatureHeaders,
  verifyDelivery,
  type WebhookSecrets,
} from "./signatures.ts"

/** Largest body that is read, unless another is given. Ours: the largest post with all that it refers to is below. */
const bodyBytesMaxDefault = 16 * 1024 * 1024

/** Longest time for which a delivery counts as being handled: a sender waits 10 s for a response. Ours. */
const leaseMs = 60_000

/** Time for which a handled delivery is remembered. Ours: attempts at one are seldom further apart. */
const keepMs = 24 * 60 * 60_000

/** The end of a replay. Source: docs.x.com, "Account activity: replay". */
export interface ReplayStatusEvent {
  readonly replay_job_status: {
    readonly webhook_id: string
    readonly job_id: string
    readonly job_state: "Complete" | "Incomplete"
    readonly job_state_description: string
  }
}

/** A delivery that is genuine, by what it reports. */
export type Delivery = {
  /** The same for every attempt at it: the signed `webhook-id`, or without signing keys X's signature. */
  readonly id: string
  /** When this attempt was sent, as signed; `undefined` without signing keys. */
  readonly sentAt: Date | undefined
  /** The body, exactly as it came. */
  readonly text: string
  readonly headers: Headers
} & (
  | { readonly kind: "match"; readonly event: StreamedBody & { readonly data: Post } }
  | { readonly kind: "replay-status"; readonly event: ReplayStatusEvent }
  /** An event that Sluice does not send: one of another product of X. */
  | { readonly kind: "unknown"; readonly event: unknown }
)

/** Options of a receiver. Secrets are read anew for each request, so a getter may change them. */
export interface ReceiverOptions extends WebhookSecrets {
  /**
   * Called with each genuine delivery, once. The response waits for it, and has the status that it returns, else 200.
   * When it throws, or returns a status that is not 2xx, the sender tries again, and it is called again.
   */
  readonly onDelivery: (delivery: Delivery) => number | void | Promise<number | void>
  /** Store of handled deliveries, to drop repeats; by default in this process. False: nothing is dropped. */
  readonly repeats?: RepeatStore | false | undefined
  /** Largest body that is read; 16 MiB. */
  readonly bodyBytesMax?: number | undefined
  /** Called with each challenge. */
  readonly onChallenge?: (() => void) | undefined
  /** Called with the reason for each request that is refused, and the error that `onDelivery` or the store threw. */
  readonly onRefusal?: ((reason: string, error?: unknown) => void) | undefined
}

/** A response to every request; never throws. */
export type Receiver = (request: Request) => Promise<Response>

/** A receiver of deliveries. Throws `TypeError` for secrets that are empty, and without any of the app. */
export function receiver(options: ReceiverOptions): Receiver {
  checkSecrets(options)
  const repeats = options.repeats === false ? undefined : (options.repeats ?? memoryRepeats())
  return async (request) => {
    try {
      return await respond(request, options, repeats)
    } catch (error) {
      options.onRefusal?.("the delivery was not handled", error)
      return new Response(null, { status: 500 })
    }
  }
}

/**
 * Challenges that are answered. The answer to one is what X, and Sluice without signing keys, sign a body with that text with:
 * so no text of a challenge may be that of a delivery, which has braces, and a body with such a text is none. Ours; the
 * challenges of X and Sluice are base64 of some kind.
 */
const crcTokenForm = /^[\w.~+/= -]{1,256}$/

async function respond(
  request: Request,
  options: ReceiverOptions,
  repeats: RepeatStore | undefined,
): Promise<Response> {
  const refuse = (status: number, reason: string, headers: Record<string, string> = {}): Response => {
    options.onRefusal?.(reason)
    return new Response(null, { status, headers })
  }
  const { method, headers } = request
  const crcToken = new URL(request.url).searchParams.get("crc_token") ?? ""
  if (method === "GET" && crcToken !== "") {
    if (!crcTokenForm.test(crcToken)) return refuse(400, "the challenge is a text that could be a delivery")
    options.onChallenge?.()
    const body = JSON.stringify(await challengeResponse(options, crcToken))
    return new Response(body, { headers: { "content-type": "application/json" } })
  }
  if (method !== "POST") return refuse(405, `${method} is not for a webhook`, { allow: "GET, POST" })
  // The body of an unsigned request is not read.
  if (!signatureHeaders(options).some((name) => headers.has(name))) return refuse(403, missingSignature(options))
  const bytesMax = options.bodyBytesMax ?? bodyBytesMaxDefault
  const body = await bodyOf(request, bytesMax)
  if (body === undefined) return refuse(413, `the body has more than ${String(bytesMax)} bytes`)
  const verified = await verifyDelivery({ headers, body }, options, Date.now())
  if (!verified.ok) return refuse(403, verified.fault)
  const { id, sentAtMs } = verified
  const text = new TextDecoder().decode(body)
  if (sentAtMs === undefined && crcTokenForm.test(text)) return refuse(403, "the body is the text of a challenge")
  const sentAt = sentAtMs === undefined ? undefined : new Date(sentAtMs)
  const delivery = { id, sentAt, text, headers, ...eventOf(text) } as Delivery
  switch (await repeats?.begin(id, leaseMs)) {
    case "finished":
      return new Response(null, { status: 200 })
    case "running":
      // Not 200: the attempt before may yet fail.
      return refuse(503, "an earlier attempt is still being handled", { "retry-after": "1" })
    case "new":
    case undefined:
      return handle(delivery, options, repeats)
  }
}

/** Runs the handler. A failed delivery is forgotten before the response, so that the next attempt finds it new. */
async function handle(
  delivery: Delivery,
  { onDelivery }: ReceiverOptions,
  repeats: RepeatStore | undefined,
): Promise<Response> {
  let response: Response | undefined
  try {
    response = new Response(null, { status: (await onDelivery(delivery)) ?? 200 })
  } finally {
    if (response?.ok !== true) await forget(delivery.id, repeats)
  }
  if (response.ok) await repeats?.finish(delivery.id, keepMs)
  return response
}

async function forget(id: string, repeats: RepeatStore | undefined): Promise<void> {
  try {
    await repeats?.forget(id)
  } catch {
    // The lease ends by itself.
  }
}

function eventOf(text: string): { readonly kind: Delivery["kind"]; readonly event: unknown } {
  let event: unknown
  try {
    event = JSON.parse(text)
  } catch {
    return { kind: "unknown", event: undefined }
  }
  const members = typeof event === "object" && event !== null ? event : {}
  if ("data" in members && "matching_rules" in members) return { kind: "match", event }
  return { kind: "replay_job_status" in members ? "replay-status" : "unknown", event }
}

/** The whole body; `undefined` when it is too large. */
async function bodyOf(request: Request, bytesMax: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (Number(request.headers.get("content-length")) > bytesMax) return undefined
  const chunks: Uint8Array[] = []
  let byteCount = 0
  const reader = request.body?.getReader()
  for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
    byteCount += next.value.length
    if (byteCount > bytesMax) {
      reader?.cancel().catch(() => undefined)
      return undefined
    }
    chunks.push(next.value)
  }
  const body = new Uint8Array(byteCount)
  let at = 0
  for (const chunk of chunks) {
    body.set(chunk, at)
    at += chunk.length
  }
  return body
}
