/**
 * The only reader of the environment and of the config file.
 *
 * A setting has one name in three spellings: `--page-token-lifetime-hours` as a flag, `SLUICE_PAGE_TOKEN_LIFETIME_HOURS`
 * in the environment, `pageTokenLifetimeHours` in the file. A flag overrides the environment, which overrides the file,
 * which overrides the default. Raw text is parsed here, once, into a frozen `Config`. Unknown names and wrong units are
 * errors that name the setting and its source.
 */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { isIP } from "node:net"
import { availableParallelism } from "node:os"
import type * as Yaml from "yaml"
import { appFigures, bodyBytesMax, limitProfiles, parseRequestBounds, type LimitProfile } from "@sluice/api/limits"
import { nearest } from "@sluice/rules/near-miss"
import { parseAllowedDestinations, type AllowedDestinations } from "./runtime/outbound/allowed-destinations.ts"
import { ConfigError } from "./runtime/config-error.ts"
import { databaseServersIn } from "./runtime/database-url.ts"
import { mask, withoutCredentials } from "./runtime/masked-url.ts"
import { subjectMatches } from "./runtime/nats-subjects.ts"

/** Strictness of the server: `dev` trusts its machine, `serve` trusts no one. */
export type Posture = "dev" | "serve"

const logFormats = ["auto", "json", "text"] as const

const logLevels = ["silent", "fatal", "error", "warn", "info", "debug"] as const

/** A source of posts as the config file lists it. Its kind of source checks the members. */
export interface ListedSource {
  /** Unique among all sources. */
  readonly name: string
  readonly type: string
  /** All members, `name` and `type` included. */
  readonly members: Readonly<Record<string, unknown>>
  /** The place of the entry, for messages: a file and a line, or a flag. */
  readonly place: string
}

/** A listed source, and the environment, in which its members may name variables with secrets. */
interface SourceEntry extends ListedSource {
  readonly env: Readonly<Record<string, string | undefined>>
}

/** The sources of settings. Flags and variables are text; a file may hold numbers. */
export interface ConfigSources {
  readonly posture: Posture
  /** By flag name without dashes in front, for example `page-token-lifetime-hours`. */
  readonly flags?: Readonly<Record<string, string | undefined>>
  /** The process's environment unless given. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Sources of posts in addition to those of the config file. */
  readonly sources?: readonly ListedSource[]
  /** Values in place of the usual defaults, by flag name. */
  readonly defaults?: Readonly<Record<string, string>>
}

/** A parsed value, which prints as it would be written. */
type SettingValue = string | number | AllowedDestinations

/** A setting: how its text is parsed, and what holds when nothing sets it. */
interface Setting {
  readonly parse: (text: string) => SettingValue
  /** Absent: the setting is optional. */
  readonly defaultValue?: string | number | ((posture: Posture, profile: LimitProfile) => string | number)
  readonly isSecret?: boolean
  /** A URL may hold credentials, which are masked when it is shown. */
  readonly isUrl?: boolean
  /** An empty variable counts as none: what an image or a unit file sets can be taken back. */
  readonly mayBeEmpty?: boolean
  /** The sentence for `--help`. */
  readonly help: string
}

/** Most threads of a kind that there may be several of. Ours. */
const threadsMax = 16

/**
 * Intake threads by default: half of the cores but one, from 1 to 4. The main thread, the writer and the sends of
 * deliveries need the others; on two cores a second one would only take time from them. Ours.
 */
const defaultIntakeThreads = Math.min(Math.max(Math.floor(availableParallelism() / 2) - 1, 1), 4)

/**
 * Delivery threads by default: as many as intake threads, and none on two or three cores, where the main thread has time
 * to deliver and a thread more would take some from the others. Ours.
 */
const defaultDeliveryThreads = Math.min(Math.max(Math.floor(availableParallelism() / 2) - 1, 0), 4)

const nonEmpty = textLike(/./s, "must not be empty.")

/** Text that is valid in a header: visible ASCII. */
const headerText = textLike(/^[!-~]+$/, "must be printable ASCII characters without spaces.")

/** Text that `Authorization: Bearer` can carry. Source: RFC 6750, 2.1. The least length is ours: it makes guessing hopeless. */
const bearerToken = textLike(
  /^[A-Za-z0-9._~+/-]{16,200}=*$/,
  "must be 16 to 200 characters of A-Z, a-z, 0-9, and - . _ ~ + /.",
)

