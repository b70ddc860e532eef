/**
 * The whole server on each store, over real HTTP: the same calls have the same results, and no code above
 * `packages/server/src/store` knows which store it uses.
 */
import { existsSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { createClient, type Client } from "../packages/client/src/index.ts"
import { nodeHandler, receiver as receiverOf, type Delivery } from "../packages/client/src/receiver/index.ts"
import { loadConfig, type AppCredentials } from "../packages/server/src/index.ts"
import { startServer, type RunningServer } from "../packages/server/src/main.ts"
import { memoryEngine } from "../packages/server/src/store/memory/memory-engine.testing.ts"
import type { StoreEngine } from "../packages/server/src/store/engine.ts"
import { clusterEngine } from "../packages/server/src/store/cluster/engine.ts"
import {
  createTestDatabase,
  type TestDatabase,
} from "../packages/server/src/store/cluster/connection/postgres.testing.ts"
import type { AppId } from "../packages/server/src/model/ids.ts"
import { embeddedEngine } from "../packages/server/src/store/embedded/engine.ts"
import { listening } from "./support/listening.testing.ts"
import { whyNoPostgres } from "./support/postgres.testing.ts"

const noPostgres = await whyNoPostgres()
const stores: readonly {
  readonly name: string
  readonly engineOf: (data: string) => Promise<StoreEngine>
  readonly deliveryThreads?: string
}[] = [
  { name: "the embedded store", engineOf: async (data) => embeddedEngine(data) },
  {
    name: "the embedded store, with threads that deliver",
    engineOf: async (data) => embeddedEngine(data),
    deliveryThreads: "2",
  },
  { name: "the in-memory store", engineOf: async () => memoryEngine() },
  ...(noPostgres === undefined ? [{ name: "the PostgreSQL store", engineOf: databaseEngine }] : []),
]

let database: TestDatabase | undefined

async function databaseEngine(): Promise<StoreEngine> {
  database = await createTestDatabase()
  return clusterEngine({ url: database.url, poolMax: 7, statementMsMax: 30_000 })
}

describe.each(stores)("a server on $name", ({ engineOf, deliveryThreads = "0" }) => {
  let directory: string
  let engine: StoreEngine
  let server: RunningServer
  let app: AppCredentials
  let client: Client
  let receiver: Awaited<ReturnType<typeof listening>>
  let deliveries: Delivery[]
  let refusals: string[]
  let statusOf: (delivery: Delivery) => number
  let signingKeys: string[]
  /** The author of the test's posts: the server is the same for all tests, and each has an app of its own. */
  let author = 6
  let lastPost = 1_000

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "sluice-stores-"))
    engine = await engineOf(directory)
    await start()
  })

  afterAll(async () => {
    await server.close()
    expect(existsSync(join(directory, "sluice.db"))).toBe(engine.files !== undefined)
    await rm(directory, { recursive: true })
    await database?.[Symbol.asyncDispose]()
    database = undefined
  })

  beforeEach(async () => {
    deliveries = []
    refusals = []
    signingKeys = []
    statusOf = () => 200
    author += 1
    app = await server.apps.create(`own ${author}`)
    connect()
    const receive = receiverOf({
      consumerSecret: app.consumer_secret,
      get signingKeys() {
        return signingKeys
      },
      repeats: false,
      onDelivery(delivery) {
        deliveries.push(delivery)
        return statusOf(delivery)
      },
      onRefusal: (reason) => refusals.push(reason),
    })
    receiver = await listening(nodeHandler(receive))
  })

  afterEach(async () => {
    await server.apps.revoke(app.application_id as AppId)
    await receiver[Symbol.asyncDispose]()
    expect(refusals).toEqual([])
  })

  async function start(): Promise<void> {
    const retries = { "delivery-attempts-max": "1" }
    const threads = { "delivery-threads": deliveryThreads }
    const flags = { data: directory, port: "0", "log-level": "fatal", ...retries, ...threads }
    server = await startServer(loadConfig({ posture: "dev", flags, env: { SLUICE_MASTER_KEY: "ab".repeat(32) } }), {
      engine,
    })
  }

  function connect(): void {
    client = createClient({ url: server.url, token: app.bearer_token })
  }

  /** Adds a rule and links a webhook of the receiver; returns its id. */
  async function link(rule: string): Promise<string> {
    await client.request("POST", "rules", { body: { add: [{ value: rule, tag: "pets" }] } })
    const { id } = (await client.request("POST", "webhooks", { body: { url: receiver.url } })).data
    const { signing_key: key } = (await client.request("GET", "signingKey", { parameters: { webhook_id: id } })).data
    signingKeys = [key]
    expect(await client.request("POST", "link", { parameters: { webhook_id: id } })).toEqual({
      data: { provisioned: true },
    })
    return id
  }

  /** Ingests a post of each text by the author; returns their ids. */
  async function ingest(...texts: readonly string[]): Promise<readonly string[]> {
    const ids = texts.map(() => String((lastPost += 1)))
    const lines = texts.map((text, index) => {
      const data = { id: ids[index], text, author_id: `${author}`, created_at: new Date().toISOString() }
      return `${JSON.stringify({ data, includes: { users: [{ id: `${author}`, username: `wren${author}` }] } })}\n`
    })
    const body = await client.request("POST", "posts", { body: lines.join("") })
    expect(body).toMatchObject({ accepted: texts.length, duplicates: 0, rejected: [] })
    return ids
  }

  const postIds = (): readonly string[] => deliveries.flatMap((one) => (one.kind === "match" ? one.event.data.id : []))

  async function linkState(webhook: string) {
    return (await client.request("GET", "linkDetail", { parameters: { webhook_id: webhook } })).data
  }

  test("keeps the rules of an app", async () => {
    const body = { add: [{ value: "cat", tag: "pets" }, { value: "dog" }, { value: "cat" }] }
    const added = await client.request("POST", "rules", { body })
    expect(added).toMatchObject({
      data: [{ value: "cat", tag: "pets" }, { value: "dog" }],
      meta: { summary: { created: 2, not_created: 1 } },
      errors: [{ value: "cat", title: "DuplicateRule" }],
    })
    const listed = await Array.fromAsync(client.pages("rules", { query: { max_results: 1 } }))
    expect(listed.flatMap((page) => page.data ?? []).map(({ value }) => value)).toEqual(["dog", "cat"])
    await client.request("POST", "rules", { body: { delete: { values: ["dog"] } } })
    expect((await client.request("GET", "rules")).data).toMatchObject([{ value: "cat", tag: "pets" }])
    expect((await client.request("GET", "ruleCounts")).data.client_app_rules_count).toMatchObject({
      rule_count: 1,
    })
  })

  test("delivers a matching post to the webhook, signed, and to the stream", async () => {
    const webhook = await link("cat")
    const left = new AbortController()
    const lines = client.stream({ signal: left.signal, reconnect: false })
    const first = lines.next()
    await expect
      .poll(async () => (await fetch(`${server.url}/metrics`)).text())
      .toMatch(/^sluice_stream_connections\S* 1$/m)
    const [, id] = await ingest("a dog", "a cat")
    const delivered = { data: { id, text: "a cat" }, matching_rules: [{ tag: "pets" }] }
    expect((await first).value?.body).toMatchObject(delivered)
    left.abort()
    await expect.poll(() => deliveries.length).toBe(1)
    expect(JSON.parse(deliveries[0]?.text ?? "")).toMatchObject(delivered)
    expect(deliveries[0]?.id).toMatch(/^msg_\d+_1$/)
    await expect
      .poll(() => linkState(webhook))
      .toMatchObject({
        position: 1,
        head: 1,
        total: { delivered: 1, dead_letters: 0 },
      })
    expect((await client.request("GET", "links")).data).toMatchObject({
      links: [{ webhook_id: webhook, application_id: app.application_id }],
    })
  })

  test("shows the posts of a user in pages", async () => {
    const ids = await ingest("one", "two", "three", "four", "five", "six", "seven")
    const query = { max_results: 5 }
    const pages = await Array.fromAsync(client.pages("userPosts", { parameters: { id: `${author}` }, query }))
    expect(pages.map(({ data = [] }) => data.length)).toEqual([5, 2])
    expect(pages.flatMap(({ data = [] }) => data.map((post) => post.id))).toEqual(ids.toReversed())
    const unknown = client.request("GET", "userPosts", { parameters: { id: "6" } })
    expect(await unknown).toMatchObject({ errors: [{ resource_id: "6" }] })
  })

  test("sends dead letters again", async () => {
    const webhook = await link("cat")
    statusOf = ({ text }) => (text.includes("poison") ? 400 : 200)
    const [, poison = ""] = await ingest("a cat", "a poison cat", "another cat")
    const letters = async () => (await client.request("GET", "deadLetters")).data
    await expect.poll(letters).toMatchObject([{ webhook_id: webhook, post_id: poison, status: 400 }])
    await expect
      .poll(async () => (await linkState(webhook)).total)
      .toMatchObject({
        delivered: 2,
        dead_letters: 1,
      })
    const parameters = { webhook_id: webhook }
    await expect.poll(async () => (await client.request("GET", "attempts", { parameters })).meta.result_count).toBe(3)
    statusOf = () => 200
    expect(await client.request("POST", "redeliver", { body: { all: true } })).toEqual({
      data: { redelivered: 1 },
    })
    await expect
      .poll(async () => (await linkState(webhook)).total)
      .toMatchObject({
        delivered: 3,
        dead_letters: 0,
      })
    expect(postIds().filter((id) => id === poison)).toHaveLength(2)
    expect(await letters()).toEqual([])
  })

  test("replays matches to a webhook", async () => {
    const webhook = await link("cat")
    const ids = await ingest("a cat", "two cats", "the cat")
    const [first = "", , third = ""] = ids
    const matching = [first, third]
    await expect.poll(() => postIds().toSorted()).toEqual(matching)
    const minuteAt = (atMs: number): string => new Date(atMs).toISOString().slice(0, 16).replaceAll(/\D/g, "")
    const window = { from_date: minuteAt(Date.now() - 600_000), to_date: minuteAt(Date.now()) }
    const { job_id: job } = (
      await client.request("POST", "webhookReplay", { body: { webhook_id: webhook, ...window } })
    ).data
    await expect
      .poll(async () => (await client.request("GET", "replays")).data)
      .toMatchObject([{ job_id: job, webhook_id: webhook, state: "complete", delivered: 2, failed: 0 }])
    expect(postIds().toSorted()).toEqual([first, first, third, third])
    await expect.poll(() => deliveries.at(-1)?.text).toContain('"job_state":"Complete"')
  })

  test("tests a rule on the newest posts, in a separate thread", async () => {
    const ids = await ingest("a cat", "a dog", "the cat")
    const tested = await client.request("POST", "ruleTest", { body: { value: "cat", recent: 3 } })
    expect(tested.meta).toMatchObject({ tested: 3 })
    expect(tested.data.map(({ id }) => id)).toEqual([ids[2], ids[0]])
  })

  test("resumes where it was after a restart", async () => {
    await link("cat")
    const [first] = await ingest("a cat")
    await expect.poll(() => deliveries.length).toBe(1)
    await server.close()
    await start()
    connect()
    const [id] = await ingest("another cat")
    await expect.poll(() => postIds()).toEqual([first, id])
    expect(deliveries[1]?.id).toMatch(/^msg_\d+_2$/)
    expect(await server.apps.list()).toContainEqual(expect.objectContaining({ name: `own ${author}` }))
  })
})
