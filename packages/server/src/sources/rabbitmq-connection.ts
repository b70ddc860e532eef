import { readFileSync } from "node:fs"
import { connect, type Channel, type ChannelModel, type Options } from "amqplib"
import { connectionAdvice } from "./connection-advice.ts"
import type { RabbitMqSourceSettings } from "./rabbitmq-settings.ts"

/** Longest wait for a server that is connected to. Ours: less than a server may take to close. */
const connectMsMax = 5_000

/** Time between two heartbeats, two of which must be missing before a connection counts as lost. Ours, in seconds. */
const heartbeatSeconds = 10

/** A port by protocol. Source: AMQP 0-9-1 and the URI specification of RabbitMQ. */
const defaultPorts: Readonly<Record<string, number>> = { "amqp:": 5672, "amqps:": 5671 }

/** Connects. Throws when the server cannot be reached or refuses. It is never taken up again once it is lost. */
export async function connectRabbitMq(settings: RabbitMqSourceSettings): Promise<ChannelModel> {
  const { url, username, password, caFile } = settings
  const { protocol, hostname, port, pathname } = new URL(url)
  const to: Options.Connect = {
    protocol: protocol.slice(0, -1),
    hostname: hostname.replaceAll(/^\[|\]$/g, ""),
    port: port === "" ? (defaultPorts[protocol] ?? 0) : Number(port),
    // As it is written, since the library decodes it.
    vhost: pathname.slice(1),
    heartbeat: heartbeatSeconds,
    ...(username !== undefined && { username, password: password?.() ?? "" }),
  }
  const connection = await connect(to, {
    timeout: connectMsMax,
    noDelay: true,
    clientProperties: { connection_name: `sluice ${settings.name}` },
    ...(caFile !== undefined && { ca: [readFileSync(caFile)] }),
  })
  // Channels and requests of a lost connection fail, too.
  connection.on("error", () => undefined)
  return connection
}

/**
 * Closes a connection or a channel, and resolves when it is closed, or lost meanwhile: the library waits for the consent of a
 * server that is gone. Never rejects.
 */
export async function closed(end: Pick<ChannelModel | Channel, "close" | "once">): Promise<void> {
  const { promise: lost, resolve } = Promise.withResolvers<void>()
  end.once("close", resolve)
  try {
    await Promise.race([end.close(), lost])
  } catch {
    // It was lost before.
  }
}

/** Thrown when the server has no such queue. */
export class QueueMissing extends Error {
  override readonly name = "QueueMissing"
}

/** The advice for each error of a server, by a part of its message. Source: RabbitMQ documentation, "Channels". */
const adviceByReply: readonly (readonly [part: string, advice: (settings: RabbitMqSourceSettings) => string])[] = [
  ["Login was refused", () => "Correct username, or the password in the file or variable that the settings name."],
  // The library says so when the server refuses the virtual host.
  [
    "Expected ConnectionOpenOk",
    ({ username = "guest" }) =>
      `Correct the virtual host, which is the path of url, create it, or give the user ${username} permissions on it.`,
  ],
  [
    "ACCESS_REFUSED",
    ({ username = "guest", queue, deadLetterExchange, deadLetterQueue }) =>
      `Give the user ${username} the permission to read ${queue}` +
      (deadLetterExchange ? "." : `, to configure ${deadLetterQueue}, and to write to amq.default.`),
  ],
  [
    "RESOURCE_LOCKED",
    ({ queue }) => `Another connection owns the queue ${queue} exclusively: declare it without that.`,
  ],
  [
    "delivery acknowledgement",
    () =>
      "Messages were not stored within the consumer_timeout of the server: look for what keeps the store, or raise it.",
  ],
  [
    "inequivalent arg",
    ({ deadLetterQueue }) =>
      `The queue ${deadLetterQueue} exists otherwise: delete it, or name another deadLetterQueue.`,
  ],
  ["CONNECTION_FORCED", () => "The server was shut down, or an operator has closed the connection."],
]

/** A sentence that says what to do about a failure; `undefined` when none is known. */
export function rabbitMqAdvice(error: unknown, settings: RabbitMqSourceSettings): string | undefined {
  if (error instanceof QueueMissing) {
    return `Create the queue ${settings.queue} as a durable one, or correct queue. Sluice consumes it and never creates it.`
  }
  if (!(error instanceof Error)) return undefined
  const found = adviceByReply.find(([part]) => error.message.includes(part))
  return found?.[1](settings) ?? connectionAdvice(error)
}
