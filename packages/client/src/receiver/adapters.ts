/**
 * Adapters of a receiver for servers with request objects of their own. Each passes on the body byte for byte: a body that
 * a framework has parsed is not the one that was signed.
 *
 * The types name only what is used of a framework, so that none is needed.
 */
import type { Receiver } from "./receiver.ts"

/** The part of `http.IncomingMessage`, and of Express's request, that is used. */
interface NodeRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** True when all of it was received. */
  readonly complete: boolean
  readonly readableEnded: boolean
  /** Set by a parser of bodies, which has read the request then. */
  readonly body?: unknown
  iterator(options: { readonly destroyOnReturn: boolean }): AsyncIterator<unknown>
}

/** The part of `http.ServerResponse` that is used. */
interface NodeResponse {
  writeHead(status: number, headers: Record<string, string>): unknown
  end(body?: string): unknown
}

/**
 * For `http.createServer`, and for Express: `app.use("/webhook", nodeHandler(receive))`, before `express.json()`, or behind
 * `express.raw()`. When another parser has read the body, `next` gets an error that says so.
 */
export function nodeHandler(
  receive: Receiver,
): (request: NodeRequest, response: NodeResponse, next?: (error: unknown) => void) => void {
  const respond = async (
    request: NodeRequest,
    response: NodeResponse,
    next: ((error: unknown) => void) | undefined,
  ): Promise<void> => {
    try {
      const received = await receive(requestOf(request))
      const headers = responseHeaders(received, request)
      const text = await received.text()
      response.writeHead(received.status, headers)
      response.end(text)
    } catch (error) {
      if (next !== undefined) return next(error)
      response.writeHead(500, { connection: "close" })
      response.end()
    }
  }
  return (request, response, next) => void respond(request, response, next)
}

/** The part of Fastify's instance that is used. */
interface FastifyLike {
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(
    type: "*",
    parse: (request: unknown, payload: unknown, done: (error: null, body?: undefined) => void) => void,
  ): unknown
  all(
    path: string,
    handle: (request: { readonly raw: NodeRequest }, reply: FastifyReplyLike) => Promise<unknown>,
  ): unknown
}

interface FastifyReplyLike {
  code(status: number): unknown
  headers(headers: Record<string, string>): unknown
  send(body: string): unknown
}

/** For Fastify: `fastify.register(fastifyPlugin(receive), { prefix: "/webhook" })`. Parsers elsewhere stay as they are. */
export function fastifyPlugin(receive: Receiver): (fastify: FastifyLike) => Promise<void> {
  return async (fastify) => {
    fastify.removeAllContentTypeParsers()
    fastify.addContentTypeParser("*", (_request, _payload, done) => done(null))
    fastify.all("/", async ({ raw }, reply) => {
      const received = await receive(requestOf(raw))
      reply.code(received.status)
      reply.headers(responseHeaders(received, raw))
      return reply.send(await received.text())
    })
  }
}

/** For Hono: `app.all("/webhook", honoHandler(receive))`. */
export function honoHandler(
  receive: Receiver,
): (context: { readonly req: { readonly raw: Request } }) => Promise<Response> {
  return ({ req }) => receive(req.raw)
}

function requestOf(request: NodeRequest): Request {
  const { method = "GET", url = "/" } = request
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined && !name.startsWith(":"))
      headers.set(name, typeof value === "string" ? value : value.join(", "))
  }
  const hasBody = method !== "GET" && method !== "HEAD"
  // Only the query of the address counts, and a path of two slashes is no host.
  const address = new URL(`http://receiver/${url.replace(/^\/*/, "")}`)
  return new Request(address, { method, headers, ...(hasBody && { body: bodyOf(request), duplex: "half" as const }) })
}

function bodyOf(request: NodeRequest): ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> {
  if (request.body instanceof Uint8Array) return new Uint8Array(request.body)
  if (request.readableEnded) {
    throw new TypeError(
      "The body was read before the receiver: put the receiver before express.json(), or use express.raw() for its path.",
    )
  }
  // The rest of a refused body is not read: the connection is closed after the response.
  const chunks = request.iterator({ destroyOnReturn: false })
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await chunks.next()
      if (next.done === true) controller.close()
      else controller.enqueue(next.value as Uint8Array)
    },
    async cancel() {
      await chunks.return?.()
    },
  })
}

function responseHeaders(received: Response, { complete }: NodeRequest): Record<string, string> {
  return { ...Object.fromEntries(received.headers), ...(!complete && { connection: "close" }) }
}
