import { paths } from "@sluice/api"
import { afterAll, beforeAll, expect, test } from "vitest"
import {
  envelope,
  startTestServer,
  type TestApp,
  type TestServer,
} from "../../../../../test/support/test-server.testing.ts"

let server: TestServer
let other: TestApp
let operator: string

beforeAll(async () => {
  server = await startTestServer()
  other = await server.newApp()
  operator = await server.running.apps.createToken("operator")
  await server.send("POST", paths.rules, { add: [{ value: "heron", tag: "birds" }, { value: "grey heron" }] })
  await other.send("POST", paths.rules, { add: [{ value: "heron", tag: "theirs" }] })
  await server.ingest(...[9, 10, 8, 11, 7].map((id) => envelope(id, `post ${id}`)), envelope(12, "a heron"))
})

afterAll(() => server[Symbol.asyncDispose]())

const idsOf = (body: { data: { data: { id: string } }[] }): readonly string[] => body.data.map(({ data }) => data.id)

test("stored posts are paged by id, newest first, both ways, as the envelopes that were sent", async () => {
  const first = (await server.call(`${paths.posts}?max_results=2`)).body
  expect(first).toMatchObject({
    data: [envelope(12, "a heron"), envelope(11, "post 11")],
    meta: { result_count: 2, newest_id: "12", oldest_id: "11" },
  })
  expect(first.meta).not.toHaveProperty("previous_token")
  const page = async (token: string) =>
    (await server.call(`${paths.posts}?max_results=2&pagination_token=${token}`)).body
  const second = await page(first.meta.next_token)
  expect(idsOf(second)).toEqual(["10", "9"])
  const third = await page(second.meta.next_token)
  expect(idsOf(third)).toEqual(["8", "7"])
  expect(third.meta).not.toHaveProperty("next_token")
  expect(idsOf(await page(third.meta.previous_token))).toEqual(["10", "9"])
})

test("a page token of another app is refused, and an operator reads pages of its own", async () => {
  const { body } = await server.call(`${paths.posts}?max_results=2`)
  const path = `${paths.posts}?max_results=2&pagination_token=${body.meta.next_token}`
  expect(await other.call(path)).toMatchObject({ status: 400 })
  expect(await server.call(path, { token: operator })).toMatchObject({ status: 400 })
  expect(idsOf((await server.call(paths.posts, { token: operator })).body)).toHaveLength(6)
})

test("a post is shown as it is stored with the rules that it matched, to each app its own, to an operator all", async () => {
  const path = paths.post.replace(":post_id", "12")
  const own = await server.call(path)
  expect(own).toMatchObject({ status: 200, body: { data: envelope(12, "a heron") } })
  expect(own.body.matches).toMatchObject([
    { application_id: server.app.application_id, position: 1, matching_rules: [{ tag: "birds" }] },
  ])
  expect(own.body.matches).toHaveLength(1)
  expect((await other.call(path)).body.matches).toMatchObject([{ matching_rules: [{ tag: "theirs" }] }])
  expect((await server.call(path, { token: operator })).body.matches).toHaveLength(2)
  expect((await server.call(paths.post.replace(":post_id", "7"))).body).toMatchObject({ matches: [] })
})

test("a post that is not stored is not found, and an ingest token reads nothing", async () => {
  expect(await server.call(paths.post.replace(":post_id", "404"))).toMatchObject({ status: 404 })
  expect(await server.call(paths.post.replace(":post_id", "x"))).toMatchObject({ status: 400 })
  const token = await server.running.apps.createToken("ingest")
  for (const path of [paths.posts, paths.post.replace(":post_id", "12")]) {
    expect(await server.call(path, { token })).toMatchObject({ status: 403 })
  }
})
