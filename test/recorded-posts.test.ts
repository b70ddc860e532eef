/** The whole way on recorded posts: pour in, match, deliver twice over, and page. */
import { gzipSync } from "node:zlib"
import { readFileSync } from "node:fs"
import type { Envelope } from "@sluice/api"
import { EarlierPosts, evaluate, parseRule, readPost, type Rule } from "@sluice/rules"
import { beforeAll, describe, expect, test } from "vitest"
import { hasSharedData, sharedFile, sharedLines } from "./support/shared-data.testing.ts"
import { startTestServer, type TestServer } from "./support/running-server.testing.ts"
import { startReceiver } from "./support/webhook-receiver.testing.ts"

const postsFile = "data/x/posts-full.ndjson.gz"

function pourGzipped(server: TestServer, bytes: Uint8Array) {
  return server.call("/sluice/v1/posts", {
    method: "POST",
    headers: { "content-type": "application/x-ndjson", "content-encoding": "gzip" },
    body: Buffer.from(bytes),
  })
}

/** Reads a stream connection until `signal`; answers the ids in the order of arrival. */
async function readStream(
  server: TestServer,
  onPost: (id: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await fetch(`${server.url}/2/tweets/search/stream`, {
    headers: { Authorization: `Bearer ${server.app.bearer_token}` },
    signal,
  })
  expect(response.status).toBe(200)
  let rest = ""
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (rest + chunk).split("\r\n")
    rest = lines.pop() ?? ""
    for (const line of lines) if (line !== "") onPost((JSON.parse(line) as Envelope).data.id)
  }
}

describe.runIf(hasSharedData)("on recorded posts", () => {
  let lines: readonly string[]
  let envelopes: readonly Envelope[]

  beforeAll(() => {
    lines = sharedLines(postsFile)
    envelopes = lines.map((line) => JSON.parse(line) as Envelope)
  })

  test("all envelopes pour in, the counts add up, and pouring them again accepts none", async () => {
    await using server = await startTestServer()
    const bytes = readFileSync(sharedFile(postsFile))
    const first = await pourGzipped(server, bytes)
    expect(first).toMatchObject({ status: 200 })
    const { accepted, duplicates, rejected_count: rejected } = first.body
    expect(accepted + duplicates + rejected).toBe(lines.length)
    expect(accepted).toBe(new Set(envelopes.map(({ data }) => data.id)).size)
    expect(rejected).toBe(0)
    expect((await pourGzipped(server, bytes)).body).toMatchObject({
      accepted: 0,
      duplicates: lines.length,
      rejected_count: 0,
    })
  })

  test("a webhook and a stream connection receive the same posts: those that evaluate says", async () => {
    const rules = sharedLines("data/rules/rules.ndjson").flatMap((line) => {
      const { value } = JSON.parse(line) as { value: string }
      const parsed = parseRule(value)
      return parsed.ok ? [{ value, rule: parsed.rule }] : []
    })
    // Values that differ in nothing are one rule to a server.
    const distinct = [...new Map(rules.map((rule) => [rule.value, rule.rule]))]
    expect(distinct.length).toBeGreaterThan(150)
    const expected = expectedIds(
      envelopes,
      distinct.map(([, rule]) => rule),
    )
    expect(expected.size).toBeGreaterThan(1_000)

    await using server = await startTestServer()
    await using receiver = await startReceiver(server.app.consumer_secret)
    const added = await server.send("POST", "/2/tweets/search/stream/rules", {
      add: distinct.map(([value]) => ({ value })),
    })
    expect(added.body.meta.summary).toEqual({
      created: distinct.length,
      not_created: 0,
      valid: distinct.length,
      invalid: 0,
    })
    const webhook = await server.send("POST", "/2/webhooks", { url: receiver.url })
    expect((await server.send("POST", `/2/tweets/search/webhooks/${webhook.body.data.id}`)).status).toBe(200)
    const streamed: string[] = []
    const stop = new AbortController()
    const stream = readStream(server, (id) => streamed.push(id), stop.signal)
    await expect
      .poll(async () => (await server.call("/metrics")).text)
      .toMatch(/^sluice_stream_connections 1$/m)

    await pourGzipped(server, gzipSync(lines.join("\n")))
    await receiver.arrived(expected.size)
    await expect.poll(() => streamed.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(expected.size)
    // Whatever came too much would come now: both readers are at the head.
    await server.pour({ data: { id: "9000000000000000000", text: "nothing that anybody asked for" } })
    stop.abort()
    await stream.catch(() => undefined)

    const delivered = receiver.received.map(({ body }) => (JSON.parse(body) as Envelope).data.id)
    expect(receiver.received.every(({ isSigned }) => isSigned)).toBe(true)
    expect(new Set(delivered)).toEqual(expected)
    expect(new Set(streamed)).toEqual(expected)
    expect(delivered).toHaveLength(expected.size)
    expect(streamed).toHaveLength(expected.size)
  }, 60_000)

  test("every user's posts page to the end and back, and are all there", async () => {
    await using server = await startTestServer()
    await pourGzipped(server, gzipSync(lines.join("\n")))
    const byAuthor = Map.groupBy(envelopes, ({ data }) => data.author_id ?? "")
    const busiest = [...byAuthor].toSorted(([, a], [, b]) => b.length - a.length).slice(0, 3)
    for (const [author, posts] of busiest) {
      const ids = [...new Set(posts.map(({ data }) => data.id))].toSorted((a, b) =>
        BigInt(a) < BigInt(b) ? 1 : -1,
      )
      const pages = await pagesOf(server, `/2/users/${author}/tweets?max_results=100`, "next_token")
      expect(pages.flat()).toEqual(ids)
    }
  })
})

/** A post is matched when it comes first, by what it and those before it tell. */
function expectedIds(envelopes: readonly Envelope[], rules: readonly Rule[]): ReadonlySet<string> {
  const earlier = new EarlierPosts()
  const come = new Set<string>()
  const ids = new Set<string>()
  for (const envelope of envelopes) {
    earlier.learn(envelope)
    const { id } = envelope.data
    const isNew = !come.has(id)
    come.add(id)
    const post = readPost(envelope, { earlier })
    if (isNew && rules.some((rule) => evaluate(rule, post))) ids.add(id)
  }
  return ids
}

async function pagesOf(server: TestServer, path: string, follow: "next_token"): Promise<readonly string[][]> {
  const pages: string[][] = []
  let token: string | undefined
  do {
    const page = await server.call(token === undefined ? path : `${path}&pagination_token=${token}`)
    expect(page.status).toBe(200)
    pages.push((page.body.data as { id: string }[]).map(({ id }) => id))
    token = page.body.meta[follow] as string | undefined
  } while (token !== undefined)
  return pages
}
