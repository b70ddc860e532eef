/**
 * NATS JetStream as a source of posts: a durable consumer, shared by all processes, feeds ingest.
 *
 *     connect ─► find or make stream and consumer ─► pull ─► `MessageFlow` ─► ingest
 *        ▲                                             │
 *        └──── wait ◄── cannot, or the consumer is gone ┘
 *
 * The broker keeps the position: a message that is not acknowledged, because this process has died or the store was
 * unavailable, is sent again to one of the processes. So nothing is lost wherever it is cut, and since ingest is
 * idempotent nothing is stored twice. A connection that is lost is taken up again by the client of NATS, with the same
 * messages in flight; everything else begins anew here.
 */
import { readFileSync } from "node:fs"
import { jetstream, type Consumer } from "@nats-io/jetstream"
import {
  connect,
  credsAuthenticator,
  millis,
  nanos,
  type NatsConnection,
  type NodeConnectionOptions,
} from "@nats-io/transport-node"
import type { Clock } from "../runtime/clock.ts"
import { ConfigError } from "../runtime/config-error.ts"
import { Backoff } from "./backoff.ts"
import { prepareConsumer, type JetStreamNames } from "./jetstream-consumer.ts"
import { sourceMessage } from "./jetstream-message.ts"
import { MessageFlow } from "./message-flow.ts"
import type { AcknowledgedSourceDeps, Source } from "./source.ts"

/** The stream, and how to reach it. */
export interface JetStreamSettings extends JetStreamNames {
  /** Addresses of servers, all `nats://` or all `tls://`. */
  readonly servers: readonly string[]
  /** File with the credentials of a user. It is read for each connection. */
  readonly credentialsFile?: string | undefined
  readonly token?: string | undefined
  /** File with the certificates of the authority that has signed those of the servers. */
  readonly caFile?: string | undefined
}

/** Longest wait for a server that is connected to. Ours: less than a server may take to close. */
const connectMsMax = 5_000

/** Longest wait for the last acknowledgements to be sent. Ours. */
const flushMsMax = 1_000

/** Time between two pings, two of which must be unanswered before a connection counts as lost. Ours. */
const pingMs = 10_000

/** Shortest and longest wait before a lost connection is tried again: a quarter of the time since it was lost. Ours. */
const reconnectMsMin = 250
const reconnectMsMax = 10_000

/** Most bytes that may be on their way from the broker, as far as its largest message allows; and most messages. Ours. */
const pulledBytesMax = 64 * 1024 * 1024
const pulledMessagesMax = 500

/** Wait of the broker for an acknowledgement when its consumer sets none. Source: NATS documentation, "Consumers". */
const defaultAckWaitMs = 30_000

/** Lifetime of a request for messages. Without a sign of the broker for as long it is made again. Ours. */
const pullMs = 10_000

/** When no message has come for this long, none is on its way. Ours: longer than a broker that has one takes to send it. */
const quietMs = 250

/** Time between two measurements of the consumer. Ours. */
const measureMs = 2_000

/** The source. Throws `ConfigError` when a file of the settings cannot be read. */
export function createJetStreamSource(settings: JetStreamSettings, deps: AcknowledgedSourceDeps): Source {
  for (const file of [settings.credentialsFile, settings.caFile]) if (file !== undefined) contentsOf(file)
  const { clock, monitor } = deps
  return {
    async run(signal) {
      const backoff = new Backoff(deps)
      while (!signal.aborted) {
        try {
          await using session = await Session.open(settings, deps)
          backoff.opened()
          await session.take(signal, () => backoff.progressed())
        } catch (error) {
          monitor.failed(error)
          await clock.sleep(backoff.failed(), signal)
        }
      }
    },
  }
}

