import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { inspect } from "node:util"
import { afterEach, beforeEach, expect, test } from "vitest"
import { loadConfig, printConfig, settingDescriptions, type ConfigSources } from "./config.ts"
import { ConfigError } from "./runtime/config-error.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../test/support/temporary-directory.testing.ts"

let directory: TemporaryDirectory
let file: string

beforeEach(async () => {
  directory = await temporaryDirectory()
  file = join(directory.path, "sluice.yaml")
})

afterEach(async () => {
  await directory.remove()
})

function load(sources: Partial<ConfigSources>) {
  return loadConfig({ posture: "serve", env: {}, ...sources })
}

const endpoint = "http://127.0.0.1:11434/v1/embeddings"

test("an embeddings endpoint has a URL, a model and optionally a key", () => {
  const flags = { "embeddings-url": endpoint, "embeddings-model": "all-minilm" }
  expect(load({ flags, env: { SLUICE_EMBEDDINGS_KEY: "s3cret" } })).toMatchObject({
    embeddingsUrl: endpoint,
    embeddingsModel: "all-minilm",
    embeddingsKey: "s3cret",
  })
  expect(load({ flags })).not.toHaveProperty("embeddingsKey")
  const printed = printConfig({ posture: "serve", flags, env: { SLUICE_EMBEDDINGS_KEY: "s3cret" } })
  expect(printed).toContain("embeddingsKey = ********  # SLUICE_EMBEDDINGS_KEY")
  expect(printed).not.toContain("s3cret")
})

test("without settings the configuration is the frozen defaults", () => {
  const config = load({})
  expect(config).toMatchObject({
    host: "127.0.0.1",
    port: 8080,
    pageTokenLifetimeHours: 24,
    logLevel: "info",
  })
  expect(config).not.toHaveProperty("masterKey")
  expect(Object.isFrozen(config)).toBe(true)
  expect(load({ posture: "dev" }).logLevel).toBe("warn")
})

test("a flag overrides the environment, which overrides the file, which overrides the default", async () => {
  await writeFile(file, "port: 1\nhost: file\ndata: file\n")
  const config = load({
    flags: { config: file, port: "3" },
    env: { SLUICE_PORT: "2", SLUICE_HOST: "environment" },
  })
  expect(config).toMatchObject({ port: 3, host: "environment", data: "file", rulesPerAppMax: 25_000 })
})

test("every default is a value that its setting accepts", () => {
  const defaults = load({})
  const flags = settingDescriptions.flatMap(({ flag }) => {
    const name = flag.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
    const value = Reflect.get(defaults, name) as string | number | undefined
    return value === undefined ? [] : [[flag, String(value)] as const]
  })
  expect(flags.length).toBeGreaterThan(25)
  expect(load({ flags: Object.fromEntries(flags) })).toEqual(defaults)
})

test("a file may be JSON, and the environment may name it", async () => {
  await writeFile(file, '{"port": 9, "ruleDialect": "strict"}')
  expect(load({ env: { SLUICE_CONFIG: file } })).toMatchObject({ port: 9, ruleDialect: "strict" })
})

test("printed settings name their sources, and secrets are masked", async () => {
  await writeFile(file, "host: example\n")
  const printed = printConfig({
    posture: "serve",
    flags: { config: file, port: "3" },
    env: { SLUICE_MASTER_KEY: "ab".repeat(32), SLUICE_DATA: "d" },
  })
  expect(printed).toContain(`host = example  # ${file}`)
  expect(printed).toContain("port = 3  # --port")
  expect(printed).toContain("data = d  # SLUICE_DATA")
  expect(printed).toContain("masterKey = ********  # SLUICE_MASTER_KEY")
  expect(printed).toContain("ruleDialect = lenient  # default")
  expect(printed).not.toContain("abab")
})

