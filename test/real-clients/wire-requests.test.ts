/**
 * Requests of clients that do not come from npm, header by header: X's samples for Node and Ruby, x-ruby, pytwitter,
 * X's SDK for Python, TwitterAPI. Each begins with a new app.
 */
import { request as httpRequest, type IncomingMessage } from "node:http"
import { text } from "node:stream/consumers"
import { paths } from "@sluice/api"
import { afterAll, beforeAll, expect, test } from "vitest"
import { envelope, startTestServer, type TestApp, type TestServer } from "../support/test-server.testing.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
})

afterAll(() => server[Symbol.asyncDispose]())

type Headers = Readonly<Record<string, string>>

interface WireResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  // oxlint-disable-next-line typescript/no-explicit-any -- a test's expectation is its type
  readonly body: any
}

/** A client: its headers, and the requests that it sends under them. */
function clientOf(app: TestApp, always: Headers) {
  const open = (method: string, path: string, body?: string, headers: Headers = {}) => {
    const request = httpRequest(app.url + path, {
      method,
      headers: {
        ...always,
        ...headers,
        ...(body !== undefined && { "Content-Length": String(Buffer.byteLength(body)) }),
      },
    })
    request.end(body)
    return new Promise<IncomingMessage>((resolve, reject) => {
      request.once("response", resolve).once("error", reject)
    })
  }
  return {
    open,
    async send(method: string, path: string, body?: unknown, headers?: Headers): Promise<WireResponse> {
      const sent = body === undefined || typeof body === "string" ? body : JSON.stringify(body)
      const response = await open(method, path, sent, headers)
      const said = await text(response)
      return {
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: said === "" ? undefined : JSON.parse(said),
      }
    },
  }
}

const bearer = (app: TestApp): string => `Bearer ${app.app.bearer_token}`

/** The next record of a stream, cut at CRLF. Ends the connection. */
async function recordOf(stream: IncomingMessage, app: TestApp, words: string): Promise<Record<string, unknown>> {
  await app.ingest(envelope(nextId(), words, { in_reply_to_user_id: "6" }))
  let received = ""
  for await (const chunk of stream.setEncoding("utf8")) {
    received += chunk as string
    const record = received.split("\r\n").find((line, index, lines) => line !== "" && index < lines.length - 1)
    if (record !== undefined) {
      stream.destroy()
      return JSON.parse(record) as Record<string, unknown>
    }
  }
  throw new Error("the stream has ended")
}

let lastId = 0

function nextId(): number {
  lastId += 1
  return lastId
}

const pets = [{ value: "dog -is:retweet", tag: "dogs" }, { value: "cat -grumpy", tag: "cats" }, { value: "cat" }]

test("X's sample for Node deletes only existing rules, sets new ones and reads each record", async () => {
  const app = await server.newApp()
  const needle = {
    accept: "*/*",
    "user-agent": "Needle/3.3.1 (Node.js v26.0.0; linux x64)",
    authorization: bearer(app),
  }
  const client = clientOf(app, needle)
  const json = { "content-type": "application/json" }
  for (const before of [0, 3]) {
    const listed = await client.send("GET", paths.rules)
    expect(listed.status).toBe(200)
    expect(Array.isArray(listed.body.data)).toBe(before > 0)
    if (Array.isArray(listed.body.data)) {
      const ids = (listed.body.data as { id: string }[]).map(({ id }) => id)
      expect((await client.send("POST", paths.rules, { delete: { ids } }, json)).status).toBe(200)
    }
    expect((await client.send("POST", paths.rules, { add: pets }, json)).status).toBe(201)
  }
  const stream = await client.open("GET", paths.stream)
  expect(stream.statusCode).toBe(200)
  expect(await recordOf(stream, app, "a cat")).toMatchObject({ matching_rules: [{ tag: "cats" }, { tag: "" }] })
})

