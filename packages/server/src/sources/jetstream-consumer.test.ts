/** The consumers that a source makes in a real NATS server, and those it refuses. */
import { AckPolicy, DeliverPolicy } from "@nats-io/jetstream"
import { millis } from "@nats-io/transport-node"
import { afterEach, beforeEach, expect, test } from "vitest"
import { prepareConsumer, type JetStreamNames } from "./jetstream-consumer.ts"
import { describeWithNats, testStream, type TestStream } from "./nats.testing.ts"

let stream: TestStream

const prepare = (names: Partial<JetStreamNames> = {}) =>
  prepareConsumer(stream.connection, {
    stream: stream.name,
    consumer: "sluice",
    deadLetterSubject: stream.deadLetterSubject,
    ...names,
  })

describeWithNats("the consumer of a source", () => {
  beforeEach(async () => {
    stream = await testStream()
  })

  afterEach(() => stream[Symbol.asyncDispose]())

  test("is created when missing, durable and with explicit acks, and a stream for dead letters too", async () => {
    const made = await Promise.all([prepare(), prepare(), prepare()])
    for (const { config } of made) {
      expect(config).toMatchObject({ durable_name: "sluice", ack_policy: AckPolicy.Explicit, max_ack_pending: 10_000 })
      expect(config.deliver_policy).toBe(DeliverPolicy.All)
      expect(millis(config.ack_wait ?? 0)).toBe(30_000)
    }
    const keeper = await stream.manager.streams.find(stream.deadLetterSubject)
    expect((await stream.manager.streams.info(keeper)).config.subjects).toEqual([stream.deadLetterSubject])
    expect(keeper).not.toBe(stream.name)
  })

  test("is used unchanged when it exists, with its own ack wait and subject", async () => {
    await stream.makeConsumer({ ackWaitMs: 7_000, filter_subject: `${stream.name}.birds`, max_ack_pending: 12 })
    const { config } = await prepare()
    expect([millis(config.ack_wait ?? 0), config.filter_subject, config.max_ack_pending]).toEqual([
      7_000,
      `${stream.name}.birds`,
      12,
    ])
    await expect(prepare({ subject: `${stream.name}.birds` })).resolves.toBeDefined()
  })

  test("receives the messages of the subject of the settings, and is refused when it receives others", async () => {
    expect((await prepare({ subject: `${stream.name}.birds` })).config.filter_subject).toBe(`${stream.name}.birds`)
    await expect(prepare({ subject: `${stream.name}.fish` })).rejects.toThrow(
      `The consumer sluice takes ${stream.name}.birds, and natsSubject is ${stream.name}.fish.`,
    )
  })

  test("is refused when it would lose posts", async () => {
    await stream.makeConsumer({ durable_name: "none", ack_policy: AckPolicy.None })
    await expect(prepare({ consumer: "none" })).rejects.toThrow("has the ack policy none, and must have explicit")
    await stream.makeConsumer({ durable_name: "gives-up", max_deliver: 5 })
    await expect(prepare({ consumer: "gives-up" })).rejects.toThrow("gives a message up after 5 deliveries")
    await stream.makeConsumer({ durable_name: "push", deliver_subject: `${stream.name}_push` })
    await expect(prepare({ consumer: "push" })).rejects.toThrow("is a push consumer, and must be a pull consumer.")
  })

  test("is refused when it receives the dead letters", async () => {
    await expect(prepare({ deadLetterSubject: `${stream.name}.dead` })).rejects.toThrow(
      `Dead letters at ${stream.name}.dead would come back as messages, since the source takes ${stream.name}.>.`,
    )
    const apart = { consumer: "apart", deadLetterSubject: `${stream.name}.dead`, subject: `${stream.name}.posts` }
    await expect(prepare(apart)).resolves.toBeDefined()
  })

  test("needs its stream, which is not created", async () => {
    await expect(prepare({ stream: `${stream.name}_other` })).rejects.toThrow(
      `The stream ${stream.name}_other is not there. Create it, or correct natsStream.`,
    )
  })

  test("leaves dead letters to an existing stream", async () => {
    const name = `${stream.name}_kept`
    await stream.manager.streams.add({ name, subjects: [`kept.${stream.name}.>`] })
    try {
      await prepare({ deadLetterSubject: `kept.${stream.name}.dead` })
      expect(await stream.manager.streams.find(`kept.${stream.name}.dead`)).toBe(name)
    } finally {
      await stream.manager.streams.delete(name)
    }
  })
})
