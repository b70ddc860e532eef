import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { ConfigError, loadConfig, printConfig, settingDescriptions, type ConfigSources } from "./config.ts"

let directory: string
let file: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-config-"))
  file = join(directory, "sluice.yaml")
})

afterEach(async () => {
  await rm(directory, { recursive: true, force: true })
})

function load(sources: Partial<ConfigSources>) {
  return loadConfig({ posture: "serve", env: {}, ...sources })
}

const endpoint = "http://127.0.0.1:11434/v1/embeddings"

test("an endpoint of embeddings has its URL, its model and, where it needs one, a key", () => {
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

test("without settings the defaults hold, frozen", () => {
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

test("flags win over the environment, that over the file, that over the default", async () => {
  await writeFile(file, "port: 1\nhost: file\ndata: file\n")
  const config = load({
    flags: { config: file, port: "3" },
    env: { SLUICE_PORT: "2", SLUICE_HOST: "environment" },
  })
  expect(config).toMatchObject({ port: 3, host: "environment", data: "file", rulesPerAppMax: 25_000 })
})

test("a file may be JSON, and the environment may name it", async () => {
  await writeFile(file, '{"port": 9, "ruleDialect": "strict"}')
  expect(load({ env: { SLUICE_CONFIG: file } })).toMatchObject({ port: 9, ruleDialect: "strict" })
})

test("what is printed names the place of each setting, and masks secrets", async () => {
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
  [
    { env: { SLUICE_MASTER_KEY: "secret" } },
    "masterKey (from SLUICE_MASTER_KEY) must be 64 hexadecimal digits.",
  ],
  [
    { env: { SLUICE_PROT: "1" } },
    "The environment has an unknown setting SLUICE_PROT. Known are: SLUICE_HOST,",
  ],
  [
    { flags: { "embeddings-url": "127.0.0.1:11434" } },
    "(from --embeddings-url) must be an http or https URL.",
  ],
  [{ flags: { "embeddings-url": "file:///v1" } }, "must be an http or https URL."],
  [
    // A password is not shown, neither here nor in the log that keeps this.
    { flags: { "embeddings-url": "http://u:p@h/v1" } },
    "embeddingsUrl (from --embeddings-url) must not hold a user or password; a key goes into",
  ],
  [{ flags: { "embeddings-url": `${endpoint}#a` } }, "must not have a fragment."],
  [{ env: { SLUICE_EMBEDDINGS_KEY: "a b" } }, "embeddingsKey (from SLUICE_EMBEDDINGS_KEY) must be printable"],
  [{ env: { SLUICE_EMBEDDINGS_URL: endpoint } }, "embeddingsUrl is set without embeddingsModel"],
  [
    { env: { SLUICE_EMBEDDINGS_MODEL: "m" } },
    "embeddingsModel is set without embeddingsUrl, so nothing would",
  ],
  [{ env: { SLUICE_EMBEDDINGS_KEY: "k" } }, "embeddingsKey is set without embeddingsUrl, so nothing would"],
  [{ flags: { "retry-seconds-min": "60", "retry-seconds-max": "5" } }, "retrySecondsMax (5) is less than"],
] as const)("a setting that makes no sense is named with its place: %j", (sources, message) => {
  expect(() => load(sources)).toThrow(ConfigError)
  expect(() => load(sources)).toThrow(message)
})

test.each([
  ["prot: 1", 'has an unknown setting "prot". Known are: host,'],
  ["host:", 'The setting "host" of the config file'],
  ["data: [a, b]", "is a list or an object, and must be text or a number."],
  ["- port", "must hold an object of settings."],
  ["port: {", "cannot be read"],
])("a file that makes no sense is refused: %s", async (content, message) => {
  await writeFile(file, content)
  expect(() => load({ flags: { config: file } })).toThrow(message)
})

test("a file that is not there is refused by name", () => {
  expect(() => load({ flags: { config: file } })).toThrow(`The config file ${file} cannot be read`)
})

test("no secret is a flag", () => {
  const flags = settingDescriptions.map(({ flag }) => flag)
  expect(flags).toContain("port")
  expect(flags).not.toContain("master-key")
  expect(flags).not.toContain("embeddings-key")
})
