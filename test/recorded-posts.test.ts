/** The whole way of recorded posts: ingested, matched, delivered in two ways, and shown in pages. */
import { gzipSync } from "node:zlib"
import { readFileSync } from "node:fs"
import type { Envelope, IncludedObject, Includes, Post } from "@sluice/api"
import { EarlierPosts, evaluate, parseRule, readPost, type Rule } from "@sluice/rules"
import { beforeAll, describe, expect, test } from "vitest"
import { parseSelection } from "../packages/server/src/model/field-selection.ts"
import type { PostId } from "../packages/server/src/model/ids.ts"
import { renderPosts } from "../packages/server/src/model/render-post.ts"
import { part, share } from "./support/extent.testing.ts"
import { hasSharedData, sharedFile, sharedLines } from "./support/shared-data.testing.ts"
import { startTestServer, type TestServer } from "./support/test-server.testing.ts"
import { WebhookReceiver } from "./support/webhook-receiver.testing.ts"

const postsFile = "data/x/posts-full.ndjson.gz"

function ingestGzipped(server: TestServer, bytes: Uint8Array) {
  return server.call("/sluice/v1/posts", {
    method: "POST",
    headers: { "content-type": "application/x-ndjson", "content-encoding": "gzip" },
    body: Buffer.from(bytes),
  })
}

/** Reads a stream connection until `signal`; returns the ids in the order of arrival. */
async function readStream(server: TestServer, onPost: (id: string) => void, signal: AbortSignal): Promise<void> {
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

  test("the server accepts every envelope once, with counts that add up, and pages show all of every user's posts, to the end and back", async () => {
    await using server = await startTestServer({ search: "off" })
    const bytes = readFileSync(sharedFile(postsFile))
    const first = await ingestGzipped(server, bytes)
    expect(first).toMatchObject({ status: 200 })
    const { accepted, duplicates, rejected_count: rejected } = first.body
    expect(accepted + duplicates + rejected).toBe(lines.length)
    expect(accepted).toBe(new Set(envelopes.map(({ data }) => data.id)).size)
    expect(rejected).toBe(0)
    expect((await ingestGzipped(server, bytes)).body).toMatchObject({
      accepted: 0,
      duplicates: lines.length,
      rejected_count: 0,
    })

    const byAuthor = Map.groupBy(envelopes, ({ data }) => data.author_id ?? "")
    const busiest = [...byAuthor].toSorted(([, a], [, b]) => b.length - a.length).slice(0, 3)
    for (const [author, posts] of busiest) {
      const ids = [...new Set(posts.map(({ data }) => data.id))].toSorted((a, b) => (BigInt(a) < BigInt(b) ? 1 : -1))
      const pages = await pagesOf(server, `/2/users/${author}/tweets?max_results=100`, "next_token")
      expect(pages.flat()).toEqual(ids)
    }
  })

  test("a webhook and a stream connection receive the same posts: those that evaluate selects", async () => {
    const rules = sharedLines("data/rules/rules.ndjson").flatMap((line) => {
      const { value } = JSON.parse(line) as { value: string }
      const parsed = parseRule(value)
      return parsed.ok ? [{ value, rule: parsed.rule }] : []
    })
    // Identical values are one rule to a server.
    const distinct = [...new Map(rules.map((rule) => [rule.value, rule.rule]))]
    expect(distinct.length).toBeGreaterThan(150)
    const sent = part(lines, 3)
    const expected = expectedIds(
      part(envelopes, 3),
      distinct.map(([, rule]) => rule),
    )
    expect(expected.size).toBeGreaterThan(1_000 * share(3))

    await using server = await startTestServer({ search: "off" })
    await using receiver = await WebhookReceiver.start(server.app.consumer_secret)
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
    await expect.poll(async () => (await server.call("/metrics")).text).toMatch(/^sluice_stream_connections 1$/m)

    await ingestGzipped(server, gzipSync(sent.join("\n")))
    await receiver.arrived(expected.size)
    await expect.poll(() => streamed.length).toBeGreaterThanOrEqual(expected.size)
    // A mistaken delivery would come now: both readers are at the head.
    await server.ingest({ data: { id: "9000000000000000000", text: "nothing that a rule requires" } })
    stop.abort()
    await stream.catch(() => undefined)

    const delivered = receiver.received.map(({ body }) => (JSON.parse(body) as Envelope).data.id)
    expect(receiver.refusals).toEqual([])
    expect(new Set(delivered)).toEqual(expected)
    expect(new Set(streamed)).toEqual(expected)
    expect(delivered).toHaveLength(expected.size)
    expect(streamed).toHaveLength(expected.size)
  })

  test("an expansion that finds nothing is an error as X recorded it, in X's order", async () => {
    let compared = 0
    for (const line of sharedLines("data/x/http-exchanges.ndjson")) {
      const { url, status, body } = JSON.parse(line) as Exchange
      const asked = new URL(url).searchParams.get("expansions")
      const recorded = (body.errors ?? []).filter(
        ({ title, parameter }) => title === "Not Found Error" && asked?.split(",").includes(parameter) === true,
      )
      if (status !== 200 || asked === null || recorded.length === 0) continue
      const values = new Set(recorded.map(({ value }) => value))
      const referring = envelopes.filter(({ data }) => [...values].some((value) => refersTo(data, value)))
      // The recording lacks posts that X looked up by their ids: generated ones replace them.
      const page =
        referring.length > 0
          ? referring
              .map((envelope) => without(envelope, values))
              .toSorted((a, b) => (BigInt(a.data.id) < BigInt(b.data.id) ? 1 : -1))
          : [{ data: standIn(recorded) }]
      const { missing } = await renderPosts(
        page.map((envelope) => ({ id: envelope.data.id as PostId, json: JSON.stringify(envelope) })),
        parseSelection({ expansions: asked }),
      )
      const errors = missing.map((problem) => problem.toErrorObject())
      const made = errors.filter(({ value }) => values.has(value as string)).slice(0, recorded.length)
      expect(made).toEqual(
        recorded.map((error) => ({
          ...error,
          type: error.type.replace("api.twitter.com", "api.x.com"),
          status: 404,
          message: error.detail,
        })),
      )
      compared += recorded.length
    }
    expect(compared).toBeGreaterThanOrEqual(16)
  })
})