const masterKeyText = textLike(/^[0-9a-fA-F]{64}$/, "must be 64 hexadecimal digits.")

/** Source: NATS documentation, "JetStream, naming". */
const natsName = textLike(/^[^\s.*>/\\]{1,255}$/, "must be 1 to 255 characters without spaces, dots, slashes, * and >.")

/** Source: NATS documentation, "Subject-based messaging". */
const natsSubject = textLike(
  /^(?!\$)(?:(?:\*|[^\s*>.]+)\.)*(?:[*>]|[^\s*>.]+)$/,
  "must be a subject such as posts.new, posts.* or posts.>.",
)

const natsPlainSubject = textLike(
  /^(?!\$)[^\s*>.]+(?:\.[^\s*>.]+)*$/,
  "must be a subject without * and >, such as sluice.dead_letters.",
)

/** Origins without spaces between them, or `*`. Source: RFC 6454, 6.2. */
function corsOriginList(text: string): string {
  if (text.trim() === "*") return "*"
  const origins = text.split(",").map((one) => one.trim())
  const wrong = origins.find((one) => URL.parse(one)?.origin !== one)
  if (wrong === undefined) return origins.join(",")
  throw new Error(
    `must be origins such as https://app.example.com, separated by commas, or *; ${JSON.stringify(wrong)} is none.`,
  )
}

