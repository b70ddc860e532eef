/** A server on a store that cannot be read as it should be says so, goes on with the rest, and is ready again after. */
import { cpSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterAll, beforeAll, expect, test } from "vitest"
import { storeFile } from "../store/embedded/connection/database.ts"
import { startTestServer, type TestServer } from "../../../../test/support/test-server.testing.ts"
import { createRecordedEvents } from "../delivery/links/link-harness.testing.ts"
import { Failures } from "./readiness.ts"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { pageBytes } from "../store/embedded/connection/log-checkpoints.ts"
import { RecordDamaged, StoreDamaged, StoreFull, StoreUnreadable } from "../store/store-faults.ts"

let directory: TemporaryDirectory
let pristine: string
const rules = "/2/tweets/search/stream/rules"
let bearerToken = ""
/** Id of the rule for cats. */
let ruleId = ""
let copies = 0

beforeAll(async () => {
  directory = await temporaryDirectory()
  pristine = join(directory.path, "pristine")
  await using made = await startTestServer({ data: pristine })
  bearerToken = made.app.bearer_token
  const added = await made.send("POST", rules, { add: [{ value: "cats" }, { value: "dogs" }] })
  ruleId = (added.body as { data: { id: string }[] }).data[0]?.id ?? ""
  const webhookId = await made.webhook()
  expect((await made.send("POST", `/2/tweets/search/webhooks/${webhookId}`, {})).status).toBe(200)
  await ingest(made, "1", "cats and dogs")
})

afterAll(() => directory.remove())

async function ingest(at: TestServer, id: string, text: string): Promise<void> {
  const response = await at.call("/sluice/v1/posts", {
    method: "POST",
    token: bearerToken,
    headers: { "content-type": "application/x-ndjson" },
    body: `${JSON.stringify({ data: { id, text, author_id: "7" } })}\n`,
  })
  expect(response.body).toMatchObject({ accepted: 1 })
}

/** A copy of the data, whose store was damaged by `harm`. */
function damaged(harm: (bytes: Buffer, db: DatabaseSync) => void): string {
  copies += 1
  const copy = join(directory.path, `copy-${copies}`)
  cpSync(pristine, copy, { recursive: true })
  const bytes = readFileSync(storeFile(copy))
  {
    using db = new DatabaseSync(storeFile(copy), { readOnly: true })
    harm(bytes, db)
  }
  writeFileSync(storeFile(copy), bytes)
  return copy
}

async function readiness(at: TestServer): Promise<{ status: number; text: string }> {
  const { status, text } = await at.call("/readyz", { token: null })
  return { status, text }
}

test.each(["retries", "match_logs", "matches"])(
  "a server with a damaged page of %s is not ready, with the reason, and has no unmeasured numbers",
  async (table) => {
    const data = damaged((bytes, db) => {
      const { rootpage } = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").get(table) as {
        rootpage: number
      }
      bytes.fill(0xff, (rootpage - 1) * pageBytes, (rootpage - 1) * pageBytes + 64)
    })
    await using server = await startTestServer({ data })
    await expect.poll(async () => (await readiness(server)).status).toBe(503)
    const { text } = await readiness(server)
    expect(JSON.parse(text)).toMatchObject({
      title: "Service Unavailable",
      detail: expect.stringMatching(/^The store cannot be read, which stops: .*`sluice doctor` says/),
    })
    expect(text).not.toContain(directory.path)
    const { text: metrics } = await server.call("/metrics", { token: null })
    expect(metrics).not.toMatch(/^sluice_links /m)
    expect((await server.call("/healthz", { token: null })).status).toBe(200)
  },
)

test("a rule that lost a letter matches no other posts, and its deletion makes the server ready", async () => {
  const data = damaged((bytes) => {
    for (let at = bytes.indexOf("cats"); at !== -1; at = bytes.indexOf("cats", at + 1)) {
      // Not in the post.
      if (!bytes.toString("utf8", at, at + 8).startsWith("cats and")) bytes.write("cavs", at)
    }
  })
  await using server = await startTestServer({ data })
  await expect.poll(async () => (await readiness(server)).status).toBe(503)
  expect((await readiness(server)).text).toContain(
    "1 record of the store is damaged or refused, and left out of what the server does.",
  )
  const { text: metrics } = await server.call("/metrics", { token: null })
  expect(metrics).toContain('sluice_damaged_records{reader="rules"} 1')
  await ingest(server, "2", "cavs")
  await ingest(server, "3", "dogs")
  const operator = await server.running.apps.createToken("operator")
  const { body } = await server.call("/sluice/v1/links", { token: operator })
  expect(body).toMatchObject({ data: [{ head: 2 }] })

  const listed = await server.call(rules, { token: bearerToken })
  expect(listed.body).toMatchObject({ data: [{ value: "dogs" }] })
  const mended = { delete: { ids: [ruleId] } }
  expect((await server.send("POST", rules, mended, bearerToken)).body).toMatchObject({
    meta: { summary: { deleted: 1 } },
  })
  await server.send("POST", rules, { add: [{ value: "cats" }] }, bearerToken)
  await expect.poll(async () => (await readiness(server)).status).toBe(200)
  await ingest(server, "4", "cats")
  expect((await server.call("/sluice/v1/links", { token: operator })).body).toMatchObject({
    data: [{ head: 3 }],
  })
})

test("a damaged post is named in place of the post, and the server is ready all the same", async () => {
  const data = damaged((bytes) => {
    for (let at = bytes.indexOf("cats and"); at !== -1; at = bytes.indexOf("cats and", at + 1)) bytes.write("cavs", at)
  })
  await using server = await startTestServer({ data })
  const named = {
    title: "Damaged",
    detail: "The stored post [1] is damaged, so it is not shown.",
    status: 500,
  }
  const one = await server.call("/sluice/v1/posts/1", { token: bearerToken })
  expect(one).toMatchObject({ status: 500, body: { ...named, errors: [{ ...named, resource_id: "1" }] } })
  const page = await server.call("/sluice/v1/posts", { token: bearerToken })
  expect(page.body).toMatchObject({ data: [], errors: [{ ...named, resource_id: "1" }] })
  expect((await readiness(server)).status).toBe(200)
})

test("a place where reads fail counts for 90 s after the last failure, and a full disk does not", async () => {
  const clock = createManualClock()
  const failures = new Failures(clock)
  const events = failures.observe(createRecordedEvents())
  events.failed({ where: "retention", error: new StoreFull("no room") })
  events.failed({ where: "http", error: new Error("a bug") })
  events.failed({ where: "http", error: new RecordDamaged("one record") })
  expect(failures.sentences()).toEqual([])
  events.failed({ where: "webhook link", error: new StoreDamaged("a page makes no sense") })
  await clock.advance(60_000)
  events.failed({ where: "replays", error: new StoreUnreadable("a page is not given back") })
  expect(failures.sentences()[0]).toBe("The store cannot be read, which stops: webhook link, replays.")
  await clock.advance(30_000)
  expect(failures.sentences()[0]).toBe("The store cannot be read, which stops: replays.")
  await clock.advance(60_000)
  expect(failures.sentences()).toEqual([])
})
