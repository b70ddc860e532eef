/** Requests and lines that ask for deletions and are wrong: each is refused with its reason, and deletes nothing. */
import { paths, pathOf } from "@sluice/api"
import { afterAll, beforeAll, expect, test } from "vitest"
import { envelope, startTestServer, type TestServer } from "../../../../../test/support/test-server.testing.ts"

let at: TestServer
let operator: string

beforeAll(async () => {
  at = await startTestServer()
  operator = await at.running.apps.createToken("operator")
  await at.ingest(...["1", "2", "3"].map((id) => envelope(Number(id), `post ${id}`)))
})

afterAll(() => at[Symbol.asyncDispose]())

async function mustBeWhole(): Promise<void> {
  const { body } = await at.call(`${paths.postsById}?ids=1,2,3`)
  expect(body.data.map(({ id }: { id: string }) => id)).toEqual(["1", "2", "3"])
}

const thousand = Array.from({ length: 1_001 }, (_, index) => String(index + 1))

test.each<[body: unknown, message: string]>([
  [{}, "Give `post_ids`, `user_ids` or both."],
  [{ post_ids: [] }, "post_ids"],
  [{ user_ids: [] }, "user_ids"],
  [{ post_ids: "1" }, "post_ids"],
  [{ post_ids: [1] }, "post_ids"],
  [{ post_ids: [""] }, "post_ids"],
  [{ post_ids: ["-1"] }, "post_ids"],
  [{ post_ids: ["12345678901234567890"] }, "post_ids"],
  [{ post_ids: ["9223372036854775808"] }, "post_ids"],
  [{ post_ids: ["1", "x"] }, "post_ids"],
  [{ post_ids: [null] }, "post_ids"],
  [{ post_ids: thousand }, "post_ids"],
  [{ user_ids: thousand }, "user_ids"],
  [{ ids: ["1"] }, "ids"],
  [{ post_ids: ["1"], all: true }, "all"],
  [["1"], ""],
  ["{", ""],
])("the request %j is refused, and deletes nothing", async (body, message) => {
  const refused = await at.send("POST", paths.deletions, body, operator)
  expect(refused.status, refused.text).toBe(400)
  expect(refused.text).toContain(message)
  await mustBeWhole()
})

test("only an operator's or an ingest token deletes posts of everybody, and only a user's or an app's its own", async () => {
  const { app } = await at.newApp()
  for (const [token, status] of [
    [app.bearer_token, 403],
    ["no-token", 401],
    [null, 401],
  ] as const) {
    const headers = { "content-type": "application/json" }
    const body = JSON.stringify({ post_ids: ["1"] })
    expect((await at.call(paths.deletions, { method: "POST", token, headers, body })).status).toBe(status)
  }
  const own = pathOf(paths.postById, { id: "1" })
  expect((await at.call(own, { method: "DELETE", token: operator })).status).toBe(403)
  expect((await at.call(own, { method: "DELETE" })).status).toBe(403)
  for (const id of ["x", "-1", "9223372036854775808", "12345678901234567890"]) {
    expect((await at.call(pathOf(paths.postById, { id }), { method: "DELETE" })).status).toBe(400)
  }
  await mustBeWhole()
})

test.each<[line: unknown, title: string]>([
  [{ delete: {} }, "Invalid Notice"],
  [{ delete: null }, "Invalid Notice"],
  [{ delete: { status: {} } }, "Invalid Notice"],
  [{ delete: { status: { id: 1 } } }, "Invalid Notice"],
  [{ delete: { status: { id_str: "" } } }, "Invalid Notice"],
  [{ delete: { status: { id_str: "01" } } }, "Invalid Notice"],
  [{ delete: { status: { id_str: "9223372036854775808" } } }, "Invalid Notice"],
  [{ delete: { status: [{ id_str: "1" }] } }, "Invalid Notice"],
  [{ data: { delete: {} } }, "Invalid Notice"],
  [{ data: { delete: { tweet: { id: ["1"] } } } }, "Invalid Notice"],
  [{ data: { delete: { tweet: { id: "1; DROP TABLE posts" } } } }, "Invalid Notice"],
  [{ data: { user_delete: { user: {} } } }, "Invalid Notice"],
  [{ data: { user_delete: { user: { id: "-7" } } } }, "Invalid Notice"],
  [{ data: { withheld: { tweet: { id: "1" } } } }, "Invalid Notice"],
  [{ limit: { track: 5 } }, "Invalid Notice"],
])("the line %j is rejected, and deletes nothing", async (line, title) => {
  const { body } = await at.ingest(line)
  expect(body).toMatchObject({ lines: 1, accepted: 0, rejected_count: 1, rejected: [{ line: 1, title }] })
  await mustBeWhole()
})

test("a post whose text is a notice, or that has its members next to it, is a post", async () => {
  const text = JSON.stringify({ delete: { status: { id_str: "1" } } })
  const { body } = await at.ingest(
    { data: { id: "11", text } },
    { data: { id: "12", text: "x", delete: { tweet: { id: "1" } } } },
  )
  expect(body).toMatchObject({ accepted: 2 })
  expect(body.deleted).toBeUndefined()
  await mustBeWhole()
})

test("10,000 lines that delete unknown posts, many of them twice, are counted, and nothing else is gone", async () => {
  const lines = Array.from({ length: 10_000 }, (_, index) => ({
    delete: { status: { id_str: String(1_000_000 + (index % 9_000)) } },
  }))
  const { body } = await at.ingest(...lines, envelope(1_000_005, "it comes again"), envelope(4, "another"))
  expect(body).toMatchObject({ lines: 10_002, deleted: 10_000, accepted: 1, duplicates: 1, rejected_count: 0 })
  const metrics = (await at.call(paths.metrics, { token: operator })).text
  expect(metrics).toContain('sluice_deletions_total{way="line"} 10000')
  await mustBeWhole()
})

test("a request with an id twice, and with a post that is gone, deletes each once", async () => {
  await at.ingest(envelope(21, "one"), envelope(22, "two"))
  const { body } = await at.send("POST", paths.deletions, { post_ids: ["21", "21", "22", "999"] }, operator)
  expect(body).toEqual({ data: { posts_deleted: 2, users_deleted: 0 } })
  const again = await at.send("POST", paths.deletions, { post_ids: ["21"] }, operator)
  expect(again.body).toEqual({ data: { posts_deleted: 0, users_deleted: 0 } })
  await at.ingest(envelope(23, "three"))
  const spelled = await at.send("POST", paths.deletions, { post_ids: ["23", "023"] }, operator)
  expect(spelled.body).toEqual({ data: { posts_deleted: 1, users_deleted: 0 } })
})
