/**
 * One test for each row of docs/compatibility.md, under the row's id, each against a real server over HTTP. Where a
 * row speaks of hours, tokens are made by a clock of the test under the server's own key, or the part that counts
 * them runs on such a clock.
 */
import { createHmac } from "node:crypto"
import { mkdtemp, rm } from "node:fs/promises"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import {
  bodyBytesMax,
  expansionAliases,
  paths,
  postFieldAliases,
  snowflakeAtMs,
  webhookAnswerMsMax,
  type Envelope,
  type Link,
  type PageMeta,
} from "@sluice/api"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { createHttpServer, type HttpDeps } from "../packages/server/src/http/server.ts"
import { loadConfig } from "../packages/server/src/index.ts"
import { asId, type AppId } from "../packages/server/src/model/ids.ts"
import { systemClock } from "../packages/server/src/runtime/clock.ts"
import { createManualClock } from "../packages/server/src/runtime/manual-clock.testing.ts"
import { startEmbeddingsEndpoint } from "../packages/server/src/runtime/embeddings-endpoint.testing.ts"
import { webhookUrlFault } from "../packages/server/src/runtime/outbound-address.ts"
import { systemRandom } from "../packages/server/src/runtime/random.ts"
import { createSecretBox } from "../packages/server/src/runtime/secret-box.ts"
import { createPageTokens, type PagePosition } from "../packages/server/src/timelines/page-token.ts"
import { run as runSluice } from "../packages/sluice/src/command.testing.ts"
import { runningSchedule } from "./support/challenge-schedule.testing.ts"
import { compatibilityRows } from "./support/compatibility-rows.testing.ts"
import { listening } from "./support/listening.testing.ts"
import { openStream } from "./support/open-stream.testing.ts"
import {
  envelope,
  startTestServer,
  type Answer,
  type TestApp,
  type TestServer,
} from "./support/running-server.testing.ts"
import { startReceiver, type WebhookReceiver } from "./support/webhook-receiver.testing.ts"

const minuteMs = 60_000
const hourMs = 60 * minuteMs

const masterKey = "5a".repeat(32)
const secretBox = createSecretBox(Buffer.from(masterKey, "hex"), systemRandom)

let server: TestServer
/** One with other settings, under the same key. */
let otherwise: TestServer
/** Knows the consumer secret of the server's first app. */
let receiver: WebhookReceiver

