import { expect, test } from "vitest"
import { loadConfig, type Config } from "../config.ts"
import type { Finding } from "./finding.ts"
import {
  clockFindings,
  deliveryFindings,
  diskFindings,
  duration,
  endpointFindings,
  settingsFindings,
  size,
  versionFindings,
  type LinkStanding,
} from "./health.ts"
import type { AppId, LinkId, MatchSeq, WebhookId } from "../model/ids.ts"
import type { LinkTally, Retry } from "../model/link.ts"
import type { StoredWebhook } from "../model/webhook.ts"

const nowMs = Date.UTC(2026, 2, 14, 12)
const minuteMs = 60_000
const gibibyte = 1_073_741_824
const seq = (value: number): MatchSeq => value as MatchSeq

/** Findings as one line each. */
function lines(findings: readonly Finding[]): readonly string[] {
  return findings.map(({ level, text }) => `${level}: ${text}`)
}

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

const webhookId = "12" as WebhookId

type Change = Partial<Omit<LinkTally, "retries">> & Partial<Omit<LinkStanding, "tally">>

function standing(change: Change = {}): LinkStanding {
  const { head = seq(9), gaps = [], retries = [], oldestAtMs, ...counts } = change
  return {
    tally: {
      linkId: "7" as LinkId,
      appId: "5" as AppId,
      webhookId,
      firstPosition: seq(0),
      position: seq(9),
      delivered: 9,
      retries: retries.length,
      deadLetters: 0,
      expired: 0,
      missed: 0,
      ...counts,
    },
    head,
    gaps,
    retries,
    ...(oldestAtMs !== undefined && { oldestAtMs }),
  }
}

function delivered(...links: readonly LinkStanding[]): readonly string[] {
  return lines(deliveryFindings(links, { nowMs, deadLetterRetentionDays: 30 }))
}

test("links without a backlog are healthy, and so is a store without links", () => {
  expect(delivered()).toEqual(["ok: There are no links, so nothing is to be delivered."])
  expect(delivered(standing(), standing())).toEqual([
    "ok: 2 links: nothing waits, nothing is given up, nothing was missed.",
  ])
})

test("a delivery in flight is no warning, and one that waits for longer than a minute is", () => {
  const behind = { position: seq(4), oldestAtMs: nowMs - minuteMs }
  expect(delivered(standing(behind))[0]).toMatch(/^ok: /)
  expect(delivered(standing({ ...behind, oldestAtMs: nowMs - minuteMs - 1 }))).toEqual([
    "warning: The link to webhook 12 is 5 matches behind. The oldest that is not delivered has waited for 1 min.",
  ])
})

test("retries that have failed are counted, and deliveries that were only in flight are not", () => {
  const retry = (at: number, failures: number): Retry => ({ seq: seq(at), failures, dueAtMs: nowMs })
  expect(delivered(standing({ retries: [retry(3, 0)] }))[0]).toMatch(/^ok: /)
  expect(delivered(standing({ retries: [retry(3, 0), retry(4, 2), retry(5, 7)] }))).toEqual([
    "warning: 2 matches of webhook 12 failed and are tried again; at most 7 failures so far.",
  ])
})

test("dead letters are reported with the commands that list and redeliver them", () => {
  const [finding] = deliveryFindings([standing({ deadLetters: 3 })], { nowMs, deadLetterRetentionDays: 30 })
  expect(finding).toEqual({
    level: "warning",
    subject: "deliveries",
    text: "3 dead letters of webhook 12.",
    advice:
      "See them: sluice dead-letters list --webhook 12; " +
      "send them again: sluice dead-letters redeliver --all --webhook 12",
  })
  expect(delivered(standing({ expired: 1 }))).toEqual([
    "warning: 1 dead letter of webhook 12 was never sent again and is gone.",
  ])
})

test("gaps are named, the newest ones when there are many", () => {
  const gap = (from: number, to: number) => ({ from: seq(from), to: seq(to), atMs: nowMs })
  expect(delivered(standing({ missed: 1, gaps: [gap(4, 4)] }))).toEqual([
    "warning: Retention took 1 match of webhook 12 before they were sent: 4.",
  ])
  const gaps = [gap(1, 2), gap(4, 5), gap(7, 8), gap(10, 11), gap(13, 14)]
  expect(delivered(standing({ missed: 10, gaps }))).toEqual([
    "warning: Retention took 10 matches of webhook 12 before they were sent: " +
      "7 to 8, 10 to 11, 13 to 14, and 2 gaps before.",
  ])
})

test("the clock is compared with the newest time in the store", () => {
  const at = (aheadMs: number): readonly string[] => {
    const moments = [
      { what: "app 5", atMs: nowMs - minuteMs },
      { what: "the newest match of app 5", atMs: nowMs + aheadMs },
    ]
    return lines(clockFindings({ nowMs, moments, steps: [] }))
  }
  expect(at(minuteMs)).toEqual([
    "ok: The clock says 2026-03-14T12:00:00.000Z; the newest time in the store is 2026-03-14T12:01:00.000Z.",
  ])
  expect(at(2 * 60 * minuteMs)).toEqual([
    "error: The clock says 2026-03-14T12:00:00.000Z, " +
      "and the newest match of app 5 is from 2026-03-14T14:00:00.000Z, 2 h 0 min later.",
  ])
  expect(lines(clockFindings({ nowMs, moments: [], steps: [] }))).toEqual([
    "ok: The clock says 2026-03-14T12:00:00.000Z.",
  ])
})

