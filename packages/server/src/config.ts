/**
 * The only reader of the environment and of the config file.
 *
 * A setting has one name in three spellings: `--page-token-lifetime-hours` as a flag, `SLUICE_PAGE_TOKEN_LIFETIME_HOURS`
 * in the environment, `pageTokenLifetimeHours` in the file. Flags win over the environment, that over the file,
 * that over the default. Raw text is parsed here, once, into a frozen `Config`; unknown names and wrong units are
 * errors that name the setting and the place it came from.
 */
import { readFileSync } from "node:fs"
import { parse as parseYaml } from "yaml"

/** Why the server does not start as it was told. */
export class ConfigError extends Error {
  override readonly name = "ConfigError"
}

/** How careful the server is: `dev` trusts the machine it runs on, `serve` trusts nobody. */
export type Posture = "dev" | "serve"

/** Everything that an operator decides. */
export interface Config {
  readonly posture: Posture
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  /** Directory of the embedded store. */
  readonly data: string
  /** Master key, 64 hexadecimal digits. Absent: the file `master.key` of the data directory. */
  readonly masterKey?: string
  readonly logLevel: LogLevel
  /** How long a page token is good for; 0 is for ever. */
  readonly pageTokenLifetimeHours: number
  /** Most posts that one page of a user's posts looks at when it filters. */
  readonly pageScanMax: number
  readonly rulesPerAppMax: number
  readonly ruleCharactersMax: number
  /** `strict` also refuses what X's documentation discourages, such as a negated group. */
  readonly ruleDialect: "lenient" | "strict"
  /** Where texts are posted to for `embedding:`. Absent: such rules are refused. Together with `embeddingsModel`. */
  readonly embeddingsUrl?: string
  readonly embeddingsModel?: string
  /** Sent to the endpoint as a bearer token. */
  readonly embeddingsKey?: string
  readonly webhooksPerAppMax: number
  readonly streamConnectionsPerAppMax: number
  /** A stream connection that takes nothing for this long is cut. */
  readonly streamStalledSecondsMax: number
  /** Most sends under way for one webhook link. */
  readonly deliveriesPerLinkMax: number
  /** Wait before the first retry of a delivery; it doubles up to `retrySecondsMax`. */
  readonly retrySecondsMin: number
  readonly retrySecondsMax: number
  /** Most sends a second for one webhook link; 0 is without a bound. */
  readonly deliveriesPerLinkPerSecondMax: number
  /** After so many failed attempts a match becomes a dead letter. */
  readonly deliveryAttemptsMax: number
  /** Attempts that are kept of each link, for whoever asks why. */
  readonly attemptsKeptPerLink: number
  /** How long a match stays in its log. */
  readonly matchRetentionHours: number
  /** How long a post is kept; 0 is for ever. */
  readonly postRetentionDays: number
  /** How long a dead letter is kept. */
  readonly deadLetterRetentionDays: number
  /** How long a webhook's signing key signs on after another has taken its place. */
  readonly signingKeyGraceHours: number
  /** How long a client may take to send a request's head, and a JSON body. */
  readonly requestSecondsMax: number
  /** Where a test has the process killed. From the environment only. */
  readonly crashPoint?: string
}

const logLevels = ["silent", "fatal", "error", "warn", "info", "debug"] as const
type LogLevel = (typeof logLevels)[number]

