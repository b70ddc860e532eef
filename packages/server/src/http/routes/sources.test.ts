import { pathOf, paths } from "@sluice/api"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import {
  nameOfPost,
  postFrame,
  startJetstreamHost,
  tidAt,
  type JetstreamHost,
} from "../../sources/bluesky/jetstream-host.testing.ts"
import { startServerWith } from "../../sources/server-with-sources.testing.ts"
import { envelope, type TestServer } from "../../../../../test/support/test-server.testing.ts"

const nowMs = Date.now()
const [firstKey, editedKey] = [tidAt(nowMs - 60_000), tidAt(nowMs - 50_000)]

const resources = new AsyncDisposableStack()
let host: JetstreamHost
let server: TestServer
let operator: string

beforeAll(async () => {
  host = resources.use(
    await startJetstreamHost(
      postFrame("A heron", nowMs - 60_000, { rkey: firstKey }),
      postFrame("An egret", nowMs - 50_000, { rkey: editedKey }),
      postFrame("A great egret", nowMs - 40_000, { rkey: editedKey, rev: tidAt(nowMs - 40_000) }),
    ),
  )
  server = resources.use(await startServerWith([{ name: "sky", type: "bluesky", urls: host.url }]))
  operator = await server.running.apps.createToken("operator")
  // Not `expect.poll`, which is for tests alone.
  await vi.waitFor(async () => {
    if ((await sourceOf()).counts.accepted !== 3) throw new Error("the frames are not stored")
  }, 10_000)
})

afterAll(() => resources.disposeAsync())

const get = async (path: string, token = operator) => server.call(path, { token })
const post = async (path: string, body?: unknown) => server.send("POST", path, body, operator)
const of = (path: (typeof paths)[keyof typeof paths], name = "sky"): string => pathOf(path, { name } as never)

// oxlint-disable-next-line typescript/no-explicit-any -- a test's expectation is its type
const sourceOf = async (): Promise<any> => (await get(of(paths.source))).body.data

/** The dead letters of a page. */
async function letters(query = "") {
  const { body } = await get(`${of(paths.sourceDeadLetters)}${query}`)
  return body as {
    data: { id: string; encoding: string; record: string; bytes: number; title: string }[]
    meta: { result_count: number; next_token?: string; previous_token?: string }
  }
}

/** Sends frames that are no records, each of which becomes a dead letter. */
async function sendBroken(...frames: readonly (string | Uint8Array)[]): Promise<void> {
  const before = (await sourceOf()).dead_letters as number
  for (const frame of frames) host.send(frame)
  await expect.poll(async () => (await sourceOf()).dead_letters).toBe(before + frames.length)
}

test("an operator sees what each source does, where it stands, and how late it is", async () => {
  const { status, body } = await get(paths.sources)
  expect(status).toBe(200)
  expect(body.meta).toEqual({ result_count: 1 })
  expect(body.data[0]).toEqual({
    name: "sky",
    type: "bluesky",
    activity: "running",
    since: expect.any(String),
    connected_to: new URL(host.url).host,
    started_at: expect.any(String),
    last_record_at: expect.any(String),
    records_per_second: expect.any(Number),
    lag_ms: expect.any(Number),
    in_flight: 0,
    position: String((nowMs - 40_000) * 1_000),
    position_saved_at: expect.any(String),
    can_rewind: true,
    counts: {
      accepted: 3,
      duplicates: 0,
      deleted: 0,
      ignored: 0,
      rejected: 0,
      returned: 0,
      redelivered: 0,
      gaps: 0,
    },
    dead_letters: 0,
    gaps: [],
    notices: [],
  })
  expect(body.data[0].lag_ms).toBeGreaterThanOrEqual(40_000)
  expect((await get(of(paths.source))).body.data).toMatchObject({ name: "sky", activity: "running" })
})