test.each([
  [{ flags: { port: "80a" } }, 'port "80a" (from --port) must be a whole number from 0 to 65535.'],
  [{ flags: { port: "-1" } }, 'port "-1" (from --port) must be a whole number from 0 to 65535.'],
  [{ flags: { port: "1e3" } }, 'port "1e3" (from --port) must be a whole number'],
  [{ flags: { "page-token-lifetime-hours": "24h" } }, 'pageTokenLifetimeHours "24h" (from --page-token'],
  [{ env: { SLUICE_LOG_LEVEL: "loud" } }, 'logLevel "loud" (from SLUICE_LOG_LEVEL) must be one of silent,'],
  [{ env: { SLUICE_HOST: "" } }, 'host "" (from SLUICE_HOST) must not be empty.'],
  [{ env: { SLUICE_MASTER_KEY: "secret" } }, "masterKey (from SLUICE_MASTER_KEY) must be 64 hexadecimal digits."],
  [{ env: { SLUICE_PROT: "1" } }, "The environment has an unknown setting SLUICE_PROT. Did you mean SLUICE_PORT?"],
  [{ env: { SLUICE_SOMETHING_ELSE: "1" } }, "SLUICE_SOMETHING_ELSE. `sluice serve --print-config` lists all settings."],
  [{ flags: { "embeddings-url": "127.0.0.1:11434" } }, "(from --embeddings-url) must be an http or https URL."],
  [{ flags: { "embeddings-url": "file:///v1" } }, "must be an http or https URL."],
  [
    // A password is shown neither here nor in the log.
    { flags: { "embeddings-url": "http://u:p@h/v1" } },
    'embeddingsUrl "http://********@h/v1" (from --embeddings-url) must not hold a user or password; a key goes',
  ],
  [{ flags: { "embeddings-url": `${endpoint}#a` } }, "must not have a fragment."],
  [{ env: { SLUICE_EMBEDDINGS_KEY: "a b" } }, "embeddingsKey (from SLUICE_EMBEDDINGS_KEY) must be printable"],
  [{ env: { SLUICE_EMBEDDINGS_URL: endpoint } }, "embeddingsUrl is set without embeddingsModel"],
  [{ env: { SLUICE_EMBEDDINGS_MODEL: "m" } }, "embeddingsModel is set without embeddingsUrl, so nothing would"],
  [{ env: { SLUICE_EMBEDDINGS_KEY: "k" } }, "embeddingsKey is set without embeddingsUrl, so nothing would"],
  [
    { env: { SLUICE_DATABASE: "mysql://me:s3cret@db/x" } },
    'database "mysql://********@db/x" (from SLUICE_DATABASE) must',
  ],
  [{ env: { SLUICE_DATABASE: "postgres://[/x" } }, "must be a postgres:// or postgresql:// URL."],
  [
    { env: { SLUICE_DATABASE: "postgres://db/x" } },
    "database is set (from SLUICE_DATABASE) without masterKey, which all",
  ],
  [{ env: { SLUICE_DATABASE_POOL_MAX: "6" } }, 'databasePoolMax "6" (from SLUICE_DATABASE_POOL_MAX) must be a whole'],
  [{ flags: { "retry-seconds-min": "60", "retry-seconds-max": "5" } }, "retrySecondsMax (5) is less than"],
] as const)("an invalid setting is refused with its name and its source: %j", (sources, message) => {
  expect(() => load(sources)).toThrow(ConfigError)
  expect(() => load(sources)).toThrow(message)
})

test.each([
  ["prot: 1", 'has an unknown setting "prot". Did you mean port?'],
  ["host:", 'The setting "host" of the config file'],
  ["data: [a, b]", "is a list or an object, and must be text or a number."],
  ["- port", "must hold an object of settings."],
  ["port: {", "cannot be read"],
])("an invalid file is refused: %s", async (content, message) => {
  await writeFile(file, content)
  expect(() => load({ flags: { config: file } })).toThrow(message)
})

/** Files with a fault on the line of a secret, or by its value. */
const faultsBesideSecrets: readonly (readonly [what: string, content: string, said: string])[] = [
  ["a quote that does not end", 'port: 1\nmasterKey: "s3cret\n', "not YAML or JSON at line 3, column 1 ("],
  ["a second colon", "masterKey: s3cret: x\n", "not YAML or JSON at line 1, column 12 ("],
  ["an escape that is none", 'masterKey: "\\s3cret"\n', "not YAML or JSON at line 1"],
  ["an alias to nothing", "masterKey: *s3cret\n", "cannot be read: it is not YAML or JSON."],
  ["an unknown tag", "masterKey: !s3cret 5\n", "masterKey (from"],
  ["JSON that breaks off", '{"masterKey": "s3cret', "not YAML or JSON at line 1"],
  ["a list of secrets", "masterKey: [s3cret]", "is a list or an object"],
  ["an object of secrets", '{"embeddingsKey": {"key": "s3cret"}}', "is a list or an object"],
  ["a number", '{"masterKey": 1234567890123}', "masterKey (from"],
  [
    "a secret where a name should be",
    "s3cret: 1",
    "has an unknown setting. `sluice serve --print-config` lists all settings.",
  ],
  ["no names at all", "s3cret", "must hold an object of settings"],
  ["a key in a wrong address", "embeddingsUrl: 'ftp://h/v1?api_key=s3cret'", "ftp://h/v1?********"],
  ["an address in a wrong place", "port: 'https://me:s3cret@h:1?key=s3cret#s3cret'", "https://********@h:1?********"],
]