/** Where settings come from. Flags and environment are text; a file may hold numbers. */
export interface ConfigSources {
  readonly posture: Posture
  /** By flag name without dashes in front, for example `page-token-lifetime-hours`. */
  readonly flags?: Readonly<Record<string, string | undefined>>
  /** The process's environment unless given. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** A setting: how its text is read, and what holds without it. */
interface Setting<Value> {
  readonly parse: (text: string) => Value
  readonly fallback: Value | ((posture: Posture) => Value)
  readonly isSecret?: boolean
  /** Sentence for `--help`. */
  readonly help: string
}

type SettingName = Exclude<keyof Config, "posture" | "crashPoint">

const settings: { readonly [Name in SettingName]: Setting<Config[Name]> } = {
  host: { parse: nonEmpty, fallback: "127.0.0.1", help: "Address to listen on." },
  port: { parse: whole(0, 65_535), fallback: 8080, help: "Port to listen on; 0 takes a free one." },
  data: { parse: nonEmpty, fallback: ".sluice", help: "Directory of the embedded store." },
  masterKey: {
    parse: masterKeyText,
    fallback: undefined,
    isSecret: true,
    help: "Master key of the secrets at rest, 64 hexadecimal digits; else the file master.key in the data directory.",
  },
  logLevel: {
    parse: oneOf(logLevels),
    fallback: (posture) => (posture === "dev" ? "warn" : "info"),
    help: `What to log: ${logLevels.join(", ")}.`,
  },
  pageTokenLifetimeHours: {
    parse: whole(0, 8760),
    fallback: 24,
    help: "How long a page token is good for; 0 is for ever.",
  },
  pageScanMax: {
    parse: whole(100, 100_000),
    fallback: 1_000,
    help: "Most posts that a filtered page looks at.",
  },
  rulesPerAppMax: { parse: whole(1, 10_000_000), fallback: 25_000, help: "Most rules of an app." },
  ruleCharactersMax: { parse: whole(1, 100_000), fallback: 2_048, help: "Most characters of a rule." },
  ruleDialect: {
    parse: oneOf(["lenient", "strict"] as const),
    fallback: "lenient",
    help: "strict also refuses what X's documentation discourages.",
  },
  embeddingsUrl: {
    parse: endpointUrl,
    fallback: undefined,
    help: "OpenAI-compatible endpoint for embedding:, for example http://127.0.0.1:11434/v1/embeddings.",
  },
  embeddingsModel: {
    parse: nonEmpty,
    fallback: undefined,
    help: "Model that the embeddings endpoint is asked for.",
  },
  embeddingsKey: {
    parse: headerText,
    fallback: undefined,
    isSecret: true,
    help: "Key of the embeddings endpoint, sent as a bearer token.",
  },
  webhooksPerAppMax: { parse: whole(1, 100_000), fallback: 100, help: "Most webhooks of an app." },
  streamConnectionsPerAppMax: {
    parse: whole(1, 100_000),
    fallback: 1,
    help: "Most stream connections of an app.",
  },
  streamStalledSecondsMax: {
    parse: whole(1, 3_600),
    fallback: 30,
    help: "A stream connection that takes nothing for this long is cut.",
  },
  deliveriesPerLinkMax: {
    parse: whole(1, 1_000),
    fallback: 32,
    help: "Most sends under way for a webhook link.",
  },
  retrySecondsMin: {
    parse: whole(1, 3_600),
    fallback: 1,
    help: "Wait before the first retry of a delivery.",
  },
  retrySecondsMax: { parse: whole(1, 86_400), fallback: 300, help: "Longest wait between two attempts." },
  deliveriesPerLinkPerSecondMax: {
    parse: whole(0, 1_000_000),
    fallback: 0,
    help: "Most sends a second for a webhook link; 0 is without a bound.",
  },
  deliveryAttemptsMax: {
    parse: whole(1, 10_000),
    fallback: 100,
    help: "After so many failed attempts a match becomes a dead letter.",
  },
  attemptsKeptPerLink: {
    parse: whole(1, 100_000),
    fallback: 1_000,
    help: "Attempts that are kept of a webhook link.",
  },
  matchRetentionHours: {
    parse: whole(1, 8_760),
    fallback: 24,
    help: "How long a match stays in its log.",
  },
  postRetentionDays: {
    parse: whole(0, 36_500),
    fallback: 0,
    help: "How long a post is kept; 0 is for ever.",
  },
  deadLetterRetentionDays: {
    parse: whole(1, 36_500),
    fallback: 30,
    help: "How long a dead letter is kept.",
  },
  signingKeyGraceHours: {
    parse: whole(0, 8_760),
    fallback: 24,
    help: "How long a webhook's signing key signs on after another has taken its place.",
  },
  requestSecondsMax: {
    parse: whole(1, 3_600),
    fallback: 30,
    help: "How long a client may take to send a request.",
  },
}

const settingNames = Object.keys(settings) as SettingName[]

/**
 * Names, spellings and meanings of the settings that are flags too. Secrets are not: every user of a machine sees
 * the flags of its processes.
 */
export const settingDescriptions: readonly { flag: string; variable: string; help: string }[] = settingNames
  .filter((name) => settings[name].isSecret !== true)
  .map((name) => ({ flag: flagOf(name), variable: variableOf(name), help: settings[name].help }))

/** A setting's value as text, and where it came from. */
interface Found {
  readonly text: string
  readonly place: string
}

/** The configuration, or a `ConfigError` that names the setting and its place. */
export function loadConfig(sources: ConfigSources): Config {
  return resolve(sources).config
}

/** Every setting with its value and its place, a line each, secrets masked: for `--print-config`. */
export function printConfig(sources: ConfigSources): string {
  const { config, places } = resolve(sources)
  return settingNames
    .map((name) => {
      const isMasked = settings[name].isSecret === true && config[name] !== undefined
      return `${name} = ${isMasked ? "********" : (config[name] ?? "(none)")}  # ${places.get(name)}`
    })
    .join("\n")
}

function resolve({ posture, flags = {}, env = process.env }: ConfigSources): {
  config: Config
  places: ReadonlyMap<SettingName, string>
} {
  refuseUnknownVariables(env)
  const file = flags.config ?? env.SLUICE_CONFIG
  const fromFile = file === undefined ? new Map<string, string>() : readConfigFile(file)
  const places = new Map<SettingName, string>()
  const values = settingNames.flatMap((name) => {
    const found = find(name, flags, env, file, fromFile)
    places.set(name, found?.place ?? "default")
    const value = found === undefined ? fallbackOf(name, posture) : parseFound(name, found)
    return value === undefined ? [] : [[name, value] as const]
  })
  const { SLUICE_CRASH_POINT: crashPoint } = env
  const config = Object.freeze({
    posture,
    ...Object.fromEntries(values),
    ...(crashPoint !== undefined && { crashPoint }),
  }) as unknown as Config
  refuseContradictions(config)
  return { config, places }
}

/** Settings that make sense each by itself, and not together. */
function refuseContradictions(config: Config): void {
  if (config.retrySecondsMax < config.retrySecondsMin) {
    throw new ConfigError(
      `retrySecondsMax (${config.retrySecondsMax}) is less than retrySecondsMin (${config.retrySecondsMin}).`,
    )
  }
  const { embeddingsUrl, embeddingsModel, embeddingsKey } = config
  if (embeddingsUrl !== undefined && embeddingsModel === undefined) {
    throw new ConfigError(
      "embeddingsUrl is set without embeddingsModel: the endpoint must be told which model.",
    )
  }
  if (embeddingsUrl === undefined && (embeddingsModel ?? embeddingsKey) !== undefined) {
    const lonely = embeddingsModel === undefined ? "embeddingsKey" : "embeddingsModel"
    throw new ConfigError(`${lonely} is set without embeddingsUrl, so nothing would use it.`)
  }
}

/** Variables that are not settings: where the settings are, and what the command and the tests read. */
const otherVariables = [
  "SLUICE_CONFIG",
  "SLUICE_URL",
  "SLUICE_TOKEN",
  "SLUICE_SHARED",
  "SLUICE_CRASH_POINT",
  "SLUICE_FAULT_ROUNDS",
  "SLUICE_FAULT_SEED",
]

/** A misspelt variable would be a setting that silently does not hold. */
function refuseUnknownVariables(env: Readonly<Record<string, string | undefined>>): void {
  const known = new Set([...otherVariables, ...settingNames.map(variableOf)])
  const unknown = Object.keys(env).find((variable) => variable.startsWith("SLUICE_") && !known.has(variable))
  if (unknown !== undefined) {
    const settingsList = settingNames.map(variableOf).join(", ")
    throw new ConfigError(`The environment has an unknown setting ${unknown}. Known are: ${settingsList}.`)
  }
}

function find(
  name: SettingName,
  flags: Readonly<Record<string, string | undefined>>,
  env: Readonly<Record<string, string | undefined>>,
  file: string | undefined,
  fromFile: ReadonlyMap<string, string>,
): Found | undefined {
  const [flag, variable] = [flagOf(name), variableOf(name)]
  if (flags[flag] !== undefined) return { text: flags[flag], place: `--${flag}` }
  if (env[variable] !== undefined) return { text: env[variable], place: variable }
  const text = fromFile.get(name)
  return text === undefined ? undefined : { text, place: file ?? "" }
}

function parseFound<Name extends SettingName>(name: Name, { text, place }: Found): Config[Name] {
  try {
    return settings[name].parse(text)
  } catch (error) {
    const isSecret = settings[name].isSecret === true || holdsPassword(text)
    const shown = isSecret ? "" : ` "${text}"`
    throw new ConfigError(`${name}${shown} (from ${place}) ${(error as Error).message}`, { cause: error })
  }
}

/** Whether the text is a URL with a user or password in it. */
function holdsPassword(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && (url.username !== "" || url.password !== "")
}

function fallbackOf<Name extends SettingName>(name: Name, posture: Posture): Config[Name] {
  const { fallback } = settings[name]
  return typeof fallback === "function" ? fallback(posture) : fallback
}

/** The file's settings as text, by name. JSON is YAML, so one reader serves both. */
function readConfigFile(file: string): ReadonlyMap<string, string> {
  let content: unknown
  try {
    content = parseYaml(readFileSync(file, "utf8"))
  } catch (error) {
    throw new ConfigError(`The config file ${file} cannot be read: ${(error as Error).message}`, {
      cause: error,
    })
  }
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw new ConfigError(`The config file ${file} must hold an object of settings.`)
  }
  const unknown = Object.keys(content).find((key) => !settingNames.some((name) => name === key))
  if (unknown !== undefined) {
    throw new ConfigError(
      `The config file ${file} has an unknown setting "${unknown}". Known are: ${settingNames.join(", ")}.`,
    )
  }
  return new Map(Object.entries(content).map(([name, value]) => [name, settingText(file, name, value)]))
}

