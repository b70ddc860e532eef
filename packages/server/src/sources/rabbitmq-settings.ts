/** The settings of a source that consumes a queue of RabbitMQ. */
import { messagesInFlightMax } from "./flow-bounds.ts"
import { SettingsReader, type Environment, type ReadSecret, type SourceMembers } from "./settings.ts"

/** The queue, and how to reach it. */
export interface RabbitMqSourceSettings {
  readonly name: string
  /** `amqp://host:5672` or `amqps://host:5671`, with the name of a virtual host as its path, or none for `/`. */
  readonly url: string
  /** The queue, which must exist. */
  readonly queue: string
  /** Most messages that the server sends before they are acknowledged. */
  readonly prefetch: number
  /** The queue has a dead-letter exchange, which takes messages that are no posts. */
  readonly deadLetterExchange: boolean
  /** The queue for messages that are no posts, where the queue has no such exchange. */
  readonly deadLetterQueue: string
  /** `guest` when absent, with the password `guest`. */
  readonly username?: string | undefined
  readonly password?: ReadSecret | undefined
  /** File with the certificates of the authority that has signed the server's. It is read for each connection. */
  readonly caFile?: string | undefined
}

/** Messages on their way to a process by default. Ours: 64 MiB of the largest posts; more makes nothing faster. */
const defaultPrefetch = 250

/** The settings that `members` give. Throws an error whose message continues "The source NAME". */
export function rabbitMqSettings(members: SourceMembers, env: Environment): RabbitMqSourceSettings {
  const reader = new SettingsReader(members, env)
  const name = reader.name()
  const url = reader.url("url", { protocols: ["amqp:", "amqps:"], example: "amqp://127.0.0.1:5672" })
  const queue = reader.text("queue", { example: "posts", purpose: "name the queue to consume" })
  const ownDeadLetters = reader.optionalText("deadLetterQueue", { example: `${queue}.dead` })
  const settings: RabbitMqSourceSettings = {
    name,
    url,
    queue,
    prefetch: reader.wholeNumber("prefetch", [1, messagesInFlightMax], defaultPrefetch),
    deadLetterExchange: reader.flag("deadLetterExchange"),
    deadLetterQueue: ownDeadLetters ?? `${queue}.dead`,
    username: reader.optionalText("username", { example: "sluice" }),
    password: reader.secret("password"),
    caFile: reader.file("caFile"),
  }
  reader.noOthers()
  if (settings.deadLetterExchange && ownDeadLetters !== undefined) {
    throw new Error("has a deadLetterQueue and deadLetterExchange: true: dead letters go to one of them.")
  }
  refuseUnusable(settings)
  return settings
}

function refuseUnusable({ url, queue, deadLetterQueue, username, password, caFile }: RabbitMqSourceSettings): void {
  const { protocol, pathname } = new URL(url)
  if (!/^\/?[^/]*$/.test(pathname)) {
    throw new Error(
      "has a url with a path that is no virtual host: write / in its name as %2F, as in amqp://127.0.0.1/a%2Fb.",
    )
  }
  if (deadLetterQueue === queue) {
    throw new Error(`has ${queue} as queue and as deadLetterQueue: dead letters would come back as posts.`)
  }
  if ((username === undefined) !== (password === undefined)) {
    throw new Error(
      "has a username without a password, or the reverse: set username, and passwordFile or passwordVariable.",
    )
  }
  if (caFile !== undefined && protocol !== "amqps:") {
    throw new Error("has a caFile, and its url does not begin with amqps://, so nothing would use it.")
  }
}
