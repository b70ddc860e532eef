import { gzipSync } from "node:zlib"
import { paths } from "@sluice/api"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startTestServer, type TestServer } from "../../../../test/support/test-server.testing.ts"
import { faultsBody, problemBody } from "./problem-bodies.testing.ts"

let at: TestServer
beforeAll(async () => {
  at = await startTestServer({ "rules-per-app-max": "5", "rule-characters-max": "40" })
})
afterAll(async () => {
  await at[Symbol.asyncDispose]()
})

const sentPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

interface RulesResponse {
  readonly data?: readonly { id: string; value: string; tag?: string }[]
  readonly meta: {
    readonly sent: string
    readonly summary: unknown
    readonly result_count: number
    readonly next_token?: string
  }
  readonly errors?: readonly Record<string, unknown>[]
}

async function change(body: unknown, query = ""): Promise<{ status: number; body: RulesResponse }> {
  const { status, body: response } = await at.send("POST", `${paths.rules}${query}`, body)
  return { status, body: response as RulesResponse }
}

async function rules(query = ""): Promise<RulesResponse> {
  const { status, body } = await at.call(`${paths.rules}${query}`)
  expect(status).toBe(200)
  return body as RulesResponse
}

describe("rules", () => {
  test("rules are added, listed newest first, counted and deleted", async () => {
    expect(await rules()).toEqual({
      meta: { sent: expect.stringMatching(sentPattern), result_count: 0 },
    })
    const added = await change({ add: [{ value: "cat", tag: "pets" }, { value: "dog" }] })
    expect(added.status).toBe(201)
    expect(added.body).toEqual({
      data: [
        { id: expect.stringMatching(/^\d+$/), value: "cat", tag: "pets" },
        { id: expect.stringMatching(/^\d+$/), value: "dog" },
      ],
      meta: {
        sent: expect.stringMatching(sentPattern),
        summary: { created: 2, not_created: 0, valid: 2, invalid: 0 },
      },
    })
    expect((await rules()).data).toEqual(added.body.data?.toReversed())
    expect((await at.call(paths.ruleCounts)).body).toEqual({
      data: {
        all_project_client_apps: [{ client_app_id: at.app.application_id, rule_count: 2 }],
        cap_per_client_app: "5",
        cap_per_project: "5",
        client_app_rules_count: { client_app_id: at.app.application_id, rule_count: 2 },
        project_rules_count: "2",
      },
    })
    const byId = await change({ delete: { ids: [added.body.data?.[0]?.id] } })
    expect(byId.status).toBe(200)
    expect(byId.body).toEqual({ meta: { sent: expect.any(String), summary: { deleted: 1, not_deleted: 0 } } })
    const byValue = await change({ delete: { values: ["dog", "dog", "no such"] } })
    expect(byValue.body.meta.summary).toEqual({ deleted: 1, not_deleted: 1 })
    expect(byValue.body.errors).toEqual([
      {
        value: "no such",
        resource_type: "rule",
        parameter: "values",
        resource_id: "no such",
        title: "Not Found Error",
        type: "https://api.x.com/2/problems/resource-not-found",
        detail: "Rule does not exist",
        status: 404,
        message: "Rule does not exist",
      },
    ])
    expect((await rules()).meta.result_count).toBe(0)
  })

  test("in a batch each invalid rule has an error, and the valid ones are kept", async () => {
    const { status, body } = await change({
      add: [
        { value: "kept" },
        { value: "form:user" },
        { value: "kept" },
        { value: "x".repeat(41) },
        { value: "tagged", tag: "t".repeat(256) },
        { value: "kept too", tag: "" },
      ],
    })
    expect(status).toBe(201)
    expect(body.data?.map(({ value }) => value)).toEqual(["kept", "kept too"])
    expect(body.data?.[1]).not.toHaveProperty("tag")
    expect(body.meta.summary).toEqual({ created: 2, not_created: 4, valid: 2, invalid: 4 })
    expect(body.errors).toHaveLength(4)
    const [unknown, twice, long, tag] = body.errors ?? []
    expect(unknown).toMatchObject({
      value: "form:user",
      title: "UnprocessableEntity",
      type: "https://api.x.com/2/problems/invalid-rules",
      status: 400,
      details: [
        "Reference to invalid operator 'form' (at position 1). Did you mean 'from'?",
        "Reference to invalid field 'form' (at position 1).",
      ],
    })
    expect(twice).toEqual({
      value: "kept",
      title: "DuplicateRule",
      type: "https://api.x.com/2/problems/duplicate-rules",
      detail: "The rule stands more than once in this request.",
      status: 409,
      message: "The rule stands more than once in this request.",
    })
    expect(long?.["detail"]).toContain("It is 41 characters while the maximum allowed is 40 (at position 1)")
    expect(tag?.["detail"]).toBe("The tag is 256 characters while the maximum allowed is 255")
    for (const error of body.errors ?? []) {
      expect(error).toMatchObject({
        title: expect.any(String),
        type: expect.any(String),
        detail: expect.any(String),
        status: expect.any(Number),
      })
    }
    const again = await change({ add: [{ value: "kept", tag: "other" }] })
    expect(again.status).toBe(200)
    expect(again.body).toEqual({
      meta: { sent: expect.any(String), summary: { created: 0, not_created: 1, valid: 0, invalid: 1 } },
      errors: [
        {
          value: "kept",
          id: body.data?.[0]?.id,
          title: "DuplicateRule",
          type: "https://api.x.com/2/problems/duplicate-rules",
          detail: `The app has this rule already, as [${body.data?.[0]?.id}].`,
          status: 409,
          message: `The app has this rule already, as [${body.data?.[0]?.id}].`,
        },
      ],
    })
    await at.call(`${paths.rules}?delete_all=true`, { method: "POST" })
  })

  test("each rule above the cap is refused", async () => {
    const { status, body } = await change({
      add: ["a1", "b2", "c3", "d4", "e5", "f6"].map((value) => ({ value })),
    })
    expect(status).toBe(201)
    expect(body.meta.summary).toEqual({ created: 5, not_created: 1, valid: 5, invalid: 1 })
    expect(body.errors).toEqual([
      {
        value: "f6",
        title: "RuleCapExceeded",
        type: "https://api.x.com/2/problems/rule-cap",
        detail: "The app may have 5 rules. Delete some before you add more.",
        status: 403,
        message: "The app may have 5 rules. Delete some before you add more.",
      },
    ])
    const all = await at.call(`${paths.rules}?delete_all=true`, { method: "POST" })
    expect((all.body as RulesResponse).meta.summary).toEqual({ deleted: 5, not_deleted: 0 })
  })

  test("a dry run returns what the change would return, and stores nothing", async () => {
    const added = await change({ add: [{ value: "dry" }, { value: "-dry" }] }, "?dry_run=true")
    expect(added.status).toBe(201)
    expect(added.body.meta.summary).toEqual({ created: 1, not_created: 1, valid: 1, invalid: 1 })
    expect((await rules()).meta.result_count).toBe(0)
    await change({ add: [{ value: "wet" }] })
    const deleted = await change({ delete: { values: ["wet"] } }, "?dry_run=true")
    expect(deleted.body.meta.summary).toEqual({ deleted: 1, not_deleted: 0 })
    const all = await at.call(`${paths.rules}?delete_all=true&dry_run=true`, { method: "POST" })
    expect((all.body as RulesResponse).meta.summary).toEqual({ deleted: 1, not_deleted: 0 })
    expect((await rules()).meta.result_count).toBe(1)
    await at.send("POST", `${paths.rules}?delete_all=true`, {
      delete: undefined,
    })
    expect((await rules()).meta.result_count).toBe(0)
  })

  test("rules are listed in pages, or by id with an error for each that is missing", async () => {
    const { body } = await change({ add: ["one", "two", "three"].map((value) => ({ value })) })
    const ids = body.data?.map(({ id }) => id) ?? []
    const first = await rules("?max_results=2")
    expect(first.data?.map(({ value }) => value)).toEqual(["three", "two"])
    const second = await rules(`?max_results=2&pagination_token=${first.meta.next_token}`)
    expect(second.data?.map(({ value }) => value)).toEqual(["one"])
    expect(second.meta).toEqual({
      sent: expect.any(String),
      result_count: 1,
      previous_token: expect.any(String),
    })
    const chosen = await rules(`?ids=${ids[0]},12,0${ids[2]}`.replace(`0${ids[2]}`, String(ids[2])))
    expect(chosen.data?.map(({ value }) => value)).toEqual(["three", "one"])
    expect(chosen.errors).toEqual([expect.objectContaining({ parameter: "ids", resource_id: "12", status: 404 })])
    await at.call(`${paths.rules}?delete_all=true`, { method: "POST" })
  })

  test("a rule is tested on posts of the request and on recent ones", async () => {
    const posts = [
      { data: { id: "1", text: "a cat sat" } },
      { data: { id: "2", text: "a dog sat", entities: 5, public_metrics: null } },
    ]
    const given = await at.send("POST", paths.ruleTest, { value: "cat", posts })
    expect(given.status).toBe(200)
    expect(given.body).toEqual({
      data: [{ id: "1", spans: [{ operator: "cat", where: "text", start: 2, end: 5 }] }],
      meta: { tested: 2, matched: 1, share: 0.5, cost: 5 },
      warnings: [],
    })
    const recent = await at.send("POST", paths.ruleTest, { value: "cat", recent: 10 })
    expect(recent.body).toEqual({ data: [], meta: { tested: 0, matched: 0, share: 0, cost: 5 }, warnings: [] })
    const bad = await at.send("POST", paths.ruleTest, { value: "form:x", recent: 10 })
    expect(bad.status).toBe(400)
    expect(bad.body).toMatchObject({ title: "UnprocessableEntity", errors: [{ value: "form:x" }] })
  })
})

