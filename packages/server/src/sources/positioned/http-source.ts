/**
 * Lines or server-sent events over HTTP as a source of posts.
 *
 *     position ─► request ─► body ─► lines or events ─► items ─► mapping ─► records
 *        ▲                    │ it ends
 *        └── pollSeconds ◄────┤ with pollSeconds: ask again behind the last item
 *                             └ without: the stream is lost, and the driver connects again
 *
 * The body is a stream: while items are not taken it is not read, and TCP makes the server wait.
 */
import type { Readable } from "node:stream"
import type { Clock } from "../../runtime/clock.ts"
import type { OutboundPosture, Resolve } from "../../runtime/outbound/outbound-address.ts"
import {
  openStreamedResponse,
  UnknownEncoding,
  type StreamedResponse,
} from "../../runtime/outbound/streamed-response.ts"
import { readOnce, type SettingsReader } from "../settings.ts"
import { hasCursor, headersAt, textAt, urlAt } from "./cursor-template.ts"
import { MissedTime } from "./missed-time.ts"
import { readFeedSettings, type FeedSettings } from "./feed-settings.ts"
import { feedMapper, itemBytesMax } from "./feed-mapper.ts"
import { ItemEvents } from "./item-events.ts"
import { readItems, type ItemFlow } from "./item-flow.ts"
import { Endless, ItemLines } from "./item-lines.ts"
import { AdvisedError, type RecordReader, type RecordSink } from "./positioned-source.ts"
import { checkDestination, connectionFailure, refusalBody, SourceRefused } from "./refusals.ts"
import { Watchdog } from "./watchdog.ts"
import type { SourceItem } from "../mapping/source-item.ts"

/** Settings of a source of this kind. */
export interface HttpSettings extends FeedSettings {
  readonly method: "GET" | "POST"
  /** The body of a POST; it may hold `{cursor}` within a string of JSON. */
  readonly body: string | undefined
  /** `auto`: as the type of the response says. */
  readonly format: "auto" | "lines" | "events"
  /** Time between requests to a server that ends its responses; 0 for one that does not. */
  readonly pollMs: number
}

/** Reads the settings. Throws an `Error` that continues "The source NAME". */
export function readHttpSettings(settings: SettingsReader): HttpSettings {
  const http: HttpSettings = {
    ...readFeedSettings(settings, ["https:", "http:"], "https://feed.example.com/items?since={cursor}"),
    method: settings.oneOf("method", ["GET", "POST"]),
    body: settings.script("body"),
    format: settings.oneOf("format", ["auto", "lines", "events"]),
    pollMs: settings.wholeNumber("pollSeconds", [0, 86_400], 0) * 1_000,
  }
  settings.noOthers()
  if (http.body !== undefined && http.method === "GET")
    throw new Error("has a body, and method is GET: set method to POST.")
  return http
}

/** Dependencies of the readers of feeds. */
export interface FeedDeps {
  readonly clock: Clock
  readonly posture: OutboundPosture
  /** Most bytes of a record, as ingest takes them. */
  readonly postBytesMax: number
  /** Stands in for DNS in tests. */
  readonly resolve?: Resolve
}

/** A reader of the source, whose mapping `checkMapping` has accepted. */
export function createHttpReader(settings: HttpSettings, deps: FeedDeps): RecordReader {
  readOnce([settings.headers])
  const mapper = feedMapper(settings.mapping, deps.postBytesMax)
  const missed = new MissedTime(deps.clock)
  return {
    read: (position, sink, signal) =>
      readItems(mapper, sink, signal, (flow) =>
        new HttpReading(settings, deps, { flow, sink, signal, missed }).run(position),
      ),
    [Symbol.asyncDispose]: () => mapper[Symbol.asyncDispose](),
  }
}

interface Reading {
  readonly flow: ItemFlow
  readonly sink: RecordSink
  readonly signal: AbortSignal
  /** The time between responses that do not end by themselves. */
  readonly missed: MissedTime
}

