/** A message of JetStream as a message of a source. */
import { jetstream, type JsMsg } from "@nats-io/jetstream"
import { headers as newHeaders, type MsgHdrs, type NatsConnection } from "@nats-io/transport-node"
import type { Rejection, SourceMessage } from "./message-flow.ts"
import { reasonText } from "./reason-text.ts"
import type { SourceMonitor } from "./source.ts"

/** Details with which a message becomes a dead letter. */
export interface DeadLetterDeps {
  readonly connection: NatsConnection
  readonly deadLetterSubject: string
  readonly monitor: Pick<SourceMonitor, "deadLettered">
}

/** `message` as one of a source. */
export function sourceMessage(message: JsMsg, deps: DeadLetterDeps): SourceMessage {
  return {
    data: message.data,
    isRedelivered: message.redelivered,
    acknowledge: () => attempt(() => message.ack()),
    giveBack: (delayMs) => attempt(() => message.nak(delayMs)),
    extend: () => attempt(() => message.working()),
    deadLetter: (rejection) => deadLetter(message, rejection, deps),
  }
}

/** A connection that is closed accepts no response. Then the broker sends the message again, as after a crash. */
function attempt(respond: () => void): void {
  try {
    respond()
  } catch {
    // Nothing else depends on it.
  }
}

/**
 * First the dead letter is durable, then the delivery of the message ends. A crash in between makes the same dead letter
 * again, which its stream knows by its id.
 */
async function deadLetter(message: JsMsg, rejection: Rejection, deps: DeadLetterDeps): Promise<void> {
  const { connection, deadLetterSubject: subject, monitor } = deps
  const { stream, streamSequence: sequence } = message.info
  const isTooLarge = message.data.length + headerBytesMax > (connection.info?.max_payload ?? Infinity)
  const headers = isTooLarge ? reasonHeaders(message, rejection) : withOwnHeaders(message, rejection)
  if (isTooLarge) headers.set("Sluice-Omitted-Bytes", String(message.data.length))
  await jetstream(connection).publish(subject, isTooLarge ? new Uint8Array() : message.data, {
    headers,
    msgID: `sluice-${stream}-${sequence}`,
  })
  attempt(() => message.term())
  const { title, detail } = rejection
  monitor.deadLettered({ title, detail, place: `stream ${stream}, sequence ${sequence}, subject ${message.subject}` })
}

/** Room for the headers of a dead letter in addition to the bytes of the message: NATS bounds their sum. Ours. */
const headerBytesMax = 8 * 1024

function reasonHeaders(message: JsMsg, { title, detail }: Rejection): MsgHdrs {
  const { stream, consumer, streamSequence, deliveryCount } = message.info
  const headers = newHeaders()
  const members = {
    Reason: title,
    Detail: detail,
    Stream: stream,
    Consumer: consumer,
    Sequence: String(streamSequence),
    Subject: message.subject,
    Time: message.timestamp,
    Deliveries: String(deliveryCount),
  }
  for (const [name, value] of Object.entries(members)) headers.set(`Sluice-${name}`, reasonText(value))
  return headers
}

/** The message's own headers too, but those that NATS acts on, while there is room for them. */
function withOwnHeaders(message: JsMsg, rejection: Rejection): MsgHdrs {
  const headers = reasonHeaders(message, rejection)
  const own = [...(message.headers ?? [])].filter(([name]) => !/^(?:nats|sluice)-/i.test(name))
  let room = headerBytesMax / 2
  for (const [name, values] of own) {
    for (const value of values) {
      room -= Buffer.byteLength(name) + Buffer.byteLength(value) + ": \r\n".length
      if (room > 0) headers.append(name, value)
    }
  }
  return headers
}