test("X's sample for Ruby may delete an empty list of rules, and streams every expansion", async () => {
  const app = await server.newApp()
  const client = clientOf(app, { "User-Agent": "v2FilteredStreamRuby", Authorization: bearer(app) })
  const json = { "Content-type": "application/json" }
  expect((await client.send("GET", paths.rules)).status).toBe(200)
  const deleted = await client.send("POST", paths.rules, { delete: { ids: [] } }, json)
  expect(deleted.status).toBe(200)
  expect(deleted.body.meta.summary).toEqual({ deleted: 0, not_deleted: 0 })
  expect((await client.send("POST", paths.rules, { add: pets }, json)).status).toBe(201)
  const expansions =
    "attachments.poll_ids,attachments.media_keys,author_id,entities.mentions.username,geo.place_id," +
    "in_reply_to_user_id,referenced_tweets.id,referenced_tweets.id.author_id"
  const fields = "attachments,author_id,conversation_id,created_at,entities,geo,id,in_reply_to_user_id,lang"
  const stream = await client.open(
    "GET",
    `${paths.stream}?expansions=${encodeURIComponent(expansions)}&tweet.fields=${encodeURIComponent(fields)}`,
  )
  expect(await recordOf(stream, app, "a dog")).toMatchObject({
    data: { in_reply_to_user_id: "6" },
    errors: [{ detail: "Could not find user with in_reply_to_user_id: [6]." }],
  })
})

test("x-ruby sends a content type with every request, and finds a message in every error", async () => {
  const app = await server.newApp()
  const client = clientOf(app, {
    Authorization: bearer(app),
    "Content-Type": "application/json; charset=utf-8",
    "User-Agent": "X-Client/0.19.0 ruby/3.4.1 (x86_64-linux)",
    "Accept-Encoding": "gzip;q=1.0,deflate;q=0.6,identity;q=0.3",
    Accept: "*/*",
  })
  const listed = await client.send("GET", paths.rules)
  expect(listed.body).not.toHaveProperty("data")
  const added = await client.send("POST", paths.rules, { add: pets })
  expect(added.status).toBe(201)
  const stream = await client.open("GET", `${paths.stream}?post.fields=created_at&expansions=author_id`)
  expect(await recordOf(stream, app, "a cat")).toMatchObject({
    data: { created_at: "2026-03-14T09:26:53.000Z" },
    includes: { users: [{ username: "wren" }] },
  })
  const ids = (added.body.data as { id: string }[]).map(({ id }) => id)
  expect((await client.send("POST", paths.rules, { delete: { ids } })).body.meta.summary.deleted).toBe(3)

  const refused = [
    await client.send("GET", `${paths.rules}?ids=NA`),
    await client.send("GET", paths.rules, undefined, { Authorization: "Bearer nonsense" }),
    await client.send("GET", "/2/nothing"),
    await client.send("DELETE", "/2/webhooks/1"),
    await client.send("GET", paths.stream),
    await client.send("POST", paths.rules, { delete: { ids } }),
  ]
  expect(refused.map(({ status }) => status)).toEqual([400, 401, 404, 404, 409, 200])
  for (const { headers, body } of refused) {
    expect(headers["content-type"]).toMatch(/application\/(?:problem\+|)json/)
    const messages = (body.errors as { message: string }[]).map(({ message }) => message)
    expect(messages.every((message) => message.length > 0)).toBe(true)
  }
})

test("pytwitter sends dry_run as Python writes it, and leaves out unset values", async () => {
  const app = await server.newApp()
  const requests = {
    "User-Agent": "python-requests/2.32.3",
    "Accept-Encoding": "gzip, deflate",
    Accept: "*/*",
    Connection: "keep-alive",
    Authorization: bearer(app),
  }
  const client = clientOf(app, requests)
  const json = { "Content-Type": "application/json" }
  expect((await client.send("GET", paths.rules)).body).not.toHaveProperty("data")
  const dry = await client.send("POST", `${paths.rules}?dry_run=True`, { add: pets }, json)
  expect(dry.status).toBe(201)
  const added = await client.send("POST", `${paths.rules}?dry_run=False`, { add: pets }, json)
  expect(added.body.meta.summary.created).toBe(3)
  const ids = (added.body.data as { id: string }[]).map(({ id }) => id)
  const byId = await client.send("GET", `${paths.rules}?ids=${encodeURIComponent(ids.join(","))}`)
  expect(byId.body.data).toHaveLength(3)
  const deleted = await client.send("POST", `${paths.rules}?dry_run=False`, { delete: { ids } }, json)
  expect(deleted.body.meta.summary.deleted).toBe(3)
  const token = await client.send("POST", paths.oauthToken, "grant_type=client_credentials", {
    Authorization: `Basic ${basic(app)}`,
    "Content-Type": "application/x-www-form-urlencoded;charset=UTF-8",
  })
  expect(token.body).toEqual({ token_type: "bearer", access_token: app.app.bearer_token })
})