/** One reading of a source, from a position on. */
class HttpReading {
  readonly #settings: HttpSettings
  readonly #deps: FeedDeps
  readonly #reading: Reading
  #isConnected = false
  /** When the last of a body came that was taken, Unix ms. */
  #takenAtMs = 0
  /** When the response began, Unix ms. */
  #begunAtMs = 0

  constructor(settings: HttpSettings, deps: FeedDeps, reading: Reading) {
    this.#settings = settings
    this.#deps = deps
    this.#reading = reading
  }

  async run(begin: string | undefined): Promise<void> {
    const { pollMs } = this.#settings
    const { flow, sink, signal, missed } = this.#reading
    missed.reading(sink)
    let position = begin ?? this.#settings.start
    while (!signal.aborted) {
      const ended = await this.#readResponse(position)
      if (pollMs === 0) throw ended
      await flow.end()
      const reached = flow.position ?? position
      // A response that moves the position may be one page of several.
      if (reached === position) await this.#deps.clock.sleep(pollMs, signal)
      position = reached
    }
  }

  /** Reads a response to its end, which is a failure unless responses are to end. */
  async #readResponse(position: string | undefined): Promise<AdvisedError> {
    const { signal, sink } = this.#reading
    const url = urlAt(this.#settings.url, position)
    const { host } = new URL(url)
    const headers = this.#settings.headers()
    await using response = await this.#open(url, position, headers)
    if (response.status === 204) return endOf(host, 0)
    if (response.status !== 200) throw await this.#refusalOf(response, host)
    if (!this.#isConnected) sink.connected(host)
    this.#isConnected = true
    const type = response.header("content-type") ?? ""
    const { format } = this.#settings
    const isEvents = format === "events" || (format === "auto" && /^text\/event-stream\b/i.test(type))
    const isEndless = this.#settings.pollMs === 0
    if (isEndless) await this.#markMissed(isEvents, position, headers)
    let hasEnded = false
    try {
      const retryMs = isEvents
        ? await this.#readEvents(response.body, position, host)
        : await this.#readLines(response.body, host)
      hasEnded = true
      return endOf(host, retryMs)
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof Endless)) throw error
      throw new AdvisedError(`${host}: ${error.message}`, "Check that items end with line breaks, each a JSON text.")
    } finally {
      if (isEndless) this.#noteMissed(hasEnded)
    }
  }

  /** Marks the time since the response before, unless the request has said what came last. */
  async #markMissed(
    isEvents: boolean,
    position: string | undefined,
    headers: Readonly<Record<string, string>>,
  ): Promise<void> {
    const { missed, sink } = this.#reading
    const { url, body } = this.#settings
    const isAsked = position !== undefined && hasCursor(url, body, ...Object.values(headers))
    const isResumed = isEvents && lastEventIdOf(this.#settings, position) !== undefined
    await missed.connected(sink, isAsked || isResumed)
    this.#begunAtMs = this.#takenAtMs = this.#deps.clock.nowMs()
  }

  #noteMissed(hasEnded: boolean): void {
    // A response that soon ends as it should is none of a stream.
    const isOfStream = !hasEnded || this.#deps.clock.nowMs() - this.#begunAtMs >= streamMsMin
    this.#reading.missed.lost(isOfStream ? this.#takenAtMs : undefined)
  }

  async #open(
    url: string,
    position: string | undefined,
    headers: Readonly<Record<string, string>>,
  ): Promise<StreamedResponse> {
    const { settings, deps } = { settings: this.#settings, deps: this.#deps }
    const { host } = new URL(url)
    checkDestination(new URL(url), deps.posture)
    const body = settings.body === undefined ? undefined : textAt(settings.body, position)
    try {
      return await openStreamedResponse(
        {
          method: settings.method,
          url,
          headers: { ...ownHeaders(settings, position), ...headersAt(headers, position) },
          body,
          posture: deps.posture,
          resolve: deps.resolve,
        },
        this.#reading.signal,
      )
    } catch (error) {
      if (!(error instanceof UnknownEncoding)) throw connectionFailure(host, error)
      const advice = "Set the header accept-encoding at the source's side to gzip, or to nothing."
      throw new AdvisedError(`${host} has compressed its response by ${JSON.stringify(error.message)}.`, advice)
    }
  }

  async #refusalOf(response: StreamedResponse, host: string): Promise<SourceRefused> {
    const { status } = response
    const retryAfter = response.header("retry-after")
    const body = await refusalBody(response.body)
    return new SourceRefused({ host, status, retryAfter, body }, this.#deps.clock.nowMs())
  }

  async #readLines(body: Readable, host: string): Promise<number> {
    const lines = new ItemLines(this.#itemBytesMax)
    for await (const chunk of this.#chunks(body, host)) await this.#take(lines.read(chunk))
    // A response that ended as it should may have no line break at its end.
    await this.#take(lines.end())
    return 0
  }

  /** Returns the wait that the server asks for, in ms. */
  async #readEvents(body: Readable, position: string | undefined, host: string): Promise<number> {
    const events = await ItemEvents.open(this.#itemBytesMax, position)
    for await (const chunk of this.#chunks(body, host)) await this.#take(events.read(chunk))
    return Math.min(events.retryMs, retryMsMax)
  }

  async #take(items: Iterable<SourceItem>): Promise<void> {
    for (const item of items) {
      this.#reading.signal.throwIfAborted()
      await this.#reading.flow.take(item)
    }
  }

  get #itemBytesMax(): number {
    return itemBytesMax(this.#settings.mapping, this.#deps.postBytesMax)
  }

  /** The chunks of a body. Throws when it is cut, when it falls silent, and when the reading is aborted. */
  async *#chunks(body: Readable, host: string): AsyncGenerator<Buffer, void, void> {
    const { silenceMsMax } = this.#settings
    const silent = new Error(`${host} has sent nothing for ${silenceMsMax / 1_000} s.`)
    using watchdog = new Watchdog(silenceMsMax, () => body.destroy(silent), this.#deps.clock)
    const { signal } = this.#reading
    const giveUp = (): void => void body.destroy(new Error("The connection was given up."))
    signal.addEventListener("abort", giveUp, { once: true })
    try {
      watchdog.start()
      for await (const chunk of body as AsyncIterable<Buffer>) {
        // Nothing is read while a chunk is worked on, so silence means nothing.
        watchdog.stop()
        yield chunk
        this.#takenAtMs = this.#deps.clock.nowMs()
        watchdog.start()
      }
    } finally {
      signal.removeEventListener("abort", giveUp)
    }
  }
}

/** A response that ends sooner is one of many. Ours. */
const streamMsMin = 60_000

/** The id of the last event as a request names it, where a header can hold it. */
function lastEventIdOf({ format }: HttpSettings, position: string | undefined): string | undefined {
  return format === "lines" || position === undefined || !/^[\x20-\x7e]*$/.test(position) ? undefined : position
}

/** Longest wait that an event stream may ask for. Ours. */
const retryMsMax = 300_000

function endOf(host: string, waitMs: number): AdvisedError {
  const advice = "Sluice connects again by itself. For a server that ends its responses set pollSeconds."
  return new AdvisedError(`${host} has ended the response.`, advice, { waitMs })
}

function ownHeaders(settings: HttpSettings, position: string | undefined): Readonly<Record<string, string>> {
  const { format, body, pollMs } = settings
  const eventId = lastEventIdOf(settings, position)
  const accept = {
    auto: "application/x-ndjson, text/event-stream, application/json;q=0.5",
    lines: "application/x-ndjson, application/json;q=0.5",
    events: "text/event-stream",
  }
  return {
    accept: accept[format],
    // Servers that compress what is live may hold it back.
    "accept-encoding": pollMs > 0 ? "gzip" : "identity",
    ...(body !== undefined && { "content-type": "application/json" }),
    ...(eventId !== undefined && { "last-event-id": eventId }),
  }
}
