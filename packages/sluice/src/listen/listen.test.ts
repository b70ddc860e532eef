import { PassThrough } from "node:stream"
import { text } from "node:stream/consumers"
import { paths, pathOf, type LinkAttempt } from "@sluice/api"
import { createClient, type Client } from "@sluice/client"
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest"
import { listening } from "../../../../test/support/listening.testing.ts"
import { envelope, startTestServer, type TestServer } from "../../../../test/support/test-server.testing.ts"
import type { AppSecrets } from "../connection/connection.ts"
import { readEnvironment } from "../environment.ts"
import { createTerminal } from "../terminal/terminal.ts"
import { listen, type ListenSettings } from "./listen.ts"
import { startListener } from "./listener.ts"
import { listenerName, register } from "./registration.ts"

let at: TestServer
let client: Client
let lastId = 0

beforeAll(async () => {
  at = await startTestServer({ "retry-seconds-min": "1", "retry-seconds-max": "1" })
  client = createClient({ url: at.url, token: at.app.bearer_token })
})

afterAll(() => at[Symbol.asyncDispose]())

/** Nothing that was added is left. */
afterEach(async () => {
  expect((await at.call(paths.webhooks)).body.data).toEqual([])
  expect((await at.call(paths.rules)).body.data ?? []).toEqual([])
})

const settings: ListenSettings = {
  faults: { failRate: 0, status: 500, latencyMs: 0 },
  forwardTo: undefined,
  rules: ["heron"],
  port: 0,
  isKept: false,
  isJson: true,
}

/** A listener that runs, and what it prints. */
async function started(more: Partial<ListenSettings> = {}, secrets: Partial<AppSecrets> = {}) {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
  const terminal = createTerminal(readEnvironment({}), streams)
  const printed = { stdout: "", stderr: "" }
  streams.stdout.on("data", (chunk: Buffer) => (printed.stdout += chunk.toString()))
  streams.stderr.on("data", (chunk: Buffer) => (printed.stderr += chunk.toString()))
  const stop = new AbortController()
  const app = { client, consumerSecret: undefined, clientSecret: at.app.client_secret, ...secrets }
  const ended = listen({ ...settings, ...more }, app, terminal, stop.signal)
  // Not `expect.poll`, which cannot race with a listener that fails.
  const isReady = vi.waitUntil(() => printed.stderr.includes("sluice trigger"), { timeout: 10_000 })
  isReady.catch(() => undefined)
  await Promise.race([isReady, ended])
  const end = async (): Promise<void> => {
    stop.abort()
    await ended
  }
  return {
    printed,
    lines: () => printed.stdout.split("\n").filter((line) => line !== ""),
    end,
    [Symbol.asyncDispose]: end,
  }
}

async function ingest(postText: string): Promise<string> {
  const id = String(2_000_000_000_000_000_000n + BigInt((lastId += 1)))
  expect((await at.ingest(envelope(id, postText))).body).toMatchObject({ accepted: 1 })
  return id
}

test("a listener registers, prints each genuine delivery whole, and removes its registration", async () => {
  await using listener = await started()
  const webhooks = (await at.call(paths.webhooks)).body.data as { url: string; valid: boolean }[]
  expect(webhooks).toEqual([
    expect.objectContaining({ valid: true, url: expect.stringMatching(/sluice-listen/) as string }),
  ])
  const id = await ingest("a heron at the gate")
  await expect.poll(() => listener.lines().length).toBe(1)
  expect(JSON.parse(listener.lines()[0] ?? "")).toMatchObject({
    at: expect.stringMatching(/Z$/) as string,
    status: 200,
    duration_ms: expect.any(Number) as number,
    event_id: expect.stringMatching(/^msg_/) as string,
    repeat: false,
    headers: {
      "webhook-id": expect.any(String) as string,
      "x-twitter-webhooks-signature": expect.any(String) as string,
      "x-twitter-webhooks-signature-oauth2": expect.any(String) as string,
    },
    body: {
      data: { id, text: "a heron at the gate" },
      matching_rules: [{ tag: expect.stringMatching(/^listen/) as string }],
    },
  })
  const forged = await fetch(webhooks[0]?.url ?? "", { method: "POST", body: "{}" })
  expect(forged.status).toBe(403)
  await expect
    .poll(() => listener.printed.stderr)
    .toContain("Rejected a delivery: x-twitter-webhooks-signature-oauth2 is")
  await listener.end()
  expect(listener.printed.stderr).toMatch(/Removed webhook \d+, its link and 1 rule\./)
  expect(listener.lines()).toHaveLength(1)
})

test("the consumer secret alone is enough to listen, and its header is the one that is checked", async () => {
  const secrets = { clientSecret: undefined, consumerSecret: at.app.consumer_secret }
  await using listener = await started({}, secrets)
  await ingest("a heron on the roof")
  await expect.poll(() => listener.lines()).toHaveLength(1)
  expect(listener.printed.stderr).not.toContain("Rejected a delivery")
})

