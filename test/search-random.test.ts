/**
 * Random queries over all recorded posts: the pages of a search together are exactly the posts that the evaluator takes,
 * each once and the newest first, and of an edited post the newest version alone: while the index is built, when it is, while
 * it is built anew, and after a SIGKILL in between. The queries are made of what the posts say: every operator, groups and
 * negations. A third of the posts look as if they came from other networks.
 */
import { existsSync, rmSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { gzipSync } from "node:zlib"
import { paths } from "@sluice/api"
import {
  EarlierPosts,
  evaluate,
  parseRule,
  readPost,
  withoutReposts,
  type PostFacts,
  type RuleEnvelope,
} from "@sluice/rules"
import fc from "fast-check"
import { beforeAll, describe, expect, test } from "vitest"
import { part } from "./support/extent.testing.ts"
import { hasSharedData, sharedLines } from "./support/shared-data.testing.ts"
import { SluiceProcess } from "./support/sluice-process.testing.ts"
import { temporaryDirectory } from "./support/temporary-directory.testing.ts"

interface Post {
  readonly id: string
  readonly envelope: RuleEnvelope
  readonly facts: PostFacts
}

interface Caller {
  readonly url: string
  readonly token: string
}

describe.skipIf(!hasSharedData)("random queries over recorded posts", () => {
  let lines: readonly string[]
  /** Newest first. */
  let posts: readonly Post[]
  let newestVersions: readonly Post[]
  let anyQuery: fc.Arbitrary<string>

  beforeAll(() => {
    const all = ["data/x/posts-full.ndjson.gz", "data/x/posts-from-v1.1.ndjson"].flatMap(sharedLines)
    lines = part(all, 3).map(partlyForeign)
    const earlier = new EarlierPosts()
    const envelopes = new Map<string, RuleEnvelope>()
    for (const line of lines) {
      const envelope = JSON.parse(line) as RuleEnvelope
      earlier.learnPlacesOf(envelope)
      if (!envelopes.has(envelope.data.id)) envelopes.set(envelope.data.id, envelope)
    }
    const superseded = new Set([...envelopes.values()].flatMap(earlierVersions))
    posts = Array.from(envelopes, ([id, envelope]) => ({
      id,
      envelope,
      facts: readPost(envelope, { mode: "search", earlier }),
    })).toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? 1 : -1))
    newestVersions = posts.filter(({ id }) => !superseded.has(id))
    anyQuery = queriesOver(posts)
  })

  const expectedOf = (query: string): readonly string[] => {
    const parsed = parseRule(query, { mode: "search" })
    if (!parsed.ok) throw new Error(query)
    const rule = withoutReposts(parsed.rule)
    return newestVersions.filter(({ facts }) => evaluate(rule, facts)).map(({ id }) => id)
  }

  /** Searches for random queries; returns how many posts they found. */
  async function search(caller: Caller, numRuns: number): Promise<number> {
    let found = 0
    const check = async (query: string): Promise<void> => {
      const ids = await pagesOf(caller, query)
      expect(ids).toEqual(expectedOf(query))
      found += ids.length
    }
    await fc.assert(fc.asyncProperty(anyQuery, check), { numRuns, endOnFailure: true })
    return found
  }

  test("have the posts that the evaluator takes, whatever the index has", { timeout: 600_000 }, async () => {
    await using stack = new AsyncDisposableStack()
    const { path: directory } = stack.use(await temporaryDirectory())
    const file = join(directory, "search.db")
    const indexed = (): number => (existsSync(file) ? postsIn(file) : 0)
    const start = async (): Promise<Caller & { readonly kill: () => Promise<unknown> }> => {
      const process = stack.use(new SluiceProcess(directory))
      const { url, app } = JSON.parse(await process.mustBeReady()) as { url: string; app: { bearer_token: string } }
      return { url, token: app.bearer_token, kill: () => (process.end("SIGKILL"), process.ended()) }
    }

    const first = await start()
    for (let at = 0; at < lines.length; at += 4_000) await ingest(first, lines.slice(at, at + 4_000))
    expect(indexed()).toBeLessThan(posts.length)
    let found = await search(first, 6)
    await expect.poll(indexed, { timeout: 120_000 }).toBe(posts.length)
    found += await search(first, 12)
    await first.kill()

    rmSync(file)
    for (const least of [1, posts.length / 2]) {
      const killed = await start()
      await expect.poll(indexed, { timeout: 120_000, interval: 5 }).toBeGreaterThanOrEqual(least)
      expect(indexed()).toBeLessThan(posts.length)
      const searching = search(killed, 1).catch(() => 0)
      await Promise.all([killed.kill(), searching])
    }

    const last = await start()
    found += await search(last, 6)
    await expect.poll(indexed, { timeout: 120_000 }).toBe(posts.length)
    found += await search(last, 6)
    expect(found).toBeGreaterThan(posts.length / 10)
  })
})

/**
 * Every third line as one of another network: with a `source_uri`, and with names that have dots, dashes and hosts. A third
 * of these lists no entities, so that only its text has names.
 */
function partlyForeign(line: string, index: number): string {
  if (index % 3 !== 0) return line
  const renamed = (name: string, value: unknown): unknown =>
    name === "username" && typeof value === "string"
      ? `${value}${value.length % 2 === 0 ? ".bsky-test.social" : "@social.example"}`
      : value
  const { data, ...rest } = JSON.parse(line, renamed) as RuleEnvelope
  const { entities, ...others } = data
  const listed = index % 9 === 0 ? {} : { entities }
  return JSON.stringify({ data: { ...others, ...listed, source_uri: `https://social.example/${data.id}` }, ...rest })
}