describe("links", () => {
  test("links are created, shown with all six members, listed in pages and deleted", async () => {
    const empty = await at.call(paths.links)
    expect(empty.body).toEqual({ data: { links: [] } })
    const [plain, fielded] = [await at.webhook(), await at.webhook()]
    const made = await at.call(`${paths.links}/${plain}`, { method: "POST" })
    expect([made.status, made.body]).toEqual([200, { data: { provisioned: true } }])
    const query = "?expansions=author_id&user.fields=username%2Cname,id"
    await at.call(`${paths.links}/${fielded}${query}`, { method: "POST" })
    const link = (webhook_id: string, fields: readonly string[]): unknown => ({
      application_id: at.app.application_id,
      business_user_id: at.app.business_user_id,
      created_at: expect.stringMatching(sentPattern),
      fields,
      instance_id: at.app.instance_id,
      webhook_id,
    })
    const newest = link(fielded, ["expansions=author_id", "user.fields=username", "name", "id"])
    expect((await at.call(paths.links)).body).toEqual({ data: { links: [newest, link(plain, [])] } })

    const first = await at.call(`${paths.links}?max_results=1`)
    expect(first.body).toEqual({
      data: { links: [newest] },
      meta: { result_count: 1, next_token: expect.any(String) },
    })
    const { next_token } = (first.body as { meta: { next_token: string } }).meta
    const second = await at.call(`${paths.links}?pagination_token=${next_token}`)
    expect(second.body).toEqual({
      data: { links: [link(plain, [])] },
      meta: { result_count: 1, previous_token: expect.any(String) },
    })

    const same = await at.call(`${paths.links}/${fielded}?expansions=author_id&user.fields=username,name,id`, {
      method: "POST",
    })
    expect([same.status, same.body]).toEqual([200, { data: { provisioned: true } }])
    const otherwise = await at.call(`${paths.links}/${fielded}`, { method: "POST" })
    expect(otherwise.status).toBe(409)
    expect(otherwise.body).toEqual(
      problemBody(
        409,
        "Conflict",
        `The webhook [${fielded}] is linked already, with [expansions=author_id&user.fields=username,name,id]. To change what its deliveries show, delete the link first and create it again.`,
        "https://api.x.com/2/problems/conflict",
      ),
    )

    const deleted = await at.call(`${paths.links}/${plain}`, { method: "DELETE" })
    expect([deleted.status, deleted.body]).toEqual([200, { data: { deleted: true } }])
    expect((await at.call(paths.links)).body).toEqual({ data: { links: [newest] } })
    expect((await at.call(`${paths.links}/${plain}`, { method: "DELETE" })).status).toBe(404)
    expect((await at.call(`${paths.webhooks}/${fielded}`, { method: "DELETE" })).body).toEqual({
      data: { deleted: true },
    })
    expect((await at.call(paths.links)).body).toEqual({ data: { links: [] } })
  })
})

