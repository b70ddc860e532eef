import { expect, test } from "vitest"
import { ClusterDatabase } from "./database.ts"
import { createTestDatabase } from "./postgres.testing.ts"
import { inspectServer, judgeServer, type ServerFacts } from "./server-settings.ts"

const sound: ServerFacts = {
  versionNumber: 150_012,
  version: "15.12",
  fsync: "on",
  fullPageWrites: "on",
  synchronousCommit: "on",
  encoding: "UTF8",
  checksums: "on",
  synchronousStandbyNames: "",
  standbys: 0,
  synchronousStandbys: 0,
  hiddenStandbys: 0,
  isReadOnly: false,
  idleSessionTimeoutMs: 0,
  connectionsMax: 97,
  processes: 3,
  connectionsPerProcess: 11,
}

/** Differences from a sound server, and the words of the sentence that name the setting. */
const cases: readonly [Partial<ServerFacts>, "fault" | "warning" | "nothing", RegExp][] = [
  [{}, "nothing", /^$/],
  [{ synchronousCommit: "remote_apply" }, "nothing", /^$/],
  [{ versionNumber: 140_009 }, "fault", /is PostgreSQL 14: 15 or newer is needed/],
  [{ encoding: "SQL_ASCII" }, "fault", /encoding SQL_ASCII/],
  [{ fsync: "off" }, "fault", /fsync = off/],
  [{ synchronousCommit: "off" }, "fault", /synchronous_commit = off/],
  [{ synchronousCommit: "local" }, "fault", /synchronous_commit = local/],
  [{ checksums: "off" }, "warning", /data_checksums = off/],
  [{ fullPageWrites: "off" }, "warning", /full_page_writes = off/],
  [{ isReadOnly: true }, "warning", /is a standby, or read-only/],
  [{ standbys: 1 }, "warning", /has a standby, and synchronous_standby_names is empty/],
  [{ standbys: 1, hiddenStandbys: 1 }, "warning", /has a standby, and synchronous_standby_names is empty/],
  [{ synchronousStandbyNames: "b" }, "warning", /names = b, and none of these is connected: every write waits/],
  [{ synchronousStandbyNames: "b", standbys: 1 }, "warning", /none of these is connected/],
  [{ synchronousStandbyNames: "b", standbys: 1, hiddenStandbys: 1 }, "warning", /does not show its standbys/],
  [{ synchronousStandbyNames: "b", standbys: 2, synchronousStandbys: 1 }, "nothing", /^$/],
  [{ idleSessionTimeoutMs: 60_000 }, "warning", /idle for 60000 ms/],
  [{ connectionsMax: 33 }, "nothing", /^$/],
  [{ connectionsMax: 32 }, "warning", /allows 32 connections, and 3 processes may open 33/],
  [{ connectionsMax: 10, processes: 0 }, "warning", /allows 10 connections, and 1 process may open 11/],
]

test.each(cases)("a server with %j causes a %s: %s", (changes, level, sentence) => {
  const { faults, warnings } = judgeServer({ ...sound, ...changes })
  expect([faults.length, warnings.length]).toEqual([Number(level === "fault"), Number(level === "warning")])
  expect([...faults, ...warnings.map(({ text }) => text)].join("")).toMatch(sentence)
})

test("every fact is read of a real server, as the session of a process has it", async () => {
  await using database = await createTestDatabase()
  const settings = { url: database.url, poolMax: 10, statementMsMax: 10_000 }
  await using queries = new ClusterDatabase(settings, () => undefined)
  const { version, synchronousCommit, faults } = await inspectServer(queries, settings)
  expect(version).toMatch(/^\d+/)
  expect({ synchronousCommit, faults }).toEqual({ synchronousCommit: "on", faults: [] })

  const url = new URL(database.url)
  url.searchParams.set("options", "-c idle_session_timeout=1min -c default_transaction_read_only=on")
  const odd = { ...settings, url: url.href, poolMax: 100_000 }
  await using others = new ClusterDatabase({ ...odd, poolMax: 1 }, () => undefined)
  const texts = (await inspectServer(others, odd)).warnings.map(({ text }) => text)
  expect(texts).toContainEqual(expect.stringMatching(/^is a standby, or read-only/))
  expect(texts).toContainEqual(expect.stringMatching(/^ends sessions that are idle for 60000 ms/))
  expect(texts).toContainEqual(expect.stringMatching(/^allows \d+ connections, and 1 process may open 100001/))
})
