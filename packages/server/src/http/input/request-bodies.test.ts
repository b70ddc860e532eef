/** Bodies over HTTP: of another shape than the schema, empty, unexpected, of another content type, and too large. */
import { paths } from "@sluice/api"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startTestServer, type TestServer } from "../../../../../test/support/test-server.testing.ts"
import { rawResponses } from "../../../../../test/support/raw-http.testing.ts"
import { faultsBody, problemBody } from "../problem-bodies.testing.ts"

let at: TestServer
beforeAll(async () => {
  at = await startTestServer()
})
afterAll(async () => {
  expect((await at.call(paths.rules)).body).toMatchObject({ meta: { result_count: 0 } })
  await at[Symbol.asyncDispose]()
})

const json = { "content-type": "application/json" }

const schema = "JSON doesn't match expected schema"

/** JSON that does not match the schema of the route, and the faults that it is refused with. */
const misshapen: readonly (readonly [string, string, readonly Parameters<typeof faultsBody>[0][number][]])[] = [
  [
    "null",
    "null",
    [
      {
        message: schema,
        parameters: { add: [], delete: [] },
        detail: "Send `add` or `delete`, or the parameter delete_all=true.",
      },
    ],
  ],
  ["a list", "[]", [{ message: schema, detail: "The body must be an object." }]],
  ["a string", '"add"', [{ message: schema, detail: "The body must be an object." }]],
  [
    "nothing in it",
    "{}",
    [
      {
        message: schema,
        parameters: { add: [], delete: [] },
        detail: "Send `add` or `delete`, or the parameter delete_all=true.",
      },
    ],
  ],
  [
    "both",
    '{"add":[{"value":"cat"}],"delete":{"ids":["1"]}}',
    [
      {
        message: schema,
        parameters: { add: [], delete: [] },
        detail: "Send either `add` or `delete`, not both.",
      },
    ],
  ],
  [
    "an unknown member",
    '{"adds":[]}',
    [
      {
        message: schema,
        parameters: { adds: [] },
        detail: "`adds` is not known here; known are `add`, `delete`.",
      },
    ],
  ],
  [
    "add that is no list",
    '{"add":{"value":"cat"}}',
    [{ message: schema, parameters: { add: [] }, detail: "`add` must be an array." }],
  ],
  [
    "add of nothing",
    '{"add":[]}',
    [{ message: schema, parameters: { add: [] }, detail: "`add` must hold at least 1." }],
  ],
  [
    "add of null",
    '{"add":null}',
    [
      {
        message: schema,
        parameters: { add: [], delete: [] },
        detail: "Send `add` or `delete`, or the parameter delete_all=true.",
      },
    ],
  ],
  [
    "a rule as a string",
    '{"add":["cat"]}',
    [{ message: schema, parameters: { add: [] }, detail: "`add[0]` must be an object." }],
  ],
  [
    "no value",
    '{"add":[{"tag":"x"}]}',
    [
      {
        message: "field is required",
        parameters: { "add.value": [] },
        detail: "`add[0].value` is missing.",
      },
    ],
  ],
  [
    "no value in the third, a number in the second",
    '{"add":[{"value":"cat"},{"value":5},{}]}',
    [
      { message: schema, parameters: { "add.value": [] }, detail: "`add[1].value` must be a string." },
      {
        message: "field is required",
        parameters: { "add.value": [] },
        detail: "`add[2].value` is missing.",
      },
    ],
  ],
  [
    "a value of null",
    '{"add":[{"value":null}]}',
    [
      {
        message: "field is required",
        parameters: { "add.value": [] },
        detail: "`add[0].value` is missing.",
      },
    ],
  ],
  [
    "an unknown member of null",
    '{"add":[{"value":"cat","id":null}]}',
    [
      {
        message: schema,
        parameters: { "add.id": [] },
        detail: "`add[0].id` is not known here; known are `value`, `tag`.",
      },
    ],
  ],
  [
    "a rule's id",
    '{"add":[{"value":"cat","id":"1"}]}',
    [
      {
        message: schema,
        parameters: { "add.id": [] },
        detail: "`add[0].id` is not known here; known are `value`, `tag`.",
      },
    ],
  ],
  [
    "delete that is a list",
    '{"delete":[]}',
    [{ message: schema, parameters: { delete: [] }, detail: "`delete` must be an object." }],
  ],
  [
    "delete of nothing",
    '{"delete":{}}',
    [
      {
        message: schema,
        parameters: { delete: [] },
        detail: "`delete` holds either `ids` or `values`.",
      },
    ],
  ],
  [
    "delete by both",
    '{"delete":{"ids":["1"],"values":["cat"]}}',
    [
      {
        message: schema,
        parameters: { delete: [] },
        detail: "`delete` holds either `ids` or `values`.",
      },
    ],
  ],
  [
    "ids as numbers that are no digits",
    '{"delete":{"ids":[-12,1.5,1e3]}}',
    [0, 1, 2].map((index) => ({
      message: schema,
      parameters: { "delete.ids": [] },
      detail: `\`delete.ids[${index}]\` must be a string: numbers lose digits of ids, so write it in double quotes.`,
    })),
  ],
  [
    "an id as a number of too many digits",
    '{"delete":{"ids":[12345678901234567890]}}',
    [
      {
        message: "`delete.ids` value [12345678901234567890] is not a valid Long",
        parameters: { "delete.ids": ["12345678901234567890"] },
        detail: "`delete.ids[0]` must be 1 to 19 decimal digits.",
      },
    ],
  ],
  [
    "an id that is none",
    '{"delete":{"ids":["1","abc"]}}',
    [
      {
        message: "`delete.ids` value [abc] is not a valid Long",
        parameters: { "delete.ids": ["abc"] },
        detail: "`delete.ids[1]` must be 1 to 19 decimal digits.",
      },
    ],
  ],
  [
    "a value that is no string",
    '{"delete":{"values":[["cat"]]}}',
    [
      {
        message: schema,
        parameters: { "delete.values": [] },
        detail: "`delete.values[0]` must be a string.",
      },
    ],
  ],
]

