/**
 * Webhook endpoints that respond at once, each an origin on 127.0.0.1. They check no signature: the bare programs that
 * are measured with the server do not sign everything that they send.
 */
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { signature } from "../packages/server/src/runtime/signatures.ts"

/** Endpoints at work. */
export interface Endpoints extends AsyncDisposable {
  /** Their origins, without a path: any path will do. */
  readonly urls: readonly string[]
  /** Whether endpoints answer challenges with the right token. */
  areValid: boolean
  /** Numbers of the endpoints that accept deliveries and never respond; they do respond to challenges. */
  readonly silent: Set<number>
}

/** Starts them. Calls `delivered` with the number of the endpoint and the body, once the body is whole. */
export async function startEndpoints(
  count: number,
  consumerSecret: string,
  delivered: (endpoint: number, body: Buffer) => void,
): Promise<Endpoints> {
  const silent = new Set<number>()
  const servers = Array.from({ length: count }, (_, endpoint) =>
    createServer((request, response) => {
      if (request.method === "GET") answerChallenge(request, response)
      else if (silent.has(endpoint)) request.resume()
      else takeDelivery(request, response, endpoint)
    }),
  )
  await Promise.all(servers.map((server) => once(server.listen(0, "127.0.0.1"), "listening")))
  const endpoints: Endpoints = {
    urls: servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    areValid: true,
    silent,
    async [Symbol.asyncDispose]() {
      for (const server of servers) {
        server.closeAllConnections()
        server.close()
      }
    },
  }

  function answerChallenge(request: IncomingMessage, response: ServerResponse): void {
    const challenge = new URL(request.url ?? "/", "http://endpoint").searchParams.get("crc_token") ?? ""
    const key = endpoints.areValid ? consumerSecret : "another key"
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify({ response_token: signature(key, challenge) }))
  }

  function takeDelivery(request: IncomingMessage, response: ServerResponse, endpoint: number): void {
    const chunks: Buffer[] = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      delivered(endpoint, chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
      response.writeHead(200, { "content-length": 0 })
      response.end()
    })
  }

  return endpoints
}
