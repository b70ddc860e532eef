/**
 * The endpoint of `sluice listen`: answers challenges, checks both signatures, does wrong what it is asked to, passes on.
 *
 *     challenge ─────────────► its answer
 *     delivery ─► genuine? ─► fails on purpose? ─► its status
 *                    │no             └ no ─► forwarded? ─► the target's answer, else 200
 *                    └─► 403
 */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as delay } from "node:timers/promises"
import { nodeHandler, receiver, type Delivery, type WebhookSecrets } from "@sluice/client/receiver"
import { isFailing, type Faults } from "./faults.ts"
import { forward, type Answer } from "./forward.ts"

/** A genuine delivery, and what was answered. */
export interface ReceivedDelivery {
  readonly atMs: number
  /** From its head to the answer. */
  readonly durationMs: number
  readonly status: number
  readonly eventId: string
  /** Whether an earlier delivery had the same event id. */
  readonly isRepeat: boolean
  readonly headers: Headers
  /** JSON, as it came. */
  readonly body: string
  /** Why the answer is another than the receiver's: on purpose, or since the target gave none. */
  readonly note?: string
}

/** What a listener does. */
interface ListenerOptions {
  /** Read for each request. */
  readonly secrets: () => WebhookSecrets
  readonly faults: Faults
  /** Where genuine deliveries are passed on to. */
  readonly forwardTo: string | undefined
  /** The path of the endpoint, which no other program has. */
  readonly path: string
  readonly port: number
  /** Called before the answer is sent, which waits for it. */
  readonly onDelivery: (delivery: ReceivedDelivery) => Promise<void>
  /** Called with the reason for each delivery that is not genuine. */
  readonly onRefusal: (reason: string) => void
}

/** An endpoint that listens. Disposing of it closes every connection. */
export interface Listener extends AsyncDisposable {
  readonly url: string
}

/** Event ids by which repeats are recognised; the oldest is forgotten first. Ours. */
const eventIdsMax = 10_000

/** What a listener answers to a request that is neither: by it another one knows that it runs. */
export const identity = "sluice listen"

/** Starts one on this machine. Rejects with the system's error when the port cannot be had. */
export async function startListener(options: ListenerOptions): Promise<Listener> {
  const eventIds = new Set<string>()
  const server = createServer(nodeHandler((request) => respond(request, options, eventIds)))
  server.listen(options.port, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${String(port)}${options.path}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
}

async function respond(request: Request, options: ListenerOptions, eventIds: Set<string>): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url)
  if (pathname !== options.path) return new Response(null, { status: 404 })
  if (request.method === "GET" && !searchParams.has("crc_token")) return new Response(identity)
  const startedMs = performance.now()
  let answer: Answer | undefined
  const receive = receiver({
    ...options.secrets(),
    // A person who listens wants to see them.
    repeats: false,
    onRefusal: options.onRefusal,
    async onDelivery(delivery) {
      answer = await answerTo(delivery, options, startedMs)
      const { id, headers, text } = delivery
      const isRepeat = eventIds.has(id)
      remember(eventIds, id)
      await options.onDelivery({
        atMs: Date.now(),
        durationMs: performance.now() - startedMs,
        status: answer.status,
        eventId: id,
        isRepeat,
        headers,
        body: text,
        ...(answer.fault !== undefined && { note: answer.fault }),
      })
      return answer.status
    },
  })
  const response = await receive(request)
  return answer === undefined || response.status !== answer.status ? response : responseOf(answer)
}

/** Statuses whose responses have no body. Source: Fetch standard, "null body status". */
const withoutBody: ReadonlySet<number> = new Set([204, 205, 304])

function responseOf({ status, headers, body }: Answer): Response {
  return new Response(withoutBody.has(status) ? null : body, { status, headers })
}

async function answerTo(
  { headers, text }: Pick<Delivery, "headers" | "text">,
  { faults, forwardTo }: ListenerOptions,
  startedMs: number,
): Promise<Answer> {
  const answer = isFailing(faults)
    ? { ...empty, status: faults.status, fault: "on purpose" }
    : forwardTo === undefined
      ? empty
      : await forward(forwardTo, { headers, body: text })
  const waitMs = faults.latencyMs - (performance.now() - startedMs)
  if (waitMs > 0) await delay(waitMs)
  return answer
}

const empty: Answer = { status: 200, headers: {}, body: new Uint8Array() }

function remember(eventIds: Set<string>, eventId: string): void {
  eventIds.add(eventId)
  const [oldest] = eventIds
  if (eventIds.size > eventIdsMax && oldest !== undefined) eventIds.delete(oldest)
}
