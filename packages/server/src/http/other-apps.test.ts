import { paths } from "@sluice/api"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import {
  startTestServer,
  type TestResponse,
  type TestApp,
  type TestServer,
} from "../../../../test/support/test-server.testing.ts"
import { faultsBody } from "./problem-bodies.testing.ts"

/** An id of the right form that this server never gave out. */
const neverWas = "1166916266197536768"

let at: TestServer
let other: TestApp
/** Ids that are not the caller's webhooks, links or rules, by what they are. */
const ids: Record<string, string> = {}
let foreignValue = ""
let pageTokens: Readonly<Record<string, string>> = {}
let before: readonly unknown[] = []

beforeAll(async () => {
  at = await startTestServer()
  other = await at.newApp()
  const { app } = at
  const token = other.app.bearer_token
  const linked = await other.webhook()
  const linkedToo = await other.webhook()
  for (const id of [linked, linkedToo]) {
    expect((await at.call(`${paths.links}/${id}`, { method: "POST", token })).status).toBe(200)
  }
  const added = await at.send("POST", paths.rules, { add: [{ value: "kestrel" }, { value: "heron", tag: "t" }] }, token)
  const [rule, taggedRule] = (added.body as { data: { id: string; value: string }[] }).data
  foreignValue = rule?.value ?? ""
  const lines = ["11", "12", "13", "14", "15", "16"].map((id) => `{"data":{"id":"${id}","text":"x","author_id":"5"}}`)
  const ingested = await at.call(paths.posts, {
    method: "POST",
    headers: { "content-type": "application/x-ndjson" },
    body: lines.join("\n"),
  })
  expect(ingested.body).toMatchObject({ accepted: 6 })
  const gone = await at.webhook()
  await at.call(`${paths.webhooks}/${gone}`, { method: "DELETE" })
  const goneRule = await at.send("POST", paths.rules, { add: [{ value: "gone" }] })
  const goneRuleId = (goneRule.body as { data: { id: string }[] }).data[0]?.id ?? ""
  await at.send("POST", paths.rules, { delete: { ids: [goneRuleId] } })
  Object.assign(ids, {
    "another app's linked webhook": linked,
    "another app's other linked webhook": linkedToo,
    "another app's webhook without a link": await other.webhook(),
    "another app's rule": rule?.id,
    "another app's tagged rule": taggedRule?.id,
    "another app's id": other.app.application_id,
    "another app's business user": other.app.business_user_id,
    "another app's instance": other.app.instance_id,
    "the app's own id": app.application_id,
    "the app's deleted webhook": gone,
    "the app's deleted rule": goneRuleId,
    "another user's post": "11",
  })
  pageTokens = {
    [paths.rules]: await nextToken(`${paths.rules}?max_results=1`),
    [paths.links]: await nextToken(`${paths.links}?max_results=1`),
    "/2/users/5/tweets": await nextToken("/2/users/5/tweets?max_results=5"),
  }
  await at.send("POST", paths.webhookReplay, replayTo(linked), token)
  // Not `expect.poll`, which is for tests alone.
  await vi.waitFor(
    async () => {
      const { body } = await at.call(paths.replays, { token })
      expect(body).toMatchObject({ data: [{ webhook_id: linked, state: "complete" }] })
    },
    { timeout: 60_000 },
  )
  before = await everythingOfTheOther()
})

afterAll(async () => {
  expect(await everythingOfTheOther()).toEqual(before)
  await at[Symbol.asyncDispose]()
})

async function nextToken(path: string): Promise<string> {
  const { body } = await at.call(path, { token: other.app.bearer_token })
  return (body as { meta: { next_token: string } }).meta.next_token
}

async function everythingOfTheOther(): Promise<readonly unknown[]> {
  const token = other.app.bearer_token
  const responses: unknown[] = []
  const signingKeys = [ids["another app's linked webhook"], ids["another app's webhook without a link"]].map((id) =>
    paths.signingKey.replace(":webhook_id", id ?? ""),
  )
  const lists = [paths.webhooks, paths.links, paths.rules, paths.linkDetails, paths.deadLetters, paths.replays]
  for (const path of [...lists, ...signingKeys]) {
    const { status, body } = await at.call(path, { token })
    expect(status).toBe(200)
    responses.push(withoutSent(body))
  }
  return responses
}

function withoutSent(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body, (name, value: unknown) => (name === "sent" ? undefined : value)))
}

const kinds = [
  "another app's linked webhook",
  "another app's other linked webhook",
  "another app's webhook without a link",
  "another app's rule",
  "another app's tagged rule",
  "another app's id",
  "another app's business user",
  "another app's instance",
  "the app's own id",
  "the app's deleted webhook",
  "the app's deleted rule",
  "another user's post",
] as const

