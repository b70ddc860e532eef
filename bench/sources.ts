/**
 * Sources: posts per second out of a stream of Redis and a queue of RabbitMQ into the store, acknowledged when they are
 * durable. The messages are there before the source starts; a server without rules takes them.
 *
 * The limit is a bare consumer with the same library and the same prefetch, which acknowledges what it reads, many at a
 * time, and stores nothing.
 *
 * Source of the goal: ours.
 */
import { randomUUID } from "node:crypto"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connect } from "amqplib"
import { createClient } from "redis"
import { rabbitMqSettings } from "../packages/server/src/sources/rabbitmq-settings.ts"
import { redisSettings } from "../packages/server/src/sources/redis-settings.ts"
import { startChild } from "./child.ts"
import { figure, median, type Figure } from "./figure.ts"
import { MadePosts } from "./made-posts.ts"
import type { TakeMessage, TakenSource } from "./source-server.ts"

const redisUrl = "redis://127.0.0.1:6379"
const rabbitMqUrl = "amqp://127.0.0.1:5672"

/** Posts of a round. */
const postsMax = 20_000
/** Posts that are on their way to a broker at a time. */
const filledMax = 1_000

/** Says why it cannot measure here. */
export async function brokersMissing(): Promise<string | undefined> {
  try {
    await using _redis = await redisBroker()
    await using _rabbit = await rabbitMqBroker()
    return undefined
  } catch (error) {
    return `This bench needs Redis at ${redisUrl} and RabbitMQ at ${rabbitMqUrl}: ${(error as Error).message}`
  }
}

/** A broker with a place of its own for messages. */
interface Broker extends AsyncDisposable {
  readonly name: string
  readonly source: TakenSource
  fill(lines: readonly string[]): Promise<void>
}

/** Prints the figures of the sources. */
export async function sources(
  print: (figure: Figure) => void,
  { isQuick }: { readonly isQuick: boolean },
): Promise<void> {
  await using resources = new AsyncDisposableStack()
  const data = await mkdtemp(join(tmpdir(), "sluice-sources-"))
  resources.defer(() => rm(data, { recursive: true, force: true }))
  const server = resources.use(startChild<TakeMessage>("source-server.ts", [data]))
  const bare = resources.use(startChild<TakeMessage>("bare-consumer.ts"))
  const made = new MadePosts()
  for (const broker of [resources.use(await redisBroker()), resources.use(await rabbitMqBroker())]) {
    const taken: number[] = []
    const consumed: number[] = []
    const message = { source: broker.source, posts: postsMax }
    for (let round = -1; round < (isQuick ? 3 : 7); round += 1) {
      for (const [child, seen] of [
        [server, taken],
        [bare, consumed],
      ] as const) {
        await broker.fill(made.take(postsMax).trimEnd().split("\n"))
        const { perSecond } = (await child.request(message)) as { readonly perSecond: number }
        // The first round warms up.
        if (round >= 0) seen.push(perSecond)
      }
    }
    print(
      figure(
        {
          name: `sources-${broker.name}`,
          value: median(taken),
          unit: "posts/s",
          limit: median(consumed),
          limitIs: "a consumer that acknowledges and stores nothing",
        },
        { atLeast: 0.5 },
      ),
    )
  }
}

async function redisBroker(): Promise<Broker> {
  const client = createClient({ url: redisUrl, socket: { reconnectStrategy: false } })
  client.on("error", () => undefined)
  await client.connect()
  const stream = `bench:${randomUUID()}`
  const settings = redisSettings({ name: "bench", url: redisUrl, stream }, {})
  return {
    name: "redis",
    source: { kind: "redis", settings },
    async fill(lines) {
      for (let from = 0; from < lines.length; from += filledMax) {
        await Promise.all(lines.slice(from, from + filledMax).map((envelope) => client.xAdd(stream, "*", { envelope })))
      }
    },
    async [Symbol.asyncDispose]() {
      await client.del([stream, settings.deadLetterStream])
      await client.close()
    },
  }
}

async function rabbitMqBroker(): Promise<Broker> {
  const connection = await connect(rabbitMqUrl)
  const channel = await connection.createConfirmChannel()
  const queue = `bench.${randomUUID()}`
  await channel.assertQueue(queue, { durable: true })
  const settings = rabbitMqSettings({ name: "bench", url: rabbitMqUrl, queue }, {})
  return {
    name: "rabbitmq",
    source: { kind: "rabbitmq", settings },
    async fill(lines) {
      for (let from = 0; from < lines.length; from += filledMax) {
        for (const line of lines.slice(from, from + filledMax)) {
          channel.sendToQueue(queue, Buffer.from(line), { persistent: true })
        }
        await channel.waitForConfirms()
      }
    },
    async [Symbol.asyncDispose]() {
      await channel.deleteQueue(queue)
      await channel.deleteQueue(settings.deadLetterQueue)
      await connection.close()
    },
  }
}