describe("JSON of another shape", () => {
  test.each(misshapen)("JSON with [%s] is refused with every fault", async (_name, body, faults) => {
    const { status, body: response } = await at.send("POST", paths.rules, body)
    expect(status).toBe(400)
    expect(response).toEqual(faultsBody(faults))
  })

  test("delete_all with a body that adds rules is refused", async () => {
    const { status, body } = await at.send("POST", `${paths.rules}?delete_all=true`, {
      add: [{ value: "cat" }],
    })
    expect(status).toBe(400)
    expect(body).toEqual(
      faultsBody([
        {
          message: "delete_all deletes every rule by itself: send it without a body",
          parameters: { delete_all: ["true"] },
        },
      ]),
    )
  })

  test("a missing body is refused", async () => {
    for (const path of [paths.webhooks, paths.ruleTest]) {
      const { status, body } = await at.call(path, { method: "POST" })
      expect(status).toBe(400)
      expect(body).toEqual(faultsBody([{ message: "The request has no body: a JSON object is due." }]))
    }
  })

  test.each([
    ["neither", { value: "cat" }],
    ["both", { value: "cat", posts: [], recent: 5 }],
  ])("a rule test with %s of posts and recent is refused", async (_name, body) => {
    const response = await at.send("POST", paths.ruleTest, body)
    expect(response.status).toBe(400)
    expect(response.body).toEqual(
      faultsBody([
        {
          message: "Send one of `posts`, `recent` and `since`, to say what the rule is tried on",
          parameters: { posts: [], recent: [], since: [] },
        },
      ]),
    )
  })

  test.each([
    [{ value: "cat", recent: 1001 }, "`recent` must be between 1 and 1000."],
    [{ value: "cat", recent: 1.5 }, "`recent` must be a whole number."],
    [{ value: "cat", recent: "5" }, "`recent` must be a whole number."],
  ])("a rule test of %j is refused", async (body, detail) => {
    const response = await at.send("POST", paths.ruleTest, body)
    expect(response.status).toBe(400)
    expect(response.body).toEqual(faultsBody([{ message: schema, parameters: { recent: [] }, detail }]))
  })
})

test.each([
  [paths.rules, { add: [{ value: "cat", tag: null }], delete: null }, 201],
  [paths.rules, { delete: { ids: [], values: null } }, 200],
  [`${paths.rules}?delete_all=true`, null, 200],
  [paths.ruleTest, { value: "cat", posts: null, recent: 5, mode: null }, 200],
  [paths.ruleTest, { value: "cat", recent: null, posts: [{ data: { id: "1", text: "cat", geo: null } }] }, 200],
  [paths.redeliver, { all: true, ids: null, webhook_id: null, since: null }, 200],
])("%s accepts null for an unset member: %j", async (path, body, expected) => {
  const { status } = await at.send("POST", path, body)
  expect(status).toBe(expected)
  expect((await at.call(paths.rules)).text).not.toContain("null")
  await at.call(`${paths.rules}?delete_all=true`, { method: "POST" })
})

