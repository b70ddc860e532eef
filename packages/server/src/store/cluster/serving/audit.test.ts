import { expect, test } from "vitest"
import { addLink, aDeadMatch, aMatch, anApp, aPost, app, aRetry, progress } from "../../contract/fixtures.ts"
import { atOneMoment, audit } from "./audit.ts"
import { auditOf } from "./audited.testing.ts"
import { openClusterStore } from "./cluster-store.ts"
import { ClusterDatabase } from "../connection/database.ts"
import { createTestDatabase } from "../connection/postgres.testing.ts"

test("an audit names missing rows and wrong counts, and reports nothing of an intact store", async () => {
  await using testDatabase = await createTestDatabase()
  const settings = { url: testDatabase.url, poolMax: 2, statementMsMax: 30_000 }
  await using store = await openClusterStore(settings, { sender: "test" })
  await using database = new ClusterDatabase(settings, () => undefined)
  await store.createApp(anApp(app), [])
  await addLink(store, app, { linkId: "31", webhookId: "1" })
  await store.append(
    ["1", "2", "3", "4"].map((id) => ({ post: aPost(id), matches: [aMatch(app, "5")] })),
    1,
  )
  await store.saveProgress([progress(3, { delivered: 1, retries: [aRetry(1)], dead: [aDeadMatch(2)] })])
  expect(await auditOf(settings)).toMatchObject({
    damage: [],
    posts: { accepted: 4, trimmed: 0, stored: 4 },
    logs: [{ appId: app, head: 4, trimmedTo: 0, entries: 4 }],
    links: [{ linkId: "31", position: 3, delivered: 1, retries: 1, deadLetters: 1 }],
  })

  await database.run("DELETE FROM matches WHERE seq <= 2")
  await database.run("DELETE FROM posts WHERE id = 4")
  await database.run("UPDATE links SET retries = 5, dead_letters = 0, missed = 1")
  await database.run("DROP TABLE attempts")
  await database.run("INSERT INTO shown_posts VALUES (77, 78, false), (3, 78, false)")
  await database.run("INSERT INTO deletions VALUES (1, 'post', 78, NULL, 1, false), (2, 'post', 3, NULL, 1, false)")
  await database.run("INSERT INTO assigned_names VALUES ('https://example.com/1', 3), ('https://example.com/2', 99)")
  expect((await auditOf(settings)).damage).toEqual([
    "schema: table attempts is not as it was made",
    "matches: match 4 of app 100 is of post 4, which is not there",
    "retries: link 31 needs match 1, which is not there",
    "dead_letters: link 31 needs match 2, which is not there",
    "links: link 31 counts 5 retries, and has 1",
    "links: link 31 counts 0 dead letters, and has 1",
    "links: link 31 counts 1 missed matches, and has gap markers of 0",
    "shown_posts: it is noted what post 77 shows, which is not there",
    "deletions: post 3 is deleted, and is there",
    "deletions: post 78 is deleted, and post 3 shows it",
    "deletions: post 78 is deleted, and post 77 shows it",
    "assigned_names: https://example.com/1 names post 3, which has another name",
    "match_logs: the log of app 100 runs from 1 to 4, and has 2 entries",
  ])

  await database.run("DROP TABLE totals")
  const { damage, logs } = await auditOf(settings)
  expect(damage[0]).toBe('totals: cannot be read to the end. relation "totals" does not exist')
  expect(logs).toHaveLength(1)
})

test.each(["ended_sessions", "connection_history", "known_time", "log_epochs", "database_identity"])(
  "an audit names the table %s when it is missing",
  async (table) => {
    await using testDatabase = await createTestDatabase()
    const settings = { url: testDatabase.url, poolMax: 2, statementMsMax: 30_000 }
    await using store = await openClusterStore(settings, { sender: "test" })
    await store.database.run(`DROP TABLE ${table}`)
    expect((await auditOf(settings)).damage).toEqual([`schema: table ${table} is not as it was made`])
  },
)

test("an audit is of one moment, whatever is written meanwhile", async () => {
  await using testDatabase = await createTestDatabase()
  const settings = { url: testDatabase.url, poolMax: 2, statementMsMax: 30_000 }
  await using store = await openClusterStore(settings, { sender: "test" })
  await using database = new ClusterDatabase(settings, () => undefined)
  await store.createApp(anApp(app), [])
  const numbers = await atOneMoment(database, async (transaction) => {
    await transaction.rows("SELECT 1 FROM posts")
    await store.append([{ post: aPost("1"), matches: [aMatch(app, "5")] }], 1)
    return audit(transaction)
  })
  expect(numbers).toMatchObject({ posts: { accepted: 0, stored: 0 }, logs: [], damage: [] })
})
