import pg from "pg"
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest"
import { systemClock } from "../../../runtime/clock.ts"
import { createTestDatabase, type TestDatabase } from "../../../store/cluster/connection/postgres.testing.ts"
import { SettingsReader, type SourceMembers } from "../../settings.ts"
import { driven, type DrivenReader, type TakenLine } from "../reading.testing.ts"
import { readOutboxSettings } from "./outbox-settings.ts"
import { createOutboxReader } from "./outbox-source.ts"

let database: TestDatabase
let client: pg.Client
let others: pg.Client[]
let runs: DrivenReader[]

beforeAll(async () => {
  database = await createTestDatabase()
})

afterAll(() => database[Symbol.asyncDispose]())

beforeEach(async () => {
  others = []
  runs = []
  client = await connected()
  await client.query("DROP TABLE IF EXISTS outbox")
  await client.query("CREATE TABLE outbox (id bigserial PRIMARY KEY, envelope jsonb)")
})

afterEach(async () => {
  for (const run of runs) await run[Symbol.asyncDispose]()
  for (const other of others) await other.end()
})

async function connected(): Promise<pg.Client> {
  const other = new pg.Client(database.url)
  await other.connect()
  others.push(other)
  return other
}

interface Reading {
  readonly position?: string
  readonly env?: Record<string, string>
  readonly taken?: (line: TakenLine) => Promise<unknown>
  readonly durable?: () => string | Promise<string>
}

async function reading(members: SourceMembers = {}, { env = {}, ...driving }: Reading = {}): Promise<DrivenReader> {
  const url = new URL(database.url)
  url.username = ""
  const all = { name: "own", type: "outbox", url: url.href, username: "postgres", pollSeconds: 1, ...members }
  const settings = readOutboxSettings(new SettingsReader(all, env))
  const run = driven(createOutboxReader(settings, { clock: systemClock, postBytesMax: 10_000 }), driving)
  runs.push(run)
  return run
}

const insertSql =
  "INSERT INTO outbox (envelope) SELECT jsonb_build_object('n', n) FROM generate_series(1, $1::int) AS n"
const insert = (rows = 1, by = client) => by.query(insertSql, [rows])
const idsOf = (run: DrivenReader): number[] => run.lines.map(({ cursor }) => Number(cursor))
const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1)

test("rows are read in order, from the start and behind a position, with their envelopes as they are", async () => {
  await insert(250)
  const run = await reading()
  await expect.poll(() => idsOf(run)).toEqual(upTo(250))
  expect(run.lines[0]).toEqual({ envelope: '{"n": 1}', cursor: "1" })
  expect(run.connected).toEqual([`127.0.0.1:5432${new URL(database.url).pathname}, outbox`])
  await insert(2)
  await expect.poll(() => idsOf(run)).toEqual(upTo(252))
  const later = await reading({}, { position: "250" })
  await expect.poll(() => idsOf(later)).toEqual([251, 252])
  expect([...run.failures, ...later.failures]).toEqual([])
})

test("a transaction that takes an id first and commits last is not skipped, and holds up only rows behind its id", async () => {
  const [holder, writer] = [await connected(), await connected()]
  await insert()
  await holder.query("BEGIN")
  // It has an id, and no number of its own as a transaction yet.
  await holder.query("SELECT nextval('outbox_id_seq')")
  await insert(3, writer)
  const run = await reading()
  await expect.poll(() => idsOf(run)).toEqual([1])
  await systemClock.sleep(500)
  expect(idsOf(run)).toEqual([1])
  await holder.query("INSERT INTO outbox (id, envelope) VALUES (2, '{}')")
  await systemClock.sleep(200)
  expect(idsOf(run)).toEqual([1])
  await holder.query("COMMIT")
  await expect.poll(() => idsOf(run)).toEqual(upTo(5))
})

