/**
 * X's recorded searches, asked of a server that has the recorded posts: the posts found are those that the evaluator takes
 * with the places of all posts, so recall and precision are those of `packages/rules/src/real-posts.test.ts`.
 */
import { readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { paths } from "@sluice/api"
import { EarlierPosts, evaluate, parseRule, readPost, type RuleEnvelope } from "@sluice/rules"
import { describe, expect, test } from "vitest"
import { hasSharedData, sharedFile } from "./support/shared-data.testing.ts"
import { startTestServer } from "./support/test-server.testing.ts"

function linesOf(file: string): readonly string[] {
  const bytes = readFileSync(sharedFile(`data/x/${file}`))
  return (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8").trim().split("\n")
}

interface Recorded {
  readonly query: string
  readonly matches: readonly string[]
  readonly non_matches?: readonly string[]
}

describe.skipIf(!hasSharedData)("recorded searches of X", () => {
  test("search finds what the evaluator takes, once and the newest first", { timeout: 600_000 }, async () => {
    await using server = await startTestServer({ "search-reposts": "true" })
    const posts = new Map<string, RuleEnvelope>()
    const earlier = new EarlierPosts()
    const lines = ["posts-full.ndjson.gz", "posts-from-v1.1.ndjson"].flatMap(linesOf)
    for (const line of lines) {
      const envelope = JSON.parse(line) as RuleEnvelope
      const id = envelope.data.id
      if (!posts.has(id)) posts.set(id, envelope)
      earlier.learnPlacesOf(envelope)
    }
    const facts = Array.from(posts, ([id, envelope]) => ({ id, post: readPost(envelope, { mode: "search", earlier }) }))
    for (let at = 0; at < lines.length; at += 1_000) {
      const { status, text } = await server.call(paths.posts, {
        method: "POST",
        headers: { "content-type": "application/x-ndjson" },
        body: lines.slice(at, at + 1_000).join("\n"),
      })
      expect(status, text).toBe(200)
    }
    const records = ["query-oracle.ndjson", "query-implied.ndjson"]
      .flatMap(linesOf)
      .map((line) => JSON.parse(line) as Recorded)
    const found = new Map<string, ReadonlySet<string>>()
    for (const query of new Set(records.map((record) => record.query))) {
      const ids: string[] = []
      let next: string | undefined
      do {
        const parameters = new URLSearchParams({ query, max_results: "500", ...(next && { next_token: next }) })
        const { status, body, text } = await server.call(`${paths.searchAll}?${parameters.toString()}`)
        expect(status, text).toBe(200)
        ids.push(...(body.data as { id: string }[]).map(({ id }) => id))
        next = body.meta.next_token
      } while (next !== undefined)
      const parsed = parseRule(query, { mode: "search" })
      if (!parsed.ok) throw new Error(query)
      const taken = facts
        .filter(({ post }) => evaluate(parsed.rule, post))
        .map(({ id }) => id)
        .toSorted((a, b) => (BigInt(a) < BigInt(b) ? 1 : -1))
      expect(ids, query).toEqual(taken)
      found.set(query, new Set(ids))
    }
    let [missed, wrong] = [0, 0]
    for (const { query, matches, non_matches: others = [] } of records) {
      missed += matches.filter((id) => found.get(query)?.has(id) !== true).length
      wrong += others.filter((id) => found.get(query)?.has(id) === true).length
    }
    // Eleven that no data can decide, and one whose link only another post explains.
    expect({ missed, wrong }).toEqual({ missed: 12, wrong: 0 })
  })
})
