import { paths } from "@sluice/api"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { compileQuery, splitQuery } from "./parameters.ts"
import { startTestServer, type TestServer } from "../../../../test/support/test-server.testing.ts"
import { faultsBody } from "./problem-bodies.testing.ts"

let at: TestServer
beforeAll(async () => {
  at = await startTestServer()
})
afterAll(async () => {
  expect((await at.call(paths.links)).status).toBe(200)
  await at[Symbol.asyncDispose]()
})

type Fault = Parameters<typeof faultsBody>[0][number]

const posts = "/2/users/12/tweets"
const wholeNumber = "It is a whole number, in decimal digits."
const idDigits = "An id is 1 to 19 decimal digits, up to 9223372036854775807."
const moment = "It is a moment as RFC 3339 writes it, such as 2026-01-31T12:00:00Z."

const notBetween = (name: string, value: string, bounds: string): Fault => ({
  message: `The \`${name}\` query parameter value [${value}] is not between ${bounds}`,
  parameters: { [name]: [value] },
})
const notAnInt = (name: string, value: string): Fault => ({
  message: `The \`${name}\` query parameter value [${value}] is not a valid Int`,
  parameters: { [name]: [value] },
  detail: wholeNumber,
})
const notValid = (name: string, value: string, detail: string): Fault => ({
  message: `The \`${name}\` query parameter value [${value}] is not valid`,
  parameters: { [name]: [value] },
  detail,
})
const noMatch = (name: string, value: string): Fault => ({
  message: `The \`${name}\` query parameter value [${value}] does not match ^[0-9]{1,19}$`,
  parameters: { [name]: [value] },
  detail: idDigits,
})
const notOneOf = (name: string, value: string, values: string, given = value): Fault => ({
  message: `The \`${name}\` query parameter value [${value}] is not one of [${values}]`,
  parameters: { [name]: [given] },
})
const empty = (name: string): Fault => ({
  message: `The \`${name}\` query parameter can not be empty`,
  parameters: { [name]: [""] },
})
const repeated = (name: string, values: readonly string[]): Fault => ({
  message: `Duplicate parameters are not allowed: the \`${name}\` query parameter`,
  parameters: { [name]: values },
  detail: `It is given ${values.length} times: give it once.`,
})
const unknown = (name: string, value: string, known: string, detail?: string): Fault => ({
  message: `The query parameter [${name}] is not one of [${known}]`,
  parameters: { [name]: [value] },
  ...(detail === undefined ? {} : { detail }),
})
const asList = "Give several values as one list with commas, under a plain name."
const none = "This endpoint takes no query parameters."

