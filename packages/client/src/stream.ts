/**
 * The filtered stream as an iteration over its lines.
 *
 *     connect ─► lines, keep-alives ─► the end, a break, silence ─► wait ─► connect, with what was missed meanwhile
 */
import type { StreamedBody } from "@sluice/api"
import { connectionLines } from "./connection-lines.ts"
import { ApiError } from "./errors.ts"
import { beginAfter, isComplete, queryFrom, SeenPosts, type Begin } from "./healing.ts"
import type { Query } from "./operations.ts"
import { reconnectDelayMs, sleep, type StreamFault } from "./retry.ts"

/** Longest silence on a connection. X promises a keep-alive every 20 s. */
const silenceMsMaxDefault = 30_000

/** A line of the stream that is not a keep-alive. */
export interface StreamLine<Body = StreamedBody> {
  /** As it came, without the line end. */
  readonly text: string
  /** The same as a value: a post, or `errors` about the connection. `undefined` when it is no JSON object. */
  readonly body: Body | undefined
}

/** The end of a connection. */
export interface StreamDisconnect {
  /** `undefined` when the server ended the connection in order. */
  readonly error: ApiError | undefined
  /** Time until the next attempt. */
  readonly delayMs: number
}

/** Options of a stream. */
export interface StreamOptions {
  /** With `start_time` the iteration ends with the window: it is not opened again, and nothing is healed. */
  readonly query?: Query | undefined
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal | undefined
  /** False: the iteration ends with the first connection, and its error is thrown. */
  readonly reconnect?: boolean | undefined
  /**
   * True, the default: requests the matches between two connections, and drops posts that come twice, of the newest
   * 100,000. If a server refuses that, calls `onGap` and continues without.
   */
  readonly heal?: boolean | undefined
  /** Called when a connection is open: every match from then on is streamed. */
  readonly onConnect?: (() => void) | undefined
  /** Called before each delay. */
  readonly onDisconnect?: ((disconnect: StreamDisconnect) => void) | undefined
  /** Called when matches between these times may be missing. */
  readonly onGap?: ((gap: { readonly from: Date; readonly to: Date }) => void) | undefined
  /** Longest time without a line or a keep-alive; 30 s. */
  readonly silenceMsMax?: number | undefined
}

/** Opens a connection. Throws as a request does. */
export type Connect = (query: Query | undefined, signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>

/**
 * The lines of the stream, over connection after connection, until `signal` is aborted. Throws lasting failures: a
 * refusal other than 429 and 5xx, and a failure of the very first connection.
 */
export async function* streamLines<Body extends object = StreamedBody>(
  url: string,
  connect: Connect,
  options: StreamOptions = {},
  nowMs: () => number = Date.now,
): AsyncGenerator<StreamLine<Body>, void, void> {
  const { signal = new AbortController().signal, onDisconnect, silenceMsMax = silenceMsMaxDefault } = options
  const reconnect = options.reconnect !== false && !isWindow(options.query)
  const seen = new SeenPosts()
  let heal = reconnect && options.heal !== false
  /** Until then nothing is missing; `undefined` before the first connection. */
  let completeAtMs: number | undefined
  let failures = 0
  let lastFault: StreamFault | undefined
  while (!signal.aborted) {
    const beganAtMs = nowMs()
    const begin: Begin = heal && completeAtMs !== undefined ? beginAfter(completeAtMs, beganAtMs) : { kind: "now" }
    const query = queryFrom(options.query, begin)
    let error: ApiError | undefined
    try {
      const open = async (ended: AbortSignal): Promise<ReadableStream<Uint8Array>> => {
        const body = await connect(query, ended)
        options.onConnect?.()
        return body
      }
      for await (const text of connectionLines(url, open, signal, silenceMsMax)) {
        failures = 0
        if (isComplete(begin, text, nowMs() - beganAtMs)) completeAtMs = nowMs()
        const line = text === "" ? undefined : lineOf<Body>(text)
        const id = (line?.body as StreamedBody | undefined)?.data?.id
        if (line !== undefined && (!heal || id === undefined || seen.add(id))) yield line
      }
      if (begin.kind === "recovery" && !signal.aborted) {
        completeAtMs = beganAtMs
        continue
      }
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown
      error = thrown
      if (isRefusedHealing(error, begin) && completeAtMs !== undefined) {
        options.onGap?.({ from: new Date(completeAtMs), to: new Date(beganAtMs) })
        if (begin.kind === "recovery") completeAtMs = beganAtMs
        else heal = false
        continue
      }
      if (!reconnect) throw error
    }
    if (signal.aborted || !reconnect) return
    const fault = error === undefined ? "network" : passingFault(error, completeAtMs !== undefined)
    if (fault === undefined) throw error
    failures = fault === lastFault ? failures + 1 : 1
    lastFault = fault
    const delayMs = Math.max(reconnectDelayMs(fault, failures), Math.min(error?.retryAfterMs ?? 0, retryAfterMsMax))
    onDisconnect?.({ error, delayMs })
    await sleep(delayMs, signal)
  }
}

/** Longest wait that a server can ask for. Ours: X's rate limits last 15 minutes. */
const retryAfterMsMax = 900_000

/** True if a query is for a window of the past, which ends. */
function isWindow(query: Query | undefined): boolean {
  if (typeof query === "string") return new URLSearchParams(query).has("start_time")
  return query?.["start_time"] !== undefined
}

/** True if a server refused the request that heals a gap: the gap may be too old, or the request unknown to it. */
function isRefusedHealing({ status }: ApiError, { kind }: Begin): boolean {
  return kind !== "now" && (status === 400 || status === 403)
}

function passingFault(error: ApiError, hasConnected: boolean): StreamFault | undefined {
  if (error.kind === "connection") return hasConnected ? "network" : undefined
  if (error.status === undefined) return undefined
  if (error.status === 429) return "rate-limit"
  return error.status >= 500 ? "http" : undefined
}

function lineOf<Body extends object>(text: string): StreamLine<Body> {
  try {
    const value = JSON.parse(text) as unknown
    return { text, body: typeof value === "object" && value !== null ? (value as Body) : undefined }
  } catch {
    return { text, body: undefined }
  }
}