/** Every setting, once: `Config`, the flags, the variables and the help follow from this table. */
const table = {
  host: { parse: nonEmpty, defaultValue: "127.0.0.1", help: "Address to listen on." },
  port: wholeNumber([0, 65_535], 8080, "Port to listen on; 0 takes a free one."),
  data: {
    parse: nonEmpty,
    mayBeEmpty: true,
    defaultValue: ".sluice",
    help: "Directory of the embedded store.",
  },
  database: {
    parse: databaseUrl,
    isUrl: true,
    help:
      "PostgreSQL database that takes the place of the embedded store, for example postgres://sluice@db.example/sluice, " +
      "or postgres://sluice@db1,db2/sluice for the one of two servers that accepts writes. " +
      "Every user of the machine can see a flag, so set a URL with a password by the variable.",
  },
  databasePoolMax: wholeNumber(
    // Three for what each process does by itself, two for intake, and two for all else (store/cluster/serving/served-store.ts).
    [7, 1_000],
    10,
    "Most connections of a process to the database.",
  ),
  databaseStatementSecondsMax: wholeNumber([1, 3_600], 30, "Longest that a statement may take in the database."),
  masterKey: {
    parse: masterKeyText,
    isSecret: true,
    help:
      "Master key of the secrets at rest, 64 hexadecimal digits; else the file master.key in the data directory. " +
      "Required with a database.",
  },
  logLevel: {
    parse: oneOf(logLevels),
    defaultValue: (posture) => (posture === "dev" ? "warn" : "info"),
    help: `Least level of log lines: ${logLevels.join(", ")}.`,
  },
  logFormat: {
    parse: oneOf(logFormats),
    defaultValue: "auto",
    help: "Form of log lines: json, text for people, or auto, which is text on a terminal and JSON elsewhere.",
  },
  cacheMegabytes: wholeNumber(
    [8, 65_536],
    64,
    "Memory for caches of the store, in MiB: half for writes, half for reads.",
  ),
  pageTokenLifetimeHours: wholeNumber([0, 8760], 24, "How long a page token is good for; 0 is forever."),
  pageScanMax: wholeNumber([100, 100_000], 1_000, "Most posts that a filtered page looks at."),
  // A post of 25,000 characters with all that X sends with it stays far below.
  postBytesMax: wholeNumber(
    [1_024, bodyBytesMax],
    262_144,
    "Most bytes of a post with its included objects: a line of a body of posts.",
  ),
  limits: {
    parse: oneOf(limitProfiles),
    defaultValue: "none",
    help: "Limits of apps: none, or X's of a plan. Settings of single limits, and what is set for an app, count before it.",
  },
  requestBounds: {
    parse: requestBounds,
    help:
      "Most requests of endpoints in a window, in place of the profile's, separated by commas: " +
      "GET /2/tweets/search/recent app 1000, GET /2/users/me user 10. 0 for no bound.",
  },
  postsPerSecondMax: wholeNumber(
    [0, 1_000_000_000],
    byProfile("postsPerSecond"),
    "Most posts per second on a stream connection; 0 for no bound.",
  ),
  postsPerMonthMax: wholeNumber(
    [0, 1_000_000_000],
    byProfile("postsPerMonth"),
    "Most posts of an app in a month, as usage counts them; 0 for no bound.",
  ),
  // From the 29th on, a month might lack the day.
  capResetDay: wholeNumber([1, 28], 1, "Day on which the month of usage begins, in UTC."),
  rulesPerAppMax: wholeNumber([1, 10_000_000], byProfile("rules"), "Most rules of an app."),
  // 400 for each of 25,000 rules: two words near each other cost 389, a keyword 5, real rules 27 on average.
  ruleStepsPerAppMax: wholeNumber(
    [100_000, 1_000_000_000],
    10_000_000,
    "Most steps that the rules of an app may cost together, and may take for one post.",
  ),
  ruleCharactersMax: wholeNumber([1, 100_000], byProfile("ruleCharacters"), "Most characters of a rule."),
  ruleDialect: {
    parse: oneOf(["lenient", "strict"]),
    defaultValue: "lenient",
    help: "strict also refuses what X's documentation discourages.",
  },
  search: {
    parse: oneOf(["on", "off"]),
    // Under ingest at full speed the index takes a third of a core and some 90 MB.
    defaultValue: (posture) => (posture === "dev" ? "on" : "off"),
    help: "Whether stored posts are searched: an index of them is kept, by a thread of its own.",
  },
  searchReposts: {
    parse: oneOf(["true", "false"]),
    defaultValue: "false",
    help: "true has searches and counts find reposts, which X's have not done since 2026-05-04 unless the query asks for them.",
  },
  embeddingsUrl: {
    parse: endpointUrl,
    isUrl: true,
    help: "OpenAI-compatible endpoint for embedding:, for example http://127.0.0.1:11434/v1/embeddings.",
  },
  embeddingsModel: { parse: nonEmpty, help: "Model that the embeddings endpoint is to use." },
  embeddingsKey: {
    parse: headerText,
    isSecret: true,
    help: "Key of the embeddings endpoint, sent as a bearer token.",
  },
  natsUrl: {
    parse: natsServers,
    isUrl: true,
    help: "NATS servers to take posts from, separated by commas: nats://host:4222, or tls://host:4222.",
  },
  natsStream: { parse: natsName, help: "JetStream stream whose messages are posts." },
  natsConsumer: {
    parse: natsName,
    defaultValue: "sluice",
    help: "Durable consumer of the stream, which all processes share; created if missing.",
  },
  natsSubject: {
    parse: natsSubject,
    help: "Subject of the messages to take, which may contain * and >; else all of the stream.",
  },
  natsDeadLetterSubject: {
    parse: natsPlainSubject,
    defaultValue: "sluice.dead_letters",
    help: "Subject to which messages that are not posts are sent.",
  },
  natsCredentials: { parse: nonEmpty, help: "File with the credentials of a NATS user (.creds)." },
  natsToken: { parse: headerText, isSecret: true, help: "Token that the NATS servers require." },
  natsCa: { parse: nonEmpty, help: "File with the certificate authorities of the NATS servers, as PEM." },
  intakeThreads: wholeNumber(
    [1, threadsMax],
    defaultIntakeThreads,
    "Threads that read and match posts, each with all rules; always one on PostgreSQL, where more processes do the same.",
  ),
  deliveryThreads: wholeNumber(
    [0, threadsMax],
    // Trouble on demand meets only what the main thread delivers.
    (posture) => (posture === "dev" ? 0 : defaultDeliveryThreads),
    "Threads that deliver to webhooks, each link in one of them; with 0, and always on PostgreSQL, the main thread delivers.",
  ),
  webhooksPerAppMax: wholeNumber([1, 100_000], 100, "Most webhooks of an app."),
  // X has 450 requests for each app and route in 15 minutes.
  challengesPerAppMax: wholeNumber(
    [1, 10_000_000],
    450,
    "Most challenges and tests of webhooks that an app may request in 15 minutes; a host gets at most twice as many.",
  ),
  webhookAllow: {
    parse: parseAllowedDestinations,
    help:
      "Destinations of webhooks in addition to public addresses, over http too: networks, names and ports, separated by " +
      "commas, such as 10.0.0.0/8:8080, *.svc.cluster.local.",
  },
  sourceAllow: {
    parse: parseAllowedDestinations,
    help:
      "Addresses of sources of posts in addition to public ones, over http and ws too: networks, names and ports, " +
      "separated by commas, such as 10.0.0.0/8:8080, feed.lan.",
  },
  corsOrigins: {
    parse: corsOriginList,
    help:
      "Origins of web pages whose programs may call the API, separated by commas, such as https://app.example.com, or *; " +
      "none by default.",
  },
  connectionsMax: wholeNumber([10, 1_000_000], 10_000, "Most connections at a time; one more is closed at once."),
  streamConnectionsPerAppMax: wholeNumber([1, 100_000], byProfile("connections"), "Most stream connections of an app."),
  streamConnectionsOver: {
    parse: oneOf(["refuse", "replace"]),
    defaultValue: "refuse",
    help: "Action on one stream connection too many: refuse it with 429, or replace the app's oldest.",
  },
  streamStalledSecondsMax: wholeNumber(
    [1, 3_600],
    30,
    "Time after which a client that reads nothing of its stream or response is cut.",
  ),
  deliveriesPerLinkMax: wholeNumber(
    [1, 1_000],
    64,
    "Most deliveries of a webhook link that are in flight or whose result is not saved yet.",
  ),
  retrySecondsMin: wholeNumber([1, 3_600], 1, "Wait before the first retry of a delivery."),
  retrySecondsMax: wholeNumber([1, 86_400], 300, "Longest wait between two attempts."),
  deliveriesPerLinkPerSecondMax: wholeNumber(
    [0, 1_000_000],
    0,
    "Most deliveries per second over a webhook link; 0 for no bound.",
  ),
  deliveryAttemptsMax: wholeNumber([1, 10_000], 100, "Failed attempts after which a match becomes a dead letter."),
  attemptsKeptPerLink: wholeNumber([1, 100_000], 1_000, "Attempts that are kept for a webhook link."),
  attemptResponseBytesMax: wholeNumber(
    [0, 4_096],
    1_024,
    "Most bytes of an endpoint's response that are kept with an attempt; 0 keeps none.",
  ),
  matchRetentionHours: wholeNumber([1, 8_760], 24, "Retention of a match in its log."),
  undeliveredRetentionHours: wholeNumber(
    [1, 26_280],
    72,
    "Retention of a match that a webhook link has still to deliver, if that is longer.",
  ),
  clockJump: {
    parse: oneOf(["wait", "believe"]),
    defaultValue: "wait",
    help: "Retention when a start finds the clock more than an hour ahead: wait until it is steady for an hour, or believe.",
  },
  postRetentionDays: wholeNumber([0, 36_500], 0, "Retention of a post; 0 is forever."),
  deletionsRememberedHours: wholeNumber([1, 8_760], 48, "Time for which a deleted post or user is not stored again."),
  deadLetterRetentionDays: wholeNumber([1, 36_500], 30, "Retention of a dead letter."),
  signingKeyGraceHours: wholeNumber(
    [0, 8_760],
    24,
    "Time for which a webhook's previous signing key still signs after a rotation.",
  ),
  metricsPort: {
    parse: numberIn([0, 65_535]),
    help: "Separate port for /metrics, which the main port then does not serve; 0 takes a free one.",
  },
  metricsHost: { parse: nonEmpty, help: "Address for the port of /metrics; else that of --host." },
  metricsToken: {
    parse: bearerToken,
    isSecret: true,
    help: "Bearer token that /metrics requires, 16 characters or more; else it is open.",
  },
  requestSecondsMax: wholeNumber([1, 3_600], 30, "Time that a client has to send a request."),
} satisfies Readonly<Record<string, Setting>>