const cases: readonly (readonly [string, readonly Fault[]])[] = [
  [`${posts}?max_results=abc`, [notAnInt("max_results", "abc")]],
  [`${posts}?max_results=0`, [notBetween("max_results", "0", "5 and 100")]],
  [`${posts}?max_results=4`, [notBetween("max_results", "4", "5 and 100")]],
  [`${posts}?max_results=-1`, [notBetween("max_results", "-1", "5 and 100")]],
  [`${posts}?max_results=101`, [notBetween("max_results", "101", "5 and 100")]],
  [`${posts}?max_results=99999999999999999999999`, [notBetween("max_results", "99999999999999999999999", "5 and 100")]],
  [`${posts}?max_results=1e3`, [notAnInt("max_results", "1e3")]],
  [`${posts}?max_results=0x10`, [notAnInt("max_results", "0x10")]],
  [`${posts}?max_results=+10`, [notAnInt("max_results", " 10")]],
  [`${posts}?max_results=%2B10`, [notAnInt("max_results", "+10")]],
  [`${posts}?max_results=10.0`, [notAnInt("max_results", "10.0")]],
  [`${posts}?max_results=010`, [notAnInt("max_results", "010")]],
  [`${posts}?max_results=-0`, [notAnInt("max_results", "-0")]],
  [`${posts}?max_results=10%20`, [notAnInt("max_results", "10 ")]],
  [`${posts}?max_results=NaN`, [notAnInt("max_results", "NaN")]],
  [`${posts}?max_results=Infinity`, [notAnInt("max_results", "Infinity")]],
  [`${posts}?max_results=%D9%A1%D9%A0`, [notAnInt("max_results", "١٠")]],
  [`${posts}?max_results=10%00`, [notAnInt("max_results", "10\0")]],
  [`${posts}?max_results=`, [notAnInt("max_results", "")]],
  [`${posts}?max_results`, [notAnInt("max_results", "")]],
  [`${posts}?max_results=%zz`, [notValid("max_results", "%zz", "Its percent-encoding is broken.")]],
  [`${posts}?max_results=%ff`, [notValid("max_results", "%ff", "Its percent-encoding is broken.")]],
  [`${posts}?max_results=10&max_results=10`, [repeated("max_results", ["10", "10"])]],
  [`${posts}?max_results=10&max%5Fresults=11`, [repeated("max_results", ["10", "11"])]],
  [`${posts}?pagination_token=`, [empty("pagination_token")]],
  [`${posts}?pagination_token=a&pagination_token=b`, [repeated("pagination_token", ["a", "b"])]],
  [`${posts}?since_id=abc`, [noMatch("since_id", "abc")]],
  [`${posts}?since_id=-1`, [noMatch("since_id", "-1")]],
  [`${posts}?until_id=12345678901234567890`, [noMatch("until_id", "12345678901234567890")]],
  [`${posts}?until_id=9999999999999999999`, [notValid("until_id", "9999999999999999999", idDigits)]],
  [
    `${posts}?since_id=6&until_id=5`,
    [
      {
        message: "The `since_id` query parameter value [6] is after the `until_id` query parameter value [5]",
        parameters: { since_id: ["6"], until_id: ["5"] },
      },
    ],
  ],
  [
    `${posts}?since_id=10&until_id=9`,
    [
      {
        message: "The `since_id` query parameter value [10] is after the `until_id` query parameter value [9]",
        parameters: { since_id: ["10"], until_id: ["9"] },
      },
    ],
  ],
  [
    `${posts}?start_time=2026-01-02T00:00:00Z&end_time=2026-01-01T23:59:59Z`,
    [
      {
        message:
          "Invalid 'start_time':'2026-01-02T00:00Z'. 'start_time' must be before 'end_time':2026-01-01T23:59:59Z",
        parameters: { start_time: ["2026-01-02T00:00Z"], end_time: ["2026-01-01T23:59:59Z"] },
      },
    ],
  ],
  [
    `${paths.stream}?start_time=2026-01-02T01:30:00.5%2B01:00&end_time=2026-01-02T00:00:00.250Z`,
    [
      {
        message:
          "Invalid 'start_time':'2026-01-02T00:30:00.500Z'. 'start_time' must be before 'end_time':2026-01-02T00:00:00.250Z",
        parameters: { start_time: ["2026-01-02T00:30:00.500Z"], end_time: ["2026-01-02T00:00:00.250Z"] },
      },
    ],
  ],
  [`${posts}?start_time=2026-01-01`, [notValid("start_time", "2026-01-01", moment)]],
  [`${posts}?start_time=2026-02-30T00:00:00Z`, [notValid("start_time", "2026-02-30T00:00:00Z", moment)]],
  [`${posts}?start_time=2026-01-01T24:00:00Z`, [notValid("start_time", "2026-01-01T24:00:00Z", moment)]],
  [`${posts}?start_time=2026-01-01T00:00:00`, [notValid("start_time", "2026-01-01T00:00:00", moment)]],
  [`${posts}?end_time=1767225600`, [notValid("end_time", "1767225600", moment)]],
  [`${posts}?end_time=now`, [notValid("end_time", "now", moment)]],
  [`${posts}?exclude=quotes`, [notOneOf("exclude", "quotes", "replies,retweets")]],
  [`${posts}?exclude=replies,quotes`, [notOneOf("exclude", "quotes", "replies,retweets", "replies,quotes")]],
  [`${posts}?exclude=replies,`, [notOneOf("exclude", "", "replies,retweets", "replies,")]],
  [
    `${posts}?exclude=replies,replies`,
    [
      {
        ...notValid("exclude", "replies", "It is given more than once."),
        parameters: { exclude: ["replies,replies"] },
      },
    ],
  ],
  [
    `${posts}?exclude=replies&exclude=replies`,
    [
      {
        ...notValid("exclude", "replies", "It is given more than once."),
        parameters: { exclude: ["replies", "replies"] },
      },
    ],
  ],
  [
    `${posts}?exclude=replies&exclude=`,
    [
      {
        ...notOneOf("exclude", "", "replies,retweets"),
        parameters: { exclude: ["replies", ""] },
      },
    ],
  ],
  [
    `${posts}?exclude=replies&exclude=%zz`,
    [
      {
        ...notValid("exclude", "replies,%zz", "Its percent-encoding is broken."),
        parameters: { exclude: ["replies", "%zz"] },
      },
    ],
  ],
  [`${posts}?exclude=Replies`, [notOneOf("exclude", "Replies", "replies,retweets")]],
  [
    `${posts}?poll.fields=nonsense`,
    [notOneOf("poll.fields", "nonsense", "duration_minutes,end_datetime,id,options,voting_status")],
  ],
  [`${paths.links}?links=1`, [unknown("links", "1", "max_results,pagination_token")]],
  [`${paths.links}?max_results[]=1`, [unknown("max_results[]", "1", "max_results,pagination_token", asList)]],
  [`${paths.links}?max_results[0]=1`, [unknown("max_results[0]", "1", "max_results,pagination_token", asList)]],
  [`${paths.links}?MAX_RESULTS=1`, [unknown("MAX_RESULTS", "1", "max_results,pagination_token")]],
  [`${paths.links}?__proto__=1`, [unknown("__proto__", "1", "max_results,pagination_token")]],
  [`${paths.links}?constructor=1`, [unknown("constructor", "1", "max_results,pagination_token")]],
  [`${paths.links}?toString`, [unknown("toString", "", "max_results,pagination_token")]],
  [`${paths.links}?=1`, [unknown("", "1", "max_results,pagination_token")]],
  [`${paths.links}?max_results=101`, [notBetween("max_results", "101", "1 and 100")]],
  [`${paths.rules}?max_results=1001`, [notBetween("max_results", "1001", "1 and 1000")]],
  [`${paths.rules}?ids=1,x`, [{ ...noMatch("ids", "x"), parameters: { ids: ["1,x"] } }]],
  [
    `${paths.rules}?ids=1,,x`,
    [
      { ...noMatch("ids", ""), parameters: { ids: ["1,,x"] } },
      { ...noMatch("ids", "x"), parameters: { ids: ["1,,x"] } },
    ],
  ],
  [`${paths.rules}?ids=NA`, [noMatch("ids", "NA")]],
  [`${paths.rules}?ids=`, [empty("ids")]],
  [
    `${paths.rules}?ids=${Array.from({ length: 1001 }, (_, index) => index).join(",")}`,
    [
      {
        message: "The number of values in the `ids` query parameter list [1001] is not between 1 and 1000",
        parameters: {
          ids: [
            `${Array.from({ length: 1001 }, (_, index) => index)
              .join(",")
              .slice(0, 2_099)}…`,
          ],
        },
      },
    ],
  ],
  [`${paths.stream}?backfill_minutes=6`, [notBetween("backfill_minutes", "6", "0 and 5")]],
  [`${paths.stream}?backfill_minutes=-1`, [notBetween("backfill_minutes", "-1", "0 and 5")]],
  [`${paths.webhooks}?max_results=5`, [unknown("max_results", "5", "webhook_config.fields")]],
  [
    `${paths.webhooks}?webhook_config.fields=secret`,
    [notOneOf("webhook_config.fields", "secret", "created_at,id,url,valid")],
  ],
  [`${paths.ruleCounts}?x`, [unknown("x", "", "rules_count.fields")]],
  ["/healthz?verbose=1", [unknown("verbose", "1", "", none)]],
  [`${paths.linkDetails}?app=1`, [unknown("app", "1", "max_results,pagination_token")]],
  [
    `${posts}?max_results=101&since_id=x&start_time=now&exclude=all&foo=bar`,
    [
      notBetween("max_results", "101", "5 and 100"),
      noMatch("since_id", "x"),
      notValid("start_time", "now", moment),
      notOneOf("exclude", "all", "replies,retweets"),
      unknown(
        "foo",
        "bar",
        "id,max_results,pagination_token,since_id,until_id,start_time,end_time,exclude,tweet.fields,post.fields,user.fields,media.fields,place.fields,poll.fields,expansions",
      ),
    ],
  ],
  ["/2/users/abc/tweets", [noMatch("id", "abc")]],
  ["/2/users/9223372036854775808/tweets", [notValid("id", "9223372036854775808", idDigits)]],
  ["/2/users/%00/tweets", [noMatch("id", "\0")]],
]