test("doctor says by which time retention deletes when that is not the clock's", () => {
  const hourMs = 60 * minuteMs
  const found = (believedMs: number, clockMs: number): readonly string[] =>
    lines(clockFindings({ nowMs, moments: [], steps: [], known: { believedMs, clockMs, steadyMs: 0 } }))
  expect(found(nowMs - hourMs, nowMs - hourMs)).toEqual(["ok: The clock says 2026-03-14T12:00:00.000Z."])
  expect(found(nowMs - 48 * hourMs, nowMs - 48 * hourMs)).toEqual([
    "ok: The clock says 2026-03-14T12:00:00.000Z. No server has run since 2026-03-12T12:00:00.000Z: " +
      "the next one deletes nothing by the clock until that has been steady for an hour.",
  ])
  expect(found(nowMs - 48 * hourMs, nowMs)).toEqual([
    "warning: Retention deletes by 2026-03-12T12:00:00.000Z, since the clock jumped ahead by 2 days 0 h.",
  ])
  const unknown =
    "warning: The store does not know when it was served last, so retention deletes nothing until the clock has been " +
    "steady for an hour."
  expect(found(0, 0)).toEqual([unknown])
  expect(found(30 * minuteMs, nowMs)).toEqual([unknown])
})

test("a step back within a log is reported when it is more than a minute", () => {
  const step = (backMs: number) => [{ appId: "5" as AppId, after: seq(3), before: seq(4), backMs }]
  expect(lines(clockFindings({ nowMs, moments: [], steps: step(minuteMs) }))[0]).toMatch(/^ok: /)
  expect(lines(clockFindings({ nowMs, moments: [], steps: step(90 * minuteMs) }))).toEqual([
    "warning: The clock was set back by 1 h 30 min between the matches 3 and 4 of app 5.",
  ])
})

test.each([
  [50, 100, "ok"],
  [10, 100, "ok"],
  [9.9, 100, "warning"],
  [0.99, 2, "warning"],
  [0.0625, 2, "warning"],
  [0.0624, 2, "error"],
  [0, 100, "error"],
])("%d GiB of free space out of %d is: %s", (free, total, level) => {
  const [found, ...more] = diskFindings({
    freeBytes: free * gibibyte,
    totalBytes: total * gibibyte,
    storeBytes: 1,
    logBytes: 0,
  })
  expect(found?.level).toBe(level)
  expect(more).toEqual([])
})

test("a log that has grown far is reported", () => {
  const room = { freeBytes: 50 * gibibyte, totalBytes: 100 * gibibyte, storeBytes: 3 * gibibyte }
  expect(lines(diskFindings({ ...room, logBytes: 2 * gibibyte }))).toEqual([
    "ok: 50.0 GiB of 100 GiB are free; the store takes 3.0 GiB and its log 2.0 GiB.",
    "warning: The write-ahead log has grown to 2.0 GiB: something reads the store and does not end.",
  ])
})

test("each endpoint gets its finding, and none of them is an error", () => {
  const webhook = (change: Partial<StoredWebhook> = {}): StoredWebhook => ({
    id: webhookId,
    appId: "5" as AppId,
    url: "https://example.com/hook",
    createdAtMs: 0,
    valid: true,
    checkedAtMs: 0,
    signingKeySealed: new Uint8Array(),
    ...change,
  })
  const challenged = { kind: "challenged", webhook: webhook(), durationMs: 120 } as const
  const name = "Webhook 12"
  const place = "It is at https://example.com/hook"
  expect(lines(endpointFindings([]))).toEqual(["ok: There are no webhooks."])
  expect(
    lines(
      endpointFindings([
        { ...challenged, result: { kind: "valid" } },
        { ...challenged, result: { kind: "invalid", detail: "answered with status 200 and no body" } },
        { ...challenged, result: { kind: "unreachable", detail: "answered with status 502" } },
        { kind: "not-valid", webhook: webhook({ valid: false, invalidReason: "answered 410 Gone" }) },
        { kind: "not-valid", webhook: webhook({ valid: false }) },
      ]),
    ),
  ).toEqual([
    `ok: ${name} answered its challenge within 0.1 s. ${place}`,
    `warning: ${name} failed its challenge: the endpoint answered with status 200 and no body. ${place}`,
    `warning: ${name} failed its challenge: the endpoint answered with status 502. ${place}`,
    `warning: ${name} is not valid, so nothing is sent to it: the endpoint answered 410 Gone. ${place}`,
    `warning: ${name} is not valid, so nothing is sent to it: the endpoint failed its challenge. ${place}`,
  ])
})

test("a newer store is an error, an older one is not", () => {
  const versions = { version: 3, knownVersion: 2 }
  expect(lines(versionFindings("newer", versions))).toEqual([
    "error: The store has version 3, and this program works with version 2: it was made by a newer Sluice.",
  ])
  expect(versionFindings("older", { version: 1, knownVersion: 2 })[0]?.level).toBe("warning")
})

test.each([
  [0, "0.1 s"],
  [1_234, "1.2 s"],
  [59_940, "59.9 s"],
  [60_000, "1 min"],
  [3_600_000, "1 h 0 min"],
  [7_500_000, "2 h 5 min"],
  [97 * 3_600_000, "4 days 1 h"],
])("a time of %i ms is written %s", (ms, text) => {
  expect(duration(ms)).toBe(text)
})

test.each([
  [0, "0 bytes"],
  [1_023, "1023 bytes"],
  [1_024, "1.0 KiB"],
  [150 * 1_048_576, "150 MiB"],
  [2_000 * gibibyte, "2.0 TiB"],
])("a size of %i bytes is written %s", (bytes, text) => {
  expect(size(bytes)).toBe(text)
})
