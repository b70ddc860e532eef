/** Rules of similarity, over HTTP from end to end, with a real endpoint of embeddings. */
import { paths } from "@sluice/api"
import { afterEach, beforeEach, expect, test } from "vitest"
import { ConfigError } from "../packages/server/src/index.ts"
import {
  startEmbeddingsEndpoint,
  type EmbeddingsEndpoint,
} from "../packages/server/src/runtime/embeddings-endpoint.testing.ts"
import { openStream } from "./support/open-stream.testing.ts"
import { envelope, startTestServer, type TestApp, type TestServer } from "./support/test-server.testing.ts"
import { WebhookReceiver } from "./support/webhook-receiver.testing.ts"
import { temporaryDirectory, type TemporaryDirectory } from "./support/temporary-directory.testing.ts"

let data: TemporaryDirectory
let endpoint: EmbeddingsEndpoint

beforeEach(async () => {
  data = await temporaryDirectory()
  endpoint = await startEmbeddingsEndpoint()
})

afterEach(async () => {
  await endpoint[Symbol.asyncDispose]()
  await data.remove()
})

/** Starts a server on the same data every time, which knows the endpoint. */
function startServer(): Promise<TestServer> {
  return startTestServer({
    data: data.path,
    "embeddings-url": endpoint.url,
    "embeddings-model": "words",
    "embeddings-key": "s3cret",
    search: "off",
  })
}

async function addRules(app: TestApp, ...values: readonly string[]) {
  const { status, body } = await app.send("POST", paths.rules, { add: values.map((value) => ({ value })) })
  return { status, body, ids: ((body.data ?? []) as { id: string }[]).map(({ id }) => id) }
}

async function storedIds(app: TestApp): Promise<readonly string[]> {
  const { body } = await app.call(paths.userPosts.replace(":id", "7"))
  return ((body.data ?? []) as { id: string }[]).map(({ id }) => id)
}

const unreachable = "The embeddings endpoint could not be reached (ECONNREFUSED)."

test("a stream and a webhook receive similar posts, with their similarity", async () => {
  await using server = await startServer()
  await using receiver = await WebhookReceiver.start(server.app.consumer_secret)
  const webhook = await server.send("POST", paths.webhooks, { url: receiver.url })
  await server.send("POST", paths.link.replace(":webhook_id", webhook.body.data.id as string))
  const { ids } = await addRules(
    server,
    'embedding:"red fox" embedding_threshold:0.8',
    'bird OR embedding:"red fox" OR embedding:"brown fox jumps"',
  )
  await using stream = await openStream(server)
  const ingested = await server.ingest(
    envelope(1, "red fox"),
    envelope(2, "a red fox"),
    envelope(3, "now one red fox sleeps"),
    envelope(4, "a quick brown fox"),
    envelope(5, "a bird"),
    envelope(6, "nothing of the kind"),
  )
  expect(ingested.body).toMatchObject({ accepted: 6 })
  const [strict, loose] = ids
  const near = (id: string | undefined, similarity: number, threshold = 0.3) => ({
    id,
    tag: "",
    embedding_similarity: similarity,
    embedding_threshold: threshold,
  })
  const expected = [
    ["1", [near(strict, 1, 0.8), near(loose, 1)]],
    ["2", [near(strict, 0.816497, 0.8), near(loose, 0.816497)]],
    ["3", [near(loose, 0.632456)]],
    ["4", [near(loose, 0.57735)]],
    ["5", [{ id: loose, tag: "" }]],
  ] as const
  for (const [id, rules] of expected) {
    const delivered = (await stream.next()) as unknown as { data: { id: string }; matching_rules: unknown }
    expect([delivered.data.id, delivered.matching_rules]).toEqual([id, rules])
  }
  await receiver.arrived(expected.length)
  const received = receiver.received.map(({ body }) => {
    const { data: post, matching_rules: rules } = JSON.parse(body) as {
      data: { id: string }
      matching_rules: unknown
    }
    return [post.id, rules] as const
  })
  expect(new Map(received)).toEqual(new Map<string, unknown>(expected))
  expect(new Set(endpoint.asked.map(({ headers }) => headers.authorization))).toEqual(new Set(["Bearer s3cret"]))
})

test("the server accepts no post while the endpoint is down, and every post afterwards", async () => {
  await using server = await startServer()
  await addRules(server, 'embedding:"red fox"', "bird")
  await endpoint.stop()
  const posts = [envelope(1, "red fox"), envelope(2, "a bird")]
  const refused = await server.ingest(...posts)
  expect(refused.status).toBe(503)
  expect(refused.body).toMatchObject({
    title: "Service Unavailable",
    status: 503,
    detail:
      `${unreachable} Posts are not matched without it, since rules ask for similarity. ` +
      "What was acknowledged is kept; send the rest again later.",
    errors: [{ status: 503 }],
  })
  expect(await storedIds(server)).toEqual([])
  expect((await server.call(paths.metrics)).text).toMatch(/^sluice_failures_total\{where="embeddings"\} 1$/m)

  await endpoint.start()
  await using stream = await openStream(server)
  expect((await server.ingest(...posts)).body).toMatchObject({ accepted: 2, duplicates: 0 })
  expect([(await stream.next()).data.id, (await stream.next()).data.id]).toEqual(["1", "2"])
})

