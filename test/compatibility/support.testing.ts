/**
 * The common parts of the tests of docs/compatibility.md: two servers, an app with an endpoint, posts and rules that do
 * not disturb other tests, and every kind of refusal.
 */
import { bodyBytesMax, paths, type Link } from "@sluice/api"
import { expect, test as plainTest } from "vitest"
import {
  envelope,
  startTestServer,
  type TestResponse,
  type TestApp,
  type TestServer,
} from "../support/test-server.testing.ts"
import { openStream } from "../support/open-stream.testing.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"

export const minuteMs = 60_000
export const hourMs = 60 * minuteMs

/** Key of both servers, so that a test can make tokens under it. */
export const masterKey = "5a".repeat(32)

/** A test that may use the servers, which all tests of a worker share, and their refusals. */
export const test = plainTest
  .extend("server", { scope: "worker" }, serverWith({ "master-key": masterKey, "webhooks-per-app-max": "101" }))
  /** A server with other settings, under the same key. */
  .extend(
    "otherServer",
    { scope: "worker" },
    serverWith({
      "master-key": masterKey,
      "page-token-lifetime-hours": "0",
      "page-scan-max": "100",
      "post-bytes-max": String(bodyBytesMax),
      "rule-dialect": "strict",
      "search-reposts": "true",
      "stream-connections-per-app-max": "2",
      "stream-connections-over": "replace",
      "delivery-attempts-max": "1",
    }),
  )
  .extend("refusals", { scope: "worker" }, async ({ server }) => ({
    /** When the first test requested it. */
    startedAtS: Date.now() / 1000,
    /** Responses by the kind of refusal. */
    responses: await allRefusals(server),
  }))

function serverWith(flags: Readonly<Record<string, string>>) {
  return async (
    // Vitest reads from this pattern that the fixture needs no other.
    // oxlint-disable-next-line no-empty-pattern
    {},
    { onCleanup }: { onCleanup: (cleanup: () => Promise<void>) => void },
  ): Promise<TestServer> => {
    const server = await startTestServer(flags)
    onCleanup(async () => server[Symbol.asyncDispose]())
    return server
  }
}

/** The members of every error. */
export const errorMembers = {
  title: expect.any(String) as string,
  type: expect.any(String) as string,
  detail: expect.any(String) as string,
  status: expect.any(Number) as number,
  message: expect.any(String) as string,
}

/** Form of page tokens. */
export const tokenForm = /^[0-9a-v]{45,64}$/

/** An app with an endpoint. */
export interface AppWithReceiver extends TestApp, AsyncDisposable {
  readonly receiver: WebhookReceiver
  /** Registers another webhook at the endpoint; returns its id. */
  webhook(): Promise<string>
}

/** Creates such an app on this server. */
export async function appWithReceiver(server: TestServer): Promise<AppWithReceiver> {
  const app = await server.newApp()
  const receiver = await WebhookReceiver.start(app.app.consumer_secret)
  let count = 0
  return {
    ...app,
    receiver,
    async webhook() {
      count += 1
      const made = await app.send("POST", paths.webhooks, { url: `${receiver.url}/${count}` })
      expect(made.status, made.text).toBe(200)
      return made.body.data.id as string
    },
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  }
}

/** Path of the link of a webhook. */
export function linkPath(id: string): string {
  return paths.link.replace(":webhook_id", id)
}

/** Path of a webhook. */
export function webhookPath(id: string): string {
  return paths.webhook.replace(":webhook_id", id)
}

/** Path of a user's posts. */
export function postsPath(user: string, query = ""): string {
  return paths.userPosts.replace(":id", user) + query
}

/** Links a webhook, with the parameters of the query. */
export async function link(app: TestApp, webhookId: string, query = ""): Promise<void> {
  const linked = await app.send("POST", linkPath(webhookId) + query)
  expect([linked.status, linked.body]).toEqual([200, { data: { provisioned: true } }])
}

/** Links of an app. */
export async function linksOf(app: TestApp, query = ""): Promise<readonly Link[]> {
  return (await app.call(paths.links + query)).body.data.links as Link[]
}

/** Ids of an app's linked webhooks. */
export async function linkedIds(app: TestApp, query = ""): Promise<readonly string[]> {
  return (await linksOf(app, query)).map((one) => one.webhook_id)
}

/** Adds rules; returns their ids. */
export async function addRules(
  app: TestApp,
  ...rules: readonly { value: string; tag?: string }[]
): Promise<readonly string[]> {
  const added = await app.send("POST", paths.rules, { add: rules })
  expect(added.status, added.text).toBe(201)
  return idsIn(added.body.data)
}

/** Ids of the objects of a list. */
export function idsIn(items: unknown): readonly string[] {
  return (items as { id: string }[]).map(({ id }) => id)
}

let lastUser = 40_000_000