type Table = typeof table
type SettingName = keyof Table
type OptionalName = {
  [Name in SettingName]: Table[Name] extends { defaultValue: unknown } ? never : Name
}[SettingName]
type ValueOf<Name extends SettingName> = ReturnType<Table[Name]["parse"]>

/** All settings, frozen. The help in the table describes each setting. */
export type Config = { readonly [Name in Exclude<SettingName, OptionalName>]: ValueOf<Name> } & {
  readonly [Name in OptionalName]?: ValueOf<Name>
} & {
  readonly posture: Posture
  /** In the order in which they are listed. */
  readonly sources: readonly SourceEntry[]
  /** The point at which a test has the process killed. Read from the environment only. */
  readonly crashPoint?: string
}

const settings: Readonly<Record<SettingName, Setting>> = table
const settingNames = Object.keys(table) as SettingName[]

/**
 * The settings that have a flag. Secrets have none: every user of a machine can read the flags of its processes.
 */
export const settingDescriptions: readonly { flag: string; variable: string; help: string }[] = settingNames
  .filter((name) => settings[name].isSecret !== true)
  .map((name) => ({ flag: flagOf(name), variable: variableOf(name), help: settings[name].help }))

/** Milliseconds for which posts are kept; 0 is forever. */
export function postRetentionMsOf({ postRetentionDays }: Pick<Config, "postRetentionDays">): number {
  return postRetentionDays * 86_400_000
}

