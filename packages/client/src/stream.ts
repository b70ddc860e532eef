/**
 * The filtered stream as an iteration over its lines.
 *
 *     connect ─► lines, keep-alives ─► the end, a break, silence ─► wait ─► connect
 *
 * A connection that is silent for longer than the server promises is dead, though no error says so.
 */
import type { StreamedBody } from "@sluice/api"
import { ApiError, noResponse } from "./errors.ts"
import type { Query } from "./operations.ts"
import { reconnectDelayMs, sleep, type StreamFault } from "./retry.ts"

/** Longest silence on a connection. X promises a keep-alive every 20 s. */
const silenceMsMax = 30_000

/** Most characters of one line. Ours: a post with everything that it refers to is far below. */
const lineCharactersMax = 32 * 1024 * 1024

/** A line of the stream that is not a keep-alive. */
export interface StreamLine<Body = StreamedBody> {
  /** As it came, without the line end. */
  readonly text: string
  /** The same as a value: a post, or `errors` about the connection. `undefined` when it is no JSON object. */
  readonly body: Body | undefined
}

/** How a stream is read. */
export interface StreamOptions {
  readonly query?: Query | undefined
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal | undefined
  /** False: the iteration ends with the first connection, and its error is thrown. */
  readonly reconnect?: boolean
  /** Called before each delay. `error` is undefined when the server ended the connection in order. */
  readonly onDisconnect?: (disconnect: { readonly error: Error | undefined; readonly delayMs: number }) => void
  /** Ours; 30 s. */
  readonly silenceMsMax?: number
}

/** Opens a connection. Throws as a request does. */
export type Connect = (query: Query | undefined, signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>

/**
 * The lines of the stream, over connection after connection, until `signal` is aborted. Throws what will not pass: a
 * refusal other than 429 and 5xx, and a failure of the very first connection.
 */
export async function* streamLines(
  url: string,
  connect: Connect,
  options: StreamOptions = {},
): AsyncGenerator<StreamLine, void, void> {
  const { signal = new AbortController().signal, reconnect = true, onDisconnect } = options
  let hasConnected = false
  let failures = 0
  let lastFault: StreamFault | undefined
  while (!signal.aborted) {
    let error: Error | undefined
    let fault: StreamFault = "network"
    try {
      for await (const text of connectionLines(url, connect, { ...options, signal })) {
        hasConnected = true
        failures = 0
        if (text !== "") yield { text, body: parsed(text) }
      }
    } catch (thrown) {
      const passing = reconnect ? passingFault(thrown, hasConnected) : undefined
      if (passing === undefined) throw thrown
      error = thrown as ApiError
      fault = passing
    }
    if (signal.aborted || !reconnect) return
    failures = fault === lastFault ? failures + 1 : 1
    lastFault = fault
    const delayMs = reconnectDelayMs(fault, failures)
    onDisconnect?.({ error, delayMs })
    await sleep(delayMs, signal)
  }
}

function passingFault(error: unknown, hasConnected: boolean): StreamFault | undefined {
  if (!(error instanceof ApiError)) return undefined
  if (error.kind === "connection") return hasConnected ? "network" : undefined
  if (error.status === undefined) return undefined
  if (error.status === 429) return "rate-limit"
  return error.status >= 500 ? "http" : undefined
}

/** The lines of one connection, keep-alives as empty ones. Ends with the connection or when `signal` is aborted. */
async function* connectionLines(
  url: string,
  connect: Connect,
  { query, signal, silenceMsMax: msMax = silenceMsMax }: StreamOptions & { readonly signal: AbortSignal },
): AsyncGenerator<string, void, void> {
  const silence = new AbortController()
  const limited = withSilenceLimit(silence, url, msMax)
  try {
    const body = await limited(connect(query, AbortSignal.any([signal, silence.signal])))
    const chunks = body.getReader()
    const decoder = new TextDecoder()
    let rest = ""
    for (let next = await limited(chunks.read()); !next.done; next = await limited(chunks.read())) {
      // Only the new chunk is searched: JSON has no line feed in it, so every one ends a line.
      const [first = "", ...others] = decoder.decode(next.value, { stream: true }).split("\n")
      rest += first
      if (rest.length > lineCharactersMax) throw noResponse(url, new Error("a line does not end"))
      for (const following of others) {
        yield rest.replace(/\r$/, "")
        rest = following
      }
    }
  } catch (error) {
    if (signal.aborted) return
    if (silence.signal.aborted) throw silence.signal.reason
    throw error instanceof ApiError ? error : noResponse(url, error)
  } finally {
    // A reader that leaves in the middle leaves the connection, too.
    silence.abort()
  }
}

/** Waits for what the server sends, and aborts `silence` when it takes too long. The reader's own time does not count. */
function withSilenceLimit(silence: AbortController, url: string, msMax: number) {
  return async <Result>(sent: Promise<Result>): Promise<Result> => {
    const reason = new Error(`nothing was received for ${String(msMax / 1000)} s`)
    const timer = setTimeout(() => silence.abort(noResponse(url, reason)), msMax)
    try {
      return await sent
    } finally {
      clearTimeout(timer)
    }
  }
}

function parsed(text: string): StreamedBody | undefined {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === "object" && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