test("no other token sees a source, and no other name has one", async () => {
  for (const token of [server.app.bearer_token, await server.running.apps.createToken("ingest")]) {
    expect(await get(paths.sources, token)).toMatchObject({
      status: 403,
      body: { title: "Unsupported Authentication" },
    })
  }
  for (const path of [paths.source, paths.sourceDeadLetters] as const) {
    expect(await get(of(path, "sea"))).toMatchObject({
      status: 404,
      body: { errors: [{ detail: "Could not find source with name: [sea]." }] },
    })
  }
  expect((await post(of(paths.pauseSource, "sea"))).status).toBe(404)
  expect((await post(of(paths.rewindSource, "sea"), { to: "2026-03-14T12:00:00Z" })).status).toBe(404)
})

test("a source is paused, and goes on behind its position when it is resumed", async () => {
  expect((await post(of(paths.pauseSource))).body.data.activity).toBe("paused")
  await expect.poll(async () => (await sourceOf()).connected_to).toBe(undefined)
  const connections = host.queries.length
  expect((await post(of(paths.resumeSource))).body.data.activity).not.toBe("paused")
  await expect.poll(async () => (await sourceOf()).activity).toBe("running")
  expect(host.queries.slice(connections).map((query) => query.get("cursor"))).toEqual([
    String((nowMs - 45_000) * 1_000),
  ])
})

test("a source is rewound to a time that has passed", async () => {
  const connections = host.queries.length
  const toMs = nowMs - 3_600_000
  expect((await post(of(paths.rewindSource), { to: new Date(toMs).toISOString() })).status).toBe(200)
  await expect.poll(() => host.queries.length).toBeGreaterThan(connections)
  expect(host.queries[connections]?.get("cursor")).toBe(String((toMs - 5_000) * 1_000))
  const future = new Date(Date.now() + 60_000).toISOString()
  expect(await post(of(paths.rewindSource), { to: future })).toMatchObject({
    status: 400,
    body: { errors: [{ message: `\`to\` [${future}] is in the future.` }] },
  })
  expect((await post(of(paths.rewindSource), { to: "yesterday" })).status).toBe(400)
  expect(await post(of(paths.rewindSource), { position: "0" })).toMatchObject({
    status: 400,
    body: { errors: [{ message: expect.stringContaining("takes no position; name a time") }] },
  })
  for (const body of [{}, { to: new Date(toMs).toISOString(), position: "0" }]) {
    expect((await post(of(paths.rewindSource), body)).status).toBe(400)
  }
})

test("dead letters are paged both ways, each with its record as text or as base64", async () => {
  const long = `{"text":"${"é".repeat(40_000)}`
  await sendBroken("{ no JSON", Buffer.from([0x7b, 0xff, 0xfe]), long)
  const first = await letters("?max_results=2")
  const second = await letters(`?max_results=2&pagination_token=${first.meta.next_token ?? ""}`)
  expect(first.data).toHaveLength(2)
  expect(second.data).toHaveLength(1)
  expect(second.meta).not.toHaveProperty("next_token")
  expect((await letters(`?max_results=2&pagination_token=${second.meta.previous_token ?? ""}`)).data).toEqual(
    first.data,
  )
  const all = [...first.data, ...second.data]
  const letterOf = (bytes: number) => all.find((letter) => letter.bytes === bytes)
  expect(letterOf(9)).toMatchObject({ encoding: "utf-8", record: "{ no JSON", title: "Invalid JSON" })
  expect(letterOf(3)).toMatchObject({ encoding: "base64", record: Buffer.from([0x7b, 0xff, 0xfe]).toString("base64") })
  // The last byte of 64 KiB is the first half of a character.
  const shown = letterOf(65_536)
  expect(Buffer.byteLength(shown?.record ?? "")).toBe(65_535)
  expect(long.startsWith(shown?.record ?? "none")).toBe(true)
  expect(await get(`${of(paths.sourceDeadLetters)}?pagination_token=nothing`)).toMatchObject({ status: 400 })
})

