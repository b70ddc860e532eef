/** A webhook endpoint over `node:http`: responds to challenges, and takes only deliveries that are signed. */
import { once } from "node:events"
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http"
import type { AddressInfo } from "node:net"
import { challengeResponse, verifyDelivery, type WebhookSecrets } from "./webhook-signatures.ts"

/** Largest body that is read. Ours: the largest post with everything that it refers to is below. */
const bodyBytesMax = 16 * 1024 * 1024

/** A delivery whose signatures are right. */
export interface Delivery {
  /** The body, exactly as it came: a `StreamedBody` as JSON. */
  readonly body: string
  readonly headers: IncomingHttpHeaders
  /** The same for every attempt at a delivery, to drop repeats by; `undefined` without signing keys. */
  readonly eventId: string | undefined
}

/** What a receiver does. Secrets are read anew for each request, so a getter may change them. */
export interface ReceiverOptions extends WebhookSecrets {
  /**
   * Called with each genuine delivery. The response waits for it, and has the status that it returns, else 200. When it
   * throws, the response is 500, and the sender tries again.
   */
  readonly onDelivery: (delivery: Delivery) => number | void | Promise<number | void>
  /** Called with each challenge. */
  readonly onChallenge?: () => void
  /** Called with the reason for each request that is refused, and the error that `onDelivery` threw. */
  readonly onRefusal?: (reason: string, error?: unknown) => void
}

/** A listener for a server of yours: `createServer(webhookListener({ … }))`. */
export function webhookListener(options: ReceiverOptions): RequestListener {
  return (request, response) => {
    respond(request, response, options).catch((error: unknown) => {
      options.onRefusal?.("the delivery was not handled", error)
      if (!response.headersSent) response.statusCode = 500
      response.end()
    })
  }
}

async function respond(request: IncomingMessage, response: ServerResponse, options: ReceiverOptions): Promise<void> {
  const refuse = (status: number, reason: string): void => {
    options.onRefusal?.(reason)
    response.writeHead(status, { connection: "close" }).end()
  }
  const crcToken = URL.parse(request.url ?? "/", "http://receiver")?.searchParams.get("crc_token") ?? ""
  if (request.method === "GET" && crcToken !== "") {
    options.onChallenge?.()
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify(challengeResponse(options.consumerSecret, crcToken)))
    return
  }
  if (request.method !== "POST") return refuse(405, `${request.method ?? "?"} is not for a webhook`)
  const body = await bodyOf(request)
  if (body === undefined) return refuse(413, `the body has more than ${String(bodyBytesMax)} bytes`)
  const { headers } = request
  const verified = verifyDelivery({ headers, body }, options, Date.now())
  if (!verified.ok) return refuse(403, verified.fault)
  const status = await options.onDelivery({
    body: body.toString("utf8"),
    headers,
    eventId: verified.eventId,
  })
  response.writeHead(status ?? 200).end()
}

/** The whole body; `undefined` when it is too large. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let byteCount = 0
  // A body that is refused is left where it is: the connection is closed after the response.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    byteCount += (chunk as Buffer).length
    if (byteCount > bodyBytesMax) return undefined
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks)
}

/** An endpoint that listens. Disposing of it closes every connection. */
export interface WebhookReceiver extends AsyncDisposable {
  readonly url: string
}

/** Starts an endpoint on a free port of this machine, for tests and for trying things out. */
export async function startWebhookReceiver(options: ReceiverOptions): Promise<WebhookReceiver> {
  const server = createServer(webhookListener(options)).listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/webhook`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
}