test("with ack=batch the last line says that the endpoint is down", async () => {
  await using server = await startServer()
  await addRules(server, 'embedding:"red fox"')
  await endpoint.stop()
  const response = await server.call(`${paths.posts}?ack=batch`, {
    method: "POST",
    headers: { "content-type": "application/x-ndjson" },
    body: JSON.stringify(envelope(1, "red fox")),
  })
  expect(JSON.parse(response.text)).toMatchObject({ status: 503, errors: [{ status: 503 }] })
  expect(await storedIds(server)).toEqual([])
})

test("the server refuses a rule that it cannot evaluate, and accepts the others of its request", async () => {
  await using server = await startServer()
  await endpoint.stop()
  const values = ['embedding:"red fox"', "bird"]
  const { status, body } = await addRules(server, ...values)
  expect(status).toBe(201)
  expect(body.data).toMatchObject([{ value: "bird" }])
  expect(body.errors).toEqual([
    {
      title: "Service Unavailable",
      type: "https://api.x.com/2/problems/resource-unavailable",
      detail: `${unreachable} The rule asks for similarity and needs it; try again later.`,
      status: 503,
      message: `${unreachable} The rule asks for similarity and needs it; try again later.`,
      value: 'embedding:"red fox"',
    },
  ])
  expect((await server.ingest(envelope(1, "a bird"))).status).toBe(200)
  await endpoint.start()
  expect((await addRules(server, values[0] ?? "")).status).toBe(201)
})

test("rules work after a restart, also when the endpoint starts later than the server", async () => {
  {
    await using server = await startServer()
    await addRules(server, 'embedding:"red fox"')
  }
  await endpoint.stop()
  await using server = await startServer()
  const { body: apps } = await server.call(paths.rules)
  // The app of this start has no rules; the first app has one, and the API counts its matches.
  expect(apps.meta.result_count).toBe(0)
  expect((await server.ingest(envelope(1, "red fox"))).status).toBe(503)
  await endpoint.start()
  expect((await server.ingest(envelope(1, "red fox"), envelope(2, "a bird"))).body).toMatchObject({
    accepted: 2,
  })
  expect((await server.call(paths.metrics)).text).toMatch(/^sluice_matches_total 1$/m)
})

test("a server does not start without the endpoint that its rules need, and says what to do", async () => {
  let id: string | undefined
  {
    await using server = await startServer()
    ;[id] = (await addRules(server, 'embedding:"red fox"')).ids
  }
  const started = startTestServer({ data: data.path })
  await expect(started).rejects.toBeInstanceOf(ConfigError)
  await expect(started).rejects.toThrow(
    `Stored rule ${id} has embedding:, and there is no endpoint for it. ` +
      "Set SLUICE_EMBEDDINGS_URL and SLUICE_EMBEDDINGS_MODEL; " +
      "to do without, start with them once more and delete such rules.",
  )
  // The refused server left nothing behind.
  await using server = await startServer()
  expect((await server.ingest(envelope(1, "red fox"))).status).toBe(200)
})

test("a server closes while a body waits for the endpoint, and stores nothing of the body", async () => {
  const server = await startServer()
  await addRules(server, 'embedding:"red fox"')
  const asked = endpoint.asked.length
  endpoint.fault = () => true
  const ingesting = server.ingest(envelope(1, "red fox")).catch(() => undefined)
  await expect.poll(() => endpoint.asked.length).toBe(asked + 1)
  await server[Symbol.asyncDispose]()
  await ingesting
  endpoint.fault = undefined
  await using again = await startServer()
  expect((await again.ingest(envelope(1, "red fox"))).body).toMatchObject({ accepted: 1, duplicates: 0 })
})

test("a test of a rule evaluates similarity, on given posts and on recent ones", async () => {
  await using server = await startServer()
  const value = 'embedding:"red fox"'
  const posts = [envelope(1, "red fox"), envelope(2, "a bird")]
  const tried = await server.send("POST", paths.ruleTest, { value, posts })
  expect(tried.body.data).toEqual([{ id: "1", spans: [{ operator: 'embedding:"red fox"', where: "text" }] }])
  await server.ingest(...posts)
  const recent = await server.send("POST", paths.ruleTest, { value, recent: 10 })
  expect(recent.body).toMatchObject({ data: [{ id: "1" }], meta: { tested: 2, matched: 1, share: 0.5 } })

  await endpoint.stop()
  const refused = await server.send("POST", paths.ruleTest, { value, posts })
  expect(refused.status).toBe(503)
  // Every post of the test stayed out of the store.
  expect(refused.body.detail).toBe(`${unreachable} The rule asks for similarity and needs it; try again later.`)
})

test("without an endpoint the parser refuses embedding: in X's words", async () => {
  await using server = await startTestServer()
  const { status, body } = await addRules(server, 'embedding:"red fox" embedding_threshold:0.4')
  expect(status).toBe(200)
  const unavailable = (name: string, at: number): string =>
    `Reference to invalid operator '${name}'. Operator is not available in current product or product packaging. ` +
    `Please refer to complete available operator list at http://t.co/operators. (at position ${at})`
  expect(body.errors[0].details).toEqual([unavailable("embedding", 1), unavailable("embedding_threshold", 21)])
})

test("a server without rules of similarity sends the endpoint nothing", async () => {
  await using server = await startServer()
  const { ids } = await addRules(server, 'embedding:"red fox"', "bird")
  await server.send("POST", paths.rules, { delete: { ids: [ids[0]] } })
  const asked = endpoint.asked.length
  await endpoint.stop()
  expect((await server.ingest(envelope(1, "a bird"))).body).toMatchObject({ accepted: 1 })
  expect(endpoint.asked).toHaveLength(asked)
})