test.each(faultsBesideSecrets)("an error about %s does not show the secret", async (_, content, said) => {
  await writeFile(file, content)
  const warnings: unknown[] = []
  const onWarning = (warning: unknown): void => void warnings.push(warning)
  process.on("warning", onWarning)
  try {
    const error = await Promise.try(() => load({ flags: { config: file } })).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ConfigError)
    const { message, cause } = error as ConfigError
    expect(message).toContain(said)
    expect(`${message} ${inspect(cause)}`).not.toMatch(/s3cret|1234567890123/)
    await setImmediate()
    expect(warnings).toEqual([])
  } finally {
    process.off("warning", onWarning)
  }
})

test("the query of a URL is masked when settings are printed, and a path is not", () => {
  const env = { SLUICE_EMBEDDINGS_URL: `${endpoint}?api_key=s3cret&v=1`, SLUICE_EMBEDDINGS_MODEL: "m" }
  const printed = printConfig({ posture: "serve", flags: { data: "/srv/a@b?c" }, env })
  expect(printed).toContain(`embeddingsUrl = ${endpoint}?********  # SLUICE_EMBEDDINGS_URL\n`)
  expect(printed).toContain("data = /srv/a@b?c  # --data\n")
  expect(printed).not.toContain("s3cret")
  expect(load({ env })).toMatchObject({ embeddingsUrl: `${endpoint}?api_key=s3cret&v=1` })
})

test("the allowed destinations of webhooks are a setting like the others, and its errors name the entry", async () => {
  const env = { SLUICE_WEBHOOK_ALLOW: "10.0.0.0/8:8080,*.lan" }
  expect(load({ env }).webhookAllow?.allowsAddress("10.0.0.1", 8080)).toBe(true)
  expect(load({})).not.toHaveProperty("webhookAllow")
  expect(printConfig({ posture: "serve", env })).toContain(
    "webhookAllow = 10.0.0.0/8:8080, *.lan  # SLUICE_WEBHOOK_ALLOW",
  )
  await writeFile(file, "webhookAllow: 10.0.0.0/8, 10.0.0.5/8\n")
  expect(() => load({ flags: { config: file } })).toThrow(
    `webhookAllow "10.0.0.0/8, 10.0.0.5/8" (from ${file}) has the entry "10.0.0.5/8", whose address goes beyond`,
  )
})

const databaseUrl = "postgres://me:s3cret@db.example:5433/sluice?sslmode=verify-full&sslpassword=s3cret"
const masterKey = "ab".repeat(32)

test("a database replaces the data directory, and its URL is shown without its secrets", () => {
  const env = { SLUICE_DATABASE: databaseUrl, SLUICE_MASTER_KEY: masterKey }
  expect(load({ env })).toMatchObject({ database: databaseUrl, databasePoolMax: 10, databaseStatementSecondsMax: 30 })
  expect(
    load({ flags: { database: "postgresql:///sluice?host=/run/postgresql" }, env: { SLUICE_MASTER_KEY: masterKey } }),
  ).toMatchObject({ database: "postgresql:///sluice?host=/run/postgresql" })
  expect(load({})).not.toHaveProperty("database")
  const printed = printConfig({ posture: "serve", env })
  expect(printed).toContain("database = postgres://********@db.example:5433/sluice?********  # SLUICE_DATABASE\n")
  expect(printed).not.toContain("s3cret")
})

test("a database in addition to a data directory is refused, and an empty SLUICE_DATA unsets an earlier one", () => {
  const env = { SLUICE_DATABASE: databaseUrl, SLUICE_MASTER_KEY: masterKey }
  expect(() => load({ env: { ...env, SLUICE_DATA: "/data" } })).toThrow(
    "database (from SLUICE_DATABASE) and data (from SLUICE_DATA) are both set",
  )
  expect(() => load({ env, flags: { data: "/data" } })).toThrow("data (from --data) are both set")
  expect(load({ env: { ...env, SLUICE_DATA: "" } })).toMatchObject({ database: databaseUrl })
  expect(load({ env: { SLUICE_DATA: "" } })).toMatchObject({ data: ".sluice" })
})

test("a missing file is refused by name", () => {
  expect(() => load({ flags: { config: file } })).toThrow(`There is no config file ${file}.`)
})