describe("invalid query parameters", () => {
  test.each(cases)("%s is refused", async (path, faults) => {
    const { status, body } = await at.call(path)
    expect(status).toBe(400)
    expect(body).toEqual(faultsBody(faults))
  })

  test.each([
    [`${paths.rules}?dry_run=yes`, notOneOf("dry_run", "yes", "true,false")],
    [`${paths.rules}?dry_run=1`, notOneOf("dry_run", "1", "true,false")],
    [`${paths.rules}?delete_all=Truth`, notOneOf("delete_all", "Truth", "true,false")],
    [`${paths.rules}?delete_all`, empty("delete_all")],
    [`${paths.webhooks}/1x`, noMatch("webhook_id", "1x")],
    [
      `${paths.links}/1?backfill_minutes=1`,
      unknown(
        "backfill_minutes",
        "1",
        "webhook_id,tweet.fields,post.fields,user.fields,media.fields,place.fields,poll.fields,expansions",
      ),
    ],
    [`${paths.links}/1?place.fields=`, empty("place.fields")],
  ])("%s changes nothing", async (path, fault) => {
    const method = path.startsWith(paths.webhooks) ? "PUT" : "POST"
    const isRules = path.startsWith(paths.rules)
    const { status, body } = await at.send(method, path, isRules ? { add: [{ value: "cat" }] } : {})
    expect(status).toBe(400)
    expect(body).toEqual(faultsBody([fault]))
    expect((await at.call(paths.rules)).body).toMatchObject({ meta: { result_count: 0 } })
  })

  test("thousands of invalid parameters get a short response", async () => {
    const names = Array.from({ length: 2_000 }, (_, index) => `x${index}`)
    const { status, body, text } = await at.call(`${paths.links}?${names.join("&")}`)
    expect(status).toBe(400)
    expect((body as { errors: unknown[] }).errors).toHaveLength(21)
    expect(text).toContain("1980 more parameters are wrong")
    expect(text.length).toBeLessThan(20_000)
  })
})

