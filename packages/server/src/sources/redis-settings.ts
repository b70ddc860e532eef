/** The settings of a source that reads a stream of Redis. */
import { SettingsReader, type Environment, type ReadSecret, type SourceMembers } from "./settings.ts"

/** The stream, and how to reach it. */
export interface RedisSourceSettings {
  readonly name: string
  /** `redis://host:6379` or `rediss://host:6379`, with the number of a database as its path, or none. */
  readonly url: string
  /** The key of the stream. */
  readonly stream: string
  /** The consumer group that all processes share. */
  readonly group: string
  /** The field of an entry that holds the post. */
  readonly field: string
  /** The key of the stream for entries that are no posts. */
  readonly deadLetterStream: string
  readonly username?: string | undefined
  readonly password?: ReadSecret | undefined
  /** File with the certificates of the authority that has signed the server's. It is read for each connection. */
  readonly caFile?: string | undefined
}

/** The settings that `members` give. Throws an error whose message continues "The source NAME". */
export function redisSettings(members: SourceMembers, env: Environment): RedisSourceSettings {
  const reader = new SettingsReader(members, env)
  const name = reader.name()
  const url = reader.url("url", { protocols: ["redis:", "rediss:"], example: "redis://127.0.0.1:6379" })
  const stream = reader.text("stream", { example: "posts", purpose: "name the key of the stream to read" })
  const settings: RedisSourceSettings = {
    name,
    url,
    stream,
    group: reader.optionalText("group", { example: "sluice" }) ?? "sluice",
    field: reader.optionalText("field", { example: "envelope" }) ?? "envelope",
    deadLetterStream: reader.optionalText("deadLetterStream", { example: `${stream}:dead` }) ?? `${stream}:dead`,
    username: reader.optionalText("username", { example: "sluice" }),
    password: reader.secret("password"),
    caFile: reader.file("caFile"),
  }
  reader.noOthers()
  refuseUnusable(settings)
  return settings
}

function refuseUnusable({ url, stream, deadLetterStream, username, password, caFile }: RedisSourceSettings): void {
  const { protocol, pathname } = new URL(url)
  if (!/^\/?\d{0,5}$/.test(pathname)) {
    throw new Error(
      "has a url with a path that is no number of a database: write one such as redis://127.0.0.1:6379/0.",
    )
  }
  if (deadLetterStream === stream) {
    throw new Error(`has ${stream} as stream and as deadLetterStream: dead letters would come back as posts.`)
  }
  if (username !== undefined && password === undefined) {
    throw new Error("has a username without a password: set passwordFile or passwordVariable.")
  }
  if (caFile !== undefined && protocol !== "rediss:") {
    throw new Error("has a caFile, and its url does not begin with rediss://, so nothing would use it.")
  }
}