function contentsOf(file: string): Uint8Array {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new ConfigError(`The file ${file} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

/** A connection and the consumer that is read through it. */
class Session implements AsyncDisposable {
  readonly #settings: JetStreamSettings
  readonly #deps: AcknowledgedSourceDeps
  readonly #connection: NatsConnection
  readonly #consumer: Consumer
  readonly #ended = new AbortController()

  private constructor(
    settings: JetStreamSettings,
    deps: AcknowledgedSourceDeps,
    { connection, consumer }: { readonly connection: NatsConnection; readonly consumer: Consumer },
  ) {
    this.#settings = settings
    this.#deps = deps
    this.#connection = connection
    this.#consumer = consumer
  }

  /** Throws when no server can be reached, or its stream or consumer cannot be used. */
  static async open(settings: JetStreamSettings, deps: AcknowledgedSourceDeps): Promise<Session> {
    const connection = await connect(connectionOptions(settings, deps.clock))
    try {
      await prepareConsumer(connection, settings)
      const consumer = await jetstream(connection).consumers.get(settings.stream, settings.consumer)
      return new Session(settings, deps, { connection, consumer })
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  /**
   * Takes messages until aborted, and finishes those in flight. Calls `taken` whenever some were read. Throws when the
   * consumer or the connection is gone.
   */
  async take(signal: AbortSignal, taken: () => void): Promise<void> {
    const { clock, monitor, drainMsMax } = this.#deps
    const flow = new MessageFlow({ ...this.#deps, closing: signal, taken })
    monitor.connected(this.#place())
    void this.#watchConnection()
    void this.#measure(flow)
    void this.#extend(flow)
    try {
      while (!signal.aborted) {
        await this.#takeBatch(flow, signal)
        if (this.#connection.isClosed()) throw new Error("The connection to NATS was closed.")
      }
    } finally {
      await Promise.race([flow.end(), clock.sleep(drainMsMax)])
      monitor.notMeasured()
      monitor.disconnected()
    }
  }

  /**
   * Takes the messages of one request, each as it comes. Messages on their way to a request that is aborted are
   * withheld until the broker has waited for their acknowledgement, so at the end it is aborted only when none come.
   */
  async #takeBatch(flow: MessageFlow, signal: AbortSignal): Promise<void> {
    const { clock, monitor } = this.#deps
    const deadLetterDeps = { ...this.#settings, connection: this.#connection, monitor }
    const messages = await this.#consumer.fetch({ max_messages: this.#pulledMessages(), expires: pullMs })
    const giveUp = async (): Promise<void> => {
      let received: number
      do {
        received = messages.getReceived()
        await clock.sleep(quietMs)
      } while (messages.getReceived() > received)
      await messages.close()
    }
    const stop = (): void => void giveUp()
    signal.addEventListener("abort", stop, { once: true })
    if (signal.aborted) stop()
    try {
      for await (const message of messages) await flow.take([sourceMessage(message, deadLetterDeps)])
    } finally {
      signal.removeEventListener("abort", stop)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort()
    // When the connection is lost just now, nothing can be sent.
    const flushed = this.#connection.flush().catch(() => undefined)
    await Promise.race([flushed, this.#deps.clock.sleep(flushMsMax)])
    await this.#connection.close()
  }

  #place(): string {
    const { stream, consumer } = this.#settings
    return `stream ${stream}, consumer ${consumer}, at ${this.#connection.getServer()}`
  }

  #pulledMessages(): number {
    const largest = this.#connection.info?.max_payload ?? pulledBytesMax
    return Math.max(1, Math.min(pulledMessagesMax, Math.floor(pulledBytesMax / largest)))
  }

  /** Reports that the connection is lost or back, until it is closed. */
  async #watchConnection(): Promise<void> {
    const { monitor } = this.#deps
    for await (const { type } of this.#connection.status()) {
      if (this.#ended.signal.aborted) return
      if (type === "reconnect") monitor.connected(this.#place())
      if (type !== "disconnect") continue
      monitor.disconnected()
      monitor.notMeasured()
    }
  }

  async #measure(flow: MessageFlow): Promise<void> {
    const { clock, monitor } = this.#deps
    const { signal } = this.#ended
    while (!signal.aborted) {
      const info = await this.#consumer.info().catch(() => undefined)
      if (signal.aborted) return
      if (info === undefined) monitor.notMeasured()
      else {
        const { num_pending: pending, num_ack_pending: unacknowledged } = info
        monitor.measured({ pending, unacknowledged, inFlight: flow.inFlight })
      }
      await clock.sleep(measureMs, signal)
    }
  }

  /** While the store is slow, the broker is not to send again what is in flight. */
  async #extend(flow: MessageFlow): Promise<void> {
    const { config } = await this.#consumer.info(true)
    const waitMs = millis(config.ack_wait ?? nanos(defaultAckWaitMs)) / 3
    while (!this.#ended.signal.aborted) {
      await this.#deps.clock.sleep(waitMs, this.#ended.signal)
      flow.extend()
    }
  }
}

function connectionOptions(settings: JetStreamSettings, clock: Clock): NodeConnectionOptions {
  const { servers, credentialsFile, token, caFile } = settings
  const reconnectDelay = reconnectDelayHandler(clock)
  return {
    servers: [...servers],
    name: "sluice",
    timeout: connectMsMax,
    pingInterval: pingMs,
    maxReconnectAttempts: -1,
    // Credentials may be renewed while the server runs.
    ignoreAuthErrorAbort: true,
    reconnectDelayHandler: reconnectDelay,
    ...(servers.some((url) => url.startsWith("tls:")) && { tls: caFile === undefined ? {} : { caFile } }),
    ...(token !== undefined && { token }),
    ...(credentialsFile !== undefined && { authenticator: credsAuthenticator(() => contentsOf(credentialsFile)) }),
  }
}

/** Each wait is longer than the one before. The client asks for it before each attempt, and has none to ask after one. */
function reconnectDelayHandler(clock: Clock): () => number {
  let [firstMs, lastMs] = [-Infinity, -Infinity]
  return () => {
    const nowMs = clock.monotonicMs()
    // Attempts follow each other within the longest wait; after a longer time it is another loss.
    if (nowMs - lastMs > 2 * reconnectMsMax) firstMs = nowMs
    lastMs = nowMs
    return Math.min(reconnectMsMax, Math.max(reconnectMsMin, (nowMs - firstMs) / 4))
  }
}