test("for people a delivery is a line with time, status, duration, rules and text", async () => {
  await using listener = await started({ isJson: false })
  await ingest("a heron in the reeds")
  await expect.poll(() => listener.lines().length).toBe(1)
  expect(listener.lines()[0]).toMatch(/^\d\d:\d\d:\d\d {2}200 {2} *\d+ ms {2}listen \w+ +a heron in the reeds$/)
  await listener.end()
})

test("deliveries are passed on, and the server gets the target's status", async () => {
  const bodies: string[] = []
  await using target = await listening((request, response) => {
    const respond = async (): Promise<void> => {
      const body = await text(request)
      bodies.push(body)
      response.writeHead(bodies.length === 1 ? 503 : 204).end()
    }
    void respond()
  })
  await using listener = await started({ forwardTo: `${target.url}/hook` })
  const id = await ingest("a heron twice")
  await expect.poll(() => listener.lines().length, { timeout: 10_000 }).toBe(2)
  const [first, second] = listener.lines().map((line) => JSON.parse(line) as { status: number; repeat: boolean })
  expect([first, second]).toMatchObject([
    { status: 503, repeat: false },
    { status: 204, repeat: true },
  ])
  expect(bodies).toEqual([expect.stringContaining(id), expect.stringContaining(id)])
  const webhookId = ((await at.call(paths.webhooks)).body.data as { id: string }[])[0]?.id ?? ""
  const statuses = async (): Promise<unknown> => {
    const { body } = await at.call(pathOf(paths.attempts, { webhook_id: webhookId }))
    return (body.data as LinkAttempt[]).map(({ status }) => status)
  }
  await expect.poll(statuses).toEqual([204, 503])
  await listener.end()
})

test("a listener fails on purpose, and delays its responses", async () => {
  await using listener = await started({ faults: { failRate: 1, status: 418, latencyMs: 50 } })
  await ingest("a heron, refused")
  await expect.poll(() => listener.lines().length).toBeGreaterThan(0)
  const [line = ""] = listener.lines()
  const delivery = JSON.parse(line) as { status: number; duration_ms: number; note: string }
  expect(delivery).toMatchObject({ status: 418, note: "on purpose" })
  expect(delivery.duration_ms).toBeGreaterThanOrEqual(49)
  await listener.end()
})

test("the next listener removes the registration of a killed one; one that runs is left alone", async () => {
  const name = listenerName(false)
  const killed = await startListener({
    secrets: () => ({ consumerSecret: at.app.consumer_secret }),
    faults: settings.faults,
    forwardTo: undefined,
    path: name.path,
    port: 0,
    onDelivery: async () => undefined,
    onRefusal: () => undefined,
  })
  await register(client, { url: killed.url, rules: ["kestrel"], tag: name.tag, kept: undefined })
  await using beside = await started({ rules: ["otter"] })
  expect((await at.call(paths.webhooks)).body.data).toHaveLength(2)
  await killed[Symbol.asyncDispose]()
  await using next = await started()
  expect(next.printed.stderr).toContain("Removed the registrations of 1 interrupted `listen`")
  const values = ((await at.call(paths.rules)).body.data as { value: string }[]).map(({ value }) => value)
  expect(values.toSorted()).toEqual(["heron", "otter"])
  await next.end()
  await beside.end()
})

test("with --keep the registration stays, and the next listener gets the missed matches", async () => {
  await using first = await started({ isKept: true })
  await first.end()
  expect(first.printed.stderr).toContain("Kept webhook")
  const id = await ingest("a heron that nobody saw")
  await using second = await started({ isKept: true })
  await expect.poll(() => second.lines().length, { timeout: 10_000 }).toBe(1)
  expect(second.lines()[0]).toContain(id)
  await second.end()
  const [webhook] = (await at.call(paths.webhooks)).body.data as { id: string }[]
  await at.call(pathOf(paths.webhook, { webhook_id: webhook?.id ?? "" }), { method: "DELETE" })
  const rules = (await at.call(paths.rules)).body.data as { id: string }[]
  await at.send("POST", paths.rules, { delete: { ids: rules.map((rule) => rule.id) } })
})

test("an invalid rule is refused, and nothing is left; one that the app has already stays", async () => {
  await expect(started({ rules: ["cat", "has:"] })).rejects.toThrow("The rule has: was not added.")
  const { body } = await at.send("POST", paths.rules, { add: [{ value: "heron" }] })
  await using listener = await started()
  expect(listener.printed.stderr).toContain("Rule: heron (already a rule of the app)")
  await listener.end()
  expect(listener.printed.stderr).toMatch(/Removed webhook \d+ and its link\./)
  const rules = (await at.call(paths.rules)).body.data as { id: string; value: string }[]
  expect(rules).toEqual([expect.objectContaining({ value: "heron" })])
  await at.send("POST", paths.rules, { delete: { ids: [(body.data as { id: string }[])[0]?.id] } })
})

test("an app without rules gets one while `listen` runs", async () => {
  await using listener = await started({ rules: [] })
  expect(((await at.call(paths.rules)).body.data as { value: string }[])[0]?.value).toBe("sluice")
  await listener.end()
})
