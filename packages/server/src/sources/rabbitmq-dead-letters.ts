/**
 * The dead letters of a queue without a dead-letter exchange: a durable queue of its own, which confirms what it has.
 *
 * They have a connection of their own. A server that is low on memory or disk reads nothing more from a connection that
 * publishes; on the same one it would read no acknowledgements either.
 */
import { randomUUID } from "node:crypto"
import type { ChannelModel, ConfirmChannel, ConsumeMessage, Options } from "amqplib"
import type { Rejection } from "./message-flow.ts"
import { closed, connectRabbitMq } from "./rabbitmq-connection.ts"
import type { RabbitMqSourceSettings } from "./rabbitmq-settings.ts"
import { reasonText } from "./reason-text.ts"
import type { SourceMonitor } from "./source.ts"

/** Most dead letters of a queue that is made here; the oldest go first. Ours. */
const deadLettersMax = 10_000

/** Most characters of the message's own headers as JSON; else it loses them. Ours: all headers share a frame of 128 KiB. */
const ownHeadersMax = 65_536

/** The queue, through a connection of its own. */
export class DeadLetterQueue implements AsyncDisposable {
  readonly #settings: RabbitMqSourceSettings
  readonly #connection: ChannelModel
  readonly #channel: ConfirmChannel
  readonly #lost: (error: Error) => void
  /** Ids of dead letters that came back, since there is no queue for them. */
  readonly #returned = new Set<string>()

  private constructor(
    settings: RabbitMqSourceSettings,
    { connection, channel }: { readonly connection: ChannelModel; readonly channel: ConfirmChannel },
    lost: (error: Error) => void,
  ) {
    this.#settings = settings
    this.#lost = lost
    this.#connection = connection
    this.#channel = channel
    channel.on("error", () => undefined)
    channel.on("return", ({ properties }) => this.#returned.add(String(properties.headers?.[idHeader])))
  }

  /** Finds or makes the queue. `lost` is called when its connection or channel has ended by itself. */
  static async open(
    settings: RabbitMqSourceSettings,
    { monitor, lost }: { readonly monitor: Pick<SourceMonitor, "failed">; readonly lost: (error: Error) => void },
  ): Promise<DeadLetterQueue> {
    const connection = await connectRabbitMq(settings)
    try {
      connection.on("blocked", (reason) => {
        monitor.failed(new Error(`RabbitMQ takes no dead letters for now: ${reason}.`), blockedAdvice)
      })
      await prepareQueue(connection, settings.deadLetterQueue)
      const channel = await connection.createConfirmChannel()
      channel.on("close", () => lost(new Error("The channel of the dead letters was closed.")))
      return new DeadLetterQueue(settings, { connection, channel }, lost)
    } catch (error) {
      await closed(connection)
      throw error
    }
  }

  /** Resolves once the queue has the message. */
  async keep(message: ConsumeMessage, rejection: Rejection, nowMs: number): Promise<void> {
    const id = randomUUID()
    const options = publishOptions(message, {
      ...reasonHeaders(message, rejection, this.#settings, nowMs),
      [idHeader]: id,
    })
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#channel.sendToQueue(this.#settings.deadLetterQueue, message.content, options, (error: Error | null) => {
      if (error === null) resolve()
      else reject(error)
    })
    await promise
    // The server confirms what it returns, too.
    if (!this.#returned.delete(id)) return
    const error = new Error(`The queue ${this.#settings.deadLetterQueue} was deleted.`)
    // The next session makes it again.
    this.#lost(error)
    throw error
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#channel.removeAllListeners("close")
    await closed(this.#connection)
  }
}

const blockedAdvice =
  "The server is low on memory or disk: give it room. Posts are taken meanwhile, and dead letters wait."

const idHeader = "sluice-id"

/** A channel that asks for a queue that is missing is closed, so each question has its own. */
async function prepareQueue(connection: ChannelModel, queue: string): Promise<void> {
  const asking = await connection.createChannel()
  asking.on("error", () => undefined)
  const isThere = await asking.checkQueue(queue).then(
    () => true,
    () => false,
  )
  const making = isThere ? asking : await connection.createChannel()
  making.on("error", () => undefined)
  if (!isThere) await making.assertQueue(queue, { durable: true, maxLength: deadLettersMax })
  await closed(making)
}

function reasonHeaders(
  { fields }: ConsumeMessage,
  { title, detail }: Rejection,
  { queue }: RabbitMqSourceSettings,
  nowMs: number,
): Readonly<Record<string, string>> {
  return {
    "sluice-reason": title,
    "sluice-detail": reasonText(detail),
    "sluice-queue": queue,
    "sluice-exchange": fields.exchange,
    "sluice-routing-key": fields.routingKey,
    "sluice-rejected": new Date(nowMs).toISOString(),
  }
}

/** The message's own properties, but those that the server acts on: it would expire, or go to further queues. */
function publishOptions({ properties }: ConsumeMessage, headers: Readonly<Record<string, string>>): Options.Publish {
  const { contentType, contentEncoding, correlationId, messageId, timestamp, type, appId } =
    properties as Options.Publish
  const own = Object.entries(properties.headers ?? {}).filter(([name]) => !/^(?:sluice-.*|x-.*|CC|BCC)$/.test(name))
  const fits = JSON.stringify(own).length <= ownHeadersMax
  const kept = { contentType, contentEncoding, correlationId, messageId, timestamp, type, appId }
  return {
    ...Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined)),
    headers: { ...(fits && Object.fromEntries(own)), ...headers },
    persistent: true,
    mandatory: true,
  }
}
