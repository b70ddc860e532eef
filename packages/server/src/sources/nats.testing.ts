/** The NATS server that tests use, and streams of it for one test each. */
import { randomUUID } from "node:crypto"
import {
  AckPolicy,
  DeliverPolicy,
  jetstream,
  jetstreamManager,
  type ConsumerConfig,
  type JetStreamClient,
  type JetStreamManager,
  type StoredMsg,
} from "@nats-io/jetstream"
import { connect, nanos, type NatsConnection } from "@nats-io/transport-node"
import { describeWithServer } from "./reachable.testing.ts"

/** Address of the NATS server. */
export const natsAddress = { host: "127.0.0.1", port: 4222 } as const

/** As `describe`, for tests that need the server. */
export const describeWithNats = await describeWithServer("NATS", natsAddress, "nats-server -js")

/** A stream of one test's own, whose subjects begin with its name, and another one that keeps its dead letters. */
export interface TestStream extends AsyncDisposable {
  readonly connection: NatsConnection
  readonly client: JetStreamClient
  readonly manager: JetStreamManager
  /** The name of the stream. */
  readonly name: string
  /** The subject that posts are sent to. */
  readonly subject: string
  readonly deadLetterSubject: string
  /** The settings of a server that takes posts from it and searches none, by flag name. */
  readonly flags: Readonly<Record<string, string>>
  /** Sends messages: text and bytes as they are, anything else as JSON. All are in the stream afterwards. */
  publish(...messages: readonly unknown[]): Promise<void>
  /** Makes the consumer before a server does. */
  makeConsumer(config: Partial<ConsumerConfig> & { readonly ackWaitMs?: number }): Promise<void>
  /** The dead letters, in order. */
  deadLetters(): Promise<readonly StoredMsg[]>
  /** Numbers of messages that the consumer has not sent, and that it has sent and that are not acknowledged. */
  unfinished(): Promise<number>
}

/** Makes one, on the server at a port of this machine. */
export async function testStream(port: number = natsAddress.port): Promise<TestStream> {
  const servers = `${natsAddress.host}:${port}`
  const connection = await connect({ servers, maxReconnectAttempts: -1, reconnectTimeWait: 100 })
  const [client, manager] = [jetstream(connection), await jetstreamManager(connection)]
  const name = `test_${randomUUID().replaceAll("-", "")}`
  const [subject, deadLetterSubject] = [`${name}.posts`, `dead.${name}`]
  await manager.streams.add({ name, subjects: [`${name}.>`] })
  const deadLetterStream = deadLetterSubject.replaceAll(".", "_")
  return {
    connection,
    client,
    manager,
    name,
    subject,
    deadLetterSubject,
    flags: {
      "nats-url": `nats://${servers}`,
      "nats-stream": name,
      "nats-dead-letter-subject": deadLetterSubject,
      search: "off",
    },
    async publish(...messages) {
      await Promise.all(messages.map((message) => client.publish(subject, payloadOf(message))))
    },
    async makeConsumer({ ackWaitMs, ...config }) {
      await manager.consumers.add(name, {
        durable_name: "sluice",
        ack_policy: AckPolicy.Explicit,
        deliver_policy: DeliverPolicy.All,
        ...(ackWaitMs !== undefined && { ack_wait: nanos(ackWaitMs) }),
        ...config,
      })
    },
    async deadLetters() {
      const state = await manager.streams.info(deadLetterStream).then(
        ({ state: found }) => found,
        () => undefined,
      )
      const found: StoredMsg[] = []
      for (let seq = Math.max(1, state?.first_seq ?? 1); seq <= (state?.last_seq ?? 0); seq += 1) {
        const message = await manager.streams.getMessage(deadLetterStream, { seq })
        if (message !== null) found.push(message)
      }
      return found
    },
    async unfinished() {
      const { num_pending, num_ack_pending } = await manager.consumers.info(name, "sluice")
      return num_pending + num_ack_pending
    },
    async [Symbol.asyncDispose]() {
      await manager.streams.delete(name)
      await manager.streams.delete(deadLetterStream).catch(() => undefined)
      await connection.close()
    },
  }
}

function payloadOf(message: unknown): string | Uint8Array {
  return typeof message === "string" || message instanceof Uint8Array ? message : JSON.stringify(message)
}