test("dead letters are repeated, and discarded", async () => {
  await sendBroken("{ again", "{ once more")
  const ids = (await letters()).data.map(({ id }) => id)
  // The record of which only the beginning is kept stays.
  expect((await post(of(paths.repeatSourceDeadLetters), { ids })).body).toEqual({
    data: { repeated: ids.length - 1, rejected: ids.length - 1 },
  })
  const anew = (await letters()).data.map(({ id }) => id)
  expect(anew).toHaveLength(ids.length)
  expect(anew.filter((id) => ids.includes(id))).toHaveLength(1)
  expect((await post(of(paths.discardSourceDeadLetters), { ids: anew })).body).toEqual({
    data: { discarded: anew.length },
  })
  expect((await post(of(paths.discardSourceDeadLetters), { ids })).body).toEqual({ data: { discarded: 0 } })
  expect((await sourceOf()).dead_letters).toBe(0)
  expect((await post(of(paths.discardSourceDeadLetters), { ids: ["one"] })).status).toBe(400)
})

test("a post is found by its name at its source, in its newest version", async () => {
  const find = async (uri: string, more = "") => get(`${paths.posts}?uri=${encodeURIComponent(uri)}${more}`)
  const heron = nameOfPost(firstKey)
  expect((await find(heron)).body).toMatchObject({
    data: [{ data: { text: "A heron", source_uri: heron } }],
    meta: { result_count: 1 },
  })
  for (const name of [nameOfPost(editedKey), `${nameOfPost(editedKey)}#${tidAt(nowMs - 40_000)}`]) {
    expect((await find(name)).body.data).toMatchObject([{ data: { text: "A great egret" } }])
  }
  for (const name of [nameOfPost(tidAt(nowMs)), "https://example.com/1", "heron"]) {
    expect(await find(name)).toMatchObject({ status: 404, body: { errors: [{ parameter: "uri", value: name }] } })
  }
  expect((await find(heron, "&max_results=5")).status).toBe(400)
  expect((await get(`${paths.posts}?uri=${encodeURIComponent(heron)}`, server.app.bearer_token)).status).toBe(200)
})

test("a post that was sent under the id of another name is not found by that name", async () => {
  const rkey = tidAt(nowMs - 30_000)
  const { data } = (await get(`${paths.posts}?uri=${encodeURIComponent(nameOfPost(firstKey))}`)).body.data[0]
  const idOfName = BigInt(data.id) + (30_000n << 22n)
  await server.ingest(envelope(idOfName.toString(), "an X post"))
  expect((await get(`${paths.posts}?uri=${encodeURIComponent(nameOfPost(rkey))}`)).status).toBe(404)
})

test("clauses that no post of the configured sources fulfils are named by the routes of rules", async () => {
  const never = [
    { clause: "has:geo", operator: "has", sources: ["sky"], reason: expect.stringMatching(/\.$/) as string },
  ]
  const tested = await server.send("POST", paths.ruleTest, { value: "heron has:geo", recent: 10 })
  expect(tested.body).toMatchObject({ meta: { matched: 0 }, never_matching: never })
  const other = await server.send("POST", paths.ruleTest, { value: "heron -has:geo", recent: 10 })
  expect(other.body).not.toHaveProperty("never_matching")
  const added = await server.send("POST", paths.rules, { add: [{ value: "heron has:geo" }, { value: "heron" }] })
  expect(added.body.data).toEqual([
    { id: expect.any(String), value: "heron has:geo" },
    { id: expect.any(String), value: "heron" },
  ])
  const { data } = (await server.call(paths.ruleDetails)).body
  expect(data).toMatchObject([{ value: "heron" }, { value: "heron has:geo", never_matching: never }])
  expect(data[0]).not.toHaveProperty("never_matching")
  const rule = pathOf(paths.ruleDetail, { rule_id: data[1].id as string })
  expect((await server.send("PATCH", rule, { tag: "geo" })).body.data).toMatchObject({ never_matching: never })
})
