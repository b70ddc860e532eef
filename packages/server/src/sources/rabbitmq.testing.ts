/** The RabbitMQ server that tests use, and queues of it for one test each. */
import { randomUUID } from "node:crypto"
import { connect, type ChannelModel, type ConfirmChannel, type GetMessage, type Options } from "amqplib"
import { describeWithServer } from "./reachable.testing.ts"
import type { RabbitMqSourceSettings } from "./rabbitmq-settings.ts"

/** Address of the RabbitMQ server. */
export const rabbitMqAddress = { host: "127.0.0.1", port: 5672 } as const

/** As `describe`, for tests that need the server. */
export const describeWithRabbitMq = await describeWithServer("RabbitMQ", rabbitMqAddress, "rabbitmq-server")

/** A queue of one test's own. */
export interface TestQueue extends AsyncDisposable {
  /** Settings of a source that consumes it. */
  readonly settings: RabbitMqSourceSettings
  readonly connection: ChannelModel
  readonly channel: ConfirmChannel
  /** Connects again, after the server was killed and has started again. */
  reconnect(): Promise<void>
  /** Makes the queue again, after it was deleted. */
  make(): Promise<void>
  /** Sends messages: text and bytes as they are, anything else as JSON. All are in the queue afterwards. */
  publish(...messages: readonly unknown[]): Promise<void>
  /** Messages that no consumer has. */
  ready(): Promise<number>
  /** Takes the dead letters, in order. */
  deadLetters(): Promise<readonly GetMessage[]>
}

/** Makes one, on the server at a port of this machine. */
export async function testQueue(
  options: Options.AssertQueue = {},
  port: number = rabbitMqAddress.port,
): Promise<TestQueue> {
  const url = `amqp://${rabbitMqAddress.host}:${port}`
  let { connection, channel } = await connected(url)
  const queue = `test.${randomUUID()}`
  const deadLetterQueue = `${queue}.dead`
  const make = async (): Promise<void> => {
    await channel.assertQueue(queue, { durable: true, ...options })
  }
  await make()
  return {
    settings: { name: "posts", url, queue, prefetch: 250, deadLetterExchange: false, deadLetterQueue },
    get connection() {
      return connection
    },
    get channel() {
      return channel
    },
    async reconnect() {
      await connection.close().catch(() => undefined)
      ;({ connection, channel } = await connected(url))
    },
    make,
    async publish(...messages) {
      for (const message of messages) channel.sendToQueue(queue, payloadOf(message), { persistent: true })
      await channel.waitForConfirms()
    },
    async ready() {
      return (await channel.checkQueue(queue)).messageCount
    },
    async deadLetters() {
      const found: GetMessage[] = []
      for (let each = await channel.get(deadLetterQueue); each !== false; each = await channel.get(deadLetterQueue)) {
        found.push(each)
        channel.ack(each)
      }
      return found
    },
    async [Symbol.asyncDispose]() {
      await channel.deleteQueue(queue)
      await channel.deleteQueue(deadLetterQueue)
      await connection.close()
    },
  }
}

async function connected(url: string): Promise<Pick<TestQueue, "connection" | "channel">> {
  const connection = await connect(url)
  const channel = await connection.createConfirmChannel()
  // Calls report the end of a connection themselves.
  for (const each of [connection, channel]) each.on("error", () => undefined)
  return { connection, channel }
}

function payloadOf(message: unknown): Buffer {
  if (message instanceof Uint8Array) return Buffer.from(message)
  return Buffer.from(typeof message === "string" ? message : JSON.stringify(message))
}
