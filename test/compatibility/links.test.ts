/**
 * Links of webhooks: the members of a link, its creation, and the list of links. Each test bears the id of its row of
 * docs/compatibility.md.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { paths, snowflakeAtMs, type Link } from "@sluice/api"
import { expect } from "vitest"
import { type TestApp } from "../support/test-server.testing.ts"
import {
  addRules,
  appWithReceiver,
  idsIn,
  link,
  linkPath,
  linkedIds,
  linksOf,
  problem,
  test,
  tokenForm,
  webhookPath,
} from "./support.testing.ts"

test("link-members: a link always has all six members", async ({ server }) => {
  await using linked = await appWithReceiver(server)
  const bare = await linked.webhook()
  const chosen = await linked.webhook()
  await link(linked, bare)
  await link(linked, chosen, "?tweet.fields=lang")
  const expected = [
    {
      ...identityOf(linked),
      created_at: expect.any(String) as string,
      fields: ["tweet.fields=lang"],
      webhook_id: chosen,
    },
    { ...identityOf(linked), created_at: expect.any(String) as string, fields: [], webhook_id: bare },
  ]
  expect(await linksOf(linked)).toStrictEqual(expected)
  expect(await linksOf(linked, "?max_results=10")).toStrictEqual(expected)
})

test("link-created-at: a link's created_at is the moment of linking, in UTC with milliseconds and Z", async ({
  server,
}) => {
  await using linked = await appWithReceiver(server)
  const id = await linked.webhook()
  await sleep(5)
  const beforeMs = Date.now()
  await link(linked, id)
  const afterMs = Date.now()
  const [{ created_at: createdAt }] = (await linksOf(linked)) as [Link]
  expect(createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  expect(Date.parse(createdAt)).toBeGreaterThanOrEqual(beforeMs)
  expect(Date.parse(createdAt)).toBeLessThanOrEqual(afterMs)
})

test("link-fields: a link's fields are its parameters in the order given, with a separate entry for each further value", async ({
  server,
}) => {
  await using linked = await appWithReceiver(server)
  const cases: readonly (readonly [query: string, fields: readonly string[]])[] = [
    ["", []],
    [
      "?expansions=author_id&user.fields=username,name,id",
      ["expansions=author_id", "user.fields=username", "name", "id"],
    ],
    [
      "?user.fields=name&tweet.fields=lang,created_at&expansions=author_id",
      ["user.fields=name", "tweet.fields=lang", "created_at", "expansions=author_id"],
    ],
    ["?tweet.fields=lang%2Ccreated_at", ["tweet.fields=lang", "created_at"]],
  ]
  for (const [query, fields] of cases) {
    const id = await linked.webhook()
    await link(linked, id, query)
    expect((await linksOf(linked))[0]).toMatchObject({ webhook_id: id, fields })
  }
})

test("link-ids: the ids of a link are snowflakes of this server, as strings of 1 to 19 digits", async ({ server }) => {
  const startedMs = Date.now()
  await using linked = await appWithReceiver(server)
  await link(linked, await linked.webhook())
  const endedMs = Date.now()
  const [listed] = (await linksOf(linked)) as [Link]
  expect(listed).toMatchObject(identityOf(linked))
  const ids = [listed.application_id, listed.business_user_id, listed.instance_id, listed.webhook_id]
  for (const id of ids) {
    expect(id).toMatch(/^[0-9]{1,19}$/)
    // With a database the time is that of its clock, of which a process knows to the millisecond at best.
    expect(snowflakeAtMs(id)).toBeGreaterThanOrEqual(startedMs - 100)
    expect(snowflakeAtMs(id)).toBeLessThanOrEqual(endedMs + 100)
  }
  expect(new Set(ids).size).toBe(4)
})

test("link-active: the server lists a link until its deletion, also while its webhook is invalid", async ({
  server,
}) => {
  await using linked = await appWithReceiver(server)
  const kept = await linked.webhook()
  const gone = await linked.webhook()
  await link(linked, kept)
  await link(linked, gone)
  linked.receiver.passesChallenges = false
  for (const id of [kept, gone]) {
    expect((await linked.send("PUT", webhookPath(id))).body).toEqual({ data: { valid: false } })
  }
  const webhooks = (await linked.call(paths.webhooks)).body.data as { valid: boolean }[]
  expect(webhooks.map(({ valid }) => valid)).toEqual([false, false])
  expect(await linkedIds(linked)).toEqual([gone, kept])
  expect((await linked.send("DELETE", linkPath(gone))).body).toEqual({ data: { deleted: true } })
  expect(await linkedIds(linked)).toEqual([kept])
})

test("link-order: lists have the newest entry first, links included", async ({ server }) => {
  await using linked = await appWithReceiver(server)
  const [first, second, third] = [await linked.webhook(), await linked.webhook(), await linked.webhook()]
  for (const id of [second, first, third]) await link(linked, id)
  expect(await linkedIds(linked)).toEqual([third, first, second])
  expect(await linkedIds(linked, "?max_results=3")).toEqual([third, first, second])
  expect(idsIn((await linked.call(paths.webhooks)).body.data)).toEqual([third, second, first])
  await addRules(linked, { value: "one" })
  await addRules(linked, { value: "two" }, { value: "three" })
  const rules = (await linked.call(paths.rules)).body.data as { value: string }[]
  expect(rules.map(({ value }) => value)).toEqual(["three", "two", "one"])
})

test("link-again: linking again with the same fields changes nothing, and with other fields is a conflict", async ({
  server,
}) => {
  await using linked = await appWithReceiver(server)
  const id = await linked.webhook()
  await link(linked, id, "?user.fields=username,name&expansions=author_id")
  const before = await linksOf(linked)
  await sleep(5)
  await link(linked, id, "?user.fields=username,name&expansions=author_id")
  await link(linked, id, "?user.fields=username%2Cname&expansions=author_id")
  expect(await linksOf(linked)).toEqual(before)
  for (const other of ["", "?user.fields=username&expansions=author_id", "?expansions=author_id"]) {
    const refused = await linked.send("POST", linkPath(id) + other)
    expect(refused.status).toBe(409)
    expect(refused.body).toEqual(
      problem(
        409,
        "Conflict",
        `The webhook [${id}] is linked already, with [user.fields=username,name&expansions=author_id]. ` +
          "To change what its deliveries show, delete the link first and create it again.",
        "https://api.x.com/2/problems/conflict",
      ),
    )
  }
  expect(await linksOf(linked)).toEqual(before)
  await linked.send("DELETE", linkPath(id))
  await link(linked, id)
  expect(await linksOf(linked)).toMatchObject([{ webhook_id: id, fields: [] }])
})

test("links-unpaged: a request without parameters gets every link in one response, without meta", async ({
  server,
}) => {
  await using linked = await appWithReceiver(server)
  const ids: string[] = []
  while (ids.length < 101) ids.push(await linked.webhook())
  await Promise.all(ids.map((id) => link(linked, id)))
  const { body } = await linked.call(paths.links)
  expect(Object.keys(body)).toEqual(["data"])
  const listed = body.data.links as Link[]
  expect(listed).toHaveLength(101)
  expect(new Set(listed.map((one) => one.webhook_id))).toEqual(new Set(ids))
})

test("links-paged: a request with max_results or pagination_token gets a page of links with meta", async ({
  server,
}) => {
  await using linked = await appWithReceiver(server)
  const ids: string[] = []
  for (let count = 0; count < 5; count++) {
    ids.unshift(await linked.webhook())
    await link(linked, ids[0] ?? "")
  }
  const token = expect.stringMatching(tokenForm) as string
  const first = await linked.call(`${paths.links}?max_results=2`)
  expect(first.body.meta).toEqual({ result_count: 2, next_token: token })
  const second = await linked.call(`${paths.links}?max_results=2&pagination_token=${first.body.meta.next_token}`)
  expect(second.body.meta).toEqual({ result_count: 2, next_token: token, previous_token: token })
  const last = await linked.call(`${paths.links}?pagination_token=${second.body.meta.next_token}`)
  expect(last.body.meta).toEqual({ result_count: 1, previous_token: token })
  const pages = [first, second, last].map(({ body }) => (body.data.links as Link[]).map((one) => one.webhook_id))
  expect(pages).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)])
  for (const size of ["1", "100"]) {
    expect((await linked.call(`${paths.links}?max_results=${size}`)).status).toBe(200)
  }
})

test("link-list-body: data.links holds the list of links", async ({ server }) => {
  await using linked = await appWithReceiver(server)
  expect((await linked.call(paths.links)).text).toBe('{"data":{"links":[]}}')
  const id = await linked.webhook()
  await link(linked, id)
  const { body } = await linked.call(paths.links)
  expect(body).toEqual({ data: { links: [expect.objectContaining({ webhook_id: id })] } })
})

function identityOf({ app }: TestApp): Pick<Link, "application_id" | "business_user_id" | "instance_id"> {
  const { application_id, business_user_id, instance_id } = app
  return { application_id, business_user_id, instance_id }
}
