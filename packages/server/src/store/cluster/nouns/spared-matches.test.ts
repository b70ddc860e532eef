import { afterEach, beforeEach, expect, test } from "vitest"
import type { LinkId, WebhookId } from "../../../model/ids.ts"
import { aLink, anApp, app, aWebhook, seqs } from "../../contract/fixtures.ts"
import { createAppWrites } from "./apps.ts"
import { ClusterDatabase } from "../connection/database.ts"
import { deleteSpared } from "./spared-matches.ts"
import { createLinkWrites } from "./links.ts"
import { migrate } from "../connection/migrations.ts"
import { createTestDatabase, type TestDatabase } from "../connection/postgres.testing.ts"
import { createWebhookWrites } from "./webhooks.ts"

let server: TestDatabase
let database: ClusterDatabase
let webhooks: ReturnType<typeof createWebhookWrites>
let links: ReturnType<typeof createLinkWrites>

// Link 31 needs the matches 3 and 6, link 32 the matches 3 and 4. Nothing needs 5. Retention has passed 5.
beforeEach(async () => {
  server = await createTestDatabase()
  const settings = { url: server.url, poolMax: 4, statementMsMax: 30_000 }
  database = new ClusterDatabase(settings, () => undefined)
  await migrate(database, settings)
  await createAppWrites(database, { clock: { nowMs: () => 1 } }).createApp(anApp(app), [])
  webhooks = createWebhookWrites(database)
  links = createLinkWrites(database)
  for (const id of ["1", "2"]) {
    await webhooks.createWebhook(aWebhook(app, id), { webhooksMax: 5 })
    await links.createLink(aLink(app, `3${id}`, id))
  }
  await database.run("INSERT INTO match_logs (app_id, head, trimmed_to) VALUES ($1, 10, 5)", app)
  await database.run(
    `INSERT INTO matches (app_id, seq, post_id, at_ms, rules)
     SELECT $1, seq, 1, 1, '[]' FROM unnest($2::bigint[]) AS seq`,
    app,
    [3, 4, 5, 6],
  )
  await database.run(
    `INSERT INTO retries (link_id, app_id, seq, failures, due_at_ms)
     SELECT link_id, $1, seq, 0, 0 FROM unnest($2::bigint[], $3::bigint[]) AS retry (link_id, seq)`,
    app,
    ["31", "31", "32", "32"],
    [3, 6, 3, 4],
  )
})

afterEach(async () => {
  await database[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

async function storedSeqs(): Promise<readonly number[]> {
  return (await database.rows<{ seq: number }>("SELECT seq FROM matches ORDER BY seq")).map(({ seq }) => seq)
}

async function waitingForLocks(): Promise<number> {
  const sql = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
  return (await database.rows(sql)).length
}

test("the last of two transactions that free a match at once deletes it", async () => {
  const both = Promise.withResolvers<void>()
  let ready = 0
  const settle = (linkId: LinkId): Promise<number> =>
    database.write(async (transaction) => {
      await transaction.run("DELETE FROM retries WHERE link_id = $1 AND seq = 3", linkId)
      ready += 1
      if (ready === 2) both.resolve()
      await both.promise
      const deleted = await deleteSpared(transaction, app, seqs(3))
      if (deleted === 0) await expect.poll(waitingForLocks).toBe(1)
      return deleted
    })
  const deleted = await Promise.all(["31" as LinkId, "32" as LinkId].map(settle))
  expect(new Set(deleted)).toEqual(new Set([0, 1]))
  expect(await storedSeqs()).toEqual([4, 5, 6])
})

test("only matches that retention has passed and no link needs are deleted", async () => {
  await database.run("DELETE FROM retries WHERE link_id = 31")
  expect(await database.write((transaction) => deleteSpared(transaction, app, seqs(3, 5, 6)))).toBe(1)
  expect(await storedSeqs()).toEqual([3, 4, 6])
})

test("the log records the first match that only a deleted link needed", async () => {
  const leftoversAfter = async () =>
    (await database.row<{ after: number | null }>("SELECT leftovers_after AS after FROM match_logs"))?.after
  await database.run("DELETE FROM retries WHERE seq = 3")
  await links.deleteLink(app, "1" as WebhookId)
  expect(await leftoversAfter()).toBeNull()
  await webhooks.deleteWebhook(app, "2" as WebhookId)
  expect(await leftoversAfter()).toBe(3)
})