test("a row that is rolled back holds up nothing, nor do long transactions that write elsewhere or only read", async () => {
  const [reader, writer, holder] = [await connected(), await connected(), await connected()]
  await client.query("CREATE TABLE IF NOT EXISTS other (n int)")
  await reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
  await reader.query("SELECT count(*) FROM outbox")
  await writer.query("BEGIN")
  await writer.query("INSERT INTO other VALUES (1)")
  await holder.query("BEGIN")
  await insert(1, holder)
  await insert(2)
  const run = await reading()
  await expect.poll(() => run.connected.length).toBe(1)
  await holder.query("ROLLBACK")
  await expect.poll(() => idsOf(run)).toEqual([2, 3])
  await insert(1)
  await expect.poll(() => idsOf(run)).toEqual([2, 3, 4])
})

test("of many transactions at once, some of which are rolled back, every committed row is read once and in order", async () => {
  const writers = await Promise.all(Array.from({ length: 8 }, connected))
  const run = await reading()
  let seed = 7
  const random = (): number => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647
  const write = async (writer: pg.Client): Promise<void> => {
    for (let round = 0; round < 60; round += 1) {
      await writer.query("BEGIN")
      await insert(1 + Math.floor(random() * 3), writer)
      if (random() < 0.5) await systemClock.sleep(random() * 15)
      await writer.query(random() < 0.2 ? "ROLLBACK" : "COMMIT")
    }
  }
  await Promise.all(writers.map(write))
  const { rows } = await client.query<{ id: string }>("SELECT id FROM outbox ORDER BY id")
  await expect.poll(() => run.lines.length, { timeout: 10_000 }).toBe(rows.length)
  expect(idsOf(run)).toEqual(rows.map(({ id }) => Number(id)))
}, 30_000)

test("a notification brings rows at once, and without one they come with the next look", async () => {
  const run = await reading({ channel: "news", pollSeconds: 3_600 })
  await expect.poll(() => run.connected.length).toBe(1)
  await systemClock.sleep(200)
  await insert()
  await client.query("NOTIFY news")
  await expect.poll(() => idsOf(run)).toEqual([1])
})

test("rows are deleted once they are stored, if the settings say so, and not before", async () => {
  const countOf = async (): Promise<number> => (await client.query("SELECT FROM outbox")).rowCount ?? 0
  await insert(2_500)
  const stored = Promise.withResolvers<void>()
  let taken = 0
  const run = await reading(
    { deleteRows: true },
    {
      taken: () => ((taken += 1) <= 1_200 ? Promise.resolve() : stored.promise),
    },
  )
  await expect.poll(() => taken).toBe(1_201)
  expect(await countOf()).toBeGreaterThanOrEqual(1_300)
  stored.resolve()
  await expect.poll(countOf, { timeout: 10_000 }).toBe(0)
  expect(idsOf(run)).toEqual(upTo(2_500))
  await insert()
  await expect.poll(countOf, { timeout: 10_000 }).toBe(0)
  expect(idsOf(run)).toEqual(upTo(2_501))
}, 30_000)

const tableIds = async (): Promise<number[]> =>
  (await client.query<{ id: string }>("SELECT id FROM outbox ORDER BY id")).rows.map(({ id }) => Number(id))

test("rows that an earlier reading stored and did not delete are deleted by the next one", async () => {
  await insert(5)
  const run = await reading({ deleteRows: true }, { position: "3" })
  await expect.poll(tableIds).toEqual([])
  expect(idsOf(run)).toEqual([4, 5])
  expect(run.failures).toEqual([])
})

test("rows of a table that was numbered anew are neither skipped in silence nor deleted unread", async () => {
  await insert(10)
  const run = await reading({ deleteRows: true })
  await expect.poll(tableIds).toEqual([])
  await client.query("TRUNCATE outbox RESTART IDENTITY")
  await insert(3)
  await expect.poll(() => run.failures.length).toBeGreaterThan(1)
  expect(run.failures[0]).toBe(
    'The ids of "outbox" have come to 3, and the source has stored them up to 10: they were numbered anew, or it is another table. Nothing is read or deleted. (Rewind the source, to 0 for all rows that are there: sluice sources rewind NAME --position 0.; 0)',
  )
  expect(await tableIds()).toEqual([1, 2, 3])
  expect(idsOf(run)).toEqual(upTo(10))
  const rewound = await reading({ deleteRows: true }, { position: "0" })
  await expect.poll(tableIds).toEqual([])
  expect(idsOf(rewound)).toEqual([1, 2, 3])
})

