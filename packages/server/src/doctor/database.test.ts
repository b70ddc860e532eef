/** The doctor on a PostgreSQL store. */
import { randomBytes } from "node:crypto"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import {
  addLink,
  aDeadMatch,
  aMatch,
  anApp,
  anAttempt,
  aPost,
  app,
  aRetry,
  progress,
} from "../store/contract/fixtures.ts"
import { openClusterStore } from "../store/cluster/serving/cluster-store.ts"
import { ClusterDatabase } from "../store/cluster/connection/database.ts"
import { createTestDatabase, type TestDatabase } from "../store/cluster/connection/postgres.testing.ts"
import { createSecretBox } from "../runtime/secret-box.ts"
import { systemRandom as random } from "../runtime/random.ts"
import { examine, type Examination } from "./examine.ts"
import { databaseFindings } from "./health/store.ts"

const key = randomBytes(32)
let database: TestDatabase

beforeEach(async () => {
  database = await createTestDatabase()
})
afterEach(() => database[Symbol.asyncDispose]())

function examined(url = database.url): Promise<Examination> {
  return examine({ flags: { database: url }, env: { SLUICE_MASTER_KEY: key.toString("hex") }, isOffline: true })
}

function faultsOf({ findings }: Examination): readonly string[] {
  return findings.filter(({ level }) => level === "error").map(({ text }) => text)
}

describe("the doctor on a database", () => {
  test("says of a store of a newer Sluice that it is newer, and not that it is damaged", async () => {
    const settings = { url: database.url, poolMax: 1, statementMsMax: 30_000 }
    await (await openClusterStore(settings, { sender: "test" }))[Symbol.asyncDispose]()
    await using newer = new ClusterDatabase(settings, () => undefined)
    await newer.run("UPDATE store_version SET version = 9999")
    expect(faultsOf(await examined())).toEqual([
      expect.stringMatching(/^The store has version 9999, .*: it was made by a newer Sluice\.$/),
    ])
  })

  test("proves that every match of every link is accounted for, and names lost posts and matches", async () => {
    const settings = { url: database.url, poolMax: 1, statementMsMax: 30_000 }
    const atMs = Date.now() - 60_000
    {
      await using store = await openClusterStore(settings, { sender: "test" })
      const consumerSecretSealed = createSecretBox(key, random).seal("a secret")
      await store.createApp({ ...anApp(app), consumerSecretSealed }, [])
      await addLink(store, app, { linkId: "31", webhookId: "1" })
      const posts = ["1", "2", "3", "4"].map((id) => ({ post: aPost(id), matches: [aMatch(app, "5")] }))
      await store.append(posts, atMs)
      const dead = [aDeadMatch(2, atMs)]
      await store.saveProgress([progress(3, { delivered: 1, retries: [aRetry(1, 1, atMs)], dead })])
      await store.recordAttempts([anAttempt(3, { atMs })], { keptPerLink: 10 })
    }
    const { proof, ...whole } = await examined()
    // The signing key of the fixtures is not sealed.
    expect(faultsOf(whole)).toEqual([expect.stringMatching(/^The signing key of webhook 1 does not open/)])
    expect(whole.findings).toContainEqual({
      level: "ok",
      subject: "store",
      text: "Whole: 4 posts and 4 matches have what was stored.",
    })
    expect(proof).toMatchObject({
      holds: true,
      posts: { accepted: 4, stored: 4 },
      links: [{ owed: 4, delivered: 1, retrying: 1, dead_letters: 1, waiting: 1, confirmed: 1 }],
    })

    await using direct = new ClusterDatabase(settings, () => undefined)
    await direct.run("DELETE FROM posts WHERE id = 4")
    await direct.run("DELETE FROM matches WHERE seq = 1")
    const broken = await examined()
    expect(broken).toMatchObject({ ok: false, proof: { holds: false } })
    expect(faultsOf(broken)).toEqual(
      expect.arrayContaining([
        "matches: match 4 of app 100 is of post 4, which is not there",
        "retries: link 31 needs match 1, which is not there",
      ]),
    )
  })

  test("reports that there is no store, no such database, or no PostgreSQL", async () => {
    expect(faultsOf(await examined())).toEqual([expect.stringMatching(/^The database .+ holds no store\.$/)])
    const nowhere = await examined(`${database.url}_gone`)
    expect(faultsOf(nowhere)).toEqual([expect.stringMatching(/^The database cannot be used: .+ does not exist\.$/)])
    const closed = await examined("postgres://postgres@127.0.0.1:9/sluice")
    expect(faultsOf(closed)).toEqual(["The database cannot be used: connect ECONNREFUSED 127.0.0.1:9."])
  })

  test("reports a server on which no store may run as an error, and one that may lose data as a warning", async () => {
    const sound = { version: "17.2", synchronousCommit: "on", faults: [], warnings: [] }
    const lines = (server: Parameters<typeof databaseFindings>[1]): readonly string[] =>
      databaseFindings("database db/sluice", server).map(({ level, text }) => `${level}: ${text}`)
    expect(lines(sound)).toEqual([
      "ok: The database db/sluice is PostgreSQL 17.2, with page checksums and synchronous_commit = on.",
    ])
    const warnings = [{ text: "has full_page_writes = off.", advice: "Set it to on." }]
    expect(lines({ ...sound, faults: ["has fsync = off."], warnings })).toEqual([
      "error: The database db/sluice has fsync = off.",
      "warning: The database db/sluice has full_page_writes = off.",
    ])
    const unsafe = new URL(database.url)
    unsafe.searchParams.set("options", "-c synchronous_commit=off")
    expect(faultsOf(await examined(unsafe.href))[0]).toMatch(
      / has synchronous_commit = off: what it acknowledges may be lost/,
    )
  })
})
