/** The Redis server that tests use, and streams of it for one test each. */
import { randomUUID } from "node:crypto"
import { createClient } from "redis"
import { describeWithServer } from "./reachable.testing.ts"
import type { RedisSourceSettings } from "./redis-settings.ts"

/** Address of the Redis server. */
export const redisAddress = { host: "127.0.0.1", port: 6379 } as const

/** As `describe`, for tests that need the server. */
export const describeWithRedis = await describeWithServer("Redis", redisAddress, "redis-server")

/** An entry of a stream. */
interface Entry {
  readonly id: string
  readonly message: Readonly<Record<string, string>>
}

/** A stream of one test's own. */
export interface TestStream extends AsyncDisposable {
  /** Settings of a source that reads it. */
  readonly settings: RedisSourceSettings
  readonly client: Awaited<ReturnType<typeof connected>>
  /** Adds entries with the field `envelope`: text as it is, anything else as JSON. */
  publish(...messages: readonly unknown[]): Promise<readonly string[]>
  /** Entries that are not read, and that are read and not acknowledged. */
  unfinished(): Promise<number>
  /** Names of the consumers. */
  consumers(): Promise<readonly string[]>
  deadLetters(): Promise<readonly Entry[]>
}

/** A client of the test. */
async function connected(url: string) {
  const client = createClient({ url })
  client.on("error", () => undefined)
  return client.connect()
}

/** Makes one. */
export async function testStream(url = `redis://${redisAddress.host}:${redisAddress.port}`): Promise<TestStream> {
  const client = await connected(url)
  const stream = `test:${randomUUID()}`
  const deadLetterStream = `${stream}:dead`
  const group = "sluice"
  return {
    client,
    settings: { name: "posts", url, stream, group, field: "envelope", deadLetterStream },
    async publish(...messages) {
      return Promise.all(
        messages.map((message) => {
          const envelope = typeof message === "string" ? message : JSON.stringify(message)
          return client.xAdd(stream, "*", { envelope })
        }),
      )
    },
    async unfinished() {
      const groups = await client.xInfoGroups(stream).catch(() => [])
      const found = groups.find(({ name }) => name === group)
      if (found === undefined) return Number.NaN
      return (found.lag ?? Number.NaN) + found.pending
    },
    async consumers() {
      return (await client.xInfoConsumers(stream, group)).map(({ name }) => name)
    },
    async deadLetters() {
      return (await client.xRange(deadLetterStream, "-", "+")) ?? []
    },
    async [Symbol.asyncDispose]() {
      await client.del([stream, deadLetterStream])
      await client.close()
    },
  }
}