test("a table that was numbered anew is refused when a reading begins, before it has a row", async () => {
  const run = await reading({}, { position: "10000" })
  await expect.poll(() => run.failures[0]).toContain("have come to 0, and the source has stored them up to 10000")
  await client.query("SELECT setval('outbox_id_seq', 10000)")
  await insert()
  await expect.poll(() => idsOf(run)).toEqual([10_001])
})

test("where the sequence may not be read, the rows tell that they were numbered anew", async () => {
  await client.query(`DROP ROLE IF EXISTS sluice_rows; CREATE ROLE sluice_rows LOGIN PASSWORD 'pw';
    GRANT SELECT, DELETE ON outbox TO sluice_rows`)
  const byRows = { username: "sluice_rows", passwordVariable: "PW", deleteRows: true }
  const run = await reading(byRows, { env: { PW: "pw" }, position: "10" })
  await expect.poll(() => run.connected.length).toBe(1)
  await insert(3)
  await expect.poll(() => run.failures[0]).toContain("have come to 3")
  expect(run.failures[0]).toContain('GRANT SELECT ON SEQUENCE outbox_id_seq TO "sluice_rows"')
  expect(await tableIds()).toEqual([1, 2, 3])
  await client.query("GRANT SELECT ON SEQUENCE outbox_id_seq TO sluice_rows; SELECT setval('outbox_id_seq', 10)")
  await insert()
  await expect.poll(tableIds).toEqual([])
  expect(idsOf(run)).toEqual([11])
  await run[Symbol.asyncDispose]()
  await client.query("DROP OWNED BY sluice_rows; DROP ROLE sluice_rows")
})

test("rows that come right before a deletion are not deleted unread when they were numbered anew", async () => {
  let inserted: Promise<unknown> | undefined
  const durable = async (): Promise<string> => {
    await (inserted ??= insert(3))
    return "10"
  }
  await client.query(`DROP ROLE IF EXISTS sluice_deleter; CREATE ROLE sluice_deleter LOGIN PASSWORD 'pw';
    GRANT SELECT, DELETE ON outbox TO sluice_deleter`)
  const byRows = { username: "sluice_deleter", passwordVariable: "PW", deleteRows: true }
  const run = await reading(byRows, { env: { PW: "pw" }, position: "10", durable })
  await expect.poll(() => run.failures[0]).toContain("have come to 3")
  expect(await tableIds()).toEqual([1, 2, 3])
  await run[Symbol.asyncDispose]()
  await client.query("DROP OWNED BY sluice_deleter; DROP ROLE sluice_deleter")
})

test("a position that an operator has moved ahead deletes no row that was not read", async () => {
  const holder = await connected()
  await insert(2)
  await holder.query("BEGIN")
  await holder.query("SELECT nextval('outbox_id_seq')")
  await insert()
  const run = await reading({ deleteRows: true }, { durable: () => "1000" })
  await expect.poll(tableIds).toEqual([4])
  await systemClock.sleep(1_500)
  expect(await tableIds()).toEqual([4])
  await holder.query("ROLLBACK")
  await expect.poll(tableIds).toEqual([])
  expect(idsOf(run)).toEqual([1, 2, 4])
})

test("a connection that is lost is a failure, and reading goes on behind the last row", async () => {
  await insert(3)
  const run = await reading()
  await expect.poll(() => run.lines.length).toBe(3)
  await client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sluice'")
  await insert(2)
  await expect.poll(() => idsOf(run), { timeout: 5_000 }).toEqual(upTo(5))
  expect(run.failures.length).toBeGreaterThan(0)
  expect(run.begun.slice(0, 2)).toEqual([undefined, "3"])
})