const idOf = (kind: string): string => {
  const id = ids[kind]
  if (id === undefined) throw new Error(`there is no id of ${kind}`)
  return id
}

const routes: readonly (readonly [string, (id: string) => Promise<TestResponse>, string, string])[] = [
  ["PUT a webhook", (id) => at.call(`${paths.webhooks}/${id}`, { method: "PUT" }), "webhook", "id"],
  ["DELETE a webhook", (id) => at.call(`${paths.webhooks}/${id}`, { method: "DELETE" }), "webhook", "id"],
  ["GET a signing key", (id) => at.call(paths.signingKey.replace(":webhook_id", id)), "webhook", "id"],
  [
    "POST a signing key",
    (id) => at.call(paths.signingKey.replace(":webhook_id", id), { method: "POST" }),
    "webhook",
    "id",
  ],
  [
    "PATCH a webhook",
    (id) => at.send("PATCH", paths.webhookDetail.replace(":webhook_id", id), { name: "Mine" }),
    "webhook",
    "webhook_id",
  ],
  ["POST a test", (id) => at.send("POST", paths.webhookTest.replace(":webhook_id", id)), "webhook", "id"],
  [
    "GET the state of a link",
    (id) => at.call(paths.linkDetail.replace(":webhook_id", id)),
    "webhook link",
    "webhook_id",
  ],
  [
    "PATCH a link",
    (id) => at.send("PATCH", paths.linkDetail.replace(":webhook_id", id), { ordered: true }),
    "webhook link",
    "webhook_id",
  ],
  ["GET attempts of a link", (id) => at.call(paths.attempts.replace(":webhook_id", id)), "webhook link", "webhook_id"],
  ["POST a replay", (id) => at.send("POST", paths.webhookReplay, replayTo(id)), "webhook", "webhook_id"],
  ["POST a link", (id) => at.call(`${paths.links}/${id}`, { method: "POST" }), "webhook", "webhook_id"],
  [
    "POST a link with fields",
    (id) => at.call(`${paths.links}/${id}?expansions=author_id`, { method: "POST" }),
    "webhook",
    "webhook_id",
  ],
  ["DELETE a link", (id) => at.call(`${paths.links}/${id}`, { method: "DELETE" }), "webhook link", "webhook_id"],
]

/** A replay of the last hour but one. */
function replayTo(webhook_id: string): unknown {
  const minuteAgo = (minutes: number): string =>
    new Date(Date.now() - minutes * 60_000).toISOString().slice(0, 16).replaceAll(/\D/g, "")
  return { webhook_id, from_date: minuteAgo(120), to_date: minuteAgo(60) }
}

/** The whole body of a 404. */
function notFoundBody(resource: string, parameter: string, id: string): unknown {
  const error = {
    resource_type: resource,
    parameter,
    resource_id: id,
    value: id,
    title: "Not Found Error",
    type: "https://api.x.com/2/problems/resource-not-found",
    detail: `Could not find ${resource} with ${parameter}: [${id}].`,
    status: 404,
    message: `Could not find ${resource} with ${parameter}: [${id}].`,
  }
  return { ...error, errors: [error] }
}

describe.each(routes)("%s", (_name, request, resource, parameter) => {
  test.each(kinds)("%s gets the same response as an id that never existed", async (kind) => {
    const id = idOf(kind)
    const response = await request(id)
    const reference = await request(neverWas)
    expect(response.status).toBe(404)
    expect(response.body).toEqual(notFoundBody(resource, parameter, id))
    expect(response.text.replaceAll(id, neverWas)).toBe(reference.text)
    expect([...response.headers.keys()]).toEqual([...reference.headers.keys()])
  })

  test("leading zeros do not make it another id", async () => {
    const id = idOf("another app's linked webhook")
    if (id.length === 19) return
    expect((await request(`0${id}`)).status).toBe(404)
  })
})