/** Retention of a match that a link has still to deliver, ms: never shorter than that of its log. */
export function undeliveredRetentionMsOf(
  config: Pick<Config, "matchRetentionHours" | "undeliveredRetentionHours">,
): number {
  return Math.max(config.matchRetentionHours, config.undeliveredRetentionHours) * 3_600_000
}

/** Returns the configuration. Throws `ConfigError`, which names the setting and its source. */
export function loadConfig(sources: ConfigSources): Config {
  return resolve(sources).config
}

/** Every setting with its value and its source, one per line, secrets masked: for `--print-config`. */
export function printConfig(sources: ConfigSources): string {
  const { resolved, config } = resolve(sources)
  const listed = config.sources.map(({ name, type, place }) => `source ${name} = ${type}  # ${place}`)
  const lines = resolved.map(({ name, value, source }) => {
    const { isSecret, isUrl } = settings[name]
    const text = String(value ?? "(none)")
    const shown = isUrl === true ? withoutCredentials(text) : text
    return `${name} = ${isSecret === true && value !== undefined ? mask : shown}  # ${source}`
  })
  return [...lines, ...listed].join("\n")
}

/** A setting's value, and where it came from. */
interface ResolvedSetting {
  readonly name: SettingName
  readonly value: SettingValue | undefined
  readonly source: string
}

function resolve({ posture, flags = {}, env = process.env, sources: added = [], defaults = {} }: ConfigSources): {
  config: Config
  resolved: readonly ResolvedSetting[]
} {
  refuseUnknownVariables(env)
  const file = flags.config ?? env.SLUICE_CONFIG
  const { settings: fromFile, listed } =
    file === undefined ? { settings: new Map<string, string>(), listed: [] } : readConfigFile(file)
  const sources = { posture, flags, env, file, fromFile, defaults }
  const profile = resolveSetting("limits", sources, "none").value as LimitProfile
  const resolved = settingNames.map((name) => resolveSetting(name, sources, profile))
  const { SLUICE_CRASH_POINT: crashPoint } = env
  const values = resolved.filter(({ value }) => value !== undefined).map(({ name, value }) => [name, value])
  const config = Object.freeze({
    posture,
    sources: distinctSources([...listed, ...added]).map((entry) => ({ ...entry, env })),
    ...Object.fromEntries(values),
    ...(crashPoint !== undefined && { crashPoint }),
  }) as unknown as Config
  refuseContradictions(config)
  refuseTwoStores(resolved)
  return { config, resolved }
}

/** The value of one setting. `profile` decides the defaults that are by profile. */
function resolveSetting(
  name: SettingName,
  sources: Required<Pick<ConfigSources, "posture" | "flags" | "env" | "defaults">> & {
    readonly file: string | undefined
    readonly fromFile: ReadonlyMap<string, string>
  },
  profile: LimitProfile,
): ResolvedSetting {
  const { posture, flags, env, file, fromFile, defaults } = sources
  const [flag, variable] = [flagOf(name), variableOf(name)]
  for (const [text, source] of [
    [flags[flag], `--${flag}`],
    [isTakenBack(name, env[variable]) ? undefined : env[variable], variable],
    [fromFile.get(name), file],
  ]) {
    if (text === undefined || source === undefined) continue
    if (text === "" && source === variable && settings[name].mayBeEmpty === true) continue
    return { name, value: parsed(name, text, source), source }
  }
  const given = defaults[flag]
  if (given !== undefined) return { name, value: parsed(name, given, "default"), source: "default" }
  const { defaultValue } = settings[name]
  const value = typeof defaultValue === "function" ? defaultValue(posture, profile) : defaultValue
  return { name, value, source: "default" }
}

/** With an empty variable a container that has a database takes back the directory which its image sets. */
function isTakenBack(name: SettingName, text: string | undefined): boolean {
  return name === "data" && text === ""
}