describe("posts", () => {
  const envelope = (id: string, more: object = {}): string =>
    JSON.stringify({ data: { id, text: `post ${id}`, author_id: "5", ...more } })
  const ingest = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}, query = "") =>
    at.call(`${paths.posts}${query}`, {
      method: "POST",
      headers: { "content-type": "application/x-ndjson", ...headers },
      body,
    })

  test("posts are ingested, and each invalid line is reported by its number", async () => {
    const { status, body } = await ingest(`${envelope("101")}\nnonsense\n\n${envelope("102")}\r\n${envelope("101")}`)
    expect(status).toBe(200)
    expect(body).toMatchObject({ accepted: 2, duplicates: 1, rejected_count: 1, rejected: [{ line: 2 }] })
  })

  test("thousands of posts are ingested from one compressed body", async () => {
    const lines = Array.from({ length: 3_000 }, (_, index) => envelope(String(10_000 + index), { author_id: "6" }))
    const { status, body } = await ingest(Uint8Array.from(gzipSync(lines.join("\n"))), {
      "content-encoding": "gzip",
    })
    expect(status).toBe(200)
    expect(body).toEqual({ lines: 3_000, accepted: 3_000, duplicates: 0, rejected: [], rejected_count: 0 })
  })

  test("with ack=batch every durable batch has a line, and the last line is marked as the last", async () => {
    const lines = Array.from({ length: 50 }, (_, index) => envelope(String(20_000 + index)))
    const response = await ingest(lines.join("\n"), {}, "?ack=batch")
    expect(response.status).toBe(200)
    expect(response.headers.get("content-type")).toBe("application/x-ndjson; charset=utf-8")
    const said = response.text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { accepted: number; done?: true })
    const last = said.at(-1)
    expect(last).toEqual({
      lines: 50,
      accepted: 50,
      duplicates: 0,
      rejected: [],
      rejected_count: 0,
      done: true,
    })
    expect(said.slice(0, -1).reduce((sum, { accepted }) => sum + accepted, 0)).toBe(50)
  })

  test.each([
    ["not gzip", "gzip", Buffer.from("not gzip at all")],
    ["cut-off gzip", "gzip", gzipSync("x".repeat(1_000)).subarray(0, -5)],
  ])("a body that is [%s] is refused with 400", async (_name, encoding, body) => {
    const response = await ingest(Uint8Array.from(body), { "content-encoding": encoding })
    expect(response.status).toBe(400)
    expect(response.body).toEqual(
      problemBody(
        400,
        "Bad Request",
        "The body is not valid gzip. What came before the fault may be stored; it is safe to send it again.",
      ),
    )
  })

  test("another encoding or content type is refused with 415", async () => {
    expect((await ingest("", { "content-encoding": "br" })).body).toEqual(
      problemBody(415, "Unsupported Media Type", "The content encoding of a body of posts is gzip, or none."),
    )
    const typed = problemBody(
      415,
      "Unsupported Media Type",
      "This route takes a body of the content type application/x-ndjson or application/jsonl, and of no other.",
    )
    expect((await at.send("POST", paths.posts, {})).body).toEqual(typed)
    expect((await ingest(envelope("103"), { "content-type": "application/jsonl" })).status).toBe(200)
  })

  test("a user's posts come in pages, and an unknown user is an error within a 200", async () => {
    await ingest(
      [envelope("201"), envelope("202", { in_reply_to_user_id: "9" }), envelope("203", { lang: "de" })].join("\n"),
    )
    const page = await at.call("/2/users/5/tweets?since_id=200&until_id=204&tweet.fields=lang&exclude=replies")
    expect(page.status).toBe(200)
    expect(page.headers.get("content-type")).toBe("application/json; charset=utf-8")
    expect(page.body).toEqual({
      data: [
        { id: "203", text: "post 203", edit_history_tweet_ids: ["203"], lang: "de" },
        { id: "201", text: "post 201", edit_history_tweet_ids: ["201"] },
      ],
      meta: { result_count: 2, newest_id: "203", oldest_id: "201" },
    })
    const unknownUser = await at.call("/2/users/404/tweets")
    expect(unknownUser.status).toBe(200)
    expect(unknownUser.body).toEqual({
      errors: [
        {
          resource_type: "user",
          parameter: "id",
          resource_id: "404",
          value: "404",
          title: "Not Found Error",
          type: "https://api.x.com/2/problems/resource-not-found",
          detail: "Could not find user with id: [404].",
          status: 404,
          message: "Could not find user with id: [404].",
        },
      ],
    })
  })

  test("a page token is valid with its other parameters in any order, and not with different ones", async () => {
    const first = await at.call("/2/users/6/tweets?max_results=5&exclude=replies,retweets&tweet.fields=id,lang")
    const { next_token } = (first.body as { meta: { next_token: string } }).meta
    const same = await at.call(
      `/2/users/6/tweets?tweet.fields=lang,id&exclude=retweets,replies&max_results=7&pagination_token=${next_token}`,
    )
    expect(same.status).toBe(200)
    expect((same.body as { data: { id: string }[] }).data[0]?.id).toBe("12994")
    const changed = await at.call(`/2/users/6/tweets?pagination_token=${next_token}`)
    expect(changed.status).toBe(400)
    expect(changed.body).toMatchObject({
      title: "Invalid Request",
      errors: [{ parameters: { pagination_token: [next_token] } }],
    })
  })
})

