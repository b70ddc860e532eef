/**
 * A connection to streams of an instance: several over one WebSocket, or one as server-sent events, for networks in which a
 * proxy lets no WebSocket through.
 *
 * Source: mastodon/documentation, "streaming".
 */
import type { Clock } from "../../runtime/clock.ts"
import type { OutboundPosture } from "../../runtime/outbound/outbound-address.ts"
import { openStreamedResponse, type StreamedResponse } from "../../runtime/outbound/streamed-response.ts"
import { ItemEvents } from "../positioned/item-events.ts"
import { checkDestination, connectionFailure, refusalBody, retryAfterOf } from "../positioned/refusals.ts"
import { Watchdog } from "../positioned/watchdog.ts"
import { openWebSocket, type ReadableWebSocket } from "../positioned/web-socket.ts"
import { advisedFailure, InstanceRefused } from "./instance-refusals.ts"
import { eventOf, messageReader, unreadable, type StreamMessage } from "./stream-event.ts"
import type { MastodonStream } from "./streams.ts"

/** An open connection. Disposing of it closes it. */
export interface InstanceConnection extends AsyncDisposable {
  /** Host and port. */
  readonly host: string
  /** As that of `ReadableWebSocket`. */
  readonly takenUntilMs: number
  /** Messages in order, each taken when the last one is done with. Throws at the end; returns when aborted. */
  messages(): AsyncIterable<StreamMessage>
}

/** A connection that is wanted. */
export interface ConnectionOptions {
  /** The address of the streams, as a WebSocket. */
  readonly url: string
  readonly token: string | undefined
  readonly streams: readonly MastodonStream[]
  readonly clock: Clock
  readonly posture: OutboundPosture
}

/** A connection that is silent for so long is lost. Ours: Mastodon sends a ping or `:thump` every 15 s to 30 s. */
const silenceMsMax = 60_000

/** Longest time that a connection is left unread. Ours: the instance keeps all of it in memory. */
const pausedMsMax = 10_000

/** Most bytes of an event. Ours: a status has some 10 KB. */
const eventBytesMax = 4 * 1024 * 1024

function headersWith(token: string | undefined): Readonly<Record<string, string>> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` }
}

/** Connects over a WebSocket, and subscribes. Throws an `AdvisedError` when it is refused. */
export async function connectWebSocket(options: ConnectionOptions, signal: AbortSignal): Promise<InstanceConnection> {
  const { url, token, streams, posture, clock } = options
  let socket: ReadableWebSocket
  try {
    const headers = headersWith(token)
    socket = await openWebSocket({ url, headers, posture, clock, silenceMsMax, pausedMsMax }, signal)
  } catch (error) {
    throw advisedFailure(error, new URL(url).host, clock.nowMs())
  }
  for (const { subscription } of streams) socket.send(JSON.stringify({ type: "subscribe", ...subscription }))
  const read = messageReader(streams)
  return {
    host: socket.host,
    get takenUntilMs() {
      return socket.takenUntilMs
    },
    async *messages() {
      for await (const { bytes, heardAtMs } of socket) yield read(bytes, heardAtMs)
    },
    [Symbol.asyncDispose]: () => socket[Symbol.asyncDispose](),
  }
}

/** Connects to the first stream as server-sent events. Throws an `AdvisedError` when it is refused. */
export async function connectEvents(options: ConnectionOptions, signal: AbortSignal): Promise<InstanceConnection> {
  const { token, streams, posture, clock } = options
  const { name = "", subscription: { stream: path = "", ...query } = {} } = streams[0] ?? {}
  const url = new URL(`${options.url.replace(/^ws/, "http")}/${path.replaceAll(":", "/")}`)
  for (const [member, value] of Object.entries(query)) url.searchParams.set(member, value)
  checkDestination(url, posture)
  const lost = new AbortController()
  const either = AbortSignal.any([signal, lost.signal])
  const headers = { accept: "text/event-stream", ...headersWith(token) }
  let response: StreamedResponse
  try {
    response = await openStreamedResponse({ method: "GET", url: url.href, headers, posture }, either)
  } catch (error) {
    throw connectionFailure(url.host, error)
  }
  if (response.status !== 200) {
    await using refused = response
    throw await refusalOf(refused, url.host, clock)
  }
  let takenUntilMs = clock.nowMs()
  const taken = (untilMs: number): void => void (takenUntilMs = untilMs)
  return {
    host: url.host,
    get takenUntilMs() {
      return takenUntilMs
    },
    async *messages() {
      try {
        yield* eventsIn(response, { host: url.host, stream: name, clock, taken, lose: (error) => lost.abort(error) })
      } catch (error) {
        if (signal.aborted) return
        throw lost.signal.aborted ? lost.signal.reason : connectionFailure(url.host, error)
      }
    },
    [Symbol.asyncDispose]: () => response[Symbol.asyncDispose](),
  }
}

async function refusalOf(response: StreamedResponse, host: string, clock: Clock): Promise<InstanceRefused> {
  const body = await refusalBody(response.body)
  const { status } = response
  const names = ["retry-after", "x-ratelimit-reset"]
  const retryAfter = retryAfterOf(status, Object.fromEntries(names.map((name) => [name, response.header(name)])))
  return new InstanceRefused({ host, status, retryAfter, body }, clock.nowMs())
}

async function* eventsIn(
  response: StreamedResponse,
  {
    host,
    stream,
    clock,
    taken,
    lose,
  }: {
    readonly host: string
    readonly stream: string
    readonly clock: Clock
    /** Called with the time up to which every event that has come was taken, Unix ms. */
    readonly taken: (untilMs: number) => void
    /** Ends the body with this error. */
    readonly lose: (error: Error) => void
  },
): AsyncGenerator<StreamMessage, void, void> {
  const events = await ItemEvents.open(eventBytesMax, undefined)
  const silence = new Error(`${host} has sent nothing for ${silenceMsMax / 1_000} s.`)
  using life = new Watchdog(silenceMsMax, () => lose(silence), clock)
  life.start()
  for await (const chunk of response.body as AsyncIterable<Buffer>) {
    life.stop()
    const receivedMs = clock.nowMs()
    const paused = setTimeout(
      () => lose(new Error(`Posts could not be taken for ${pausedMsMax / 1_000} s, so ${host} was left.`)),
      pausedMsMax,
    )
    try {
      for (const { bytes, event = "", fault } of events.read(chunk)) {
        const place = { receivedMs, bytes: bytes.length }
        const payload = Buffer.from(bytes).toString("utf8")
        yield fault === undefined ? eventOf({ stream, event, payload }, place) : unreadable(payload, place)
      }
    } finally {
      clearTimeout(paused)
    }
    taken(receivedMs)
    life.start()
  }
  throw new Error(`${host} has ended the stream.`)
}
