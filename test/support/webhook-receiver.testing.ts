/** A webhook endpoint that answers challenges, checks signatures and keeps what it received. */
import { createHmac } from "node:crypto"
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"

/** A delivery as it arrived. */
interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** X's signature is that of the body. */
  readonly isSigned: boolean
}

/** A receiver. */
export interface WebhookReceiver extends AsyncDisposable {
  readonly url: string
  readonly received: readonly Received[]
  /** Status of the answers to deliveries; 200 at first. */
  status: number
  /** Whether challenges are answered rightly; true at first. */
  answersChallenges: boolean
  /** Resolves when `count` deliveries have arrived. */
  arrived(count: number): Promise<void>
}

/** Starts one for an app of this consumer secret. */
export async function startReceiver(consumerSecret: string): Promise<WebhookReceiver> {
  const received: Received[] = []
  let heard = Promise.withResolvers<void>()
  const sign = (bytes: string): string =>
    `sha256=${createHmac("sha256", consumerSecret).update(bytes).digest("base64")}`
  const server = createServer((request, response) => {
    const challenge = new URL(request.url ?? "/", "http://receiver").searchParams.get("crc_token")
    if (request.method === "GET" && challenge !== null) {
      response.setHeader("content-type", "application/json")
      response.end(
        JSON.stringify({ response_token: receiver.answersChallenges ? sign(challenge) : "sha256=wrong" }),
      )
      return
    }
    void receive(request, response)
  })
  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    const isSigned = request.headers["x-twitter-webhooks-signature"] === sign(body)
    received.push({ headers: request.headers, body, isSigned })
    response.statusCode = receiver.status
    response.end()
    heard.resolve()
    heard = Promise.withResolvers()
  }
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    status: 200,
    answersChallenges: true,
    async arrived(count) {
      while (received.length < count) await heard.promise
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
  return receiver
}
