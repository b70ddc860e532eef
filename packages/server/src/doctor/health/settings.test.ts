import { expect, test } from "vitest"
import { loadConfig, type Config } from "../../config.ts"
import { lines } from "./lines.testing.ts"
import { settingsFindings } from "./settings.ts"

function config(posture: "dev" | "serve", env: Readonly<Record<string, string>> = {}): Config {
  return loadConfig({ posture, env })
}

function unsafe(settings: Config, mode = 0o100_600): readonly string[] {
  const found = settingsFindings(settings, { why: "Because.", files: [{ path: "/d/sluice.db", mode }] })
  expect(lines(found)[0]).toBe("ok: Every setting can be read. Because.")
  expect(found.slice(1).every(({ level, advice }) => level === "warning" && advice !== undefined)).toBe(true)
  return found.slice(1).map(({ text }) => text)
}

test("the default settings are safe", () => {
  expect(unsafe(config("serve"))).toEqual([])
  expect(unsafe(config("dev"))).toEqual([])
})

test.each<[env: Readonly<Record<string, string>>, posture: "dev" | "serve", said: RegExp]>([
  [{ SLUICE_HOST: "0.0.0.0" }, "dev", /^host is 0\.0\.0\.0: `sluice dev` would let everyone/],
  [
    {
      SLUICE_EMBEDDINGS_URL: "http://models.example.com/v1",
      SLUICE_EMBEDDINGS_MODEL: "m",
      SLUICE_EMBEDDINGS_KEY: "secret",
    },
    "serve",
    /^embeddingsKey goes to models\.example\.com in the clear\.$/,
  ],
  [{ SLUICE_DELIVERY_ATTEMPTS_MAX: "3" }, "serve", /^deliveryAttemptsMax is 3: a match is given up after about 1\.5 s/],
  [{ SLUICE_DELIVERY_ATTEMPTS_MAX: "1" }, "serve", /^deliveryAttemptsMax is 1/],
  [
    { SLUICE_DATABASE: "postgres://me:s3cret@db.example/sluice?sslmode=prefer", SLUICE_MASTER_KEY: "ab".repeat(32) },
    "serve",
    /^database is on another machine, and its URL does not ask for TLS/,
  ],
  [{ SLUICE_WEBHOOK_ALLOW: "hooks.lan, 0.0.0.0/0:80" }, "serve", /^webhookAllow lets every app .* 169\.254\.169\.254,/],
  [{ SLUICE_CRASH_POINT: "before-commit" }, "serve", /^SLUICE_CRASH_POINT is set/],
])("an unsafe setting is named: %j in %s", (env, posture, said) => {
  expect(unsafe(config(posture, env))).toEqual([expect.stringMatching(said)])
})

test("a setting that only seems unsafe is not named", () => {
  expect(unsafe(config("serve", { SLUICE_HOST: "0.0.0.0" }))).toEqual([])
  const model = { SLUICE_EMBEDDINGS_MODEL: "m", SLUICE_EMBEDDINGS_KEY: "secret" }
  expect(unsafe(config("serve", { SLUICE_EMBEDDINGS_URL: "http://127.0.0.1:1/v1", ...model }))).toEqual([])
  expect(unsafe(config("serve", { SLUICE_EMBEDDINGS_URL: "https://m.example.com/", ...model }))).toEqual([])
  const key = { SLUICE_MASTER_KEY: "ab".repeat(32) }
  for (const url of ["postgres://127.0.0.1/x", "postgres:///x?host=/run", "postgres://db/x?sslmode=verify-full"]) {
    expect(unsafe(config("serve", { ...key, SLUICE_DATABASE: url })), url).toEqual([])
  }
})

test("a file that others may read is named", () => {
  expect(unsafe(config("serve"), 0o100_640)).toEqual(["Others may read or change /d/sluice.db."])
})