describe("rules", () => {
  const missing = (parameter: "ids" | "values", name: string): unknown => ({
    ...(parameter === "ids" && { id: name }),
    resource_type: "rule",
    parameter,
    resource_id: name,
    value: name,
    message: "Rule does not exist",
    title: "Not Found Error",
    type: "https://api.x.com/2/problems/resource-not-found",
    detail: "Rule does not exist",
    status: 404,
  })

  test.each(kinds.flatMap((kind) => [false, true].map((isDry) => [kind, isDry] as const)))(
    "deleting %s as a rule deletes nothing (dry run: %s)",
    async (kind, isDry) => {
      const id = idOf(kind)
      const { status, body } = await at.send("POST", `${paths.rules}?dry_run=${isDry}`, {
        delete: { ids: [id] },
      })
      expect(status).toBe(200)
      expect(withoutSent(body)).toEqual({
        meta: { summary: { deleted: 0, not_deleted: 1 } },
        errors: [missing("ids", id)],
      })
    },
  )

  test.each(kinds)("%s is not listed as a rule", async (kind) => {
    const id = idOf(kind)
    const { status, body } = await at.call(`${paths.rules}?ids=${id}`)
    expect(status).toBe(200)
    expect(withoutSent(body)).toEqual({
      meta: { result_count: 0 },
      errors: (notFoundBody("rule", "ids", id) as { errors: unknown }).errors,
    })
  })

  test("a value that only another app has as a rule cannot be deleted, and can be added", async () => {
    const removed = await at.send("POST", paths.rules, { delete: { values: [foreignValue] } })
    expect(withoutSent(removed.body)).toEqual({
      meta: { summary: { deleted: 0, not_deleted: 1 } },
      errors: [missing("values", foreignValue)],
    })
    const added = await at.send("POST", `${paths.rules}?dry_run=true`, { add: [{ value: foreignValue }] })
    expect(added.status).toBe(201)
  })

  test("delete_all deletes the caller's rules only", async () => {
    await at.send("POST", paths.rules, { add: [{ value: "mine" }] })
    const { status, body } = await at.call(`${paths.rules}?delete_all=true`, { method: "POST" })
    expect(status).toBe(200)
    expect(withoutSent(body)).toEqual({ meta: { summary: { deleted: 1, not_deleted: 0 } } })
  })
})

describe("lists of two apps", () => {
  test("lists of webhooks, links, link states and rules, and the count of rules, hold the caller's own only", async () => {
    expect((await at.call(paths.webhooks)).body).toEqual({ data: [], meta: { result_count: 0 } })
    expect((await at.call(paths.links)).body).toEqual({ data: { links: [] } })
    expect((await at.call(`${paths.links}?max_results=5`)).body).toEqual({
      data: { links: [] },
      meta: { result_count: 0 },
    })
    expect((await at.call(paths.linkDetails)).body).toEqual({ data: [] })
    for (const path of [paths.deadLetters, paths.replays]) {
      expect((await at.call(path)).body).toEqual({ data: [], meta: { result_count: 0 } })
    }
    expect(withoutSent((await at.call(paths.rules)).body)).toEqual({ meta: { result_count: 0 } })
    expect((await at.call(paths.ruleCounts)).body).toMatchObject({
      data: {
        client_app_rules_count: { client_app_id: at.app.application_id, rule_count: 0 },
        project_rules_count: "0",
      },
    })
  })

  test("a stream does not open on another app's rules", async () => {
    const { status, body } = await at.call(paths.stream)
    expect(status).toBe(409)
    expect(body).toMatchObject({ title: "ConnectionException", connection_issue: "RuleConfigurationIssue" })
  })

  test("an operator sees the state of all apps' links", async () => {
    const token = await at.running.apps.createToken("operator")
    const { body } = await at.call(paths.linkDetails, { token })
    expect((body as { data: { application_id: string }[] }).data.map((state) => state.application_id)).toEqual([
      other.app.application_id,
      other.app.application_id,
    ])
    const linked = idOf("another app's linked webhook")
    for (const path of [paths.linkDetail, paths.attempts]) {
      expect((await at.call(path.replace(":webhook_id", linked), { token })).status).toBe(200)
      const nowhere = await at.call(path.replace(":webhook_id", neverWas), { token })
      expect(nowhere.body).toEqual(notFoundBody("webhook link", "webhook_id", neverWas))
    }
    expect((await at.call(paths.replays, { token })).body).toMatchObject({ meta: { result_count: 1 } })
  })
})

describe("page tokens of another app", () => {
  test.each([paths.rules, paths.links, "/2/users/5/tweets"])(
    "a page token of %s is not valid for another app",
    async (path) => {
      const token = pageTokens[path] ?? ""
      expect((await at.call(`${path}?pagination_token=${token}`, { token: other.app.bearer_token })).status).toBe(200)
      for (const target of [paths.rules, paths.links, "/2/users/5/tweets"]) {
        const { status, body } = await at.call(`${target}?pagination_token=${token}`)
        expect(status).toBe(400)
        expect(body).toEqual(
          faultsBody([
            {
              message: `The \`pagination_token\` query parameter value [${token}] is not a valid token.`,
              parameters: { pagination_token: [token] },
            },
          ]),
        )
      }
    },
  )
})
