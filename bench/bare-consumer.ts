/** A consumer that reads a number of messages and acknowledges them, many at a time, and stores nothing. */
import { connect, type ConsumeMessage } from "amqplib"
import { createClient } from "redis"
import type { RabbitMqSourceSettings } from "../packages/server/src/sources/rabbitmq-settings.ts"
import type { RedisSourceSettings } from "../packages/server/src/sources/redis-settings.ts"
import { replyToEach } from "./child.ts"
import type { TakeMessage } from "./source-server.ts"

/** Entries that are read at a time, as the source does, and messages that are acknowledged at a time. */
const entriesMax = 500
const acknowledgedMax = 100

replyToEach<TakeMessage>(async ({ posts, source }) => {
  const startMs = performance.now()
  if (source.kind === "redis") await consumeStream(source.settings, posts)
  else await consumeQueue(source.settings, posts)
  return { perSecond: (posts / (performance.now() - startMs)) * 1_000 }
})

async function consumeStream({ url, stream, group }: RedisSourceSettings, posts: number): Promise<void> {
  const client = await createClient({ url }).connect()
  for (let left = posts; left > 0;) {
    const read = await client.xReadGroup(group, "bare", { key: stream, id: ">" }, { COUNT: entriesMax })
    const ids = (read as unknown as { messages: { id: string }[] }[] | null)?.[0]?.messages.map(({ id }) => id) ?? []
    if (ids.length > 0) await client.xAck(stream, group, ids)
    left -= ids.length
  }
  await client.close()
}

async function consumeQueue({ url, queue, prefetch }: RabbitMqSourceSettings, posts: number): Promise<void> {
  const connection = await connect(url, { noDelay: true })
  const channel = await connection.createChannel()
  await channel.prefetch(prefetch)
  const allRead = Promise.withResolvers<void>()
  let read = 0
  const take = (message: ConsumeMessage | null): void => {
    if (message === null) return
    read += 1
    if (read % acknowledgedMax === 0 || read === posts) channel.ack(message, true)
    if (read === posts) allRead.resolve()
  }
  await channel.consume(queue, take)
  await allRead.promise
  await channel.close()
  await connection.close()
}