test("columns may be text or json, have other names and be mapped, and bad rows are dead letters", async () => {
  await client.query(`CREATE SCHEMA IF NOT EXISTS app; DROP TABLE IF EXISTS app."News";
    CREATE TABLE app."News" (number int GENERATED ALWAYS AS IDENTITY, item text)`)
  const items = ['{"words": "a heron"}', "not json", null, `{"words": "${"é".repeat(600_000)}"}`, '{"words": "b"}']
  for (const item of items) await client.query('INSERT INTO app."News" (item) VALUES ($1)', [item])
  const run = await reading({
    table: "app.News",
    idColumn: "number",
    envelopeColumn: "item",
    mapping: '{"uri": "n", "text": words, "cursor": "other"}',
  })
  await expect.poll(() => run.lines.length).toBe(5)
  expect(run.lines.map(({ cursor }) => cursor)).toEqual(["1", "2", "3", "4", "5"])
  expect(run.lines.map(({ error, text }) => error?.title ?? text)).toEqual([
    "a heron",
    "Invalid JSON",
    "Invalid Record",
    "Line Too Long",
    "b",
  ])
  expect(run.lines[3]?.error?.detail).toContain("The item has 1200013 bytes")
})

test("every reason for which rows cannot be read says what to do", async () => {
  const failure = async (members: SourceMembers, reading_: Reading = {}): Promise<string> => {
    const run = await reading(members, reading_)
    await expect.poll(() => run.failures.length).toBeGreaterThan(0)
    await run[Symbol.asyncDispose]()
    return run.failures[0] ?? ""
  }
  expect(await failure({ table: "missing" })).toContain(
    'CREATE TABLE "missing" ("id" bigserial PRIMARY KEY, "envelope" jsonb',
  )
  expect(await failure({ table: "none.outbox" })).toMatch(/Create it|Correct the schema/)
  expect(await failure({ envelopeColumn: "post" })).toContain('the table must have "id" and "post"')
  expect(await failure({}, { position: "a1" })).toContain("Rewind the source to the id of a row")
  await client.query("DROP ROLE IF EXISTS sluice_reader; CREATE ROLE sluice_reader LOGIN PASSWORD 'pw'")
  const byReader = { username: "sluice_reader", passwordVariable: "PW", deleteRows: true }
  const refused = await failure(byReader, { env: { PW: "pw" } })
  expect(refused).toContain('GRANT SELECT, DELETE ON "outbox" TO "sluice_reader";')
  await client.query('GRANT SELECT, DELETE ON "outbox" TO "sluice_reader"')
  await insert()
  const run = await reading(byReader, { env: { PW: "pw" } })
  await expect.poll(async () => (await client.query("SELECT FROM outbox")).rowCount, { timeout: 5_000 }).toBe(0)
  expect(run.failures).toEqual([])
  await run[Symbol.asyncDispose]()
  await client.query("ALTER SEQUENCE outbox_id_seq CACHE 20")
  expect(await failure({})).toContain("ALTER SEQUENCE outbox_id_seq INCREMENT 1 CACHE 1.")
  await client.query(
    "ALTER SEQUENCE outbox_id_seq CACHE 1; ALTER TABLE outbox ALTER id DROP DEFAULT; ALTER SEQUENCE outbox_id_seq OWNED BY NONE",
  )
  expect(await failure({})).toContain("ADD GENERATED BY DEFAULT AS IDENTITY")
  await client.query("DROP SEQUENCE outbox_id_seq; DROP OWNED BY sluice_reader; DROP ROLE sluice_reader")
})

test("settings that have no use are refused", () => {
  const url = "postgres://db.example.com/app?sslmode=verify-full"
  const read = (members: SourceMembers) => () =>
    readOutboxSettings(new SettingsReader({ name: "own", type: "outbox", url, ...members }, {}))
  expect(read({})()).toMatchObject({ table: ["outbox"], idColumn: "id", pollMs: 2_000, deletesRows: false, url })
  expect(read({ url: "postgres://me:pw@db/app" })).toThrow("holds credentials")
  expect(read({ url: "postgres://db/app?password=x" })).toThrow(
    "has the parameter password in its url, which may have sslmode",
  )
  expect(read({ table: "a.b.c" })).toThrow("it must be a table, with or without its schema, such as public.outbox.")
  expect(read({ idColumn: 'a"b' })).toThrow("it must be a name of at most 63 characters")
  expect(read({ password: "x" })).toThrow("name the file that holds it by passwordFile")
  expect(read({ deleteRow: true })).toThrow('has an unknown member "deleteRow"')
})
