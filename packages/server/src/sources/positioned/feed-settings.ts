/** Settings that the sources of other people's feeds share: the request, the mapping, the watch over silence. */
import { readFileSync } from "node:fs"
import type { ReadSecret, SettingsReader } from "../settings.ts"

/** The headers of a request, read for each connection: their secrets may be renewed. */
type ReadHeaders = () => Readonly<Record<string, string>>

/** Settings of a feed. */
export interface FeedSettings {
  /** May hold `{cursor}`. */
  readonly url: string
  readonly headers: ReadHeaders
  /** Stands for `{cursor}` while there is no position. */
  readonly start: string | undefined
  /** Longest silence of a connection. */
  readonly silenceMsMax: number
  /** The JSONata expression; undefined when items are envelopes. */
  readonly mapping: string | undefined
}

/** Characters of a header's name. Source: RFC 9110, 5.6.2. */
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Headers that the protocols have for themselves. */
const ownHeaders = new Set(["connection", "content-length", "host", "transfer-encoding", "upgrade", "accept-encoding"])

/** Headers whose values are secrets. */
const secretHeader = /^(?:authorization|proxy-authorization|cookie)$|token|secret|api[-_]?key|password/i

/** Longest silence in seconds when the settings name none, and what they may name. Ours. */
const silenceSeconds = 60
const silenceSecondsRange = [1, 86_400] as const

/** Reads these settings. Throws an `Error` that continues "The source NAME". */
export function readFeedSettings(
  settings: SettingsReader,
  protocols: readonly string[],
  example: string,
): FeedSettings {
  const url = settings.url("url", { protocols, example, mayHaveQuery: true })
  checkTemplate(url)
  return {
    url,
    headers: readHeaders(settings),
    start: settings.optionalText("start", { example: "0" }),
    silenceMsMax: settings.wholeNumber("silenceSeconds", silenceSecondsRange, silenceSeconds) * 1_000,
    mapping: readMapping(settings),
  }
}

/** Refuses secrets in an address, which others log, and a position that could lead to another host. */
function checkTemplate(template: string): void {
  if (/^[^/]*\/\/[^/?]*\{/.test(template))
    throw new Error("has {cursor} in the host of its url: it may stand behind the host.")
  const secret = [...new URL(template).searchParams.keys()].find((name) => secretHeader.test(name))
  if (secret === undefined) return
  throw new Error(
    `has the parameter ${secret} in its url, and it may be a secret: send it in a header, by tokenFile or headers.`,
  )
}

/** The expression of `mapping`, or of the file that `mappingFile` names; undefined without either. */
export function readMapping(settings: SettingsReader): string | undefined {
  const text = settings.script("mapping")
  const file = settings.file("mappingFile")
  if (file === undefined) return text
  if (text !== undefined) throw new Error("has both mapping and mappingFile: leave one of them out.")
  try {
    return readFileSync(file, "utf8")
  } catch (error) {
    throw new Error(`has a mappingFile that cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

function readHeaders(settings: SettingsReader): ReadHeaders {
  const token = settings.secret("token")
  const members = settings.nested("headers")
  const read: [name: string, value: ReadSecret][] = []
  if (token !== undefined) read.push(["authorization", () => bearer(token())])
  for (const member of members?.names() ?? []) {
    const name = member.replace(/(?:File|Variable)$/, "")
    const value = headerValue(members as SettingsReader, member, name)
    if (read.some(([other]) => other === name.toLowerCase())) {
      throw new Error(`has the header ${name} twice: leave one of them out.`)
    }
    read.push([name.toLowerCase(), value])
  }
  members?.noOthers()
  return () => Object.fromEntries(read.map(([name, value]) => [name, checkedValue(name, value() ?? "")]))
}

function headerValue(members: SettingsReader, member: string, name: string): ReadSecret {
  if (!headerName.test(name) || ownHeaders.has(name.toLowerCase())) {
    throw new Error(`has a header ${JSON.stringify(name)}, which cannot be set: leave it out.`)
  }
  if (member !== name) return members.secret(name) as ReadSecret
  if (secretHeader.test(name)) {
    throw new Error(
      `has the header ${name} in the configuration file, and it may be a secret: ` +
        `name the file that holds it by ${name}File, or the variable by ${name}Variable.`,
    )
  }
  const value = members.text(name, { example: "text" })
  return () => value
}

function bearer(token: string | undefined): string {
  return `Bearer ${token ?? ""}`
}

/** A value that can be sent. The message of an error does not show it, since it may be a secret. */
function checkedValue(name: string, value: string): string {
  if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) {
    throw new Error(`The value of the header ${name} has a line break or another character that no header may have.`)
  }
  return value
}