/** Id of a user whom no other test uses. */
export function newUser(): string {
  lastUser += 1
  return String(lastUser)
}

let lastBlock = 1_000_000_000

/** A number above which a thousand ids are free. */
export function newBlock(): number {
  lastBlock += 1_000
  return lastBlock
}

/** Free ids of posts, newest first. */
export function newIds(count: number): readonly string[] {
  const base = newBlock()
  return Array.from({ length: count }, (_, index) => String(base + count - index))
}

/** A free id of a post. */
export function newId(): string {
  return newIds(1)[0] ?? ""
}

/** An envelope of a user's post, with additional members where given. */
export function postBy(user: string, id: string, more: Readonly<Record<string, unknown>> = {}): unknown {
  return envelope(id, `post ${id}`, { author_id: user, ...more })
}

/** Ingests envelopes, all of which must be new. */
export async function ingestNew(app: TestApp, ...envelopes: readonly unknown[]): Promise<void> {
  const { body } = await app.ingest(...envelopes)
  expect(body).toMatchObject({ accepted: envelopes.length, rejected: [] })
}

/** Ingests this many posts of a user; returns their ids, newest first. */
export async function ingestPosts(app: TestApp, user: string, count: number): Promise<readonly string[]> {
  const ids = newIds(count)
  await ingestNew(app, ...ids.map((id) => postBy(user, id)))
  return ids
}

/** A request with an app's bearer token. */
export function bearer(token: string): { headers: Record<string, string> } {
  return { headers: { Authorization: `Bearer ${token}` } }
}

/** The whole body of a problem with one cause and no members specific to X. */
export function problem(status: number, title: string, detail: string, type = "about:blank"): unknown {
  const error = { title, type, detail, status, message: detail }
  return { ...error, errors: [error] }
}

/** An operation of a server, with a request that is valid until a test changes it. */
interface Operation {
  readonly method: string
  readonly path: string
  readonly isGuarded: boolean
  /** A kind of token with which it may be used. */
  readonly isFor: "app" | "user" | "operator"
  readonly init: { method: string; headers: Record<string, string>; body?: string }
}

/** Every operation that a server describes. */
export async function allOperations(server: TestApp): Promise<readonly Operation[]> {
  const described = (await server.call(paths.openapi)).body.paths as Record<
    string,
    Record<
      string,
      {
        security?: readonly object[]
        parameters?: readonly { name: string; in: string; required?: boolean }[]
        requestBody?: { content: Record<string, { example: unknown }> }
      }
    >
  >
  return Object.entries(described).flatMap(([path, methods]) =>
    Object.entries(methods).map(([name, { security = [], parameters = [], requestBody }]) => {
      const required = parameters.filter((one) => one.in === "query" && one.required === true)
      const query = required.map((one) => `${one.name}=1`).join("&")
      const method = name.toUpperCase()
      const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? []
      const example = content?.example
      const body = typeof example === "string" ? example : JSON.stringify(example)
      return {
        method,
        path:
          path.replace("{endpoint_id}", "filtered_stream").replaceAll(/\{\w+\}/g, "1") +
          (query === "" ? "" : `?${query}`),
        isFor: kindFor(path),
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

function kindFor(path: string): Operation["isFor"] {
  if (path === paths.me) return "user"
  return /^\/sluice\/v1\/(apps|tokens|deletions|sources)\b/.test(path) ? "operator" : "app"
}

/** Requests every kind of refusal; returns the responses by kind. */
async function allRefusals(server: TestServer): Promise<ReadonlyMap<string, TestResponse>> {
  const app = await server.newApp()
  const reader = await server.newApp()
  await using linked = await appWithReceiver(server)
  const linkedId = await linked.webhook()
  await link(linked, linkedId)
  await addRules(reader, { value: "cat" })
  await using _stream = await openStream(reader)
  const operator = bearer(await server.running.apps.createToken("operator"))
  const ndjson = { method: "POST", headers: { "content-type": "application/x-ndjson" }, body: "\n" }
  const form = { "content-type": "application/x-www-form-urlencoded" }
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
    ["wrong credentials", await app.call(paths.oauthToken, { method: "POST", headers: form, body: "grant_type=x" })],
    ["unknown route", await app.call("/2/nothing")],
    ["unknown webhook", await app.send("PUT", webhookPath("1"))],
    ["unknown link", await app.send("DELETE", linkPath("1"))],
    ["wrong method", await app.send("PATCH", paths.rules, {})],
    ["linked otherwise", await linked.send("POST", `${linkPath(linkedId)}?tweet.fields=lang`)],
    ["stream without rules", await app.call(paths.stream, shortly)],
    ["too large", await app.send("POST", paths.webhooks, { url: "x".repeat(bodyBytesMax) })],
    ["wrong content type", await app.call(paths.rules, ndjson)],
    ["second stream", await reader.call(paths.stream, shortly)],
  ])
}
