/**
 * Recorded chains of edited posts, ingested in every order: what is shown afterwards is the same, and a stream has each version
 * once. A version goes in as it is recorded, and as it was before the next one came, with the history up to itself.
 */
import { paths, type Envelope } from "@sluice/api"
import { describe, expect, test } from "vitest"
import { openStream } from "./support/open-stream.testing.ts"
import { hasSharedData, sharedLines } from "./support/shared-data.testing.ts"
import { startTestServer, type TestServer } from "./support/test-server.testing.ts"

interface Chain {
  readonly author: string
  readonly ids: readonly string[]
  /** Those that are recorded. */
  readonly versions: readonly Envelope[]
}

describe.runIf(hasSharedData)("recorded edits", () => {
  const chains = hasSharedData ? recordedChains() : []

  test("there are chains, one of them with two versions", () => {
    expect(chains.map(({ versions }) => versions.length).toSorted((a, b) => a - b)).toEqual([1, 2])
  })

  test.each(chains.map((chain) => [chain.ids.join(" ← "), chain] as const))("%s", async (_, chain) => {
    const forms = [chain.versions, chain.versions.map(asItCame)]
    const orders = forms.flatMap((versions) => [versions, versions.toReversed()])
    const shown: unknown[] = []
    for (const versions of orders) {
      await using server = await startTestServer()
      const app = await server.newApp()
      await app.send("POST", paths.rules, { add: [{ value: `from:${chain.author}` }] })
      await using stream = await openStream(app)
      const streamed: string[] = []
      for (const version of versions) {
        expect((await server.ingest(version)).body).toMatchObject({ accepted: 1, rejected: [] })
        streamed.push((await stream.next()).data.id)
      }
      expect(streamed).toEqual(versions.map(({ data }) => data.id))
      shown.push(await answers(server, chain))
    }
    for (const one of shown) expect(one).toEqual(shown[0])
    const newest = chain.ids.at(-1)
    expect(shown[0]).toMatchObject({
      timeline: { data: [{ id: newest, edit_history_tweet_ids: chain.ids }] },
      search: { data: [{ id: newest, edit_history_tweet_ids: chain.ids }] },
      counts: 1,
      lookUp: { data: chain.versions.map(({ data }) => ({ id: data.id, edit_history_tweet_ids: chain.ids })) },
    })
  })
})

/** The responses to requests about the author and the versions. */
async function answers(server: TestServer, { author, ids }: Chain): Promise<object> {
  const fields = "tweet.fields=edit_controls,created_at"
  const query = `query=from:${author}`
  const timeline = await server.call(`${paths.userPosts.replace(":id", author)}?${fields}`)
  const search = await server.call(`${paths.searchAll}?${query}&${fields}`)
  const lookUp = await server.call(`${paths.postsById}?ids=${ids.join(",")}&${fields}`)
  const span = "start_time=2022-09-01T00:00:00Z&end_time=2022-10-10T00:00:00Z&granularity=day"
  let counts = 0
  for (let token = ""; ;) {
    const { body } = await server.call(`${paths.countsAll}?${query}&${span}${token}`)
    counts += body.meta.total_tweet_count as number
    if (body.meta.next_token === undefined) break
    token = `&next_token=${body.meta.next_token as string}`
  }
  return { timeline: timeline.body as unknown, search: search.body as unknown, lookUp: lookUp.body as unknown, counts }
}

/** The version before those that came after it. */
function asItCame(version: Envelope): Envelope {
  const { id, edit_history_tweet_ids: ids = [], edit_controls: controls } = version.data
  const history = ids.slice(0, ids.indexOf(id) + 1)
  const left = String(6 - history.length)
  return {
    ...version,
    data: {
      ...version.data,
      edit_history_tweet_ids: history,
      ...(controls !== undefined && { edit_controls: { ...(controls as object), edits_remaining: left } }),
    },
  }
}

function recordedChains(): readonly Chain[] {
  const byFirst = new Map<string, Map<string, Envelope>>()
  for (const line of sharedLines("data/x/posts-full.ndjson.gz")) {
    const envelope = JSON.parse(line) as Envelope
    const [first, ...others] = envelope.data.edit_history_tweet_ids ?? []
    if (first === undefined || others.length === 0) continue
    const versions = byFirst.get(first) ?? new Map<string, Envelope>()
    byFirst.set(first, versions.set(envelope.data.id, envelope))
  }
  return [...byFirst.values()].map((found) => {
    const versions = [...found.values()].toSorted((a, b) => (BigInt(a.data.id) < BigInt(b.data.id) ? -1 : 1))
    const { author_id: author, edit_history_tweet_ids: ids = [] } = versions[0]?.data ?? {}
    return { author: String(author), ids, versions }
  })
}
