/**
 * An instance of Mastodon as a source: streams over one connection, and timelines for what was missed.
 *
 *     ask the instance ─► connect, subscribe ─► hold live events ─► read timelines up to them ─► held events ─► live
 *            ▲                                                                                                  │
 *            └──────────────────────────────── closed, silent, or refused ◄────────────────────────────────────┘
 *
 * An instance has no cursor and replays nothing, and keeps in its memory what a client leaves unread. So a client that has
 * to wait for longer than ten seconds hangs up, and reads the timelines afterwards.
 * Source: mastodon/documentation, "streaming"; mastodon/mastodon, streaming/index.js.
 */
import type { Clock } from "../../runtime/clock.ts"
import type { OutboundPosture } from "../../runtime/outbound/outbound-address.ts"
import type { RecordReader, RecordSink } from "../positioned/positioned-source.ts"
import { readOnce } from "../settings.ts"
import { FeedWatch } from "./feed-watch.ts"
import { healStreams } from "./healing.ts"
import { HeldEvents } from "./held-events.ts"
import { connectEvents, connectWebSocket, type InstanceConnection } from "./instance-connection.ts"
import { InstanceRefused } from "./instance-refusals.ts"
import { InstanceRequests } from "./instance-requests.ts"
import { describedInstance, restrictionsOf } from "./instance.ts"
import { readPosition, type MastodonPosition } from "./mastodon-position.ts"
import type { MastodonSourceSettings } from "./mastodon-settings.ts"
import { RecordLines } from "./record-lines.ts"
import type { StreamEvent } from "./stream-event.ts"

export { mastodonConversion, mastodonSettings } from "./mastodon-settings.ts"
export { mastodonPositionAt } from "./mastodon-position.ts"

/** Dependencies of the reader. */
export interface MastodonReaderDeps {
  readonly clock: Clock
  /** Addresses that may be connected to. */
  readonly posture: OutboundPosture
}

/** Time between two positions when nothing comes, and between two looks at the streams. Ours. */
const positionMs = 30_000

/** A reader of one instance. */
export function createMastodonReader(settings: MastodonSourceSettings, deps: MastodonReaderDeps): RecordReader {
  readOnce([settings.token])
  return {
    async read(position, sink, signal) {
      await new Reading(settings, deps, { position: readPosition(position), sink }).run(signal)
    },
  }
}

/** One connection. */
class Reading {
  readonly #settings: MastodonSourceSettings
  readonly #deps: MastodonReaderDeps
  readonly #position: MastodonPosition
  readonly #sink: RecordSink
  readonly #lines: RecordLines
  readonly #held = new HeldEvents()
  readonly #watch: FeedWatch
  /** Timelines are read, and held events taken: events go on as they come. */
  #isLive = false

  constructor(
    settings: MastodonSourceSettings,
    deps: MastodonReaderDeps,
    { position, sink }: { readonly position: MastodonPosition; readonly sink: RecordSink },
  ) {
    const streams = settings.streams.map(({ name }) => name)
    this.#settings = settings
    this.#deps = deps
    this.#position = position
    this.#sink = sink
    this.#lines = new RecordLines(position, { sink, clock: deps.clock, streams })
    this.#watch = new FeedWatch(streams, deps.clock.nowMs())
  }

  async run(signal: AbortSignal): Promise<void> {
    const { url, streams } = this.#settings
    const token = this.#settings.token?.()
    const requests = new InstanceRequests({ ...this.#deps, url, token })
    const instance = await describedInstance(requests, url, signal)
    this.#lines.accountHost = instance.accountHost
    const restrictions = restrictionsOf(instance, { streams, hasToken: token !== undefined })
    for (const [name, notice] of restrictions) this.#sink.notice(`access ${name}`, notice)
    if (token !== undefined) this.#sink.notice("token", tokenNotice)
    // A failure to heal ends the connection as well.
    const failed = new AbortController()
    const either = AbortSignal.any([signal, failed.signal])
    const connect = this.#settings.transport === "sse" ? connectEvents : connectWebSocket
    const options = { ...this.#deps, url: instance.streamingUrl, token, streams }
    await using connection = await connect(options, either)
    this.#sink.connected(connection.host)
    const besides = Promise.all([this.#heal(requests, either), this.#lookAround(connection, either)])
    besides.catch((error: unknown) => failed.abort(error))
    try {
      await this.#follow(connection, besides)
    } finally {
      failed.abort(new Error("The connection has ended."))
      await besides.catch(() => undefined)
    }
    if (signal.aborted) await this.#endWell(connection)
    else await besides
  }

  /** Reads messages until the connection ends. */
  async #follow(connection: InstanceConnection, besides: Promise<unknown>): Promise<void> {
    for await (const message of connection.messages()) {
      if (message === undefined) continue
      if ("error" in message) throw refused(connection.host, message, this.#deps.clock.nowMs())
      this.#watch.count(message.stream, message.event ?? "", message.receivedMs)
      if (this.#isLive) await this.#write(message)
      // Without room nothing is read until held events are written, or for too long.
      else if (!this.#held.add(message)) await Promise.race([besides, this.#held.room()])
    }
  }

  async #heal(requests: InstanceRequests, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps
    const { streams, healMax } = this.#settings
    const subscribedAtMs = clock.nowMs()
    const deps = { ...this.#deps, requests, lines: this.#lines, held: this.#held, sink: this.#sink }
    await healStreams(streams, { ...deps, position: this.#position, healMax, subscribedAtMs }, signal)
    this.#lines.readUntil(subscribedAtMs)
    await this.#lines.writePosition()
    for (let event = this.#held.shift(); event !== undefined; event = this.#held.shift()) await this.#write(event)
    this.#isLive = true
  }

  async #write(event: StreamEvent): Promise<void> {
    this.#lines.readUntil(event.receivedMs)
    await this.#lines.write(event)
  }

  /** Has the position move on while nothing comes, and looks what the streams bring. */
  async #lookAround(connection: InstanceConnection, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps
    while (!signal.aborted) {
      await clock.sleep(positionMs, signal)
      const nowMs = clock.nowMs()
      for (const [name, notice] of this.#watch.notices(nowMs)) this.#sink.notice(`events ${name}`, notice)
      if (!this.#isLive || signal.aborted || nowMs - this.#lines.writtenAtMs < positionMs) continue
      this.#lines.readUntil(connection.takenUntilMs)
      await this.#lines.writePosition()
    }
  }

  /** The time up to which the instance was read is known when the source ends by itself. */
  async #endWell(connection: InstanceConnection): Promise<void> {
    if (!this.#isLive) return
    this.#lines.readUntil(connection.takenUntilMs)
    // When the source is driven by another process by now, nothing can be written.
    await this.#lines.writePosition().catch(() => undefined)
  }
}

const tokenNotice = {
  message:
    "The instance filters its streams for the account of the token: by its languages, blocks, mutes and filters.",
  advice: "Use a token of an account of its own that has none of these.",
}

/** An error on an open WebSocket. */
function refused(
  host: string,
  { error, status }: { readonly error: string; readonly status: number },
  nowMs: number,
): InstanceRefused {
  return new InstanceRefused({ host, status, body: JSON.stringify({ error }) }, nowMs)
}
