/** A webhook endpoint in the hands of a test: passes challenges, keeps what it is sent. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { signature } from "@sluice/api"

/** Something that arrived. */
interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** The endpoint. */
export interface Receiver extends AsyncDisposable {
  readonly url: string
  readonly received: Received[]
  /** The status to answer a delivery with; 200 at first. `undefined` never answers. */
  statusOf: (received: Received) => number | undefined
}

/** Starts one for an app of this consumer secret. */
export async function startReceiver(consumerSecret: string): Promise<Receiver> {
  const server = createServer((request, response) => {
    const challenge = new URL(request.url ?? "/", "http://receiver").searchParams.get("crc_token")
    if (challenge !== null) {
      response.end(JSON.stringify({ response_token: signature(consumerSecret, challenge) }))
      return
    }
    void receive(request, response)
  })
  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const one = { headers: request.headers, body: await text(request) }
    receiver.received.push(one)
    const status = receiver.statusOf(one)
    if (status !== undefined) response.writeHead(status).end()
  }
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve)
  })
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received: [],
    statusOf: () => 200,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return receiver
}
