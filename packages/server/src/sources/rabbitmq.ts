/**
 * A queue of RabbitMQ as a source of posts: consumers in all processes share it and feed ingest.
 *
 *     connect ─► find the queue ─► consume ─► `MessageFlow` ─► ingest
 *        ▲                            ▲             │             └─► ack after the commit
 *        │                            └── nack ◄────┘ after a delay, while the store is unavailable
 *        └──── wait ◄── the connection, the channel or the consumer is gone
 *
 * The server keeps what is not acknowledged, and sends it again when its channel has ended. So nothing is lost wherever it
 * is cut, and since ingest is idempotent nothing is stored twice. A lost connection is not taken up again: its messages
 * come again on the next one.
 */
import { readFileSync } from "node:fs"
import type { Channel, ChannelModel, ConsumeMessage } from "amqplib"
import { Backoff } from "./backoff.ts"
import { DeliveryTags } from "./delivery-tags.ts"
import { MessageFlow, type Rejection, type SourceMessage } from "./message-flow.ts"
import { closed, connectRabbitMq, QueueMissing, rabbitMqAdvice } from "./rabbitmq-connection.ts"
import { DeadLetterQueue } from "./rabbitmq-dead-letters.ts"
import type { RabbitMqSourceSettings } from "./rabbitmq-settings.ts"
import { refuseUnreadable } from "./settings.ts"
import type { AcknowledgedSourceDeps, Source } from "./source.ts"

/** Time between two measurements of the queue. Ours. */
const measureMs = 2_000

/** Longest wait for the last acknowledgements to arrive. Ours. */
const closeMsMax = 1_000

/** The source. Throws `ConfigError` when a file of the settings cannot be read. */
export function createRabbitMqSource(settings: RabbitMqSourceSettings, deps: AcknowledgedSourceDeps): Source {
  const { name, caFile, password } = settings
  refuseUnreadable(name, [caFile === undefined ? undefined : () => readFileSync(caFile), password])
  const { clock, monitor } = deps
  return {
    async run(signal) {
      const backoff = new Backoff(deps)
      let wasTaken = false
      while (!signal.aborted) {
        try {
          await using session = await Session.open(settings, deps)
          wasTaken = true
          backoff.opened()
          await session.take(signal, () => backoff.progressed())
        } catch (error) {
          monitor.failed(error, rabbitMqAdvice(error, settings))
          if (wasTaken && error instanceof QueueMissing) {
            monitor.gap({ reason: `The queue ${settings.queue} was deleted, with any messages that were not taken.` })
            wasTaken = false
          }
          await clock.sleep(backoff.failed(), signal)
        }
      }
    },
  }
}

/** A connection and the consumer of the queue. */
class Session implements AsyncDisposable {
  readonly #settings: RabbitMqSourceSettings
  readonly #deps: AcknowledgedSourceDeps
  readonly #connection: ChannelModel
  readonly #channel: Channel
  readonly #tags = new DeliveryTags()
  /** Messages that were sent here, and are not taken yet. At most as many as the server sends ahead. */
  readonly #arrived: SourceMessage[] = []
  #arrival = Promise.withResolvers<void>()
  #isAcknowledging = false
  readonly #ended = new AbortController()
  #lost: Error | undefined
  #deadLetters: DeadLetterQueue | undefined

