/** A real endpoint for tests, whose vectors count words: texts are the more similar the more words they share. */
import { randomInt } from "node:crypto"
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http"
import { text } from "node:stream/consumers"

/** A request as it came. */
interface AskedFor {
  readonly headers: IncomingHttpHeaders
  readonly model: unknown
  readonly input: readonly string[]
}

/** A fault: takes the response over and returns true, or returns false. */
type Fault = (response: ServerResponse, asked: AskedFor, right: unknown) => boolean

/** An endpoint on a port of its own. */
export interface EmbeddingsEndpoint extends AsyncDisposable {
  readonly url: string
  readonly asked: readonly AskedFor[]
  /** Absent: it responds as it must. */
  fault: Fault | undefined
  /** Ends it; until it is started again, its port refuses connections. */
  stop(): Promise<void>
  start(): Promise<void>
}

const size = 256

/**
 * Its port is one of these, and not one that the system chooses: those are given to others, and a port that is left for
 * a while may be taken when it is wanted back. Source: ip(7), `ip_local_port_range`, from 32,768 on.
 */
const [portMin, portMax] = [10_000, 32_000]

/** Starts one. */
export async function startEmbeddingsEndpoint(): Promise<EmbeddingsEndpoint> {
  const asked: AskedFor[] = []
  let port = 0
  const server = createServer((request, response) => void respond(request, response))
  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { model, input } = JSON.parse(await text(request)) as { model: unknown; input: readonly string[] }
    const one = { headers: request.headers, model, input }
    asked.push(one)
    const data = input.map((words, index) => ({ object: "embedding", index, embedding: countsOf(words) }))
    // Backwards, since it is `index` that says which is which.
    const right = { object: "list", data: data.toReversed(), model }
    if (endpoint.fault?.(response, one, right) === true) return
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify(right))
  }
  const endpoint: EmbeddingsEndpoint = {
    get url() {
      return `http://127.0.0.1:${port}/v1/embeddings`
    },
    asked,
    fault: undefined,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
    async start() {
      server.listen(port, "127.0.0.1")
      await once(server, "listening")
    },
    async [Symbol.asyncDispose]() {
      if (server.listening) await endpoint.stop()
    },
  }
  while (!server.listening) {
    port = randomInt(portMin, portMax)
    await endpoint.start().catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error
    })
  }
  return endpoint
}

/** How often each word occurs, in the place that its letters choose. */
function countsOf(words: string): number[] {
  const counts = Array.from({ length: size }, () => 0)
  for (const [word] of words.toLowerCase().matchAll(/\p{L}+/gu)) {
    const place = Array.from(word).reduce((sum, letter) => sum * 31 + (letter.codePointAt(0) ?? 0), 7) % size
    counts[place] = (counts[place] ?? 0) + 1
  }
  return counts
}