test("X's SDK for Python deletes all rules at once, repeats lists, and sends unset values as null", async () => {
  const app = await server.newApp()
  await using receiver = await WebhookReceiver.start(app.app.consumer_secret)
  const client = clientOf(app, {
    "User-Agent": "xdk-python/0.6.0",
    Accept: "*/*",
    Authorization: bearer(app),
  })
  const json = { "Content-Type": "application/json" }
  const add = { add: pets.map(({ value }) => ({ value, tag: null })), delete: null }
  expect((await client.send("POST", paths.rules, add, json)).status).toBe(201)
  const all = await client.send("POST", `${paths.rules}?dry_run=False&delete_all=True`, {}, json)
  expect(all.body.meta.summary).toEqual({ deleted: 3, not_deleted: 0 })
  const counts = await client.send(
    "GET",
    `${paths.ruleCounts}?rules_count.fields=cap_per_project&rules_count.fields=project_rules_count`,
  )
  expect(counts.body.data.project_rules_count).toBe("0")
  const made = await client.send("POST", paths.webhooks, { url: receiver.url }, json)
  const { id } = made.body.data as { id: string }
  const webhooks = await client.send(
    "GET",
    `${paths.webhooks}?webhook_config.fields=id&webhook_config.fields=url&webhook_config.fields=valid`,
  )
  expect(webhooks.body.data).toMatchObject([{ id, url: receiver.url, valid: true }])
  // The session posts without a body, and so without a type.
  const linked = await client.send("POST", `${paths.links}/${id}`, "")
  expect(linked.body).toEqual({ data: { provisioned: true } })
  const gone = await client.send("POST", paths.rules, { delete: { ids: ["12"] } }, json)
  expect(gone.body.errors).toMatchObject([{ parameter: "ids", value: "12", resource_id: "12", resource_type: "rule" }])
})

test("TwitterAPI logs in with its grant type in the query and an empty form, and lists no rules", async () => {
  const app = await server.newApp()
  const always = { "User-Agent": "python-TwitterAPI", "Accept-Encoding": "gzip, deflate", Accept: "*/*" }
  const login = await clientOf(app, always).send("POST", `${paths.oauthToken}?grant_type=client_credentials`, "", {
    Authorization: `Basic ${basic(app)}`,
    "Content-Type": "application/x-www-form-urlencoded;charset=UTF-8",
  })
  expect(login.status).toBe(200)
  const client = clientOf(app, { ...always, Authorization: `Bearer ${login.body.access_token}` })
  expect((await client.send("GET", paths.rules)).body).toEqual({
    meta: { sent: expect.any(String) as string, result_count: 0 },
  })
})

test("curl -d '', wget and PHP send nothing under the content type of a form", async () => {
  const app = await server.newApp()
  await using receiver = await WebhookReceiver.start(app.app.consumer_secret)
  const made = await app.send("POST", paths.webhooks, { url: receiver.url })
  const { id } = made.body.data as { id: string }
  const form = { Authorization: bearer(app), "Content-Type": "application/x-www-form-urlencoded" }
  const client = clientOf(app, form)
  expect((await client.send("PUT", `${paths.webhooks}/${id}`, "")).body).toEqual({ data: { valid: true } })
  expect((await client.send("POST", `${paths.links}/${id}`, "")).body).toEqual({
    data: { provisioned: true },
  })
  expect((await client.send("DELETE", `${paths.links}/${id}`, "")).body).toEqual({ data: { deleted: true } })
})

function basic({ app }: TestApp): string {
  return Buffer.from(`${app.consumer_key}:${app.consumer_secret}`).toString("base64")
}
