/**
 * The endpoint of `sluice listen`: answers challenges, verifies both signatures, fails on request, and forwards.
 *
 *     challenge ─────────────► response
 *     delivery ─► genuine? ─► fails on purpose? ─► its status
 *                    │no             └ no ─► forwarded? ─► the target's response, else 200
 *                    └─► 403
 */
import { setTimeout as delay } from "node:timers/promises"
import { nodeHandler, receiver, type Delivery, type WebhookSecrets } from "@sluice/client/receiver"
import { startLocalEndpoint, type LocalEndpoint } from "../process/local-endpoint.ts"
import { isFailing, type Faults } from "./faults.ts"
import { forward, type TargetResponse } from "./forward.ts"

/** A genuine delivery with its response. */
export interface ReceivedDelivery {
  readonly atMs: number
  /** From its head to the response. */
  readonly durationMs: number
  readonly status: number
  readonly eventId: string
  /** Whether an earlier delivery had the same event id. */
  readonly isRepeat: boolean
  readonly headers: Headers
  /** The received JSON. */
  readonly body: string
  /** Why the response is not the target's: it failed on purpose, or the target did not respond. */
  readonly note?: string
}

/** The behaviour of a listener. */
interface ListenerOptions {
  /** Read for each request. */
  readonly secrets: () => WebhookSecrets
  readonly faults: Faults
  /** The URL to which genuine deliveries are forwarded. */
  readonly forwardTo: string | undefined
  /** The path of the endpoint, which is unique. */
  readonly path: string
  readonly port: number
  /** Called and awaited before the response is sent. */
  readonly onDelivery: (delivery: ReceivedDelivery) => Promise<void>
  /** Called with the reason for each rejected delivery. */
  readonly onRefusal: (reason: string) => void
}

/** Most event ids to remember, to recognise repeats. Ours. */
const eventIdsMax = 10_000

/** The response to other requests, by which another `listen` recognises a running one. */
export const identity = "sluice listen"

/** Starts a listener on this machine. Rejects with the system's error when the port is unavailable. */
export async function startListener(options: ListenerOptions): Promise<LocalEndpoint> {
  const eventIds = new Set<string>()
  const handler = nodeHandler((request) => respond(request, options, eventIds))
  return startLocalEndpoint(handler, options.path, options.port)
}

async function respond(request: Request, options: ListenerOptions, eventIds: Set<string>): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url)
  if (pathname !== options.path) return new Response(null, { status: 404 })
  if (request.method === "GET" && !searchParams.has("crc_token")) return new Response(identity)
  const startedMs = performance.now()
  let targetResponse: TargetResponse | undefined
  const receive = receiver({
    ...options.secrets(),
    // A person who listens wants to see them.
    repeats: false,
    onRefusal: options.onRefusal,
    async onDelivery(delivery) {
      targetResponse = await targetResponseTo(delivery, options, startedMs)
      const { id, headers, text } = delivery
      const isRepeat = eventIds.has(id)
      remember(eventIds, id)
      await options.onDelivery({
        atMs: Date.now(),
        durationMs: performance.now() - startedMs,
        status: targetResponse.status,
        eventId: id,
        isRepeat,
        headers,
        body: text,
        ...(targetResponse.fault !== undefined && { note: targetResponse.fault }),
      })
      return targetResponse.status
    },
  })
  const response = await receive(request)
  return targetResponse === undefined || response.status !== targetResponse.status
    ? response
    : responseOf(targetResponse)
}

/** Statuses whose responses have no body. Source: Fetch standard, "null body status". */
const withoutBody: ReadonlySet<number> = new Set([204, 205, 304])

function responseOf({ status, headers, body }: TargetResponse): Response {
  return new Response(withoutBody.has(status) ? null : body, { status, headers })
}

async function targetResponseTo(
  { headers, text }: Pick<Delivery, "headers" | "text">,
  { faults, forwardTo }: ListenerOptions,
  startedMs: number,
): Promise<TargetResponse> {
  const targetResponse = isFailing(faults)
    ? { ...empty, status: faults.status, fault: "on purpose" }
    : forwardTo === undefined
      ? empty
      : await forward(forwardTo, { headers, body: text })
  const waitMs = faults.latencyMs - (performance.now() - startedMs)
  if (waitMs > 0) await delay(waitMs)
  return targetResponse
}

const empty: TargetResponse = { status: 200, headers: {}, body: new Uint8Array() }

function remember(eventIds: Set<string>, eventId: string): void {
  eventIds.add(eventId)
  const [oldest] = eventIds
  if (eventIds.size > eventIdsMax && oldest !== undefined) eventIds.delete(oldest)
}
