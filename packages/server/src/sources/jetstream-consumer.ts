/**
 * Objects of a source in JetStream: the stream, which must be there; a durable pull consumer of it, which is made when
 * it is not; and a stream that keeps dead letters, which is made when no other one takes their subject.
 *
 * A consumer that is there is used as it is and never changed. One that would lose posts is refused.
 */
import {
  AckPolicy,
  DeliverPolicy,
  jetstreamManager,
  JetStreamApiCodes,
  JetStreamApiError,
  ReplayPolicy,
  type ConsumerInfo,
  type JetStreamManager,
  type StreamInfo,
} from "@nats-io/jetstream"
import { nanos, type NatsConnection } from "@nats-io/transport-node"
import { subjectMatches } from "../runtime/nats-subjects.ts"

/** The consumer of the messages, and the subject for messages that are no posts. */
export interface JetStreamNames {
  readonly stream: string
  /** The durable name. */
  readonly consumer: string
  /** The messages to take; all of the stream when it is absent. */
  readonly subject?: string | undefined
  readonly deadLetterSubject: string
}

/** Longest work on a message before it is sent again; the work extends it. The default of NATS. */
const ackWaitMs = 30_000

/** Most messages that are sent and not acknowledged, over all processes. Ours: a few processes at their own bound. */
const ackPendingMax = 10_000

/** Dead letters that are kept in a stream made here: 30 days, as those of Sluice itself, and 1 GiB. Ours. */
const deadLetterAgeMs = 30 * 86_400_000
const deadLetterBytesMax = 1_073_741_824

/** Finds or makes all of it. Throws an error that says what is missing or must be changed. */
export async function prepareConsumer(connection: NatsConnection, names: JetStreamNames): Promise<ConsumerInfo> {
  const manager = await jetstreamManager(connection, { checkAPI: false })
  const stream = await unless(JetStreamApiCodes.StreamNotFound, manager.streams.info(names.stream))
  if (stream === undefined)
    throw new Error(`The stream ${names.stream} is not there. Create it, or correct natsStream.`)
  const found = await unless(JetStreamApiCodes.ConsumerNotFound, manager.consumers.info(names.stream, names.consumer))
  const consumer = found ?? (await makeConsumer(manager, names))
  refuseLossy(consumer, names)
  refuseCircle(stream, consumer, names)
  await keepDeadLetters(manager, stream, names)
  return consumer
}

/** `undefined` when the server responds with this code. */
async function unless<Found>(code: number, request: Promise<Found>): Promise<Found | undefined> {
  return request.catch((error: unknown) => {
    if (error instanceof JetStreamApiError && error.code === code) return undefined
    throw error
  })
}

/** Several processes may do so at once: the same consumer is made once. */
function makeConsumer(manager: JetStreamManager, { stream, consumer, subject }: JetStreamNames): Promise<ConsumerInfo> {
  return manager.consumers.add(stream, {
    durable_name: consumer,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ackWaitMs),
    max_ack_pending: ackPendingMax,
    deliver_policy: DeliverPolicy.All,
    replay_policy: ReplayPolicy.Instant,
    ...(subject !== undefined && { filter_subject: subject }),
  })
}

function refuseLossy({ config }: ConsumerInfo, { consumer, subject }: JetStreamNames): void {
  const refuse = (why: string): never => {
    throw new Error(`The consumer ${consumer} ${why} Change it, delete it, or choose another natsConsumer.`)
  }
  if (config.deliver_subject !== undefined) refuse("is a push consumer, and must be a pull consumer.")
  if (config.ack_policy !== AckPolicy.Explicit) {
    refuse(`has the ack policy ${config.ack_policy}, and must have explicit: posts could be lost.`)
  }
  if ((config.max_deliver ?? -1) > 0) {
    refuse(`gives a message up after ${config.max_deliver} deliveries (max_deliver): posts could be lost.`)
  }
  const filters = filtersOf(config)
  if (subject !== undefined && (filters.length !== 1 || filters[0] !== subject)) {
    refuse(`takes ${filters.join(", ") || "every subject"}, and natsSubject is ${subject}.`)
  }
}

function filtersOf({ filter_subject: one, filter_subjects: several }: ConsumerInfo["config"]): readonly string[] {
  return several ?? (one === undefined || one === "" ? [] : [one])
}

/** Dead letters that the consumer takes would become dead letters again. */
function refuseCircle(stream: StreamInfo, { config }: ConsumerInfo, names: JetStreamNames): void {
  const filters = filtersOf(config)
  const taken = filters.length > 0 ? filters : stream.config.subjects
  const pattern = taken.find((each) => subjectMatches(each, names.deadLetterSubject))
  if (pattern === undefined) return
  throw new Error(
    `Dead letters at ${names.deadLetterSubject} would come back as messages, since the source takes ${pattern}. ` +
      "Choose another natsDeadLetterSubject, or a natsSubject without it.",
  )
}

async function keepDeadLetters(manager: JetStreamManager, source: StreamInfo, names: JetStreamNames): Promise<void> {
  const { deadLetterSubject: subject } = names
  for await (const _name of manager.streams.names(subject)) return
  await manager.streams.add({
    name: subject.replaceAll(".", "_"),
    subjects: [subject],
    max_age: nanos(deadLetterAgeMs),
    max_bytes: deadLetterBytesMax,
    num_replicas: source.config.num_replicas,
  })
}
