/**
 * Meanings of texts, as vectors, from an OpenAI-compatible endpoint: `POST …/embeddings`.
 *
 *     texts ─► by 64 ─► POST {model, input} ─► (once more when that may help) ─► data by index ─► unit vectors
 *
 * It uses undici directly and not `outbound.ts`: the operator chose this address, which often is one of the same
 * machine, and the guard for addresses that apps choose would refuse it.
 *
 * Source: OpenAI, "Create embeddings"; Ollama, llama.cpp, vLLM and others respond in the same form.
 */
import type { Agent } from "undici"
import type { Clock } from "./clock.ts"
import { keepErrorClasses } from "./error-codec.ts"

/** Meanings of texts. */
export interface Embeddings {
  /**
   * A vector for each text, in order, all of one size and of length 1, or all zeros where the endpoint gave those.
   * Empty for no texts, without a request. Throws `EmbeddingsUnavailable`; it is safe to retry.
   */
  of(texts: readonly string[]): Promise<readonly Float32Array[]>
  /** Aborts requests in flight and closes all connections. */
  close(): Promise<void>
}

/** Address of the endpoint, and the model and key for its requests. Plain data. */
export interface EmbeddingsEndpoint {
  /** The whole URL that is posted to. */
  readonly url: string
  readonly model: string
  /** Sent as a bearer token. */
  readonly key?: string
}

/** The endpoint's response is wrong or missing. The message omits its address; `cause` holds its own words. */
export class EmbeddingsUnavailable extends Error {
  override readonly name = "EmbeddingsUnavailable"
  /** The fault of the endpoint, as a verb with its object; the message is the whole sentence. */
  readonly what: string
  /** Another try in a moment may end otherwise. */
  readonly mayPass: boolean

  constructor(what: string, { mayPass = false, cause }: { mayPass?: boolean; cause?: unknown } = {}) {
    super(`The embeddings endpoint ${what}.`, cause === undefined ? undefined : { cause })
    this.what = what
    this.mayPass = mayPass
  }
}

keepErrorClasses(EmbeddingsUnavailable)

/** Most texts of one request. Ours: endpoints on small machines take no more in a few seconds. */
const textsMax = 64

/** For the texts of one request, from the connection to the last byte, a second try included. Ours. */
const deadlineMs = 10_000

/** Wait before the second try. Ours. */
const retryMs = 250

/** Largest response that is read: 64 vectors of 8,192 numbers, written as long as numbers get. Ours. */
const responseBytesMax = 16 * 1024 * 1024

/** Most characters of a response that are shown as the reason. */
const shownCharactersMax = 300

/** Requests in progress at a time. A request that finds no free connection waits, within its deadline. */
const connectionsMax = 4

const agentOptions: Agent.Options = {
  connections: connectionsMax,
  pipelining: 1,
  allowH2: false,
  maxResponseSize: responseBytesMax,
  // The deadline is over all of this.
  headersTimeout: 0,
  bodyTimeout: 0,
}

