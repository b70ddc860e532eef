/**
 * The filtered stream as an iteration over its lines.
 *
 *     connect ─► lines, keep-alives ─► the end, a break, silence ─► wait ─► connect, with what was missed meanwhile
 */
import type { StreamedBody } from "@sluice/api"
import { connectionLines } from "./connection-lines.ts"
import { ApiError } from "./errors.ts"
import {
  beginAfter,
  beginOf,
  completeWhenOpened,
  gapEndMs,
  isComplete,
  isDisconnectMessage,
  queryFrom,
  SeenPosts,
} from "./healing.ts"
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
  /**
   * Until then no match is missing once this line is handled, apart from gaps: those that `onGap` reported, and those of a stream
   * that heals none. During a recovery or a backfill it is the time at which that begins.
   */
  readonly completeUntil: Date
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
  /**
   * With `start_time` the iteration ends with the window: it is not opened again, and nothing is healed. A line with `errors`
   * says that the server cut the window short.
   */
  readonly query?: Query | undefined
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal | undefined
  /** False: the iteration ends with the first connection, and its error is thrown. */
  readonly reconnect?: boolean | undefined
  /**
   * True, the default: requests the matches between two connections, again when that is cut short, and drops posts that come
   * twice, of the newest 100,000. If a server refuses that, calls `onGap` and continues without.
   */
  readonly heal?: boolean | undefined
  /**
   * The `completeUntil` of the last line that was handled before a restart: the stream begins with the matches after it, as after
   * a gap between two connections. Repeats come from the minute before. Throws `TypeError` when the stream heals no gaps.
   */
  readonly completeUntil?: Date | undefined
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
 * refusal other than 429 and 5xx, and a failure to open the very first connection.
 */
export async function* streamLines<Body extends object = StreamedBody>(
  url: string,
  connect: Connect,
  options: StreamOptions = {},
  nowMs: () => number = Date.now,
): AsyncGenerator<StreamLine<Body>, void, void> {
  const { signal = new AbortController().signal, onDisconnect, silenceMsMax = silenceMsMaxDefault } = options
  const reconnect = options.reconnect !== false && beginOf(options.query).kind !== "recovery"
  let heal = reconnect && options.heal !== false
  const isContinued = options.completeUntil !== undefined
  if (isContinued && !heal) throw new TypeError("`completeUntil` needs a stream that heals gaps, and no `start_time`.")
  const seen = new SeenPosts()
  /** Until then nothing is missing. */
  let completeAtMs = options.completeUntil?.getTime() ?? nowMs()
  let hasConnected = false
  let failures = 0
  let lastFault: StreamFault | undefined
  while (!signal.aborted) {
    const beganAtMs = nowMs()
    const isHealing = heal && (hasConnected || isContinued)
    const begin = isHealing ? beginAfter(completeAtMs, beganAtMs) : beginOf(options.query)
    const query = isHealing ? queryFrom(options.query, begin) : options.query
    let error: ApiError | undefined
    let isCutShort = false
    try {
      const open = async (ended: AbortSignal): Promise<ReadableStream<Uint8Array>> => {
        const body = await connect(query, ended)
        hasConnected = true
        if (!isHealing) completeAtMs = completeWhenOpened(begin, nowMs())
        options.onConnect?.()
        return body
      }
      for await (const text of connectionLines(url, open, signal, silenceMsMax)) {
        const body = bodyOf<Body>(text)
        isCutShort ||= isDisconnectMessage(body)
        const isLive = !isCutShort && isComplete(begin, text, nowMs() - beganAtMs)
        if (isLive) completeAtMs = nowMs()
        const id = (body as StreamedBody | undefined)?.data?.id
        const isRepeat = heal && id !== undefined && !seen.add(id)
        // A connection may fail at the same line each time, be ended by the server at once, or lead to a page of a proxy.
        const hasLasted = begin.kind !== "recovery" && nowMs() - beganAtMs >= steadyMs
        if ((isLive || hasLasted) && (text === "" || (id !== undefined && !isRepeat))) failures = 0
        if (text !== "" && !isRepeat) yield { text, body, completeUntil: new Date(completeAtMs) }
      }
      if (isHealing && begin.kind === "recovery" && !isCutShort && !signal.aborted) {
        completeAtMs = beganAtMs
        continue
      }
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown
      error = thrown
      if (isHealing && isRefused(error)) {
        const untilMs = gapEndMs(begin, beganAtMs)
        options.onGap?.({ from: new Date(completeAtMs), to: new Date(untilMs) })
        if (begin.kind === "recovery") completeAtMs = untilMs
        else heal = false
        continue
      }
      if (!reconnect) throw error
    }
    if (signal.aborted || !reconnect) return
    const fault = error === undefined ? "network" : passingFault(error, hasConnected)
    if (fault === undefined) throw error
    failures = fault === lastFault ? failures + 1 : 1
    lastFault = fault
    const delayMs = Math.max(reconnectDelayMs(fault, failures), Math.min(error?.retryAfterMs ?? 0, retryAfterMsMax))
    onDisconnect?.({ error, delayMs })
    await sleep(delayMs, signal)
  }
}

/** New posts of a connection that lasts so long show that it works. Ours. */
const steadyMs = 30_000

/** Longest wait that a server can ask for. Ours: X's rate limits last 15 minutes. */
const retryAfterMsMax = 900_000

/** True if a server refused the request that heals a gap: the gap may be too old, or the request unknown to it. */
function isRefused({ status }: ApiError): boolean {
  return status === 400 || status === 403
}

function passingFault(error: ApiError, hasConnected: boolean): StreamFault | undefined {
  if (error.kind === "connection") return hasConnected ? "network" : undefined
  if (error.status === undefined) return undefined
  if (error.status === 429) return "rate-limit"
  return error.status >= 500 ? "http" : undefined
}

/** The object of a line; `undefined` for a keep-alive, and when it is no JSON object. */
function bodyOf<Body extends object>(text: string): Body | undefined {
  if (text === "") return undefined
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === "object" && value !== null ? (value as Body) : undefined
  } catch {
    return undefined
  }
}
