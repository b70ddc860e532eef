/** The settings of a source of Mastodon, and how its records become posts. */
import type { ConverterSettings } from "../../conversion/converters.ts"
import { isLanguage } from "../../conversion/post-language.ts"
import { SettingsReader, type Environment, type ReadSecret, type SourceMembers } from "../settings.ts"
import { isStreamName, streamOf, type MastodonStream } from "./streams.ts"

/** Settings of a source of Mastodon. */
export interface MastodonSourceSettings {
  /** The host of the instance, in lower case, with which the names of its posts begin. */
  readonly host: string
  /** 0 to 63: no other instance of the store has it, since ids of posts hold it. */
  readonly number: number
  /** The address of the API, without a slash at the end. */
  readonly url: string
  /** Reads the token, which may be renewed. */
  readonly token: ReadSecret | undefined
  readonly streams: readonly MastodonStream[]
  /** `sse` is for one stream. */
  readonly transport: "websocket" | "sse"
  readonly takesUnlisted: boolean
  readonly takesReblogs: boolean
  /** Languages of posts; all when empty. */
  readonly languages: readonly string[]
  /** Most statuses of each stream that are read afterwards when the connection was lost. */
  readonly healMax: number
}

/** Most instances of a store. Source: the layout of ids, `conversion/foreign-ids.ts`. */
const numberMax = 63

/** Most statuses of a stream that are read afterwards, unless the settings say otherwise. Ours. */
const defaultHealMax = 2_000

/** Bounds of that setting. Ours: a page, and what takes a quarter of an hour. */
const healMaxMin = 40
const healMaxMax = 100_000

/** Most streams of a connection. Ours. */
const streamsMax = 40

/** Most characters of all names of streams: the position holds them, with an id for each. Ours. */
const streamCharactersMax = 600

const hostPattern = /^(?=.{1,253}(?::|$))[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?$/i

/** The settings of an entry. Throws an error whose message continues "The source NAME". */
export function mastodonSettings(members: SourceMembers, env: Environment): MastodonSourceSettings {
  const reader = new SettingsReader(members, env)
  reader.name()
  const host = reader
    .text("host", {
      example: "mastodon.example",
      pattern: hostPattern,
      shape: "the name of a host, without a scheme",
      purpose: "name the instance",
    })
    .toLowerCase()
  const url = reader.optionalUrl("url", { protocols: ["https:", "http:"], example: `https://${host}` })
  const names = reader.texts("streams", { example: "hashtag:cats", max: streamsMax, test: isStreamName })
  checkStreams(names)
  const settings = {
    host,
    number: reader.wholeNumber("number", [0, numberMax], 0),
    url: (url ?? `https://${host}`).replace(/\/+$/, ""),
    token: reader.secret("token"),
    streams: (names.length > 0 ? names : ["public"]).map(streamOf),
    transport: reader.oneOf("transport", ["websocket", "sse"]),
    takesUnlisted: reader.flag("unlisted"),
    takesReblogs: reader.flag("reblogs"),
    languages: reader.texts("languages", { example: "en", test: isLanguage }),
    healMax: reader.wholeNumber("healMax", [healMaxMin, healMaxMax], defaultHealMax),
  }
  reader.noOthers()
  if (settings.transport === "sse" && names.length > 1) {
    throw new Error(`has ${names.length} streams, and transport is sse, which has one: set transport to websocket.`)
  }
  if (settings.token === undefined && names.some(needsAccount)) {
    throw new Error(`has the stream ${names.find(needsAccount)}, and no token: set tokenFile or tokenVariable.`)
  }
  return settings
}

function checkStreams(names: readonly string[]): void {
  const characters = names.reduce((sum, name) => sum + name.length, 0)
  if (characters > streamCharactersMax) {
    throw new Error(
      `has ${names.length} streams whose names have ${characters} characters, and may have ${streamCharactersMax}: divide them among two sources.`,
    )
  }
}

/** Streams of an account, which no one sees without its token. */
function needsAccount(name: string): boolean {
  return name === "user" || name.startsWith("list:")
}

/** How the records become posts. */
export function mastodonConversion({
  host,
  number,
  takesUnlisted,
  takesReblogs,
  languages,
}: MastodonSourceSettings): ConverterSettings {
  return { type: "mastodon", settings: { host, number, takesUnlisted, takesReblogs, languages } }
}