function parsed(name: SettingName, text: string, source: string): SettingValue {
  try {
    return settings[name].parse(text)
  } catch (error) {
    const shown = settings[name].isSecret === true ? "" : ` "${withoutCredentials(text)}"`
    throw new ConfigError(`${name}${shown} (from ${source}) ${(error as Error).message}`, { cause: error })
  }
}

/** Refuses a database together with a data directory, and a database without the key that all processes on it share. */
function refuseTwoStores(resolved: readonly ResolvedSetting[]): void {
  const [data, database, masterKey] = (["data", "database", "masterKey"] as const).map((name) =>
    resolved.find((setting) => setting.name === name),
  )
  if (database?.value === undefined) return
  if (data !== undefined && data.source !== "default") {
    throw new ConfigError(
      `database (from ${database.source}) and data (from ${data.source}) are both set, and a server has one store. ` +
        "Leave one of them out.",
    )
  }
  if (masterKey?.value === undefined) {
    throw new ConfigError(
      `database is set (from ${database.source}) without masterKey, which all processes on a database share. Set ` +
        "SLUICE_MASTER_KEY to 64 hexadecimal digits, for example of `openssl rand -hex 32`, and keep them.",
    )
  }
}

/** Refuses settings that contradict each other. */
function refuseContradictions(config: Config): void {
  if (config.retrySecondsMax < config.retrySecondsMin) {
    throw new ConfigError(
      `retrySecondsMax (${config.retrySecondsMax}) is less than retrySecondsMin (${config.retrySecondsMin}).`,
    )
  }
  if (config.metricsHost !== undefined && config.metricsPort === undefined) {
    throw new ConfigError(
      "metricsHost is set without metricsPort: /metrics has an address of its own only with a port.",
    )
  }
  if (config.metricsPort === config.port && config.port !== 0 && (config.metricsHost ?? config.host) === config.host) {
    throw new ConfigError(`metricsPort (${config.port}) is the port of the API. Leave it out, or choose another one.`)
  }
  refuseUnused(config, ["embeddingsModel", "embeddingsKey"], "embeddingsUrl")
  if (config.embeddingsUrl !== undefined && config.embeddingsModel === undefined) {
    throw new ConfigError("embeddingsUrl is set without embeddingsModel: the endpoint needs the name of a model.")
  }
  refuseUnused(config, ["natsStream", "natsSubject", "natsCredentials", "natsToken", "natsCa"], "natsUrl")
  refuseNatsContradictions(config)
}

/** Refuses settings that have no effect without another one. */
function refuseUnused(config: Config, names: readonly SettingName[], without: SettingName): void {
  const unused = names.find((name) => config[name] !== undefined)
  if (config[without] !== undefined || unused === undefined) return
  throw new ConfigError(`${unused} is set without ${without}, so nothing would use it.`)
}

function refuseNatsContradictions(config: Config): void {
  const { natsUrl, natsStream, natsSubject: subject, natsDeadLetterSubject } = config
  if (natsUrl === undefined) return
  if (natsStream === undefined) {
    throw new ConfigError("natsUrl is set without natsStream: posts are taken from a stream of JetStream.")
  }
  if (config.natsCredentials !== undefined && config.natsToken !== undefined) {
    throw new ConfigError("natsCredentials and natsToken are both set, and a connection has one of them.")
  }
  if (config.natsCa !== undefined && !natsUrl.startsWith("tls:")) {
    throw new ConfigError("natsCa is set, and natsUrl has no tls:// address, so nothing would use it.")
  }
  if (subject !== undefined && subjectMatches(subject, natsDeadLetterSubject)) {
    throw new ConfigError(
      `natsSubject (${subject}) matches natsDeadLetterSubject (${natsDeadLetterSubject}): dead letters would come back ` +
        "as posts. Choose another subject for one of them.",
    )
  }
}

/** Variables that are not settings: the path of the config file, and what the command and the tests read. */
const otherVariables = [
  "SLUICE_CONFIG",
  "SLUICE_URL",
  "SLUICE_TOKEN",
  "SLUICE_CONTEXT",
  "SLUICE_CONSUMER_SECRET",
  "SLUICE_CLIENT_SECRET",
  "SLUICE_OPERATOR_TOKEN",
  "SLUICE_EXEC",
  "SLUICE_NEW_MASTER_KEY",
  "SLUICE_SHARED",
  "SLUICE_CRASH_POINT",
  "SLUICE_FAULT_ROUNDS",
  "SLUICE_FAULT_SEED",
  "SLUICE_TEST_STORE",
  "SLUICE_TEST_BUNDLE",
  "SLUICE_TEST_EXTENT",
  "SLUICE_TEST_RETRIES",
]