  private constructor(
    settings: RabbitMqSourceSettings,
    deps: AcknowledgedSourceDeps,
    { connection, channel }: { readonly connection: ChannelModel; readonly channel: Channel },
  ) {
    this.#settings = settings
    this.#deps = deps
    this.#connection = connection
    this.#channel = channel
    connection.on("error", (error) => this.#lose(error))
    connection.on("close", (error) => this.#lose(error ?? new Error("The connection to RabbitMQ was closed.")))
    channel.on("error", (error: Error) => this.#lose(error))
    channel.on("close", () => this.#lose(new Error("The channel to RabbitMQ was closed.")))
  }

  /** Throws when the server cannot be reached, or its queue cannot be used. */
  static async open(settings: RabbitMqSourceSettings, deps: AcknowledgedSourceDeps): Promise<Session> {
    const connection = await connectRabbitMq(settings)
    try {
      await checkQueue(connection, settings.queue)
      const channel = await connection.createChannel()
      const session = new Session(settings, deps, { connection, channel })
      if (!settings.deadLetterExchange) {
        const lost = (error: Error): void => session.#lose(error)
        session.#deadLetters = await DeadLetterQueue.open(settings, { monitor: deps.monitor, lost })
      }
      return session
    } catch (error) {
      await closed(connection)
      throw error
    }
  }

  /**
   * Takes messages until aborted, and finishes those in flight. Calls `taken` whenever some were read. Throws when the
   * queue or the connection is gone.
   */
  async take(signal: AbortSignal, taken: () => void): Promise<void> {
    const { clock, monitor, drainMsMax } = this.#deps
    const { queue, url, prefetch } = this.#settings
    const flow = new MessageFlow({ ...this.#deps, closing: signal, taken })
    const stop = (): void => this.#arrival.resolve()
    signal.addEventListener("abort", stop, { once: true })
    try {
      await this.#channel.prefetch(prefetch)
      const { consumerTag } = await this.#channel.consume(queue, (message) => this.#receive(message))
      monitor.connected(`queue ${queue} at ${url}`)
      void this.#measure(flow)
      await this.#takeAll(flow, signal)
      await this.#channel.cancel(consumerTag)
    } finally {
      signal.removeEventListener("abort", stop)
      await Promise.race([flow.end(), clock.sleep(drainMsMax)])
      monitor.notMeasured()
      monitor.disconnected()
    }
  }

  /** The server sends all messages again that are not acknowledged when the channel is closed, to any consumer. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort()
    const closing = [this.#close(), Promise.resolve(this.#deadLetters?.[Symbol.asyncDispose]())]
    await Promise.race([Promise.all(closing), this.#deps.clock.sleep(closeMsMax)])
  }

  /** The channel first: the server has all acknowledgements when it has closed it. */
  async #close(): Promise<void> {
    await closed(this.#channel)
    await closed(this.#connection)
  }

  async #takeAll(flow: MessageFlow, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.#lost !== undefined) throw this.#lost
      if (this.#arrived.length > 0) await flow.take(this.#arrived.splice(0))
      else await this.#arrival.promise
      if (this.#arrived.length === 0 && this.#lost === undefined && !signal.aborted)
        this.#arrival = Promise.withResolvers()
    }
  }

  #receive(message: ConsumeMessage | null): void {
    const { queue } = this.#settings
    if (message === null) {
      this.#lose(new Error(`RabbitMQ has cancelled the consumer: the queue ${queue} was deleted, or its node is gone.`))
      return
    }
    if (message.properties.headers?.["x-stream-offset"] !== undefined) {
      this.#lose(new Error(`The queue ${queue} is a stream, which keeps no position: use a classic or a quorum queue.`))
      return
    }
    this.#arrive(this.#messageOf(message))
  }

  #arrive(message: SourceMessage): void {
    this.#arrived.push(message)
    this.#arrival.resolve()
  }

  #lose(error: Error): void {
    this.#lost ??= error
    this.#arrival.resolve()
  }

  #messageOf(message: ConsumeMessage): SourceMessage {
    const { deliveryTag, redelivered } = message.fields
    return {
      data: message.content,
      isRedelivered: redelivered,
      acknowledge: () => this.#acknowledge(deliveryTag),
      giveBack: (delayMs) => void this.#giveBack(message, delayMs),
      // The server sends nothing again while its channel is open.
      extend: () => undefined,
      deadLetter: (rejection) => this.#deadLetter(message, rejection),
    }
  }

  /** Messages that are done in one moment are acknowledged together. */
  #acknowledge(tag: number): void {
    this.#tags.acknowledge(tag)
    if (this.#isAcknowledging) return
    this.#isAcknowledging = true
    queueMicrotask(() => {
      this.#isAcknowledging = false
      const { upTo, single } = this.#tags.take()
      if (upTo !== undefined) this.#send(() => this.#channel.ack(withTag(upTo), true))
      for (const each of single) this.#send(() => this.#channel.ack(withTag(each)))
    })
  }

  /**
   * A quorum queue counts how often a message came back, and gives it up at a limit. It says so with a header from the
   * second delivery on: such a message waits here, and not in the queue.
   */
  async #giveBack(message: ConsumeMessage, delayMs: number): Promise<void> {
    const { deliveryTag } = message.fields
    if (delayMs > 0) await this.#deps.clock.sleep(delayMs, this.#ended.signal)
    if (this.#ended.signal.aborted) return
    const isCounted = message.properties.headers?.["x-delivery-count"] !== undefined
    if (isCounted && delayMs > 0) this.#arrive({ ...this.#messageOf(message), isRedelivered: true })
    else this.#end(deliveryTag, true)
  }

  async #deadLetter(message: ConsumeMessage, rejection: Rejection): Promise<void> {
    const { clock, monitor } = this.#deps
    const { deliveryTag, exchange, routingKey } = message.fields
    if (this.#deadLetters === undefined) {
      this.#end(deliveryTag, false)
    } else {
      await this.#deadLetters.keep(message, rejection, clock.nowMs())
      this.#acknowledge(deliveryTag)
    }
    const place = `queue ${this.#settings.queue}, exchange ${exchange || "(default)"}, routing key ${routingKey}`
    monitor.deadLettered({ ...rejection, place })
  }

  #end(tag: number, isRequeued: boolean): void {
    this.#tags.end(tag)
    this.#send(() => this.#channel.nack(withTag(tag), false, isRequeued))
  }

  /** A channel that is closed sends nothing. Then the server sends the message again. */
  #send(respond: () => void): void {
    try {
      respond()
    } catch {
      // The end of the channel is reported where messages are taken.
    }
  }

  async #measure(flow: MessageFlow): Promise<void> {
    const { clock, monitor } = this.#deps
    const { signal } = this.#ended
    const channel = await this.#connection.createChannel().catch(() => undefined)
    channel?.on("error", () => undefined)
    while (!signal.aborted) {
      const found = await channel?.checkQueue(this.#settings.queue).catch(() => undefined)
      if (signal.aborted) return
      if (found === undefined) monitor.notMeasured()
      else monitor.measured({ pending: found.messageCount, inFlight: flow.inFlight })
      await clock.sleep(measureMs, signal)
    }
  }
}

/** The library takes a message and reads only its tag. */
function withTag(deliveryTag: number): ConsumeMessage {
  return { fields: { deliveryTag } } as ConsumeMessage
}

/** Throws `QueueMissing` when it is missing. The server closes a channel that asks for a missing queue. */
async function checkQueue(connection: ChannelModel, queue: string): Promise<void> {
  const channel = await connection.createChannel()
  channel.on("error", () => undefined)
  try {
    await channel.checkQueue(queue)
  } catch (error) {
    const { code } = error as { readonly code?: unknown }
    if (code !== notFound) throw error
    throw new QueueMissing(`The queue ${queue} is not there.`, { cause: error })
  }
  await closed(channel)
}

/** Source: AMQP 0-9-1, "Reply codes". */
const notFound = 404