/** Versions that an edit of the post has superseded: those that it names as older than itself. */
function earlierVersions({ data }: RuleEnvelope): readonly string[] {
  const history = (data["edit_history_tweet_ids"] ?? []) as readonly string[]
  return history.filter((id) => BigInt(id) < BigInt(data.id))
}

/** The number of posts in the file of an index. */
function postsIn(file: string): number {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 10_000 })
  try {
    const row = db.prepare("SELECT sum(posts) AS posts FROM partitions").get() as { posts: number | null }
    return row.posts ?? 0
  } finally {
    db.close()
  }
}

async function ingest({ url, token }: Caller, lines: readonly string[]): Promise<void> {
  const response = await fetch(url + paths.posts, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/x-ndjson",
      "content-encoding": "gzip",
    },
    body: gzipSync(lines.join("\n")),
  })
  const text = await response.text()
  expect([response.status, (JSON.parse(text) as { rejected_count: number }).rejected_count], text).toEqual([200, 0])
}

/** Ids of all pages of a search. */
async function pagesOf({ url, token }: Caller, query: string): Promise<readonly string[]> {
  const ids: string[] = []
  let next: string | undefined
  do {
    const parameters = new URLSearchParams({
      query,
      max_results: "500",
      ...(next !== undefined && { next_token: next }),
    })
    const response = await fetch(`${url}${paths.searchAll}?${parameters.toString()}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const text = await response.text()
    expect(response.status, text).toBe(200)
    const { data, meta } = JSON.parse(text) as { data: { id: string }[]; meta: { next_token?: string } }
    ids.push(...data.map(({ id }) => id))
    next = meta.next_token
  } while (next !== undefined)
  return ids
}

/**
 * Queries made of clauses that hold of recorded posts. Those for places are left out: what a server knows of places after a
 * restart depends on the posts that it reads again.
 */
function queriesOver(posts: readonly Post[]): fc.Arbitrary<string> {
  const anyClause = fc
    .tuple(fc.nat(posts.length - 1), fc.nat(10_000))
    .map(([at, choice]) => {
      const clauses = clausesOf(posts[at]?.envelope)
      return clauses[choice % clauses.length] ?? "lang:en"
    })
    .filter((clause) => parseRule(`beside ${clause}`, { mode: "search" }).ok)
  const { query } = fc.letrec<{ query: string; group: string }>((tie) => ({
    query: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      anyClause,
      fc.array(tie("group"), { minLength: 1, maxLength: 3 }).map((parts) => parts.join(" ")),
    ),
    group: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      anyClause,
      anyClause.map((clause) => `-${clause}`),
      fc.array(tie("query"), { minLength: 2, maxLength: 4 }).map((parts) => `(${parts.join(" OR ")})`),
      tie("query").map((one) => `-(${one})`),
    ),
  }))
  return query.filter((text) => parseRule(text, { mode: "search" }).ok)
}

type Members = Readonly<Record<string, unknown>>

/** Clauses that are not made of a post. */
const generalClauses =
  "is:retweet is:reply is:quote is:verified has:links has:media has:images has:hashtags has:mentions has:video_link " +
  "has:cashtags has:geo min_likes:5 min_replies:1 min_reposts:3 followers_count:100..5000 following_count:10 " +
  "tweets_count:1..900 listed_count:2 sample:20"

/** Clauses of which most hold of the post. */
function clausesOf(envelope: RuleEnvelope | undefined): readonly string[] {
  const { data = { id: "", text: "" }, includes } = envelope ?? {}
  const { users = [] } = (includes ?? {}) as { readonly users?: readonly Members[] }
  const entities = (data.entities ?? {}) as Readonly<Record<string, readonly Members[] | undefined>>
  const references = (data.referenced_tweets ?? []) as readonly Members[]
  const words = data.text.match(/[\p{L}\p{N}]+/gu) ?? []
  const author = users.find(({ id }) => id === data.author_id)
  const of = (name: string, value: unknown): string[] =>
    typeof value === "string" && value !== "" ? [`${name}:"${value.replaceAll(/["\\]/g, "")}"`] : []
  const pairs = words.slice(1).map((word, at) => [words[at] ?? word, word] as const)
  const kinds = { retweeted: "retweets_of_tweet_id", quoted: "quotes_of_tweet_id", replied_to: "in_reply_to_tweet_id" }
  return [
    ...words,
    ...pairs.flatMap(([a, b]) => [`"${a} ${b}"`, `"${b} ${a}"~2`]),
    ...(entities["hashtags"] ?? []).map(({ tag }) => `#${String(tag)}`),
    ...(entities["mentions"] ?? []).map(({ username }) => `@${String(username)}`),
    ...(entities["cashtags"] ?? []).map(({ tag }) => `$${String(tag)}`),
    ...(entities["urls"] ?? []).flatMap(({ expanded_url: url, title }) => [
      ...of("url", url),
      ...of("url_contains", typeof url === "string" ? url.slice(8, 20) : url),
      ...of("url_title", title),
    ]),
    ...((data.context_annotations ?? []) as readonly { domain: Members; entity: Members }[]).flatMap(
      ({ domain, entity }) => [`context:${String(domain.id)}.${String(entity.id)}`, ...of("entity", entity.name)],
    ),
    ...references.map(({ type, id }) => `${kinds[type as keyof typeof kinds]}:${String(id)}`),
    ...of("from", data.author_id),
    ...of("from", author?.username),
    ...of("to", data.in_reply_to_user_id),
    ...users.flatMap(({ username }) => of("retweets_of", username)),
    ...of("conversation_id", data.conversation_id),
    ...of("lang", data.lang),
    ...of("source", data.source),
    ...of("bio", typeof author?.description === "string" ? author.description.slice(0, 20) : undefined),
    ...of("bio_location", author?.location),
    ...generalClauses.split(" "),
  ]
}