describe("service", () => {
  test("the service routes show that the server is alive and ready, and its metrics", async () => {
    expect((await at.call(paths.healthz, { token: null })).body).toEqual({ status: "ok" })
    expect((await at.call(paths.readyz, { token: null })).body).toEqual({ status: "ready" })
    const metrics = await at.call(paths.metrics, { token: null })
    expect(metrics.headers.get("content-type")).toContain("text/plain")
    expect(metrics.text).toContain('route="/2/tweets/search/webhooks"')
  })

  test("the description has every route, with the parameters that it validates", async () => {
    const { status, body } = await at.call(paths.openapi, { token: null })
    expect(status).toBe(200)
    const { paths: described } = body as {
      paths: Record<string, Record<string, { parameters?: { name: string }[] }>>
    }
    const expected = Object.values(paths).map((path) => path.replaceAll(/:(\w+)/g, "{$1}"))
    expect(Object.keys(described).toSorted()).toEqual(expected.toSorted())
    expect(described["/2/tweets/search/webhooks"]?.["get"]?.parameters?.map(({ name }) => name)).toEqual([
      "max_results",
      "pagination_token",
    ])
    expect(body).toMatchObject({ openapi: "3.1.0" })
  })

  test("a response has the default headers", async () => {
    const { headers } = await at.call(paths.links)
    const resetSeconds = Number(headers.get("x-rate-limit-reset"))
    expect(Number(headers.get("x-rate-limit-remaining"))).toBeGreaterThan(0)
    expect(headers.get("x-rate-limit-limit")).toBe(headers.get("x-rate-limit-remaining"))
    expect(resetSeconds % 900).toBe(0)
    expect(headers.get("cache-control")).toBe("no-cache, no-store, max-age=0")
  })
})

test("an invalid field selection of a link is refused with all its faults, and nothing is linked", async () => {
  const id = await at.webhook()
  const { status, body } = await at.call(`${paths.links}/${id}?place.fields=planet&max_results=5`, {
    method: "POST",
  })
  expect(status).toBe(400)
  expect(body).toEqual(
    faultsBody([
      {
        message:
          "The `place.fields` query parameter value [planet] is not one of [contained_within,country,country_code,full_name,geo,id,name,place_type]",
        parameters: { "place.fields": ["planet"] },
      },
      {
        message:
          "The query parameter [max_results] is not one of [webhook_id,tweet.fields,post.fields,user.fields,media.fields,place.fields,poll.fields,expansions]",
        parameters: { max_results: ["5"] },
      },
    ]),
  )
  expect((await at.call(paths.links)).body).toEqual({ data: { links: [] } })
})