/** A misspelt variable would silently have no effect. */
function refuseUnknownVariables(env: Readonly<Record<string, string | undefined>>): void {
  const known = new Set([...otherVariables, ...settingNames.map(variableOf)])
  const unknown = Object.keys(env).find((variable) => variable.startsWith("SLUICE_") && !known.has(variable))
  if (unknown !== undefined) {
    throw new ConfigError(`The environment has an unknown setting ${unknown}. ${settingMeant(unknown, known)}`)
  }
}

function settingMeant(unknown: string, known: Iterable<string>): string {
  const near = nearest(unknown, known)
  return near === undefined ? "`sluice serve --print-config` lists all settings." : `Did you mean ${near}?`
}

/** The name under which a config file lists its sources of posts. */
const sourcesName = "sources"

/** A config file as it was read. */
interface ConfigFile {
  /** Its settings as text, by name. */
  readonly settings: ReadonlyMap<string, string>
  readonly listed: readonly ListedSource[]
}

/** Reads a config file. JSON is YAML, so one reader serves both. */
function readConfigFile(file: string): ConfigFile {
  let text: string
  try {
    text = readFileSync(file, "utf8")
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const fault =
      code === "ENOENT" ? `There is no config file ${file}.` : `The config file ${file} cannot be read: ${message}`
    throw new ConfigError(fault, { cause: error })
  }
  const { content, lineOfSource } = parsedFile(file, text)
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw new ConfigError(`The config file ${file} must hold an object of settings.`)
  }
  const { [sourcesName]: list, ...own } = content as Readonly<Record<string, unknown>>
  const unknown = Object.keys(own).find((key) => !settingNames.some((name) => name === key))
  if (unknown !== undefined) {
    // Text that is not spelled like a name may be a misplaced value.
    const shown = /^[A-Za-z_-]{1,40}$/.test(unknown) ? ` "${unknown}"` : ""
    const hint = settingMeant(unknown, [...settingNames, sourcesName])
    throw new ConfigError(`The config file ${file} has an unknown setting${shown}. ${hint}`)
  }
  return {
    settings: new Map(Object.entries(own).map(([name, value]) => [name, settingText(file, name, value)])),
    listed: sourceEntries(list, (index) => `${file}, line ${lineOfSource(index)}`, file),
  }
}

/** The sources that a config file lists. */
function sourceEntries(list: unknown, placeOf: (index: number) => string, file: string): readonly ListedSource[] {
  if (list === undefined || list === null) return []
  if (!Array.isArray(list)) {
    throw new ConfigError(
      `"${sourcesName}" of the config file ${file} must be a list of sources, each with a name and a type.`,
    )
  }
  return list.map((members: unknown, index) => {
    const place = placeOf(index)
    if (typeof members !== "object" || members === null || Array.isArray(members)) {
      throw new ConfigError(`The source in ${place} must be an object with a name, a type and its settings.`)
    }
    const { name, type } = members as Readonly<Record<string, unknown>>
    for (const [member, value] of Object.entries({ name, type })) {
      if (typeof value === "string" && value !== "") continue
      throw new ConfigError(`The source in ${place} has no ${member}, which must be text.`)
    }
    return { name: String(name), type: String(type), members: members as ListedSource["members"], place }
  })
}

/** Refuses two sources of one name: their positions would be one. */
function distinctSources(entries: readonly ListedSource[]): readonly ListedSource[] {
  const places = new Map<string, string>()
  for (const { name, place } of entries) {
    const other = places.get(name)
    if (other !== undefined) throw new ConfigError(`The sources in ${other} and in ${place} have one name, ${name}.`)
    places.set(name, place)
  }
  return entries
}

/**
 * Parses the file. An error names the line, the column and the kind of the fault only: the parser's message repeats the
 * line, which may hold a secret. The parser's error does so too, so it is not kept as the cause.
 */