/** A recorded request and its response. */
interface Exchange {
  readonly url: string
  readonly status: number
  readonly body: {
    readonly errors?: readonly {
      title: string
      parameter: string
      value: string
      detail: string
      type: string
    }[]
  }
}

function refersTo({ in_reply_to_user_id: replied, referenced_tweets: posts, entities }: Post, value: string): boolean {
  const mentions = (entities as { mentions?: { username: string }[] } | undefined)?.mentions ?? []
  return (
    replied === value ||
    posts?.some(({ id }) => id === value) === true ||
    mentions.some(({ username }) => username === value)
  )
}

/** An envelope as that response had it: another recorded one may have brought the objects that are named here. */
function without({ data, includes }: Envelope, names: ReadonlySet<string>): Envelope {
  const kept = Object.entries(includes ?? {}).map(([kind, objects]: [string, readonly IncludedObject[]]) => [
    kind,
    objects.filter(({ id, username }) => !names.has(String(id)) && !names.has(String(username))),
  ])
  return { data, includes: Object.fromEntries(kept) as Includes }
}

/** A post without the objects that these errors name. */
function standIn(errors: readonly { parameter: string; value: string }[]): Post {
  const named = (parameter: string): readonly string[] =>
    errors.filter((error) => error.parameter === parameter).map(({ value }) => value)
  const [replied] = named("in_reply_to_user_id")
  return {
    id: "1",
    text: "",
    ...(replied !== undefined && { in_reply_to_user_id: replied }),
    referenced_tweets: named("referenced_tweets.id").map((id) => ({ type: "replied_to", id })),
    entities: { mentions: named("entities.mentions.username").map((username) => ({ username })) },
  }
}

/** The server matches a post on its first arrival, by its own facts and those of the posts before it. */
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