test("no secret has a flag", () => {
  const flags = settingDescriptions.map(({ flag }) => flag)
  expect(flags).toContain("port")
  expect(flags).not.toContain("master-key")
  expect(flags).not.toContain("embeddings-key")
})

const nats = { "nats-url": "nats://127.0.0.1:4222", "nats-stream": "POSTS" }

test("a source has servers, a stream, a consumer and a subject for dead letters", () => {
  expect(load({ flags: nats })).toMatchObject({
    natsUrl: "nats://127.0.0.1:4222",
    natsStream: "POSTS",
    natsConsumer: "sluice",
    natsDeadLetterSubject: "sluice.dead_letters",
  })
  expect(load({ flags: { ...nats, "nats-url": "tls://a:4222, tls://b" } }).natsUrl).toBe("tls://a:4222,tls://b")
  const printed = printConfig({ posture: "serve", flags: nats, env: { SLUICE_NATS_TOKEN: "s3cret" } })
  expect(printed).toContain("natsToken = ********  # SLUICE_NATS_TOKEN")
})

test.each([
  [{ "nats-stream": "POSTS" }, {}, "natsStream is set without natsUrl"],
  [{ "nats-subject": "a" }, {}, "natsSubject is set without natsUrl"],
  [{ "nats-url": "nats://a:1" }, {}, "natsUrl is set without natsStream"],
  [{ ...nats, "nats-credentials": "a" }, { SLUICE_NATS_TOKEN: "b" }, "natsCredentials and natsToken are both set"],
  [{ ...nats, "nats-ca": "a" }, {}, "natsCa is set, and natsUrl has no tls:// address"],
  [{ ...nats, "nats-subject": "sluice.>" }, {}, "natsSubject (sluice.>) matches natsDeadLetterSubject"],
  [{ ...nats, "nats-subject": "a..b" }, {}, "must be a subject such as"],
  [{ ...nats, "nats-subject": "a.>.b" }, {}, "must be a subject such as"],
  [{ ...nats, "nats-dead-letter-subject": "a.*" }, {}, "must be a subject without * and >"],
  [{ ...nats, "nats-stream": "a.b" }, {}, "must be 1 to 255 characters without spaces, dots"],
  [{ ...nats, "nats-url": "http://a" }, {}, "must be nats:// or tls:// addresses"],
  [{ ...nats, "nats-url": "tls://127.0.0.1:4222" }, {}, "must name the host after tls://"],
  [{ ...nats, "nats-url": "tls://[::1]:4222" }, {}, "must name the host after tls://"],
  [{ ...nats, "nats-url": "nats://a,tls://b" }, {}, "must be all nats:// or all tls://."],
])("an impossible source is refused: %j %j", (flags, env, message) => {
  expect(() => load({ flags, env })).toThrow(message)
})

test("an empty SLUICE_DATA counts as not set, so that a container can have a database", () => {
  const env = { SLUICE_DATA: "", SLUICE_DATABASE: "postgres://db/sluice", SLUICE_MASTER_KEY: "ab".repeat(32) }
  expect(loadConfig({ posture: "serve", env })).toMatchObject({ data: ".sluice", database: "postgres://db/sluice" })
})

test("a password in the address of a server is refused, and not shown", () => {
  const flags = { ...nats, "nats-url": "nats://wren:s3cret@a:4222" }
  expect(() => load({ flags })).toThrow("credentials go into natsCredentials or natsToken")
  expect(() => load({ flags })).not.toThrow("s3cret")
})

test("the profile of limits decides defaults, and a setting counts before it", () => {
  const config = (env: Readonly<Record<string, string>>) => loadConfig({ posture: "serve", env })
  expect(config({})).toMatchObject({
    limits: "none",
    rulesPerAppMax: 25_000,
    streamConnectionsPerAppMax: 1,
    postsPerMonthMax: 0,
  })
  expect(config({ SLUICE_LIMITS: "x-pay-per-use", SLUICE_RULES_PER_APP_MAX: "7" })).toMatchObject({
    rulesPerAppMax: 7,
    ruleCharactersMax: 1_024,
    postsPerSecondMax: 250,
    postsPerMonthMax: 3_000_000,
  })
  expect(config({ SLUICE_LIMITS: "x-enterprise" })).toMatchObject({ streamConnectionsPerAppMax: 2 })
  expect(() => config({ SLUICE_LIMITS: "x-basic" })).toThrow("must be one of none, x-pay-per-use, x-enterprise")
  expect(() => config({ SLUICE_REQUEST_BOUNDS: "GET /2/nothing app 1" })).toThrow("requestBounds")
})