test.each([
  `${posts}?max_results=5&start_time=2026-01-01T00:00:00Z&end_time=2026-01-01T00:00:00.5-01:00`,
  `${posts}?since_id=5&until_id=5`,
  `${posts}?start_time=2024-02-29t12:00:00z`,
  `${posts}?exclude=retweets,replies&&`,
  `${posts}?exclude=retweets&max_results=5&exclude=replies`,
  `${paths.rules}?ids=1&ids=2,3`,
  `${posts}?tweet.fields=created_at%2Clang&post.fields=id`,
  `${paths.links}?`,
  `${paths.rules}?ids=1,1`,
])("%s is valid", async (path) => {
  const { status } = await at.call(path)
  expect(status).toBe(200)
})

test.each(["True", "TRUE", "true", "tRue"])("a boolean may be written %s, and so may false", async (word) => {
  const add = { add: [{ value: "cat" }] }
  const dry = await at.send("POST", `${paths.rules}?dry_run=${word}&delete_all=False`, add)
  expect(dry.status).toBe(201)
  expect((await at.call(paths.rules)).body).toMatchObject({ meta: { result_count: 0 } })
  expect((await at.send("POST", `${paths.rules}?dry_run=FALSE`, add)).status).toBe(201)
  const all = await at.call(`${paths.rules}?delete_all=${word}`, { method: "POST" })
  expect(all.body).toMatchObject({ meta: { summary: { deleted: 1 } } })
})

test("the names of a query keep their order, with all their values", () => {
  expect([...splitQuery("a=1&b=2&a=3&c")]).toEqual([
    ["a", ["1", "3"]],
    ["b", ["2"]],
    ["c", [""]],
  ])
})

test("a required parameter must be given, and a pattern of any kind is named", () => {
  const judge = compileQuery(
    {
      properties: {
        username: { type: "string", pattern: "^[A-Za-z0-9_]{1,15}$" },
        names: { type: "array", items: { type: "string", pattern: "^[a-z]+$" }, maxItems: 2 },
      },
      required: ["username", "names"],
    },
    [],
  )
  expect(judge(splitQuery("username=wren&names=a,b"))).toEqual({ value: { username: "wren", names: ["a", "b"] } })
  const messagesOf = (query: string): unknown => {
    const verdict = judge(splitQuery(query))
    return "error" in verdict ? verdict.error.causes.map(({ message, parameters }) => [message, parameters]) : []
  }
  expect(messagesOf("")).toEqual([
    ["The `username` query parameter can not be empty", { username: [] }],
    ["The `names` query parameter can not be empty", { names: [] }],
  ])
  expect(messagesOf("username=%20%20&names=")).toEqual([
    ["The `username` query parameter value [  ] does not match ^[A-Za-z0-9_]{1,15}$", { username: ["  "] }],
    ["The `names` query parameter can not be empty", { names: [""] }],
  ])
  expect(messagesOf("username=wren&names=a,B")).toEqual([
    ["The `names` query parameter value [B] does not match ^[a-z]+$", { names: ["a,B"] }],
  ])
  expect(messagesOf("username=wren&names=a,b,c")).toEqual([
    ["The number of values in the `names` query parameter list [3] is not between 1 and 2", { names: ["a,b,c"] }],
  ])
})

test("a refusal names X's pattern when a parameter accepts more", () => {
  const name = { type: "string", pattern: "^[a-z.]+$", "x-named-pattern": "^[a-z]+$" }
  const judge = compileQuery({ properties: { name } }, [])
  expect(judge(splitQuery("name=a.b"))).toEqual({ value: { name: "a.b" } })
  const verdict = judge(splitQuery("name=a-b"))
  expect("error" in verdict && verdict.error.causes.map(({ message }) => message)).toEqual([
    "The `name` query parameter value [a-b] does not match ^[a-z]+$",
  ])
})

test("the value holds only the given parameters, and nothing is inherited", () => {
  const judge = compileQuery({ properties: { toString: { type: "boolean" } } }, [])
  const verdict = judge(splitQuery(""))
  expect(verdict).toEqual({ value: {} })
})
