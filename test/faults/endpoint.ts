/** A webhook endpoint that keeps what came, and answers when it is let. */
import { createHmac } from "node:crypto"
import { once } from "node:events"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"

/** A delivery whose body came whole. */
export interface Arrived {
  /** The `webhook-id`. */
  readonly eventId: string
  readonly body: string
  /** X's signature. */
  readonly signature: string
}

/** An endpoint that listens. Challenges are answered under `secret`. */
export class Endpoint implements AsyncDisposable {
  readonly #server: Server
  #heard = Promise.withResolvers<void>()
  #open: Promise<void> = Promise.resolve()
  #release = (): void => undefined
  readonly arrived: Arrived[] = []
  /** Which bodies are answered 500. */
  refuses: (body: string) => boolean = () => false
  /** The consumer secret of the app whose endpoint it is. */
  secret: string

  private constructor(secret: string) {
    this.secret = secret
    this.#server = createServer((request, response) => {
      const token = new URL(request.url ?? "/", "http://endpoint").searchParams.get("crc_token")
      if (request.method === "GET" && token !== null) {
        response.setHeader("content-type", "application/json")
        response.end(JSON.stringify({ response_token: signatureOf(this.secret, token) }))
        return
      }
      // A server that was killed leaves its requests unfinished.
      this.#take(request, response).catch(() => response.destroy())
    })
  }

  static async start(secret: string): Promise<Endpoint> {
    const endpoint = new Endpoint(secret)
    endpoint.#server.listen(0, "127.0.0.1")
    await once(endpoint.#server, "listening")
    return endpoint
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`
  }

  /** Ids of the events that came, each once. */
  get eventIds(): ReadonlySet<string> {
    return new Set(this.arrived.map(({ eventId }) => eventId))
  }

  /** Ids of the posts that came, as often as they came. */
  get postIds(): readonly string[] {
    return this.arrived.map(({ body }) => (JSON.parse(body) as { data: { id: string } }).data.id)
  }

  /** From now on deliveries are not answered. */
  hold(): void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#open = promise
    this.#release = resolve
  }

  /** Answers what is held, and answers from now on. */
  release(): void {
    this.#release()
  }

  /** Resolves when so many deliveries have come, repeats included. */
  async have(count: number): Promise<void> {
    while (this.arrived.length < count) await this.#heard.promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#release()
    const closed = new Promise((resolve) => this.#server.close(resolve))
    this.#server.closeAllConnections()
    await closed
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    const { headers } = request
    this.arrived.push({
      eventId: String(headers["webhook-id"]),
      body,
      signature: String(headers["x-twitter-webhooks-signature"]),
    })
    this.#heard.resolve()
    this.#heard = Promise.withResolvers()
    await this.#open
    if (this.refuses(body)) response.writeHead(500)
    response.end()
  }
}

/** X's signature of a body, and its answer to a challenge. */
export function signatureOf(secret: string, bytes: string): string {
  return `sha256=${createHmac("sha256", secret).update(bytes).digest("base64")}`
}