function parsedFile(
  file: string,
  text: string,
): { readonly content: unknown; readonly lineOfSource: (index: number) => number } {
  // Loaded with the first file: most starts have none.
  const { parseDocument, LineCounter, isCollection } = createRequire(import.meta.url)("yaml") as typeof Yaml
  const lineCounter = new LineCounter()
  // Warnings would repeat the line, too.
  const document = parseDocument(text, { logLevel: "error", lineCounter })
  const [error] = document.errors
  if (error !== undefined) throw notYaml(file, error.code, error.linePos?.[0])
  let content: unknown
  try {
    content = document.toJS()
  } catch {
    // Aliases that would grow beyond all bounds.
    throw notYaml(file)
  }
  return {
    content,
    lineOfSource(index) {
      const list = document.get(sourcesName)
      const node: unknown = isCollection(list) ? list.items[index] : undefined
      const [start] = (node as { readonly range?: readonly number[] } | undefined)?.range ?? []
      return start === undefined ? 1 : lineCounter.linePos(start).line
    },
  }
}

function notYaml(file: string, code?: string, start?: { readonly line: number; readonly col: number }): ConfigError {
  const place = start === undefined ? "" : ` at line ${start.line}, column ${start.col}`
  const kind = code === undefined ? "" : ` (${code})`
  return new ConfigError(`The config file ${file} cannot be read: it is not YAML or JSON${place}${kind}.`)
}

/** Converts a value of the file to the text that a flag would have. */
function settingText(file: string, name: string, value: unknown): string {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return String(value)
  const found = value === null ? "is empty" : "is a list or an object"
  throw new ConfigError(`The setting "${name}" of the config file ${file} ${found}, and must be text or a number.`)
}

function flagOf(name: SettingName): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

function variableOf(name: SettingName): string {
  return `SLUICE_${flagOf(name).replaceAll("-", "_").toUpperCase()}`
}

/** A setting that is a whole number from `min` to `max`. */
function wholeNumber(
  range: readonly [number, number],
  defaultValue: number | ((posture: Posture, profile: LimitProfile) => number),
  help: string,
) {
  return { parse: numberIn(range), defaultValue, help }
}

/** A default that is a figure of the profile of limits. */
function byProfile(figure: keyof (typeof appFigures)[LimitProfile]) {
  return (_posture: Posture, profile: LimitProfile): number => appFigures[profile][figure]
}

/** The text, which the server reads once more: settings are text or numbers. */
function requestBounds(text: string): string {
  parseRequestBounds(text)
  return text
}

function numberIn([min, max]: readonly [number, number]): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new Error(`must be a whole number from ${min} to ${max}.`)
  }
}

/** A parser of text in one form; `fault` continues the sentence "setting … must …". */
function textLike(form: RegExp, fault: string): (text: string) => string {
  return (text) => {
    if (form.test(text)) return text
    throw new Error(fault)
  }
}

function oneOf<const Value extends string>(values: readonly Value[]): (text: string) => Value {
  return (text) => {
    const value = values.find((known) => known === text)
    if (value !== undefined) return value
    throw new Error(`must be one of ${values.join(", ")}.`)
  }
}

/** The operator chooses the address, so any host is allowed. A password in it would be shown wherever the URL is. */
function endpointUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new Error("must be an http or https URL.")
  }
  if (url.username !== "" || url.password !== "") {
    throw new Error("must not hold a user or password; a key goes into embeddingsKey.")
  }
  if (url.hash !== "") throw new Error("must not have a fragment.")
  return url.href
}

/** Addresses of NATS servers. All of them or none are reached over TLS, since the client has one setting for all. */
function natsServers(text: string): string {
  const urls = text.split(",").map((each) => each.trim())
  for (const url of urls) {
    if (!/^(nats|tls):\/\/[^\s/?#]+$/.test(url) || !URL.canParse(url)) {
      throw new Error("must be nats:// or tls:// addresses with commas between them, such as nats://127.0.0.1:4222.")
    }
    if (url.includes("@")) {
      throw new Error("must not hold a user or password; credentials go into natsCredentials or natsToken.")
    }
  }
  // The client of NATS checks a certificate for names only.
  if (urls.some((url) => url.startsWith("tls:") && isIP(new URL(url).hostname.replaceAll(/[[\]]/g, "")) !== 0)) {
    throw new Error("must name the host after tls://, since certificates are for names.")
  }
  if (new Set(urls.map((url) => url.slice(0, 4))).size > 1) throw new Error("must be all nats:// or all tls://.")
  return urls.join(",")
}

/** A connection URI, of one server or several. */
function databaseUrl(text: string): string {
  databaseServersIn(text)
  return text
}