/** Embeddings from an endpoint. */
export function createEmbeddings(options: EmbeddingsEndpoint & { readonly clock: Clock }): Embeddings {
  const { url, model, key, clock } = options
  let agent: Agent | undefined
  const headers = {
    "content-type": "application/json",
    "accept-encoding": "identity",
    "user-agent": "Sluice",
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
  }

  async function post(texts: readonly string[], signal: AbortSignal): Promise<string> {
    // Half a surrogate pair is no text to most endpoints, and one of them must not spoil a batch.
    const body = JSON.stringify({ model, input: texts.map((text) => text.toWellFormed()) })
    // Loaded with the first request, since a server without an endpoint makes none.
    const { request, ...undici } = await import("undici")
    agent ??= new undici.Agent(agentOptions)
    const response = await request(url, { dispatcher: agent, method: "POST", headers, body, signal })
    const text = await response.body.text()
    const { statusCode } = response
    if (statusCode >= 200 && statusCode < 300) return text
    throw new EmbeddingsUnavailable(`responded with status ${statusCode}`, {
      mayPass: statusCode === 429 || statusCode >= 500,
      // Some responses to a wrong key repeat it, and causes go into logs.
      cause: new Error((key === undefined ? text : text.replaceAll(key, "…")).slice(0, shownCharactersMax)),
    })
  }

  async function postTwice(texts: readonly string[], signal: AbortSignal): Promise<string> {
    try {
      return await post(texts, signal)
    } catch (error) {
      if (!faultOf(error, signal).mayPass) throw faultOf(error, signal)
    }
    await clock.sleep(retryMs, signal)
    try {
      signal.throwIfAborted()
      return await post(texts, signal)
    } catch (error) {
      throw faultOf(error, signal)
    }
  }

  async function within<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const [late, ended] = [new AbortController(), new AbortController()]
    const tooLate = new EmbeddingsUnavailable(`did not respond within ${deadlineMs / 1000} s`)
    void clock.sleep(deadlineMs, ended.signal).then(() => late.abort(tooLate))
    try {
      return await work(late.signal)
    } finally {
      ended.abort()
    }
  }

  return {
    async of(texts) {
      const vectors: Float32Array[] = []
      for (let from = 0; from < texts.length; from += textsMax) {
        const some = texts.slice(from, from + textsMax)
        vectors.push(...readVectors(await within((signal) => postTwice(some, signal)), some.length))
      }
      refuseMixed(vectors)
      return vectors
    },
    async close() {
      await agent?.destroy()
    },
  }
}

/** The error of a request, in our words. */
function faultOf(error: unknown, signal: AbortSignal): EmbeddingsUnavailable {
  if (signal.reason instanceof EmbeddingsUnavailable) return signal.reason
  if (error instanceof EmbeddingsUnavailable) return error
  if (error instanceof Error && "code" in error && error.code === "UND_ERR_RES_EXCEEDED_MAX_SIZE") {
    return new EmbeddingsUnavailable(`responded with more than ${responseBytesMax} bytes`)
  }
  // Several addresses were tried: the first one's failure says most.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error
  const code = first instanceof Error && "code" in first ? ` (${String(first.code)})` : ""
  return new EmbeddingsUnavailable(`could not be reached${code}`, { mayPass: true, cause: error })
}

/** The vectors of a response, in the order of the texts. */
function readVectors(text: string, count: number): readonly Float32Array[] {
  const items = membersOf(parsed(text)).data
  if (!Array.isArray(items)) throw new EmbeddingsUnavailable("responded without a list in `data`")
  if (items.length !== count) {
    throw new EmbeddingsUnavailable(`responded with ${items.length} vectors for ${count} texts`)
  }
  const vectors = new Map<unknown, Float32Array>()
  for (const item of items) {
    const { index, embedding } = membersOf(item)
    vectors.set(index, unitVector(embedding))
  }
  return Array.from({ length: count }, (_, index) => {
    const vector = vectors.get(index)
    if (vector !== undefined) return vector
    throw new EmbeddingsUnavailable(`responded without the vector of index ${index}`)
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new EmbeddingsUnavailable("responded with something that is not JSON", { cause })
  }
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}

/** The numbers at length 1, so that a product of two is their cosine. */
function unitVector(numbers: unknown): Float32Array {
  if (!Array.isArray(numbers) || numbers.length === 0) {
    throw new EmbeddingsUnavailable("responded with a vector that is not a list of numbers")
  }
  const vector = new Float32Array(numbers.length)
  let squares = 0
  for (const [at, value] of numbers.entries()) {
    // A number that a float cannot hold is refused, too.
    if (typeof value !== "number" || !Number.isFinite(Math.fround(value))) {
      throw new EmbeddingsUnavailable("responded with a vector that holds something other than finite numbers")
    }
    vector[at] = value
    squares += value * value
  }
  const length = Math.sqrt(squares)
  return length === 0 ? vector : vector.map((value) => value / length)
}

function refuseMixed(vectors: readonly Float32Array[]): void {
  const sizes = new Set(vectors.map((vector) => vector.length))
  if (sizes.size > 1) {
    throw new EmbeddingsUnavailable(`responded with vectors of different sizes: ${[...sizes].join(", ")}`)
  }
}