describe("an empty body", () => {
  const types = ["application/x-www-form-urlencoded", "text/plain", "application/json", "none"]

  test.each(types)("an empty body has no type, whatever its header says: %s", async (type) => {
    const headers = { "content-type": type }
    const all = await at.call(`${paths.rules}?delete_all=true`, { method: "POST", headers, body: "" })
    expect(all.status).toBe(200)
    const webhook = await at.webhook()
    const linked = await at.call(`${paths.links}/${webhook}`, { method: "POST", headers, body: "" })
    expect(linked.body).toEqual({ data: { provisioned: true } })
    const checked = await at.call(`${paths.webhooks}/${webhook}`, { method: "PUT", headers, body: "" })
    expect(checked.body).toEqual({ data: { valid: true } })
    const deleted = await at.call(`${paths.webhooks}/${webhook}`, { method: "DELETE", headers, body: "" })
    expect(deleted.body).toEqual({ data: { deleted: true } })
    const none = await at.call(paths.webhooks, { method: "POST", headers, body: "" })
    expect(none.body).toEqual(faultsBody([{ message: "The request has no body: a JSON object is due." }]))
    const posts = await at.call(paths.posts, { method: "POST", headers, body: "" })
    expect(posts.body).toMatchObject({ lines: 0, accepted: 0 })
  })

  test("an empty body may be chunked, and a byte makes it a body", async () => {
    const head =
      `POST ${paths.rules}?delete_all=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${at.app.bearer_token}\r\n` +
      "Content-Type: application/x-www-form-urlencoded\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    const [empty] = await rawResponses(at.url, `${head}0\r\n\r\n`)
    expect(empty?.status).toBe(200)
    const [full] = await rawResponses(at.url, `${head}1\r\na\r\n0\r\n\r\n`)
    expect(full?.status).toBe(415)
  })
})

describe("bodies of routes that have none", () => {
  const unasked = faultsBody([
    {
      message: "This route takes no body",
      detail: "Its parameters stand in the path and in the query string.",
    },
  ])

  test.each(['{"tweet.fields":["lang"]}', '{"expansions":"author_id"}', '["author_id"]', '"lang"', "0"])(
    "an unexpected body is refused and not ignored: %s",
    async (body) => {
      const webhook = await at.webhook()
      const linked = await at.send("POST", `${paths.links}/${webhook}`, body)
      expect(linked.status).toBe(400)
      expect(linked.body).toEqual(unasked)
      const { links } = ((await at.call(paths.links)).body as { data: { links: { webhook_id: string }[] } }).data
      expect(links.map(({ webhook_id }) => webhook_id)).not.toContain(webhook)
    },
  )

  test.each(["{}", " { } ", "null"])("the body %s is accepted where none is expected", async (body) => {
    const webhook = await at.webhook()
    expect((await at.send("POST", `${paths.links}/${webhook}`, body)).status).toBe(200)
    expect((await at.send("DELETE", `${paths.links}/${webhook}`, body)).status).toBe(200)
    expect((await at.send("DELETE", `${paths.webhooks}/${webhook}`, body)).status).toBe(200)
  })
})

describe("bodies of another content type", () => {
  test.each([
    ["text/plain", "{}"],
    ["application/x-www-form-urlencoded", "add=cat"],
    ["multipart/form-data; boundary=x", "--x--"],
    ["application/xml", "<add/>"],
    ["application/json-patch+json", "[]"],
    ["application/jsonp", "{}"],
    ["json", "{}"],
    ["application/x-ndjson", "{}"],
  ])("a body of type %s is refused with a 415 that names the accepted type", async (type, body) => {
    const response = await at.call(paths.rules, { method: "POST", headers: { "content-type": type }, body })
    expect(response.status).toBe(415)
    expect(response.body).toEqual(
      problemBody(
        415,
        "Unsupported Media Type",
        "This route takes a body of the content type application/json, and of no other.",
      ),
    )
  })

  test("the content type may have parameters and capitals", async () => {
    const { status } = await at.call(`${paths.rules}?dry_run=true`, {
      method: "POST",
      headers: { "content-type": "Application/JSON; charset=UTF-8" },
      body: '{"add":[{"value":"cat"}]}',
    })
    expect(status).toBe(201)
  })
})

test("a body of more than 1 MiB is refused with 413, and one of exactly 1 MiB is read", async () => {
  const large = await at.call(paths.rules, { method: "POST", headers: json, body: " ".repeat(1_048_577) })
  expect(large.status).toBe(413)
  expect(large.body).toEqual(problemBody(413, "Payload Too Large", "The body is larger than 1048576 bytes."))
  const full = await at.call(`${paths.rules}?delete_all=true`, {
    method: "POST",
    headers: json,
    body: `{}${" ".repeat(1_048_574)}`,
  })
  expect(full.status).toBe(200)
})
