/**
 * A load balancer in front of several servers: it sends one request to each in turn, and one that cannot connect to the
 * next server. A request without a response in time ends with its connection, for the client to repeat.
 */
import { once } from "node:events"
import { Agent, createServer, request, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** Longest wait for a response. */
const responseMsMax = 8_000

/** A balancer that listens on a port of this machine. */
export class Balancer implements AsyncDisposable {
  readonly #listener: Server
  readonly #agent = new Agent({ keepAlive: true })
  #turn = 0
  /** URLs of the servers that it sends requests to. */
  servers: readonly string[] = []

  static async start(): Promise<Balancer> {
    const balancer = new Balancer()
    balancer.#listener.listen(0, "127.0.0.1")
    await once(balancer.#listener, "listening")
    return balancer
  }

  private constructor() {
    this.#listener = createServer((incoming, response) => {
      this.#handle(incoming, response).catch(() => response.destroy())
    })
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#listener.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#listener, "close")
    this.#listener.close()
    this.#listener.closeAllConnections()
    this.#agent.destroy()
    await closed
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat((await incoming.toArray()) as Buffer[])
    const { servers } = this
    for (let tries = 0; tries < servers.length; tries += 1) {
      this.#turn += 1
      const server = servers[this.#turn % servers.length] ?? ""
      if (await this.#forward(server, incoming, body, response)) return
    }
    response.destroy()
  }

  /** Resolves to false when it could not connect. */
  async #forward(server: string, incoming: IncomingMessage, body: Buffer, response: ServerResponse): Promise<boolean> {
    const { method, url = "/", headers } = incoming
    const outgoing = request(server + url, { method: method ?? "GET", headers, agent: this.#agent })
    outgoing.setTimeout(responseMsMax, () => outgoing.destroy(new Error("no response in time")))
    outgoing.end(body)
    try {
      const [incomingResponse] = (await once(outgoing, "response")) as [IncomingMessage]
      response.writeHead(incomingResponse.statusCode ?? 502, incomingResponse.headers)
      const bytes = Buffer.concat((await incomingResponse.toArray()) as Buffer[])
      response.end(bytes)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ECONNREFUSED") return false
      response.destroy()
    }
    return true
  }
}