/** A value of the file as the text that a flag would have. */
function settingText(file: string, name: string, value: unknown): string {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return String(value)
  const found = value === null ? "is empty" : "is a list or an object"
  throw new ConfigError(
    `The setting "${name}" of the config file ${file} ${found}, and must be text or a number.`,
  )
}

function flagOf(name: SettingName): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

function variableOf(name: SettingName): string {
  return `SLUICE_${flagOf(name).replaceAll("-", "_").toUpperCase()}`
}

function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new Error(`must be a whole number from ${min} to ${max}.`)
  }
}

function oneOf<Value extends string>(values: readonly Value[]): (text: string) => Value {
  return (text) => {
    const value = values.find((known) => known === text)
    if (value !== undefined) return value
    throw new Error(`must be one of ${values.join(", ")}.`)
  }
}

function nonEmpty(text: string): string {
  if (text !== "") return text
  throw new Error("must not be empty.")
}

/** An address that the operator chooses, so any host will do; a key in it would be shown wherever it is. */
function endpointUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new Error("must be an http or https URL.")
  }
  if (holdsPassword(text)) {
    throw new Error("must not hold a user or password; a key goes into embeddingsKey.")
  }
  if (url.hash !== "") throw new Error("must not have a fragment.")
  return url.href
}

/** What fits into a header: visible ASCII. */
function headerText(text: string): string {
  if (/^[!-~]+$/.test(text)) return text
  throw new Error("must be printable ASCII characters without spaces.")
}

function masterKeyText(text: string): string {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return text
  throw new Error("must be 64 hexadecimal digits.")
}
