import { pathOf, paths, type LinkDetailsBody, type WebhookDetailsBody } from "@sluice/api"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startTestServer, type TestServer } from "../../../../../test/support/test-server.testing.ts"

let at: TestServer
let operator: string
/** Oldest first. */
const webhooks: string[] = []

beforeAll(async () => {
  at = await startTestServer()
  operator = await at.running.apps.createToken("operator")
  for (let made = 0; made < 5; made += 1) webhooks.push(await at.webhook())
  for (const id of webhooks.slice(1)) await at.call(pathOf(paths.link, { webhook_id: id }), { method: "POST" })
})
afterAll(() => at[Symbol.asyncDispose]())

async function page(query: string, token = at.app.bearer_token): Promise<WebhookDetailsBody> {
  const { status, body } = await at.call(`${paths.webhookDetails}?${query}`, { token })
  expect(status).toBe(200)
  return body as WebhookDetailsBody
}

const idsOf = ({ data }: WebhookDetailsBody): string[] => data.map(({ id }) => id)

test("webhooks are listed newest first in pages, each with the state of its link if it has one", async () => {
  const newestFirst = webhooks.toReversed()
  const first = await page("max_results=2")
  expect(idsOf(first)).toEqual(newestFirst.slice(0, 2))
  const second = await page(`max_results=2&pagination_token=${first.meta.next_token}`)
  const third = await page(`max_results=2&pagination_token=${second.meta.next_token}`)
  expect([...idsOf(second), ...idsOf(third)]).toEqual(newestFirst.slice(2))
  expect(third.meta).not.toHaveProperty("next_token")
  expect(idsOf(await page(`max_results=2&pagination_token=${third.meta.previous_token}`))).toEqual(idsOf(second))
  expect(first.data[0]).toMatchObject({
    application_id: at.app.application_id,
    valid: true,
    checked_at: expect.stringMatching(/Z$/) as string,
    link: { webhook_id: newestFirst[0], lag: 0, undelivered: 0, fields: [], gaps: [] },
  })
  expect(third.data[0]).not.toHaveProperty("link")
})

test("webhooks are found by a part of their URL, and a token belongs to the search that it came with", async () => {
  expect(idsOf(await page("url=/3"))).toEqual([webhooks[2]])
  expect(idsOf(await page("url=127.0.0.1"))).toHaveLength(5)
  expect(idsOf(await page("url=HTTP"))).toHaveLength(5)
  expect(idsOf(await page("url=%25"))).toEqual([])
  const { meta } = await page("max_results=1")
  const other = `${paths.webhookDetails}?url=x&pagination_token=${meta.next_token}`
  expect((await at.call(other)).status).toBe(400)
})

test("a webhook is named and described: absent texts stay, blank ones are removed", async () => {
  const id = webhooks[0] ?? ""
  const change = (body: object, token = at.app.bearer_token) =>
    at.send("PATCH", pathOf(paths.webhookDetail, { webhook_id: id }), body, token)
  const named = await change({ name: " Zoo ", description: "Posts of the zoo" })
  expect(named.body).toMatchObject({ data: { id, name: "Zoo", description: "Posts of the zoo" } })
  expect((await change({ description: " " }, operator)).body.data).not.toHaveProperty("description")
  expect((await page("max_results=5")).data.find((one) => one.id === id)).toMatchObject({ name: "Zoo" })
  const { body } = await at.call(paths.webhooks)
  expect(JSON.stringify(body), "X's own list stays as it is").not.toContain("Zoo")
  for (const wrong of [{}, { name: "n".repeat(101) }, { description: "d".repeat(501) }, { name: 1 }, { title: "x" }]) {
    expect((await change(wrong)).status, JSON.stringify(wrong)).toBe(400)
  }
  const other = await at.newApp()
  expect((await change({ name: "Mine" }, other.app.bearer_token)).status).toBe(404)
  expect((await change({ name: "" })).body.data).not.toHaveProperty("name")
})

test("an app sees its own webhooks, and an operator all", async () => {
  const other = await at.newApp()
  const theirs = await other.webhook()
  expect(idsOf(await page("", other.app.bearer_token))).toEqual([theirs])
  expect(idsOf(await page("", operator))).toEqual([theirs, ...webhooks.toReversed()])
  const one = (id: string, token: string) => at.call(pathOf(paths.webhookDetail, { webhook_id: id }), { token })
  expect((await one(theirs, other.app.bearer_token)).body).toMatchObject({ data: { id: theirs } })
  expect((await one(theirs, operator)).body).toMatchObject({ data: { id: theirs } })
  expect((await one(theirs, at.app.bearer_token)).status).toBe(404)
  expect((await one("404", operator)).status).toBe(404)
})

test("states of links are returned all at once, or in pages on request", async () => {
  const linked = webhooks.slice(1).toReversed()
  const states = async (query = "", token = at.app.bearer_token): Promise<LinkDetailsBody> =>
    (await at.call(paths.linkDetails + query, { token })).body as LinkDetailsBody
  const ids = ({ data }: LinkDetailsBody): string[] => data.map((state) => state.webhook_id)
  const all = await states()
  expect(ids(all)).toEqual(linked)
  expect(all).not.toHaveProperty("meta")
  const first = await states("?max_results=3")
  expect(ids(first)).toEqual(linked.slice(0, 3))
  const second = await states(`?pagination_token=${first.meta?.next_token}`)
  expect(ids(second)).toEqual(linked.slice(3))
  expect(ids(await states("?max_results=100", operator))).toEqual(linked)
  const { app: other } = await at.newApp()
  expect(ids(await states("?max_results=100", other.bearer_token))).toEqual([])
})