beforeAll(async () => {
  server = await startTestServer({ "master-key": masterKey, "webhooks-per-app-max": "101" })
  otherwise = await startTestServer({
    "master-key": masterKey,
    "page-token-lifetime-hours": "0",
    "page-scan-max": "100",
    "rule-dialect": "strict",
    "stream-connections-per-app-max": "2",
    "delivery-attempts-max": "1",
  })
  receiver = await startReceiver(server.app.consumer_secret)
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await otherwise[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})

// --- links ---------------------------------------------------------------------------------------------------

test("link-members: a link always has all six members", async () => {
  await using linked = await appWithReceiver()
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

test("link-created-at: it is the moment of linking, in UTC with milliseconds and Z", async () => {
  await using linked = await appWithReceiver()
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

test("link-fields: they are the parameters in the order given, further values as own entries", async () => {
  await using linked = await appWithReceiver()
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

test("link-ids: they are snowflakes of this server, as strings of 1 to 19 digits", async () => {
  const startedMs = Date.now()
  await using linked = await appWithReceiver()
  await link(linked, await linked.webhook())
  const endedMs = Date.now()
  const [listed] = (await linksOf(linked)) as [Link]
  expect(listed).toMatchObject(identityOf(linked))
  const ids = [listed.application_id, listed.business_user_id, listed.instance_id, listed.webhook_id]
  for (const id of ids) {
    expect(id).toMatch(/^[0-9]{1,19}$/)
    expect(snowflakeAtMs(id)).toBeGreaterThanOrEqual(startedMs)
    expect(snowflakeAtMs(id)).toBeLessThanOrEqual(endedMs)
  }
  expect(new Set(ids).size).toBe(4)
})

test("link-active: a link is listed until it is unlinked, also while its webhook is invalid", async () => {
  await using linked = await appWithReceiver()
  const kept = await linked.webhook()
  const gone = await linked.webhook()
  await link(linked, kept)
  await link(linked, gone)
  linked.receiver.answersChallenges = false
  for (const id of [kept, gone]) {
    expect((await linked.send("PUT", webhookPath(id))).body).toEqual({ data: { valid: false } })
  }
  const webhooks = (await linked.call(paths.webhooks)).body.data as { valid: boolean }[]
  expect(webhooks.map(({ valid }) => valid)).toEqual([false, false])
  expect(await linkedIds(linked)).toEqual([gone, kept])
  expect((await linked.send("DELETE", linkPath(gone))).body).toEqual({ data: { deleted: true } })
  expect(await linkedIds(linked)).toEqual([kept])
})

test("link-order: the newest comes first, as in every list", async () => {
  await using linked = await appWithReceiver()
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

test("link-again: the same fields change nothing, and other fields are a conflict", async () => {
  await using linked = await appWithReceiver()
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

// --- errors and lists ----------------------------------------------------------------------------------------

test("error-members: the four are in every error, and X's own where X has them", async () => {
  const app = await server.newApp()
  const [known] = await addRules(app, { value: "cat" })
  const answers = [
    ...(await refusals()).values(),
    await app.call(postsPath("1")),
    await app.call(`${paths.rules}?ids=1`),
    await app.send("POST", paths.rules, { add: [{ value: "cat" }, { value: "a AND b" }] }),
    await app.send("POST", paths.rules, { delete: { ids: ["1"] } }),
  ]
  for (const { body } of answers) {
    for (const error of body.errors) expect(error).toMatchObject(fourMembers)
  }
  expect((await refusals()).get("unknown parameter")?.body.errors[0]).toMatchObject({
    parameters: { colour: ["blue"] },
    message: expect.stringContaining("[colour]") as string,
  })
  expect((await refusals()).get("unknown webhook")?.body.errors[0]).toMatchObject({
    resource_type: "webhook",
    parameter: "id",
    resource_id: "1",
    value: "1",
  })
  expect((await refusals()).get("stream without rules")?.body.errors[0]).toMatchObject({
    connection_issue: "RuleConfigurationIssue",
  })
  expect(answers.at(-2)?.body.errors).toMatchObject([
    { title: "DuplicateRule", value: "cat", id: known },
    { title: "UnprocessableEntity", value: "a AND b", details: [expect.stringContaining("Ambiguous")] },
  ])
  expect(await farewell()).toMatchObject({
    errors: [{ ...fourMembers, disconnect_type: "OperationalDisconnect" }],
  })
})

test("empty-page: it counts 0, holds an empty list, and has no tokens and no ids", async () => {
  const app = await server.newApp()
  const user = newUser()
  const [id] = await pourPosts(user, 1)
  const nothing = { result_count: 0 }
  expect((await app.call(postsPath(user, `?since_id=${id}`))).body).toEqual({ data: [], meta: nothing })
  expect((await app.call(`${paths.links}?max_results=10`)).body).toEqual({
    data: { links: [] },
    meta: nothing,
  })
  expect((await app.call(paths.webhooks)).body).toEqual({ data: [], meta: nothing })
  expect((await app.call(paths.rules)).body).toEqual({
    data: [],
    meta: { ...nothing, sent: expect.stringMatching(/Z$/) as string },
  })
})

test("list-status: a list has the status 200, empty or not", async () => {
  await using linked = await appWithReceiver()
  const user = newUser()
  await pourPosts(user, 1)
  const lists = [paths.links, `${paths.links}?max_results=1`, paths.webhooks, paths.rules, paths.linkStates]
  const statuses = async (): Promise<readonly number[]> =>
    Promise.all([...lists, postsPath(user)].map(async (path) => (await linked.call(path)).status))
  expect(new Set(await statuses())).toEqual(new Set([200]))
  await addRules(linked, { value: "cat" })
  await link(linked, await linked.webhook())
  expect(new Set(await statuses())).toEqual(new Set([200]))
})

test("links-unpaged: without parameters every link is in one answer, without meta", async () => {
  await using linked = await appWithReceiver()
  const ids = await Promise.all(Array.from({ length: 101 }, () => linked.webhook()))
  await Promise.all(ids.map((id) => link(linked, id)))
  const { body } = await linked.call(paths.links)
  expect(Object.keys(body)).toEqual(["data"])
  const listed = body.data.links as Link[]
  expect(listed).toHaveLength(101)
  expect(new Set(listed.map((one) => one.webhook_id))).toEqual(new Set(ids))
})

test("links-paged: with max_results or pagination_token it is a page with meta", async () => {
  await using linked = await appWithReceiver()
  const ids: string[] = []
  for (let count = 0; count < 5; count++) {
    ids.unshift(await linked.webhook())
    await link(linked, ids[0] ?? "")
  }
  const token = expect.stringMatching(tokenForm) as string
  const first = await linked.call(`${paths.links}?max_results=2`)
  expect(first.body.meta).toEqual({ result_count: 2, next_token: token })
  const second = await linked.call(
    `${paths.links}?max_results=2&pagination_token=${first.body.meta.next_token}`,
  )
  expect(second.body.meta).toEqual({ result_count: 2, next_token: token, previous_token: token })
  const last = await linked.call(`${paths.links}?pagination_token=${second.body.meta.next_token}`)
  expect(last.body.meta).toEqual({ result_count: 1, previous_token: token })
  const pages = [first, second, last].map(({ body }) =>
    (body.data.links as Link[]).map((one) => one.webhook_id),
  )
  expect(pages).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)])
  for (const size of ["1", "100"]) {
    expect((await linked.call(`${paths.links}?max_results=${size}`)).status).toBe(200)
  }
})

test("unknown-parameter: every route refuses it and names it", async () => {
  const app = await server.newApp()
  for (const { method, path, init } of await allOperations()) {
    const refused = await app.call(`${path}?colour=blue`, init)
    expect.soft(refused.status, `${method} ${path}`).toBe(400)
    expect.soft(refused.body.errors, `${method} ${path}`).toMatchObject([
      {
        ...fourMembers,
        title: "Invalid Request",
        parameters: { colour: ["blue"] },
        message: expect.stringMatching(/^The query parameter \[colour\] is not one of \[/) as string,
      },
    ])
  }
})

test("partial-errors: a 2xx answer has errors only when part of what was asked for is missing", async () => {
  await using linked = await appWithReceiver()
  const user = newUser()
  await pourPosts(user, 1)
  const added = await linked.send("POST", paths.rules, { add: [{ value: "cat" }, { value: "dog" }] })
  const [cat, dog] = added.body.data.map(({ id }: { id: string }) => id) as [string, string]
  const id = await linked.webhook()
  await link(linked, id)
  const whole = [
    added,
    await linked.call(paths.rules),
    await linked.call(`${paths.rules}?ids=${cat},${dog}`),
    await linked.call(paths.ruleCounts),
    await linked.call(paths.webhooks),
    await linked.call(paths.links),
    await linked.call(postsPath(user)),
    await linked.send("POST", paths.rules, { delete: { ids: [dog] } }),
    await linked.send("DELETE", linkPath(id)),
    await linked.send("DELETE", webhookPath(id)),
  ]
  for (const { status, body } of whole) {
    expect(status).toBeLessThan(300)
    expect(body).not.toHaveProperty("errors")
  }
  const found = await linked.call(`${paths.rules}?ids=${cat},${dog}`)
  expect(found.status).toBe(200)
  expect(found.body).toEqual({
    data: [{ id: cat, value: "cat" }],
    meta: { sent: expect.any(String) as string, result_count: 1 },
    errors: [notFoundError("rule", "ids", dog)],
  })
  const mixed = await linked.send("POST", paths.rules, { add: [{ value: "bird" }, { value: "cat" }] })
  expect(mixed.status).toBe(201)
  expect(mixed.body.data).toMatchObject([{ value: "bird" }])
  expect(mixed.body.errors).toMatchObject([{ value: "cat" }])
})

test("failure-body: a 4xx or 5xx answer has errors, and no data", async () => {
  const answers = [...(await refusals()).values(), ...(await serverFaults())]
  expect(new Set(answers.map(({ status }) => status))).toEqual(
    new Set([400, 401, 403, 404, 405, 409, 413, 415, 429, 500, 503]),
  )
  for (const { body } of answers) {
    expect(body.errors.length).toBeGreaterThan(0)
    expect(body).not.toHaveProperty("data")
  }
})

test("page-size-bounds: each list has its own, and says them when they are overstepped", async () => {
  const app = await server.newApp()
  const user = newUser()
  const ids = await pourPosts(user, 101)
  const lists = [
    { path: postsPath(user), min: 5, max: 100 },
    { path: paths.rules, min: 1, max: 1000 },
    { path: paths.links, min: 1, max: 100 },
  ]
  for (const { path, min, max } of lists) {
    for (const size of [min - 1, max + 1]) {
      const { status, body } = await app.call(`${path}?max_results=${size}`)
      expect(status).toBe(400)
      expect(body.errors).toMatchObject([
        {
          parameters: { max_results: [String(size)] },
          message: `The \`max_results\` query parameter value [${size}] is not between ${min} and ${max}`,
        },
      ])
    }
    for (const size of [min, max]) expect((await app.call(`${path}?max_results=${size}`)).status).toBe(200)
  }
  expect((await pageOf(user)).ids).toEqual(ids.slice(0, 10))
  expect((await pageOf(user, "?max_results=5")).ids).toEqual(ids.slice(0, 5))
  expect((await pageOf(user, "?max_results=100")).ids).toEqual(ids.slice(0, 100))
  await addRules(app, ...Array.from({ length: 1001 }, (_, index) => ({ value: `word${index}` })))
  const rules = await app.call(paths.rules)
  expect(rules.body.data).toHaveLength(1000)
  expect(rules.body.meta).toMatchObject({ result_count: 1000, next_token: expect.any(String) as string })
})

test("unknown-user: their posts are an error within a 200, without data", async () => {
  const unknown = newUser()
  const answer = await server.call(postsPath(unknown))
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({ errors: [notFoundError("user", "id", unknown)] })
  // Somebody who is only mentioned is known, and has no posts.
  await pour({
    ...envelope(newId(), "hello"),
    includes: { users: [{ id: unknown, username: "robin", name: "Robin" }] },
  })
  expect((await server.call(postsPath(unknown))).body).toEqual({ data: [], meta: { result_count: 0 } })
})

test("malformed-id: it is refused in every path that has one", async () => {
  for (const id of ["abc", "12345678901234567890", "-1", "1.0", "0x10"]) {
    const requests = [
      ["GET", postsPath(id), "id"],
      ["PUT", webhookPath(id), "webhook_id"],
      ["DELETE", webhookPath(id), "webhook_id"],
      ["POST", linkPath(id), "webhook_id"],
      ["DELETE", linkPath(id), "webhook_id"],
    ] as const
    for (const [method, path, parameter] of requests) {
      const refused = await server.send(method, path)
      expect(refused.status).toBe(400)
      expect(refused.body.errors).toMatchObject([
        {
          parameters: { [parameter]: [id] },
          message: `The \`${parameter}\` query parameter value [${id}] is not valid`,
          detail: `The \`${parameter}\` query parameter value [${id}] is not valid: An id is 1 to 19 decimal digits, up to 9223372036854775807.`,
        },
      ])
    }
  }
})

// --- pages of posts ------------------------------------------------------------------------------------------

test("token-direction: next_token leads to older, previous_token to newer, under one name", async () => {
  const user = newUser()
  const ids = await pourPosts(user, 15)
  const pages = [ids.slice(0, 5), ids.slice(5, 10), ids.slice(10)]
  const first = await pageOf(user, "?max_results=5")
  const second = await pageOf(user, `?max_results=5&pagination_token=${first.meta.next_token}`)
  const third = await pageOf(user, `?max_results=5&pagination_token=${second.meta.next_token}`)
  expect([first.ids, second.ids, third.ids]).toEqual(pages)
  const secondAgain = await pageOf(user, `?max_results=5&pagination_token=${third.meta.previous_token}`)
  const firstAgain = await pageOf(user, `?max_results=5&pagination_token=${secondAgain.meta.previous_token}`)
  expect([firstAgain.ids, secondAgain.ids]).toEqual(pages.slice(0, 2))
  const forwards = await pageOf(user, `?max_results=5&pagination_token=${firstAgain.meta.next_token}`)
  expect(forwards.ids).toEqual(pages[1])
})

test("previous-token: on every page but the first, to a page that ends where this one begins", async () => {
  const user = newUser()
  const base = newBlock()
  const at = (...offsets: readonly number[]): string[] => offsets.map((offset) => String(base + offset))
  await pour(...at(150, 140, 130, 120, 110, 100, 90, 80, 70, 60, 50, 40).map((id) => postBy(user, id)))
  const first = await pageOf(user, "?max_results=5")
  expect(first.ids).toEqual(at(150, 140, 130, 120, 110))
  expect(first.meta).not.toHaveProperty("previous_token")
  const second = await pageOf(user, `?max_results=5&pagination_token=${first.meta.next_token}`)
  expect(second.ids).toEqual(at(100, 90, 80, 70, 60))
  expect(second.meta).toHaveProperty("previous_token")
  const third = await pageOf(user, `?max_results=5&pagination_token=${second.meta.next_token}`)
  expect(third.ids).toEqual(at(50, 40))
  expect(third.meta).toHaveProperty("previous_token")

  // Between the first page and the second, within the first, and before it.
  await pour(...at(105, 135, 160, 170).map((id) => postBy(user, id)))
  const before = await pageOf(user, `?max_results=5&pagination_token=${second.meta.previous_token}`)
  expect(before.ids).toEqual(at(135, 130, 120, 110, 105))
  const newest = await pageOf(user, `?max_results=5&pagination_token=${before.meta.previous_token}`)
  expect(newest.ids).toEqual(at(170, 160, 150, 140))
  expect(newest.meta).not.toHaveProperty("previous_token")
})

test("token-binding: with other parameters a token is refused; only max_results may change", async () => {
  const app = await server.newApp()
  const user = newUser()
  const ids = await pourPosts(user, 15)
  const bound = "tweet.fields=lang,created_at&exclude=replies&since_id=1"
  const { next_token: token } = (await app.call(postsPath(user, `?max_results=5&${bound}`))).body.meta
  const ask = async (query: string): Promise<Answer> =>
    app.call(postsPath(user, `?pagination_token=${token}&${query}`))

  const larger = await ask(`max_results=7&${bound}`)
  expect(idsIn(larger.body.data)).toEqual(ids.slice(5, 12))
  const reordered = await ask("since_id=1&exclude=replies&tweet.fields=lang,created_at&max_results=5")
  expect(idsIn(reordered.body.data)).toEqual(ids.slice(5, 10))

  const changed = [
    "max_results=5",
    bound.replace("replies", "retweets"),
    bound.replace("since_id=1", "since_id=2"),
    bound.replace(",created_at", ""),
    bound.replace("&exclude=replies", ""),
    `${bound}&until_id=9000000000000000000`,
    `${bound}&expansions=author_id`,
  ]
  for (const query of changed) {
    const refused = await ask(query)
    expect(refused.status).toBe(400)
    expect(refused.body.errors).toMatchObject([
      {
        parameters: { pagination_token: [token] },
        message:
          `The \`pagination_token\` query parameter value [${token}] was issued for a request with other ` +
          "parameters. Every parameter except `max_results` must be unchanged from that request, or start again " +
          "without `pagination_token`.",
      },
    ])
  }
  // Of another user, another app, another list.
  const stranger = await server.newApp()
  for (const refused of [
    await app.call(postsPath(newUser(), `?${bound}&pagination_token=${token}`)),
    await stranger.call(postsPath(user, `?${bound}&pagination_token=${token}`)),
    await app.call(`${paths.links}?pagination_token=${token}`),
    await app.call(`${paths.rules}?pagination_token=${token}`),
  ]) {
    expectInvalidToken(refused, token)
  }
})

test("token-form: a token is lowercase base32hex, and a changed one is refused", async () => {
  const user = newUser()
  await pourPosts(user, 15)
  const first = await pageOf(user, "?max_results=5")
  const second = await pageOf(user, `?max_results=5&pagination_token=${first.meta.next_token}`)
  for (const token of [second.meta.next_token ?? "", second.meta.previous_token ?? ""]) {
    expect(token).toMatch(tokenForm)
    const forged = [
      ...Array.from(
        token,
        (character, index) => token.slice(0, index) + after(character) + token.slice(index + 1),
      ),
      token.toUpperCase(),
      token.slice(1),
      `${token}0`,
    ]
    await Promise.all(
      forged.map(async (changed) =>
        expectInvalidToken(
          await server.call(postsPath(user, `?max_results=5&pagination_token=${changed}`)),
          changed,
        ),
      ),
    )
  }
})

test("token-lifetime: it is 24 hours unless it is set; 0 is for ever", async () => {
  const user = newUser()
  const ids = await pourPosts(user, 6)
  const older: PagePosition = { direction: "older", from: ids[3] ?? "" }
  const fresh = tokenIssued(server, user, older, Date.now() - 24 * hourMs + minuteMs)
  expect((await pageOf(user, `?pagination_token=${fresh}`)).ids).toEqual(ids.slice(4))
  const old = tokenIssued(server, user, older, Date.now() - 24 * hourMs)
  const refused = await server.call(postsPath(user, `?pagination_token=${old}`))
  expect(refused.status).toBe(400)
  expect(refused.body.errors).toMatchObject([
    {
      title: "Invalid Request",
      parameters: { pagination_token: [old] },
      message:
        `The \`pagination_token\` query parameter value [${old}] has expired: tokens are good for 24 hours. ` +
        "Start again without `pagination_token`.",
    },
  ])

  const env = { SLUICE_PAGE_TOKEN_LIFETIME_HOURS: "0" }
  expect(loadConfig({ posture: "dev", env }).pageTokenLifetimeHours).toBe(0)
  await otherwise.pour(...ids.map((id) => postBy(user, id)))
  const ancient = tokenIssued(otherwise, user, older, Date.UTC(2011, 0, 1))
  const answer = await otherwise.call(postsPath(user, `?pagination_token=${ancient}`))
  expect(idsIn(answer.body.data)).toEqual(ids.slice(4))
})

test("short-pages: a filter that meets its scan budget ends a page early, with a next_token", async () => {
  const user = newUser()
  const ids = newIds(255)
  const isKept = (index: number): boolean => index < 2 || index >= 252
  await otherwise.pour(
    ...ids.map((id, index) =>
      isKept(index)
        ? postBy(user, id)
        : postBy(user, id, { in_reply_to_user_id: "1", created_at: "2026-03-15T00:00:00.000Z" }),
    ),
  )
  for (const filter of ["exclude=replies", "end_time=2026-03-15T00:00:00Z"]) {
    const pages: unknown[] = []
    let token = ""
    do {
      const { body } = await otherwise.call(postsPath(user, `?max_results=5&${filter}${token}`))
      pages.push([idsIn(body.data), body.meta.result_count])
      token = body.meta.next_token === undefined ? "" : `&pagination_token=${body.meta.next_token}`
    } while (token !== "")
    expect(pages).toEqual([
      [ids.slice(0, 2), 2],
      [[], 0],
      [ids.slice(252), 3],
    ])
  }
})

test("post-order: posts are in the order of their ids, as numbers, newest first", async () => {
  const user = newUser()
  const ids = ["1000000000000000002", "1000000000000000001", "101", "100", "20", "19", "3", "2"]
  // Neither the time of arrival nor what a post says of its time has a part in it.
  await pour(...["100", "3", "1000000000000000001"].map((id) => postBy(user, id)))
  await pour(...["2", "1000000000000000002", "19", "101", "20"].map((id) => postBy(user, id, aDayLater)))
  expect((await pageOf(user)).ids).toEqual(ids)
  const first = await pageOf(user, "?max_results=5")
  const second = await pageOf(user, `?max_results=5&pagination_token=${first.meta.next_token}`)
  expect([first.ids, second.ids]).toEqual([ids.slice(0, 5), ids.slice(5)])
  expect(first.meta).toMatchObject({ newest_id: ids[0], oldest_id: ids[4] })
})

test("id-and-time-bounds: ids are exclusive numbers, start_time inclusive, end_time exclusive", async () => {
  const user = newUser()
  const base = newBlock()
  const at = (index: number): string => new Date(Date.UTC(2026, 2, 14, 9, 0, index)).toISOString()
  const all = Array.from({ length: 20 }, (_, index) => String(base + 19 - index))
  await pour(...all.map((id, index) => postBy(user, id, { created_at: at(19 - index) })))
  await pour(postBy(user, "98", { created_at: at(-1) }), postBy(user, "9", { created_at: at(-2) }))
  const newestFirst = [...all, "98", "9"]
  const between = (low: number, high: number): string[] =>
    all.filter((id) => +id >= base + low && +id <= base + high)

  expect((await pageOf(user, "?since_id=9&max_results=100")).ids).toEqual(newestFirst.slice(0, -1))
  expect((await pageOf(user, `?until_id=${base}`)).ids).toEqual(["98", "9"])
  expect((await pageOf(user, `?since_id=${base + 3}&until_id=${base + 7}`)).ids).toEqual(between(4, 6))
  expect((await pageOf(user, `?start_time=${at(3)}&end_time=${at(7)}`)).ids).toEqual(between(3, 6))
  const justAfter = at(3).replace(".000Z", ".001Z")
  expect((await pageOf(user, `?start_time=${justAfter}&end_time=${at(5)}`)).ids).toEqual(between(4, 4))

  for (const [bounds, expected] of [
    [`since_id=${base + 2}&until_id=${base + 15}`, between(3, 14)],
    [`start_time=${at(3)}&end_time=${at(15)}`, between(3, 14)],
  ] as const) {
    const first = await pageOf(user, `?max_results=5&${bounds}`)
    const second = await pageOf(user, `?max_results=5&${bounds}&pagination_token=${first.meta.next_token}`)
    const third = await pageOf(user, `?max_results=5&${bounds}&pagination_token=${second.meta.next_token}`)
    expect([...first.ids, ...second.ids, ...third.ids]).toEqual(expected)
    expect(third.meta).not.toHaveProperty("next_token")
    const back = await pageOf(user, `?max_results=5&${bounds}&pagination_token=${second.meta.previous_token}`)
    expect(back.ids).toEqual(first.ids)
    expect(back.meta).not.toHaveProperty("previous_token")
  }
})

// --- tokens and deliveries -----------------------------------------------------------------------------------

test("obtaining-a-token: consumer key and secret give the app's token, and so does the command", async () => {
  const { app } = await server.newApp()
  const basic = (secret: string): string =>
    `Basic ${Buffer.from(`${app.consumer_key}:${secret}`).toString("base64")}`
  const ask = (authorization: string, body = "grant_type=client_credentials"): Promise<Answer> =>
    server.call(paths.token, {
      method: "POST",
      headers: { Authorization: authorization, "content-type": "application/x-www-form-urlencoded" },
      body,
    })
  const given = await ask(basic(app.consumer_secret))
  expect(given.status).toBe(200)
  expect(given.body).toEqual({ token_type: "bearer", access_token: app.bearer_token })
  for (const refused of [
    await ask(basic("wrong")),
    await ask(`Bearer ${app.bearer_token}`),
    await ask(basic(app.consumer_secret), "grant_type=password"),
  ]) {
    expect(refused.status).toBe(403)
    expect(refused.text).not.toContain(app.bearer_token)
  }

  const made = await runSluice(["app", "create", "by hand", "--data", server.data, "--json"], {
    env: { SLUICE_MASTER_KEY: masterKey },
  })
  expect(made).toMatchObject({ status: 0, stderr: "" })
  const { bearer_token: token } = JSON.parse(made.stdout) as { bearer_token: string }
  expect((await server.call(paths.webhooks, bearer(token))).status).toBe(200)
})

test("token-scope: a token lasts until it is revoked or rotated, and reaches its own app alone", async () => {
  await using owner = await appWithReceiver()
  const stranger = await server.newApp()
  const id = await owner.webhook()
  await link(owner, id)
  const [rule] = await addRules(owner, { value: "cat" })
  expect((await stranger.call(paths.webhooks)).body.data).toEqual([])
  expect((await stranger.call(paths.links)).body).toEqual({ data: { links: [] } })
  expect((await stranger.call(paths.rules)).body.data ?? []).toEqual([])
  expect((await stranger.call(paths.linkStates)).body).toEqual({ data: [] })
  for (const [method, path] of [
    ["PUT", webhookPath],
    ["DELETE", webhookPath],
    ["POST", linkPath],
    ["DELETE", linkPath],
  ] as const) {
    const [anothers, nobodys] = [
      await stranger.send(method, path(id)),
      await stranger.send(method, path("1")),
    ]
    expect(anothers.status).toBe(404)
    expect(anothers.text).toBe(nobodys.text.replaceAll("[1]", `[${id}]`).replaceAll('"1"', `"${id}"`))
  }
  const deleted = await stranger.send("POST", paths.rules, { delete: { ids: [rule] } })
  expect(deleted.body.meta.summary).toEqual({ deleted: 0, not_deleted: 1 })
  expect(await linkedIds(owner)).toEqual([id])
  expect(idsIn((await owner.call(paths.rules)).body.data)).toEqual([rule])

  const { apps } = server.running
  const operator = bearer(await apps.createToken("operator"))
  const ingest = bearer(await apps.createToken("ingest"))
  const states = (await server.call(paths.linkStates, operator)).body.data as { webhook_id: string }[]
  expect(states.map((state) => state.webhook_id)).toContain(id)
  expect((await server.call(paths.links, operator)).status).toBe(403)
  expect((await server.call(paths.links, ingest)).status).toBe(403)
  expect((await server.call(paths.linkStates, ingest)).status).toBe(403)
  const posts = { method: "POST", headers: { "content-type": "application/x-ndjson" }, body: "\n" }
  for (const token of [operator, ingest]) {
    const poured = await server.call(paths.ingest, {
      ...posts,
      headers: { ...posts.headers, ...token.headers },
    })
    expect(poured.status).toBe(200)
  }

  const rotated = await apps.rotate(asId<AppId>(owner.app.application_id))
  expect((await owner.call(paths.links)).status).toBe(401)
  const renewed = bearer(rotated?.bearer_token ?? "")
  expect((await server.call(paths.links, renewed)).body.data.links).toMatchObject([{ webhook_id: id }])
  await apps.revoke(asId<AppId>(owner.app.application_id))
  expect((await server.call(paths.links, renewed)).status).toBe(401)
})

test("unauthorized: a missing, malformed, wrong or revoked token gets the same 401", async () => {
  const revoked = await server.newApp()
  await server.running.apps.revoke(asId<AppId>(revoked.app.application_id))
  const token = server.app.bearer_token
  const wrong = token.slice(0, -2) + (token.endsWith("AA") ? "BB" : "AA")
  const headers: readonly Record<string, string>[] = [
    {},
    { Authorization: "" },
    { Authorization: token },
    { Authorization: "Bearer" },
    { Authorization: `Basic ${token}` },
    { Authorization: `Bearer ${token} ${token}` },
    { Authorization: "Bearer nonsense" },
    { Authorization: `Bearer${token}` },
    { Authorization: `Bearer ${wrong}` },
    { Authorization: `Bearer ${revoked.app.bearer_token}` },
  ]
  const expected = problem(401, "Unauthorized", "Unauthorized")
  const guarded = (await allOperations()).filter(({ isGuarded }) => isGuarded)
  expect(guarded.length).toBeGreaterThan(10)
  for (const { path, init } of guarded) {
    for (const header of headers) {
      const response = await fetch(server.url + path, { ...init, headers: { ...init.headers, ...header } })
      expect(response.status).toBe(401)
      expect(response.headers.get("www-authenticate")).toBe("Bearer")
      expect(await response.json()).toEqual(expected)
    }
  }
})

test("delivery-body: a webhook receives data, includes and matching_rules, signed as X signs", async () => {
  await using linked = await appWithReceiver()
  const [cats, pets] = await addRules(linked, { value: "cat" }, { value: "cat OR dog", tag: "pets" })
  await link(
    linked,
    await linked.webhook(),
    "?tweet.fields=created_at,author_id&expansions=author_id&user.fields=verified",
  )
  const id = newId()
  await pour(envelope(id, "a cat"))
  await linked.receiver.arrived(1)
  const [delivery] = linked.receiver.received
  const signed = createHmac("sha256", linked.app.consumer_secret)
    .update(delivery?.body ?? "")
    .digest("base64")
  expect(delivery?.headers["x-twitter-webhooks-signature"]).toBe(`sha256=${signed}`)
  const body = JSON.parse(delivery?.body ?? "") as { matching_rules: object[] }
  expect(Object.keys(body)).toEqual(["data", "includes", "matching_rules"])
  expect(body).toStrictEqual({
    data: {
      id,
      text: "a cat",
      author_id: "7",
      created_at: "2026-03-14T09:26:53.000Z",
      edit_history_tweet_ids: [id],
    },
    includes: { users: [{ id: "7", username: "wren", name: "Wren", verified: true }] },
    matching_rules: expect.arrayContaining([{ id: cats }, { id: pets, tag: "pets" }]) as object[],
  })
  expect(body.matching_rules).toHaveLength(2)
})

test("standard-webhooks: a delivery has its three headers, under a key of the webhook's own", async () => {
  await using linked = await appWithReceiver()
  await addRules(linked, { value: "cat" })
  const ids = [await linked.webhook(), await linked.webhook()]
  for (const id of ids) await link(linked, id)
  const beforeS = Math.floor(Date.now() / 1000)
  await pour(envelope(newId(), "a cat"))
  await linked.receiver.arrived(2)

  const keys = await signingKeys(linked, ids)
  expect(new Set(keys).size).toBe(2)
  expect(keys).not.toContain(linked.app.consumer_secret)
  const signers = linked.receiver.received.map(({ headers, body }) => {
    const { "webhook-id": id, "webhook-timestamp": atS } = headers
    expect(id).toMatch(/^msg_\d+_\d+$/)
    expect(Number(atS)).toBeGreaterThanOrEqual(beforeS)
    expect(Number(atS)).toBeLessThanOrEqual(Date.now() / 1000)
    return keys.findIndex((key) => {
      const secret = Buffer.from(key.replace("whsec_", ""), "base64")
      const signed = createHmac("sha256", secret)
        .update(`${String(id)}.${String(atS)}.${body}`)
        .digest("base64")
      return headers["webhook-signature"] === `v1,${signed}`
    })
  })
  expect(new Set(signers)).toEqual(new Set([0, 1]))
})

test("signing-key-rotation: the key before signs too while its grace lasts", async () => {
  await using linked = await appWithReceiver()
  await addRules(linked, { value: "cat" })
  const id = await linked.webhook()
  await link(linked, id)
  const keyPath = paths.signingKey.replace(":webhook_id", id)
  const [before] = await signingKeys(linked, [id])
  const rotated = await linked.send("POST", keyPath)
  expect(rotated.status).toBe(200)
  const { signing_key: now, previous_valid_until: untilAt } = rotated.body.data as Record<string, string>
  expect(now).not.toBe(before)
  expect(Date.parse(untilAt ?? "") - Date.now()).toBeLessThanOrEqual(24 * hourMs)
  expect(Date.parse(untilAt ?? "") - Date.now()).toBeGreaterThan(23 * hourMs)
  expect((await linked.call(keyPath)).body).toEqual(rotated.body)
  // A link hears of it a moment later; until then it signs with the key before, which is as good.
  const latest = () => linked.receiver.received.at(-1)
  await expect
    .poll(async () => {
      const count = linked.receiver.received.length
      await pour(envelope(newId(), "a cat"))
      await linked.receiver.arrived(count + 1)
      return String(latest()?.headers["webhook-signature"]).split(" ").length
    })
    .toBe(2)
  const arrived = latest()
  const {
    "webhook-id": eventId,
    "webhook-timestamp": atS,
    "webhook-signature": signatures,
  } = arrived?.headers ?? {}
  const signed = `${String(eventId)}.${String(atS)}.${arrived?.body}`
  expect(signatures).toBe(
    [now ?? "", before ?? ""]
      .map((key) => Buffer.from(key.replace("whsec_", ""), "base64"))
      .map((secret) => `v1,${createHmac("sha256", secret).update(signed).digest("base64")}`)
      .join(" "),
  )
})

test("endpoint-gone: 410 makes a webhook invalid, and what was held is sent once it is valid again", async () => {
  await using linked = await appWithReceiver()
  await addRules(linked, { value: "cat" })
  const id = await linked.webhook()
  await link(linked, id)
  linked.receiver.status = 410
  const [first, second] = [newId(), newId()]
  await pour(envelope(first, "a cat"))
  await expect
    .poll(async () => (await linked.call(paths.linkStates)).body.data)
    .toMatchObject([{ valid: false, invalid_reason: "answered 410 Gone" }])
  linked.receiver.status = 200
  await pour(envelope(second, "another cat"))
  await sleep(100)
  expect(linked.receiver.received).toHaveLength(1)
  expect((await linked.send("PUT", webhookPath(id))).body).toEqual({ data: { valid: true } })
  await linked.receiver.arrived(3)
  const delivered = linked.receiver.received
    .slice(1)
    .map(({ body }) => (JSON.parse(body) as Envelope).data.id)
  expect(delivered.toSorted()).toEqual([first, second].toSorted())
})

test("dead-letters: what failed to the end is listed, and sent again under its own event id", async () => {
  await using linked = await appWithReceiver(otherwise)
  await addRules(linked, { value: "cat" })
  const id = await linked.webhook()
  await link(linked, id)
  linked.receiver.status = 400
  const postId = newId()
  await otherwise.pour(envelope(postId, "a cat"))
  await expect
    .poll(async () => (await linked.call(paths.deadLetters)).body.data)
    .toMatchObject([{ webhook_id: id, post_id: postId, failures: 1, outcome: "rejected", status: 400 }])
  linked.receiver.status = 200
  const redelivered = await linked.send("POST", paths.redeliver, { all: true })
  expect(redelivered.body).toEqual({ data: { redelivered: 1 } })
  await linked.receiver.arrived(2)
  const [first, second] = linked.receiver.received
  expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"])
  expect(second?.body).toBe(first?.body)
  expect((await linked.call(paths.deadLetters)).body).toEqual({ data: [], meta: { result_count: 0 } })
})

test("replay-bounds: both dates belong to the window, a day old at most, 31 and 10 minutes at least", async () => {
  await using linked = await appWithReceiver()
  const id = await linked.webhook()
  await link(linked, id)
  const ago = (minutes: number): string =>
    new Date(Date.now() - minutes * minuteMs).toISOString().slice(0, 16).replaceAll(/\D/g, "")
  const ask = (from_date: string, to_date: string): Promise<Answer> =>
    linked.send("POST", paths.webhookReplay, { webhook_id: id, from_date, to_date })
  // A minute may pass between the writing of a date and the look at it.
  const right = [
    [ago(31), ago(10)],
    [ago(24 * 60 - 1), ago(24 * 60 - 1)],
    [ago(40), ago(40)],
  ] as const
  for (const [from, to] of right) {
    const made = await ask(from, to)
    expect([made.status, made.text]).toEqual([200, expect.stringContaining("job_id") as string])
    await expect
      .poll(async () => (await linked.call(paths.replays)).body.data[0])
      .toMatchObject({ job_id: made.body.data.job_id as string, state: "complete" })
  }
  const wrong = [
    [ago(24 * 60 + 1), ago(60), "from_date is more than 24 hours ago"],
    [ago(29), ago(20), "from_date is less than 31 minutes ago"],
    [ago(60), ago(8), "to_date is less than 10 minutes ago"],
    [ago(60), ago(-2), "to_date is in the future"],
    [ago(60), ago(61), "from_date is after to_date"],
    ["202602300000", ago(60), "from_date is not a minute in UTC, written yyyymmddhhmm"],
  ] as const
  for (const [from, to, reason] of wrong) {
    const refused = await ask(from, to)
    expect(refused.status).toBe(400)
    expect(refused.body.errors).toMatchObject([{ message: `QueryParamInvalid: ${reason}` }])
  }
  linked.receiver.answersChallenges = false
  await linked.send("PUT", webhookPath(id))
  const invalid = await ask(ago(60), ago(60))
  expect([invalid.status, invalid.body.errors[0].message]).toEqual([
    400,
    expect.stringMatching(/^CrcValidationFailed: /) as string,
  ])
})

test("replay-end: the webhook is told in X's words, under the job's own event id", async () => {
  await using linked = await appWithReceiver()
  const id = await linked.webhook()
  await link(linked, id)
  const anHourAgo = new Date(Date.now() - hourMs).toISOString().slice(0, 16).replaceAll(/\D/g, "")
  const request = { webhook_id: id, from_date: anHourAgo, to_date: anHourAgo }
  const { job_id: jobId } = (await linked.send("POST", paths.webhookReplay, request)).body.data as {
    job_id: string
  }
  await linked.receiver.arrived(1)
  const [told] = linked.receiver.received
  expect(told).toMatchObject({ isSigned: true, headers: { "webhook-id": `replay_${jobId}` } })
  expect(JSON.parse(told?.body ?? "")).toEqual({
    replay_job_status: {
      webhook_id: id,
      job_state: "Complete",
      job_state_description: "Job completed successfully",
      job_id: jobId,
    },
  })
})

test("recovery-window: a stream with start_time holds what was matched from then on, and ends", async () => {
  const app = await server.newApp()
  await addRules(app, { value: "cat" })
  await pour(envelope(newId(), "a cat before"))
  await sleep(20)
  const startAt = new Date().toISOString()
  const ids = [newId(), newId()]
  for (const id of ids) await pour(envelope(id, "a cat within"))
  await sleep(20)
  const endAt = new Date().toISOString()
  await pour(envelope(newId(), "a cat after"))
  const recover = async (query: string): Promise<readonly string[]> => {
    const { status, text: body } = await app.call(paths.stream + query)
    expect(status, body).toBe(200)
    const records = body.split("\r\n").filter((line) => line !== "")
    return records.map((line) => (JSON.parse(line) as Envelope).data.id)
  }
  expect(await recover(`?start_time=${startAt}&end_time=${endAt}`)).toEqual(ids)
  expect(await recover(`?start_time=${startAt}`)).toHaveLength(3)
  // It has places of its own: the live stream may be open beside it.
  await using live = await openStream(app)
  expect(live.response.status).toBe(200)
  expect(await recover(`?start_time=${startAt}&end_time=${endAt}`)).toEqual(ids)
  const dayAgo = new Date(Date.now() - 24 * hourMs - 1_000).toISOString()
  for (const query of [
    `?start_time=${dayAgo}`,
    `?end_time=${endAt}`,
    `?start_time=${endAt}&end_time=${startAt}`,
    `?start_time=${startAt}&backfill_minutes=1`,
  ]) {
    expect((await app.call(paths.stream + query)).status, query).toBe(400)
  }
})

// --- form and bounds -----------------------------------------------------------------------------------------

test("problem-body: an error's four members are at the top level, and the error is in errors", async () => {
  for (const [what, { status, headers, body }] of await refusals()) {
    expect(headers.get("content-type"), what).toBe("application/problem+json; charset=utf-8")
    expect(body, what).toMatchObject({ ...fourMembers, status })
    const { title, type, detail } = body as { title: string; type: string; detail: string }
    for (const error of body.errors as { detail: string }[]) {
      expect(error, what).toMatchObject({ title, type, status })
      // Where a request has several faults, each is an error of its own and the top level tells of all.
      expect(detail, what).toContain(error.detail.replace(/\.$/, ""))
    }
  }
  expect((await refusals()).get("unknown route")?.body).toEqual(
    problem(404, "Not Found", "There is nothing at [/2/nothing]. GET /openapi.json describes what there is."),
  )
})

test("rate-limit-headers: they are on every answer but a 401, and never run out", async () => {
  const beforeS = Date.now() / 1000
  const refused = [...(await refusals()).values()]
  const app = await server.newApp()
  await addRules(app, { value: "cat" })
  await using stream = await openStream(app)
  const answers = [
    ...refused.map(({ status, headers }) => ({ status, headers })),
    stream.response,
    await app.call(paths.links),
    await app.call(postsPath(newUser())),
    await app.call(paths.links, { method: "HEAD" }),
    await app.send("POST", paths.rules, { add: [{ value: "dog" }] }),
    await server.call(paths.healthz),
    await server.call(paths.metrics),
    await rawRequest("GET /2/webhooks HTTP/1.1\r\nno colon\r\n\r\n"),
    await rawRequest(`GET /2/webhooks HTTP/1.1\r\nhost: a\r\nlong: ${"x".repeat(20_000)}\r\n\r\n`),
  ]
  const nowS = Date.now() / 1000
  for (const [index, { status, headers }] of answers.entries()) {
    const [limit, remaining, reset] = ["limit", "remaining", "reset"].map((name) =>
      headers.get(`x-rate-limit-${name}`),
    )
    if (status === 401) {
      expect([limit, remaining, reset]).toEqual([null, null, null])
    } else {
      expect(Number(limit)).toBeGreaterThan(0)
      expect(remaining).toBe(limit)
      // The refusals may be those of an earlier test, and of a window that is over since.
      expect(Number(reset)).toBeGreaterThan((index < refused.length ? refusedFromS : beforeS) - 1)
      expect(Number(reset)).toBeLessThanOrEqual(nowS + 900)
    }
  }
  expect(answers.map(({ status }) => status)).toEqual(
    expect.arrayContaining([200, 201, 400, 401, 404, 429, 431]),
  )
})

test("request-size: JSON may have 1 MiB, NDJSON any length with 1 MiB a line", async () => {
  const app = await server.newApp()
  const padded = (bytes: number): string => `{"add":[{"value":"cat"}]`.padEnd(bytes - 1) + "}"
  const post = (body: string): Promise<Answer> =>
    app.call(paths.rules, { method: "POST", headers: { "content-type": "application/json" }, body })
  const tooLarge = await post(padded(bodyBytesMax + 1))
  expect(tooLarge.status).toBe(413)
  expect(tooLarge.body).toEqual(problem(413, "Payload Too Large", "The body is larger than 1048576 bytes."))
  expect((await post(padded(bodyBytesMax))).status).toBe(201)

  const ofBytes = (bytes: number): string => {
    const line = JSON.stringify(envelope(newId(), "long", { padding: "" }))
    return line.replace('"padding":""', `"padding":"${"x".repeat(bytes - line.length)}"`)
  }
  const lines = [bodyBytesMax, bodyBytesMax + 1, bodyBytesMax, bodyBytesMax].map(ofBytes)
  const poured = await server.call(paths.ingest, {
    method: "POST",
    headers: { "content-type": "application/x-ndjson" },
    body: lines.join("\n"),
  })
  expect(poured.status).toBe(200)
  expect(poured.body).toEqual({
    lines: 4,
    accepted: 3,
    duplicates: 0,
    rejected: [
      {
        line: 2,
        title: "Line Too Long",
        detail: "The line has 1048577 bytes, and may have at most 1048576.",
      },
    ],
    rejected_count: 1,
  })
})

test("versioning: the dialect is under /2, and what X does not have under /sluice/v1", async () => {
  const described = Object.keys((await server.call(paths.openapi)).body.paths as object)
  const under = (prefix: string): string[] => described.filter((path) => path.startsWith(prefix)).toSorted()
  expect(under("/2/")).toEqual([
    "/2/tweets/search/stream",
    "/2/tweets/search/stream/rules",
    "/2/tweets/search/stream/rules/counts",
    "/2/tweets/search/webhooks",
    "/2/tweets/search/webhooks/{webhook_id}",
    "/2/users/{id}/tweets",
    "/2/webhooks",
    "/2/webhooks/replay",
    "/2/webhooks/{webhook_id}",
  ])
  expect(under("/sluice/v1/")).toEqual([
    "/sluice/v1/dead-letters",
    "/sluice/v1/dead-letters/redeliver",
    "/sluice/v1/links",
    "/sluice/v1/links/{webhook_id}",
    "/sluice/v1/links/{webhook_id}/attempts",
    "/sluice/v1/posts",
    "/sluice/v1/replays",
    "/sluice/v1/rules/test",
    "/sluice/v1/webhooks/{webhook_id}/signing_key",
  ])
  // Neither has a version: X's own way to a token, and what looks after the server.
  expect(described.filter((path) => !/^\/(2|sluice\/v1)\//.test(path)).toSorted()).toEqual([
    "/healthz",
    "/metrics",
    "/oauth2/token",
    "/openapi.json",
    "/readyz",
  ])
  for (const path of [
    "/tweets/search/webhooks",
    "/1.1/tweets/search/webhooks",
    "/2/posts",
    "/sluice/v2/links",
  ]) {
    expect((await server.call(path)).status).toBe(404)
  }
})

// --- where X's own sources disagree --------------------------------------------------------------------------

test("link-list-body: the links are in data.links", async () => {
  await using linked = await appWithReceiver()
  expect((await linked.call(paths.links)).text).toBe('{"data":{"links":[]}}')
  const id = await linked.webhook()
  await link(linked, id)
  const { body } = await linked.call(paths.links)
  expect(body).toEqual({ data: { links: [expect.objectContaining({ webhook_id: id })] } })
})

test("webhook-body: POST and PUT answer within data", async () => {
  await using linked = await appWithReceiver()
  const beforeMs = Date.now()
  const made = await linked.send("POST", paths.webhooks, { url: linked.receiver.url })
  expect(made.status).toBe(200)
  const { id, created_at: createdAt } = made.body.data as { id: string; created_at: string }
  expect(made.body).toStrictEqual({
    data: { id, created_at: createdAt, url: linked.receiver.url, valid: true },
  })
  expect(new Date(createdAt).toISOString()).toBe(createdAt)
  expect(Date.parse(createdAt)).toBeGreaterThanOrEqual(beforeMs)
  expect(Date.parse(createdAt)).toBeLessThanOrEqual(Date.now())
  const validated = await linked.send("PUT", webhookPath(id))
  expect([validated.status, validated.body]).toEqual([200, { data: { valid: true } }])
  linked.receiver.answersChallenges = false
  const failed = await linked.send("PUT", webhookPath(id))
  expect([failed.status, failed.body]).toEqual([200, { data: { valid: false } }])
})

test("rules-status: 201 when at least one rule was created, also in a dry run; else 200", async () => {
  const app = await server.newApp()
  const post = async (body: object | undefined, query = ""): Promise<readonly [number, unknown]> => {
    const { status, body: answer } = await app.send("POST", paths.rules + query, body)
    return [status, answer.meta.summary]
  }
  const created = (made: number, not: number): object => ({
    created: made,
    not_created: not,
    valid: made,
    invalid: not,
  })
  expect(await post({ add: [{ value: "cat" }] }, "?dry_run=true")).toEqual([201, created(1, 0)])
  expect((await app.call(paths.rules)).body.meta.result_count).toBe(0)
  expect(await post({ add: [{ value: "cat" }, { value: "a AND b" }] })).toEqual([201, created(1, 1)])
  expect(await post({ add: [{ value: "cat" }] })).toEqual([200, created(0, 1)])
  expect(await post({ add: [{ value: "cat" }] }, "?dry_run=true")).toEqual([200, created(0, 1)])
  expect(await post({ add: [{ value: "(" }] })).toEqual([200, created(0, 1)])
  const gone = { deleted: 1, not_deleted: 0 }
  expect(await post({ delete: { values: ["cat"] } }, "?dry_run=true")).toEqual([200, gone])
  expect(await post({ delete: { values: ["cat"] } })).toEqual([200, gone])
  expect(await post(undefined, "?delete_all=true")).toEqual([200, { deleted: 0, not_deleted: 0 }])
})

test("second-stream: one connection too many is refused, and the first goes on", async () => {
  const app = await server.newApp()
  await addRules(app, { value: "cat" })
  const detail = "This stream is currently at the maximum allowed connection limit."
  const type = "https://api.x.com/2/problems/streaming-connection"
  const error = {
    title: "ConnectionException",
    type,
    detail,
    status: 429,
    connection_issue: "TooManyConnections",
  }
  const first = await openStream(app)
  const refused = await app.call(paths.stream, { signal: AbortSignal.timeout(5_000) })
  expect(refused.status).toBe(429)
  expect(refused.body).toEqual({ ...error, message: detail, errors: [error] })
  const id = newId()
  await pour(envelope(id, "a cat"))
  expect((await first.next()).data.id).toBe(id)
  await first[Symbol.asyncDispose]()
  await expect.poll(async () => isStreamOpen(app)).toBe(true)

  const env = { SLUICE_STREAM_CONNECTIONS_PER_APP_MAX: "2" }
  expect(loadConfig({ posture: "dev", env }).streamConnectionsPerAppMax).toBe(2)
  await addRules(otherwise, { value: "cat" })
  await using one = await openStream(otherwise)
  await using two = await openStream(otherwise)
  expect([one.response.status, two.response.status]).toEqual([200, 200])
  const third = await otherwise.call(paths.stream, { signal: AbortSignal.timeout(5_000) })
  expect(third.status).toBe(429)
})

test("field-names: tweet.fields and post.fields, old and new names, are the same thing", async () => {
  await using linked = await appWithReceiver()
  const user = newUser()
  const [referred, edited, id] = newIds(3).toReversed() as [string, string, string]
  await pour({
    data: {
      id,
      text: "hello @robin",
      author_id: user,
      lang: "en",
      created_at: "2026-03-14T09:26:53.000Z",
      edit_history_tweet_ids: [edited, id],
      note_tweet: { text: "a long hello" },
      entities: { mentions: [{ username: "robin", start: 6, end: 12 }] },
      referenced_tweets: [{ type: "quoted", id: referred }],
    },
    includes: {
      users: [{ id: "8", username: "robin", name: "Robin" }],
      tweets: [
        { id: referred, text: "quoted" },
        { id: edited, text: "before the edit" },
      ],
    },
  })
  const shown = async (query: string): Promise<string> => {
    const answer = await linked.call(postsPath(user, `?${query}`))
    expect(answer.status, query).toBe(200)
    return answer.text
  }
  const chosen = await shown("tweet.fields=lang,created_at")
  expect(chosen).toContain('"lang":"en"')
  expect(chosen).toContain('"created_at":"2026-03-14T09:26:53.000Z"')
  expect(await shown("post.fields=lang,created_at")).toBe(chosen)
  expect(await shown("tweet.fields=lang&post.fields=created_at")).toBe(chosen)

  const bare = await shown("max_results=10")
  for (const [newer, older] of Object.entries(postFieldAliases)) {
    const answer = await shown(`tweet.fields=${older}`)
    if (older !== "edit_history_tweet_ids") expect(answer).not.toBe(bare)
    expect(answer).toContain(`"${older}":`)
    for (const query of [`tweet.fields=${newer}`, `post.fields=${newer}`, `post.fields=${older}`]) {
      expect(await shown(query)).toBe(answer)
    }
  }
  for (const [newer, older] of Object.entries(expansionAliases)) {
    const answer = await shown(`expansions=${older}`)
    expect(answer).toContain('"includes":')
    expect(await shown(`expansions=${newer}`)).toBe(answer)
  }
  await link(linked, await linked.webhook(), "?post.fields=lang&expansions=referenced_posts")
})

test("ambiguous-and-or: they are refused in X's words, with the position", async () => {
  const app = await server.newApp()
  const detailsOf = async (value: string): Promise<unknown> => {
    const { status, body } = await app.send("POST", paths.rules, { add: [{ value }] })
    expect([status, body.errors.length, body.errors[0].value]).toEqual([200, 1, value])
    return body.errors[0].details
  }
  const and = (position: number): string =>
    "Ambiguous use of and as a keyword. Use a space to logically join two clauses, " +
    `or "and" to find occurrences of and in text (at position ${position})`
  const or = (position: number): string =>
    "Ambiguous use of or as a keyword. Use OR to logically join two clauses, " +
    `or "or" to find occurrences of or in text (at position ${position})`
  expect(await detailsOf("cat AND dog")).toEqual([and(5)])
  expect(await detailsOf("snow and ice")).toEqual([and(6)])
  expect(await detailsOf("cat dog or bird")).toEqual([or(9)])
  expect(await addRules(app, { value: 'cat "and" dog' }, { value: "cat OR dog" })).toHaveLength(2)
})

test("negated-groups: they are accepted and mean one thing; the strict dialect refuses them", async () => {
  const value = "cat -(dog OR bird)"
  const posts = ["a cat", "a cat and a dog", "a bird and a cat", "nothing"].map((words, index) =>
    envelope(index + 1, words),
  )
  expect(await addRules(await server.newApp(), { value })).toHaveLength(1)
  const tried = await server.send("POST", paths.ruleTest, { value, posts })
  expect(idsIn(tried.body.data)).toEqual(["1"])
  const both = await server.send("POST", paths.ruleTest, { value: "cat -(dog bird)", posts })
  expect(idsIn(both.body.data)).toEqual(["1", "2", "3"])

  const env = { SLUICE_RULE_DIALECT: "strict" }
  expect(loadConfig({ posture: "dev", env }).ruleDialect).toBe("strict")
  const refused = await otherwise.send("POST", paths.rules, { add: [{ value }, { value: "cat -dog" }] })
  expect(refused.status).toBe(201)
  expect(refused.body.data).toMatchObject([{ value: "cat -dog" }])
  expect(refused.body.errors).toMatchObject([
    {
      value,
      details: [
        "Do not negate a set of operators grouped together in parentheses (at position 5). " +
          "Negate each operator on its own",
      ],
    },
  ])
})

// --- rules ---------------------------------------------------------------------------------------------------

test("rule-modes: a search looks at the post alone, ignores diacritics, and knows fewer operators", async () => {
  const quote = {
    ...envelope(1, "look", { referenced_tweets: [{ type: "quoted", id: "9" }] }),
    includes: { tweets: [{ id: "9", text: "a cat" }] },
  }
  const posts = [quote, envelope(2, "a cat in a café")]
  expect(await testedIds("cat", posts)).toEqual(["1", "2"])
  expect(await testedIds("cat", posts, "search")).toEqual(["2"])
  expect(await testedIds("cafe", posts)).toEqual([])
  expect(await testedIds("cafe", posts, "search")).toEqual(["2"])
  expect(await testedIds("-is:reply (cat OR café)", posts)).toEqual(["1", "2"])
  expect(await testedIds("-is:reply (cat OR café)", posts, "search")).toEqual(["2"])
  for (const value of ["cat sample:50", "bio:cat", "bio_name:cat", "bio_location:cat"]) {
    expect((await tryRule(value, posts)).status).toBe(200)
    const refused = await tryRule(value, posts, "search")
    expect(refused.status).toBe(400)
    expect(refused.body.details[0]).toContain("Operator is not available in current product")
  }
})

test("quoted-operators: words, marks, links, media, is:reply and is:quote are found in what is quoted", async () => {
  const quoted = {
    id: "9",
    text: "a cat #Pets @wren $CATS https://t.co/abcdefghij",
    author_id: "8",
    lang: "de",
    in_reply_to_user_id: "6",
    attachments: { media_keys: ["3_1"] },
    entities: {
      hashtags: [{ start: 6, end: 11, tag: "Pets" }],
      mentions: [{ start: 12, end: 17, username: "wren" }],
      cashtags: [{ start: 18, end: 23, tag: "CATS" }],
      urls: [
        { start: 24, end: 47, url: "https://t.co/abcdefghij", expanded_url: "https://example.com/cats" },
      ],
    },
  }
  const post = {
    data: {
      id: "1",
      text: "look",
      author_id: "7",
      lang: "en",
      referenced_tweets: [{ type: "quoted", id: "9" }],
      entities: {},
    },
    includes: { tweets: [quoted], users: [{ id: "8", username: "finch" }] },
  }
  const found = [
    ...'cat|"a cat"|"a cat"~1|#pets|@wren|$cats|url:example.com|url_contains:cats'.split("|"),
    ..."has:links has:hashtags has:mentions has:cashtags has:media has:images is:reply is:quote".split(" "),
  ]
  for (const value of found) {
    const rule = /^(?:has|is):/.test(value) ? `${value} (look OR nothing)` : value
    expect([value, await testedIds(rule, [post])]).toEqual([value, ["1"]])
    // A search sees only that the post is a quote.
    const isOwn = value === "is:quote"
    expect([value, await testedIds(rule, [post], "search")]).toEqual([value, isOwn ? ["1"] : []])
  }
  for (const value of ["from:finch", "from:8", "look lang:de"])
    expect(await testedIds(value, [post])).toEqual([])
  for (const value of ["from:7", "look lang:en"]) expect(await testedIds(value, [post])).toEqual(["1"])
})

test("repost-places: a repost is found by its original's place, over a restart too; an area looks at its own", async () => {
  const data = await mkdtemp(join(tmpdir(), "sluice-places-"))
  const berlin = {
    id: "3078869807f9dd36",
    name: "Berlin",
    full_name: "Berlin, Germany",
    country_code: "DE",
    geo: { type: "Feature", bbox: [13.088304, 52.338079, 13.760909, 52.675323] },
  }
  const original = { id: "1", text: "servus", author_id: "7", geo: { place_id: berlin.id } }
  const repost = (id: number): unknown => ({
    data: {
      id: String(id),
      text: "RT @wren: servus",
      author_id: "8",
      referenced_tweets: [{ type: "retweeted", id: "1" }],
    },
    includes: { tweets: [original] },
  })
  const values = ["place:berlin", "place_country:de", "point_radius:[13.4 52.5 10km]"]
  try {
    const matchesOf = async (place: TestServer, post: unknown): Promise<readonly string[]> => {
      const app = await place.newApp()
      await addRules(app, ...values.map((value) => ({ value, tag: value })), {
        value: "servus",
        tag: "control",
      })
      await using stream = await openStream(app)
      expect((await app.pour(post)).body).toMatchObject({ accepted: 1 })
      const { matching_rules: rules } = (await stream.next()) as unknown as {
        matching_rules: { tag: string }[]
      }
      return rules.map(({ tag }) => tag)
    }
    {
      await using first = await startTestServer({ data })
      expect(await matchesOf(first, repost(2))).toEqual(["control"])
      expect(await matchesOf(first, { data: original, includes: { places: [berlin] } })).toEqual([
        ...values,
        "control",
      ])
      expect(await matchesOf(first, repost(3))).toEqual(["place:berlin", "place_country:de", "control"])
    }
    await using again = await startTestServer({ data })
    expect(await matchesOf(again, repost(4))).toEqual(["place:berlin", "place_country:de", "control"])
  } finally {
    await rm(data, { recursive: true })
  }
})

test("area-intersection: a place need only meet the area, and a point must lie within it", async () => {
  const at = (id: number, geo: object, bbox?: readonly number[]): unknown => ({
    data: { id: String(id), text: "here", geo: { ...geo, ...(bbox && { place_id: `p${id}` }) } },
    ...(bbox && { includes: { places: [{ id: `p${id}`, full_name: "P", geo: { type: "Feature", bbox } }] } }),
  })
  const point = (id: number, ...coordinates: readonly number[]): unknown =>
    at(id, { coordinates: { type: "Point", coordinates } })
  const posts = [
    at(1, {}, [13.3, 52.4, 13.4, 52.5]),
    at(2, {}, [13.0, 52.0, 14.0, 53.0]),
    at(3, {}, [13.45, 52.45, 20, 60]),
    at(4, {}, [13.6, 52.4, 13.7, 52.5]),
    point(5, 13.3, 52.4),
    point(6, 13.6, 52.4),
  ]
  expect(await testedIds("bounding_box:[13.2 52.4 13.5 52.5]", posts)).toEqual(["1", "2", "3", "5"])
  expect(await testedIds("point_radius:[13.35 52.45 10km]", posts)).toEqual(["1", "2", "3", "5"])
})

test("engagement-minimums: they count what the post, or the original of a repost, came with; a search refuses them", async () => {
  const likes = (count: number): Readonly<Record<string, unknown>> => ({
    public_metrics: { like_count: count },
  })
  const posts = [
    envelope(1, "cat", likes(9)),
    envelope(2, "cat", likes(10)),
    envelope(3, "cat"),
    {
      ...envelope(4, "RT @wren: cat", { ...likes(0), referenced_tweets: [{ type: "retweeted", id: "9" }] }),
      includes: { tweets: [{ id: "9", text: "cat", ...likes(500) }] },
    },
  ]
  expect(await testedIds("cat min_likes:10", posts)).toEqual(["2", "4"])
  expect(await testedIds("cat -min_likes:10", posts)).toEqual(["1", "3"])
  for (const name of ["min_likes", "min_replies", "min_reposts", "min_quotes"]) {
    expect((await tryRule(`cat ${name}:10`, posts)).status).toBe(200)
    const refused = await tryRule(`cat ${name}:10`, posts, "search")
    expect(refused.body.details).toEqual([
      expect.stringContaining(`'${name}'. Operator is not available in current product`),
    ])
  }
})

test("sample-determinism: the same posts for everybody and always, and more of them hold the fewer", async () => {
  const posts = newIds(1_000).map((id) => ({ data: { id, text: "cat" } }))
  const ten = await testedIds("cat sample:10", posts)
  const again = await otherwise.send("POST", paths.ruleTest, {
    value: "cat sample:10",
    posts: posts.toReversed(),
  })
  expect(idsIn(again.body.data).toReversed()).toEqual(ten)
  const thirty = new Set(await testedIds("cat sample:30", posts))
  expect(ten.filter((id) => !thirty.has(id))).toEqual([])
  expect(ten.length).toBeGreaterThan(60)
  expect(ten.length).toBeLessThan(140)
  expect(await testedIds("cat sample:100", posts)).toHaveLength(1_000)
})

test("url-short-links: a link is found by every form of it, and by where an earlier post said that it ends", async () => {
  const linking = (id: number, more: object = {}): unknown =>
    envelope(id, "see https://t.co/abcdefghij", {
      entities: {
        urls: [
          {
            start: 4,
            end: 27,
            url: "https://t.co/abcdefghij",
            expanded_url: "https://sho.rt/a1",
            display_url: "sho.rt/a1",
            ...more,
          },
        ],
      },
    })
  const told = linking(1, { unwound_url: "https://example.com/long/way" })
  for (const value of ["url:sho.rt", 'url:"https://sho.rt/a1"', "url_contains:sho.rt/a"]) {
    expect(await testedIds(value, [told, linking(2)])).toEqual(["1", "2"])
  }
  for (const value of ["url:example.com", 'url:"example.com/long"', "url:way"]) {
    expect(await testedIds(value, [linking(2)])).toEqual([])
    expect(await testedIds(value, [linking(2), told])).toEqual(["2", "1"])
  }
})

test("embeddings: similar posts by the operator's endpoint; without one refused, while it is down nothing is taken", async () => {
  const value = 'embedding:"red fox" embedding_threshold:0.8'
  const { body } = await server.send("POST", paths.rules, { add: [{ value }] })
  expect(body.errors[0].details).toEqual([
    expect.stringContaining("Reference to invalid operator 'embedding'. Operator is not available"),
    expect.stringContaining("Reference to invalid operator 'embedding_threshold'. Operator is not available"),
  ])

  await using endpoint = await startEmbeddingsEndpoint()
  await using similar = await startTestServer({ "embeddings-url": endpoint.url, "embeddings-model": "words" })
  const [id] = await addRules(similar, { value })
  await using stream = await openStream(similar)
  const repost = {
    ...envelope(2, "RT @wren: red …", { referenced_tweets: [{ type: "retweeted", id: "9" }] }),
    includes: { tweets: [{ id: "9", text: "red fox" }] },
  }
  await similar.pour(envelope(1, "a red fox"), repost, envelope(3, "a quick brown fox"))
  for (const similarity of [0.816497, 1]) {
    expect(await stream.next()).toMatchObject({
      matching_rules: [{ id, embedding_similarity: similarity, embedding_threshold: 0.8 }],
    })
  }
  await endpoint.stop()
  const refused = await similar.send("POST", paths.rules, { add: [{ value: 'embedding:"blue whale"' }] })
  expect(refused.body).toMatchObject({ errors: [{ status: 503 }], meta: { summary: { created: 0 } } })
  expect((await similar.pour(envelope(4, "red fox"))).status).toBe(503)
  await endpoint.start()
  expect((await similar.pour(envelope(4, "red fox"))).body).toMatchObject({ accepted: 1 })
})

test("absent-values: they are left out, and never null", async () => {
  await using linked = await appWithReceiver()
  const user = newUser()
  const id = newId()
  await addRules(linked, { value: "cat" })
  const everything =
    "tweet.fields=lang,source,geo,created_at&expansions=author_id&user.fields=url,location,verified"
  await link(linked, await linked.webhook(), `?${everything}`)
  await using stream = await openStream(linked, `?${everything}`)
  await pour({
    data: { id, text: "a cat", author_id: user, lang: null, source: null },
    includes: { users: [{ id: user, username: "wren", name: "Wren", url: null, location: null }] },
  })
  await linked.receiver.arrived(1)
  const delivered = JSON.parse(linked.receiver.received[0]?.body ?? "") as Envelope
  const streamed = await stream.next()
  const page = (await linked.call(postsPath(user, `?${everything}`))).body as Envelope & { meta: object }
  for (const { includes } of [delivered, streamed, page]) {
    expect(includes).toStrictEqual({ users: [{ id: user, username: "wren", name: "Wren" }] })
  }
  for (const { data } of [delivered, streamed]) {
    expect(data).toStrictEqual({
      id,
      text: "a cat",
      author_id: user,
      created_at: expect.any(String) as string,
      edit_history_tweet_ids: [id],
    })
  }
  expect(page.meta).toStrictEqual({ result_count: 1, newest_id: id, oldest_id: id })
  const answers = [delivered, streamed, page]
  for (const path of [paths.rules, paths.ruleCounts, paths.webhooks, paths.links, paths.linkStates]) {
    answers.push((await linked.call(path)).body as Envelope)
  }
  for (const { body } of (await refusals()).values()) answers.push(body as Envelope)
  expect(answers.filter((answer) => JSON.stringify(answer).includes("null"))).toEqual([])
  expect((await linked.call(paths.rules)).body.data[0]).not.toHaveProperty("tag")
})

test("challenge-schedule: at creation, on PUT, and every 30 minutes once the last is a day old", async () => {
  await using linked = await appWithReceiver()
  linked.receiver.answersChallenges = false
  const refused = await linked.send("POST", paths.webhooks, { url: linked.receiver.url })
  expect(refused.status).toBe(400)
  expect(refused.body.errors[0].message).toMatch(/^CrcValidationFailed: /)
  expect((await linked.call(paths.webhooks)).body.data).toEqual([])
  linked.receiver.answersChallenges = true
  const id = await linked.webhook()
  expect((await linked.send("PUT", webhookPath(id))).body).toEqual({ data: { valid: true } })
  linked.receiver.answersChallenges = false
  expect((await linked.send("PUT", webhookPath(id))).body).toEqual({ data: { valid: false } })

  await using schedule = await runningSchedule()
  await schedule.pass(24 * hourMs)
  expect(schedule.challenges).toBe(0)
  await schedule.pass(30 * minuteMs)
  expect(schedule.challenges).toBe(1)

  schedule.endpoint = "down"
  await schedule.pass(24 * hourMs)
  expect(schedule.challenges).toBe(1)
  await schedule.pass(4 * hourMs)
  expect(schedule.challenges).toBe(9)
  expect(await schedule.isValid()).toBe(true)
  await schedule.pass(30 * minuteMs)
  expect(schedule.challenges).toBe(10)
  expect(await schedule.isValid()).toBe(false)

  for (const fault of ["wrong", "redirect", "tls", "large"] as const) {
    schedule.endpoint = "right"
    expect(await schedule.validate()).toEqual({ valid: true })
    const before = schedule.challenges
    schedule.endpoint = fault
    await schedule.pass(24 * hourMs)
    expect(await schedule.isValid()).toBe(true)
    await schedule.pass(30 * minuteMs)
    expect(schedule.challenges, fault).toBe(before + 1)
    expect(await schedule.isValid(), fault).toBe(false)
  }
})

test("delivery-deadline: a delivery is given up when its answer has not ended after 10 s", async () => {
  expect(webhookAnswerMsMax).toBe(10_000)
  await using slow = await startTestServer()
  // Answers at once, and never comes to the end of its answer.
  const givenUp = Promise.withResolvers<void>()
  const posted = Promise.withResolvers<void>()
  await using endpoint = await listening((request, response) => {
    const challenge = new URL(request.url ?? "", "http://endpoint").searchParams.get("crc_token")
    if (challenge !== null) {
      response.end(JSON.stringify({ response_token: responseToken(slow, challenge) }))
      return
    }
    request.resume()
    response.once("close", () => givenUp.resolve())
    response.writeHead(200, { "content-type": "text/plain" }).write("and so on ", () => posted.resolve())
  })
  await addRules(slow, { value: "cat" })
  const { body } = await slow.send("POST", paths.webhooks, { url: endpoint.url })
  await link(slow, body.data.id as string)
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  try {
    await slow.pour(envelope(1, "a cat"))
    await posted.promise
    vi.advanceTimersByTime(9_999)
    expect(await Promise.race([givenUp.promise.then(() => "given up"), sleep(100, "waiting")])).toBe(
      "waiting",
    )
    expect(await stateOf(slow)).toMatchObject({ in_flight: 1, failed: 0, delivered: 0 })
    vi.advanceTimersByTime(1)
    // Not by polling, which moves these timers on.
    expect(await Promise.race([givenUp.promise.then(() => "given up"), sleep(5_000, "waiting")])).toBe(
      "given up",
    )
    expect(await stateOf(slow)).toMatchObject({ in_flight: 0, failed: 1, delivered: 0 })
  } finally {
    vi.useRealTimers()
  }
})

test("problem-host: the types of problems are at api.x.com", async () => {
  const app = await server.newApp()
  await addRules(app, { value: "cat" })
  const answers = [
    ...(await refusals()).values(),
    await app.call(postsPath(newUser())),
    await app.send("POST", paths.rules, { add: [{ value: "cat" }, { value: "a AND b" }] }),
  ]
  const types = new Set<string>()
  for (const { body } of answers) {
    if (body.type !== undefined) types.add(body.type as string)
    for (const error of body.errors as { type: string }[]) types.add(error.type)
  }
  expect([...types].toSorted()).toEqual([
    "about:blank",
    ...[
      "conflict",
      "duplicate-rules",
      "invalid-request",
      "invalid-rules",
      "resource-not-found",
      "streaming-connection",
      "unsupported-authentication",
    ].map((name) => `https://api.x.com/2/problems/${name}`),
  ])
})

test("webhook-url: https, no port, public, 200 characters; dev takes http, ports and loopback", async () => {
  const longest = `https://hooks.example.com/${"x".repeat(174)}`
  expect(longest).toHaveLength(200)
  for (const url of ["https://hooks.example.com/sluice", "https://8.8.8.8/", longest]) {
    expect(webhookUrlFault(url, { allowPrivate: false })).toBeUndefined()
  }
  await using careful = await startTestServer({}, "serve")
  const port = "names a port; only the default port of https is accepted, without being named"
  const tooLong = "is 201 characters long; at most 200 are allowed"
  for (const [url, fault] of [
    ["http://hooks.example.com/", "begins with http:; only https is accepted"],
    ["https://hooks.example.com:8443/", port],
    ["https://hooks.example.com:443/", port],
    ["https://localhost/", "has the host localhost, which is not a public name"],
    ["https://127.0.0.1/", "has the host 127.0.0.1, which is a loopback address"],
    ["https://10.1.2.3/", "has the host 10.1.2.3, which is a private address"],
    ["https://[::1]/", "has the host [::1], which is a loopback address"],
    [`${longest}x`, tooLong],
  ] as const) {
    expectRefusedUrl(await careful.send("POST", paths.webhooks, { url }), url, fault)
  }
  expect((await careful.call(paths.webhooks)).body.data).toEqual([])

  await using linked = await appWithReceiver()
  for (const url of [linked.receiver.url, linked.receiver.url.replace("127.0.0.1", "localhost")]) {
    const made = await linked.send("POST", paths.webhooks, { url })
    expect([made.status, made.body.data?.url]).toEqual([200, url])
  }
  expectRefusedUrl(await linked.send("POST", paths.webhooks, { url: `${longest}x` }), `${longest}x`, tooLong)
})

test("every row of the tables has its test, and every test its row", ({ task }) => {
  const rows = compatibilityRows()
  const tested = task.file.tasks.filter((other) => other !== task).map(({ name }) => name.split(": ", 1)[0])
  expect(new Set(tested)).toEqual(new Set(rows))
  expect(tested).toHaveLength(rows.length)
  expect(new Set(rows).size).toBe(rows.length)
  expect(compatibilityRows("| Row | Matter |\n|---|---|\n| a | b |\n\n| Matter |\n|---|\n| c |\n")).toEqual([
    "a",
  ])
})

// --- what the tests share ------------------------------------------------------------------------------------

/** Form of page tokens. */
const tokenForm = /^[0-9a-v]{45,64}$/

/** The members of every error. */
const fourMembers = {
  title: expect.any(String) as string,
  type: expect.any(String) as string,
  detail: expect.any(String) as string,
  status: expect.any(Number) as number,
}

const aDayLater = { created_at: "2026-03-15T09:26:53.000Z" }

/** An app with an endpoint of its own. */
interface AppWithReceiver extends TestApp, AsyncDisposable {
  readonly receiver: WebhookReceiver
  /** Registers another webhook at the endpoint; its id. */
  webhook(): Promise<string>
}

async function appWithReceiver(on = server): Promise<AppWithReceiver> {
  const app = await on.newApp()
  const endpoint = await startReceiver(app.app.consumer_secret)
  let count = 0
  return {
    ...app,
    receiver: endpoint,
    async webhook() {
      count += 1
      const made = await app.send("POST", paths.webhooks, { url: `${endpoint.url}/${count}` })
      expect(made.status, made.text).toBe(200)
      return made.body.data.id as string
    },
    [Symbol.asyncDispose]: () => endpoint[Symbol.asyncDispose](),
  }
}

function identityOf({ app }: TestApp): Pick<Link, "application_id" | "business_user_id" | "instance_id"> {
  const { application_id, business_user_id, instance_id } = app
  return { application_id, business_user_id, instance_id }
}

function linkPath(id: string): string {
  return paths.link.replace(":webhook_id", id)
}

function webhookPath(id: string): string {
  return paths.webhook.replace(":webhook_id", id)
}

function postsPath(user: string, query = ""): string {
  return paths.userPosts.replace(":id", user) + query
}

async function link(app: TestApp, webhookId: string, query = ""): Promise<void> {
  const linked = await app.send("POST", linkPath(webhookId) + query)
  expect([linked.status, linked.body]).toEqual([200, { data: { provisioned: true } }])
}

async function linksOf(app: TestApp, query = ""): Promise<readonly Link[]> {
  return (await app.call(paths.links + query)).body.data.links as Link[]
}

async function linkedIds(app: TestApp, query = ""): Promise<readonly string[]> {
  return (await linksOf(app, query)).map((one) => one.webhook_id)
}

/** Adds rules; their ids. */
async function addRules(
  app: TestApp,
  ...rules: readonly { value: string; tag?: string }[]
): Promise<readonly string[]> {
  const added = await app.send("POST", paths.rules, { add: rules })
  expect(added.status, added.text).toBe(201)
  return idsIn(added.body.data)
}

/** The answer of trying a rule on posts. */
function tryRule(value: string, posts: readonly unknown[], mode?: "search"): Promise<Answer> {
  return server.send("POST", paths.ruleTest, { value, posts, ...(mode && { mode }) })
}

/** Ids of those posts that a rule matches. */
async function testedIds(
  value: string,
  posts: readonly unknown[],
  mode?: "search",
): Promise<readonly string[]> {
  const { status, body } = await tryRule(value, posts, mode)
  expect([value, status]).toEqual([value, 200])
  return idsIn(body.data)
}

function idsIn(items: unknown): readonly string[] {
  return (items as { id: string }[]).map(({ id }) => id)
}

let lastUser = 40_000_000

function newUser(): string {
  lastUser += 1
  return String(lastUser)
}

let lastBlock = 1_000_000_000

/** A number above which a thousand ids are free. */
function newBlock(): number {
  lastBlock += 1_000
  return lastBlock
}

/** Ids of posts, newest first. */
function newIds(count: number): readonly string[] {
  const base = newBlock()
  return Array.from({ length: count }, (_, index) => String(base + count - index))
}

function newId(): string {
  return newIds(1)[0] ?? ""
}

function postBy(user: string, id: string, more: Readonly<Record<string, unknown>> = {}): unknown {
  return envelope(id, `post ${id}`, { author_id: user, ...more })
}

/** Pours in what must be new. */
async function pour(...envelopes: readonly unknown[]): Promise<void> {
  const poured = await server.pour(...envelopes)
  expect(poured.body).toMatchObject({ accepted: envelopes.length, rejected: [] })
}

/** Pours so many posts of a user in; their ids, newest first. */
async function pourPosts(user: string, count: number): Promise<readonly string[]> {
  const ids = newIds(count)
  await pour(...ids.map((id) => postBy(user, id)))
  return ids
}

async function pageOf(user: string, query = ""): Promise<{ ids: readonly string[]; meta: PageMeta }> {
  const { status, body, text: said } = await server.call(postsPath(user, query))
  expect(status, said).toBe(200)
  const ids = idsIn(body.data)
  const meta = body.meta as PageMeta
  expect(meta.result_count).toBe(ids.length)
  return { ids, meta }
}

/** The next character of a token's alphabet. */
function after(character: string): string {
  const alphabet = "0123456789abcdefghijklmnopqrstuv"
  return alphabet[(alphabet.indexOf(character) + 1) % alphabet.length] ?? ""
}

/** A token that this server's key made for its first app at another time. */
function tokenIssued(issuer: TestServer, user: string, position: PagePosition, atMs: number): string {
  const key = secretBox.derive("page tokens")
  const tokens = createPageTokens({ key, lifetimeMs: 0, clock: createManualClock(atMs) })
  const appId = asId<AppId>(issuer.app.application_id)
  return tokens.issue({ endpoint: postsPath(user), appId, parameters: "" }, position)
}

function expectInvalidToken({ status, body }: Answer, token: string): void {
  expect(status).toBe(400)
  expect(body.errors).toMatchObject([
    {
      parameters: { pagination_token: [token] },
      message: `The \`pagination_token\` query parameter value [${token}] is not a valid token.`,
    },
  ])
}

function expectRefusedUrl({ status, body }: Answer, url: string, fault: string): void {
  expect(status).toBe(400)
  expect(body.errors).toMatchObject([
    { parameters: { url: [url.slice(0, 200)] }, message: `UrlValidationFailed: The URL ${fault}.` },
  ])
}

function bearer(token: string): { headers: Record<string, string> } {
  return { headers: { Authorization: `Bearer ${token}` } }
}

/** The whole body of a problem with one cause and no members of X's own. */
function problem(status: number, title: string, detail: string, type = "about:blank"): unknown {
  const error = { title, type, detail, status }
  return { ...error, message: detail, errors: [error] }
}

function notFoundError(resource: string, parameter: string, id: string): unknown {
  return {
    title: "Not Found Error",
    type: "https://api.x.com/2/problems/resource-not-found",
    detail: `Could not find ${resource} with ${parameter}: [${id}].`,
    status: 404,
    resource_type: resource,
    parameter,
    resource_id: id,
    value: id,
  }
}

/** Every operation that the server describes, with a request that is right but for what a test adds. */
async function allOperations(): Promise<
  readonly {
    method: string
    path: string
    isGuarded: boolean
    init: { method: string; headers: Record<string, string>; body?: string }
  }[]
> {
  const described = (await server.call(paths.openapi)).body.paths as Record<
    string,
    Record<string, { security?: readonly object[]; requestBody?: { content: object } }>
  >
  return Object.entries(described).flatMap(([path, methods]) =>
    Object.entries(methods).map(([name, { security = [], requestBody }]) => {
      const method = name.toUpperCase()
      const type = Object.keys(requestBody?.content ?? {})[0]
      const body = rightBodies[path]
      if ((type === undefined) !== (body === undefined || !["POST", "PATCH"].includes(method))) {
        throw new Error(`what is a right body of ${method} ${path}?`)
      }
      return {
        method,
        path: path.replaceAll(/\{\w+\}/g, "1"),
        isGuarded: security.some((one) => "bearer" in one),
        init: {
          method,
          headers: type === undefined ? {} : { "content-type": type },
          ...(type !== undefined && body !== undefined && { body }),
        },
      }
    }),
  )
}

/** A body that is right, for each path that takes one. */
const rightBodies: Readonly<Record<string, string>> = {
  "/oauth2/token": "grant_type=client_credentials",
  "/2/tweets/search/stream/rules": '{"add":[{"value":"cat"}]}',
  "/2/webhooks": '{"url":"https://hooks.example.com/"}',
  "/2/webhooks/replay": '{"webhook_id":"1","from_date":"202601010000","to_date":"202601010000"}',
  "/sluice/v1/links/{webhook_id}": '{"ordered":true}',
  "/sluice/v1/dead-letters/redeliver": '{"all":true}',
  "/sluice/v1/posts": "\n",
  "/sluice/v1/rules/test": '{"value":"cat","recent":1}',
}

let known: ReturnType<typeof allRefusals> | undefined

/** When the refusals were first asked for. */
let refusedFromS = Number.NaN

/** Every kind of refusal, by what is refused. */
function refusals(): ReturnType<typeof allRefusals> {
  if (known === undefined) {
    refusedFromS = Date.now() / 1000
    known = allRefusals()
  }
  return known
}

async function allRefusals(): Promise<ReadonlyMap<string, Answer>> {
  const app = await server.newApp()
  const reader = await server.newApp()
  const made = await server.send("POST", paths.webhooks, { url: `${receiver.url}/refusals` })
  const linked = linkPath(made.body.data.id as string)
  await server.send("POST", linked)
  await addRules(reader, { value: "cat" })
  await using _stream = await openStream(reader)
  const operator = bearer(await server.running.apps.createToken("operator"))
  const ndjson = { method: "POST", headers: { "content-type": "application/x-ndjson" }, body: "\n" }
  // A stream that is not refused has no end.
  const shortly = { signal: AbortSignal.timeout(5_000) }
  return new Map([
    ["unknown parameter", await app.call(`${paths.links}?colour=blue`)],
    ["several faults", await app.call(`${paths.links}?colour=blue&max_results=0`)],
    ["malformed id", await app.call(postsPath("abc"))],
    ["wrong member", await app.send("POST", paths.webhooks, { url: 1 })],
    ["nothing to do", await app.send("POST", paths.rules, {})],
    ["refused URL", await app.send("POST", paths.webhooks, { url: "ftp://hooks.example.com/" })],
    ["wrong token", await app.call(paths.links, bearer("nonsense"))],
    ["wrong kind of token", await app.call(paths.links, operator)],
    [
      "wrong credentials",
      await app.call(paths.token, { method: "POST", headers: form, body: "grant_type=x" }),
    ],
    ["unknown route", await app.call("/2/nothing")],
    ["unknown webhook", await app.send("PUT", webhookPath("1"))],
    ["unknown link", await app.send("DELETE", linkPath("1"))],
    ["wrong method", await app.send("PATCH", paths.rules, {})],
    ["linked otherwise", await server.send("POST", `${linked}?tweet.fields=lang`)],
    ["stream without rules", await app.call(paths.stream, shortly)],
    ["too large", await app.send("POST", paths.webhooks, { url: "x".repeat(bodyBytesMax) })],
    ["wrong content type", await app.call(paths.rules, ndjson)],
    ["second stream", await reader.call(paths.stream, shortly)],
  ])
}

const form = { "content-type": "application/x-www-form-urlencoded" }

/** Answers of a server whose inside fails. */
async function serverFaults(): Promise<readonly Answer[]> {
  const http = await createHttpServer({
    apps: { principal: () => Promise.reject(new Error("the store is gone")) },
    events: { requestFinished: () => undefined, failed: () => undefined },
    clock: systemClock,
    requestMsMax: 1_000,
    isReady: () => false,
  } as unknown as HttpDeps)
  const url = await http.listen({ host: "127.0.0.1", port: 0 })
  const ask = async (path: string): Promise<Answer> => {
    const response = await fetch(url + path, bearer(`sluice_app_${"A".repeat(43)}`))
    const said = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text: said,
      body: JSON.parse(said),
    }
  }
  const answers = [await ask(paths.readyz), await ask(paths.links)]
  await http.close()
  return answers
}

/** Sends bytes over a socket; status and headers of what comes back before the server closes it. */
async function rawRequest(bytes: string): Promise<{ status: number; headers: Headers }> {
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1")
  socket.write(bytes)
  const [head = ""] = (await text(socket)).split("\r\n\r\n", 1)
  const [statusLine = "", ...lines] = head.split("\r\n")
  const headers = new Headers(
    lines.map((line): [string, string] => [
      line.slice(0, line.indexOf(":")),
      line.slice(line.indexOf(":") + 2),
    ]),
  )
  return { status: Number(statusLine.split(" ")[1]), headers }
}

async function isStreamOpen(app: TestApp): Promise<boolean> {
  const leave = new AbortController()
  const { status } = await fetch(app.url + paths.stream, {
    ...bearer(app.app.bearer_token),
    signal: leave.signal,
  })
  leave.abort()
  return status === 200
}

/** The last record of a stream whose server closes. */
async function farewell(): Promise<unknown> {
  await using closing = await startTestServer()
  await addRules(closing, { value: "cat" })
  await using stream = await openStream(closing)
  const last = stream.next()
  await closing.running.close()
  return last
}

/** The only link's state. */
async function stateOf(app: TestApp): Promise<unknown> {
  const { data } = (await app.call(paths.linkStates)).body as { data: unknown[] }
  return data[0]
}

/** The signing keys of webhooks, as their app is shown them. */
function signingKeys(linked: TestApp, webhookIds: readonly string[]): Promise<readonly string[]> {
  return Promise.all(
    webhookIds.map(async (id) => {
      const { body } = await linked.call(`/sluice/v1/webhooks/${id}/signing_key`)
      return body.data.signing_key as string
    }),
  )
}

function responseToken({ app }: TestApp, challenge: string): string {
  return `sha256=${createHmac("sha256", app.consumer_secret).update(challenge).digest("base64")}`
}
