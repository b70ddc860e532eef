/**
 * The whole job on sample posts, shown and checked.
 *
 *     rules ─► webhook, challenged and linked ─► posts poured in ─► deliveries
 *                                                                 ─► links, a user's pages, the stream again
 *
 * What should match is found here, without the server, by trying each rule on each post the slow, obvious way.
 * Deliveries and the stream come from the index and the match log. The three must agree.
 */
import type { AppCredentials } from "@sluice/server"
import { jsonBody, createApiClient, type ApiClient } from "../api-client.ts"
import { monotonicMs, sleep } from "../clock.ts"
import { Failure } from "../failure.ts"
import { pages, type PageMeta } from "../pages.ts"
import { streamedPost, type StreamRecord } from "../streamed-post.ts"
import { streamLines } from "../stream-lines.ts"
import { testOnFile } from "../test-rule.ts"
import { visibleLines, type Terminal } from "../terminal.ts"
import { terminalText } from "../terminal-text.ts"
import { quantile } from "./latency.ts"
import { startReceiver } from "./receiver.ts"
import { newestFirst, type Sample, type SamplePost } from "./sample.ts"
import { createTelling, type Telling } from "./telling.ts"

/** What the demo found, in figures. */
export interface DemoSummary {
  readonly posts: number
  readonly rules: number
  readonly matches: number
  readonly deliveries: number
  readonly streamed: number
  readonly pages: number
  readonly latency_p50_ms: number
  readonly latency_p99_ms: number
}

const rules = [
  { tag: "lost cat", value: "#BiscuitWatch -is:retweet" },
  { tag: "cats", value: "cat OR cats OR 猫 OR 고양이 OR kedi OR 🐈" },
  { tag: "market pictures", value: '(#NightMarket OR "night market") has:images' },
  { tag: "night sky", value: "#OatfellSky OR telescope OR 🔭" },
  { tag: "weather", value: "from:odette_pluie -is:reply" },
  { tag: "asked of Wren", value: "to:wren_oatfell (lang:en OR lang:ar OR lang:ja)" },
] as const

const linkQuery = "expansions=author_id&user.fields=username&tweet.fields=author_id,lang"
const pageSize = 20
const deliveriesShown = 8

/** Posts of one request: few, so that they come in as a stream would. */
const pouredAtOnce = 10

/** How long to look out for what should not arrive. */
const surplusMs = 250

/** Runs the demo against an empty server. Throws when anything shown is not as it must be, and on `signal`. */
export async function runDemo(options: {
  url: string
  app: AppCredentials
  sample: Sample
  terminal: Pick<Terminal, "print" | "style" | "columns">
  /** Longest wait for what should arrive. */
  arrivalMsMax: number
  signal: AbortSignal
}): Promise<DemoSummary> {
  const { url, app, sample, terminal, arrivalMsMax, signal } = options
  const patience: Patience = { arrivalMsMax, signal }
  const client = createApiClient({ url, token: app.bearer_token })
  const telling = createTelling(terminal)
  await telling.step(`A server on an empty store: ${url}`)
  await telling.show(`an app of its own, ${app.application_id}, and its bearer token`)

  await telling.step("Rules say what is wanted")
  const expected = await addRules(client, sample, telling, terminal)

  await telling.step("A webhook answers the challenge and is linked to the stream")
  const deliveries = collectDeliveries(telling, terminal)
  await using receiver = await startReceiver(app.consumer_secret, deliveries.take)
  await linkWebhook(client, receiver.url, telling)
  await telling.check(receiver.challenges > 0, "the endpoint was asked to prove itself")

  await telling.step(`${String(sample.posts.length)} posts poured in, and the deliveries as they arrive`)
  const sentAtMs = await pourIn(client, sample.posts, telling)
  await deliveries.arrived(expected.size, patience)
  const delivered = await checkDeliveries(deliveries.records, expected, receiver.refusals, telling)
  const head = await checkLinkState(client, expected.size, telling, patience)

  await telling.step("GET /2/tweets/search/webhooks")
  await showLinks(client, app, telling)

  const { id, username } = sample.mostActive
  await telling.step(`GET /2/users/${id}/tweets?max_results=${String(pageSize)}: the posts of @${username}`)
  const pageCount = await pageThere(client, sample, telling)

  await telling.step("GET /2/tweets/search/stream?backfill_minutes=5")
  const streamed = await streamAgain(client, expected, telling, patience)
  telling.conclude()

  const latencies = [...delivered].map(([postId, atMs]) => atMs - (sentAtMs.get(postId) ?? atMs))
  return {
    posts: sample.posts.length,
    rules: rules.length,
    matches: head,
    deliveries: delivered.size,
    streamed,
    pages: pageCount,
    latency_p50_ms: rounded(quantile(latencies, 0.5)),
    latency_p99_ms: rounded(quantile(latencies, 0.99)),
  }
}

/** How long to wait for the world. */
interface Patience {
  readonly arrivalMsMax: number
  readonly signal: AbortSignal
}

/** The tags of the rules that each post should match; posts that match none are absent. */
type Expected = ReadonlyMap<string, readonly string[]>

async function addRules(
  client: ApiClient,
  sample: Sample,
  telling: Telling,
  { style, columns }: Pick<Terminal, "style" | "columns">,
): Promise<Expected> {
  const { data = [] } = await client.request<{ data?: readonly unknown[] }>(
    "POST",
    "/2/tweets/search/stream/rules",
    {
      body: jsonBody({ add: rules }),
    },
  )
  const expected = new Map<string, string[]>()
  for (const { tag, value } of rules) {
    const { matched } = await testOnFile(value, "stream", sample.file, {
      print: async ({ id }) => void expected.set(id, [...(expected.get(id) ?? []), tag]),
      skipped: (line, reason) => {
        throw new Failure(`Line ${String(line)} of the sample is not a post: ${reason}`)
      },
    })
    const count = `${String(matched).padStart(3)} posts`
    await telling.show(
      `${style.mark(tag.padEnd(16))}  ${style.faint(count)}  ${terminalText(value, columns - 34)}`,
    )
  }
  await telling.check(
    data.length === rules.length,
    `${String(rules.length)} rules added`,
    String(data.length),
  )
  await telling.check(expected.size > 0, `${String(expected.size)} posts of the sample should match`)
  return expected
}

async function linkWebhook(client: ApiClient, url: string, telling: Telling): Promise<void> {
  const webhook = await client.request<{ data: { id: string; valid: boolean } }>("POST", "/2/webhooks", {
    body: jsonBody({ url }),
  })
  await telling.check(webhook.data.valid, `POST /2/webhooks took ${url}`)
  const path = `/2/tweets/search/webhooks/${webhook.data.id}?${linkQuery}`
  const link = await client.request<{ data: { provisioned: boolean } }>("POST", path)
  await telling.check(link.data.provisioned, `linked with ${linkQuery}`)
}

/** When each post was sent, by its id. */
async function pourIn(
  client: ApiClient,
  posts: readonly SamplePost[],
  telling: Telling,
): Promise<ReadonlyMap<string, number>> {
  const sentAtMs = new Map<string, number>()
  let accepted = 0
  for (let from = 0; from < posts.length; from += pouredAtOnce) {
    const some = posts.slice(from, from + pouredAtOnce)
    const nowMs = monotonicMs()
    for (const { id } of some) sentAtMs.set(id, nowMs)
    const content = `${some.map(({ line }) => line).join("\n")}\n`
    const answer = await client.request<{ accepted: number }>("POST", "/sluice/v1/posts", {
      body: { type: "application/x-ndjson", content },
    })
    accepted += answer.accepted
  }
  await telling.check(accepted === posts.length, `${String(posts.length)} posts accepted`, String(accepted))
  return sentAtMs
}

interface DeliveredRecord extends StreamRecord {
  readonly atMs: number
}

interface Deliveries {
  readonly take: (delivery: { body: string; atMs: number }) => void
  readonly records: readonly DeliveredRecord[]
  /** Resolves when so many different posts have arrived and nothing more seems to come, or when it takes too long. */
  arrived(count: number, patience: Patience): Promise<void>
}

function collectDeliveries(telling: Telling, terminal: Pick<Terminal, "style" | "columns">): Deliveries {
  const records: DeliveredRecord[] = []
  const ids = new Set<string>()
  const narrowed = { style: terminal.style, columns: terminal.columns - 3 }
  let shown: Promise<void> = Promise.resolve()
  return {
    records,
    take({ body, atMs }) {
      const record = JSON.parse(body) as StreamRecord
      records.push({ ...record, atMs })
      if (record.data !== undefined) ids.add(record.data.id)
      if (records.length <= deliveriesShown)
        shown = shown.then(() => telling.show(streamedPost(record, narrowed)))
    },
    async arrived(count, { arrivalMsMax, signal }) {
      const untilMs = monotonicMs() + arrivalMsMax
      while (ids.size < count && monotonicMs() < untilMs && !signal.aborted) await sleep(10)
      await sleep(surplusMs, signal)
      signal.throwIfAborted()
      await shown
      const rest = records.length - deliveriesShown
      if (rest > 0) await telling.show(terminal.style.faint(`… and ${String(rest)} more`))
    },
  }
}

/** When each post was delivered first, by its id. */
async function checkDeliveries(
  records: readonly DeliveredRecord[],
  expected: Expected,
  refusals: readonly string[],
  telling: Telling,
): Promise<ReadonlyMap<string, number>> {
  const firstAtMs = new Map<string, number>()
  const wrong = new Set<string>()
  for (const record of records) {
    const id = record.data?.id ?? "?"
    if (!firstAtMs.has(id)) firstAtMs.set(id, record.atMs)
    if (!isAsExpected(record, expected)) wrong.add(id)
    if (record.includes?.users?.some((user) => user.id === record.data?.author_id) !== true) wrong.add(id)
  }
  await telling.check(refusals.length === 0, "every signature is right", refusals.join("; "))
  await checkSame(
    [...firstAtMs.keys()],
    expected,
    `${String(expected.size)} posts delivered, those that should match`,
    telling,
  )
  await telling.check(
    wrong.size === 0,
    "each names its rules, and its author as the link asked",
    listed(wrong),
  )
  return firstAtMs
}

function isAsExpected(record: StreamRecord, expected: Expected): boolean {
  const tags = (record.matching_rules ?? []).map(({ tag }) => tag ?? "").toSorted()
  const expectedTags = (expected.get(record.data?.id ?? "") ?? []).toSorted()
  return JSON.stringify(tags) === JSON.stringify(expectedTags)
}

async function checkSame(
  ids: readonly string[],
  expected: Expected,
  fact: string,
  telling: Telling,
): Promise<void> {
  const found = new Set(ids)
  const missing = [...expected.keys()].filter((id) => !found.has(id))
  const surplus = ids.filter((id) => !expected.has(id))
  await telling.check(
    missing.length === 0 && surplus.length === 0,
    fact,
    `${String(found.size)}; missing ${listed(missing)}; too many ${listed(surplus)}`,
  )
}

/** Waits until the link has nothing left to send, and answers how many matches the log holds. */
async function checkLinkState(
  client: ApiClient,
  expectedCount: number,
  telling: Telling,
  { arrivalMsMax, signal }: Patience,
): Promise<number> {
  const read = async (): Promise<{ head: number; lag: number } | undefined> => {
    const { data } = await client.request<{ data: readonly { head: number; lag: number }[] }>(
      "GET",
      "/sluice/v1/links",
    )
    return data[0]
  }
  const untilMs = monotonicMs() + arrivalMsMax
  let state = await read()
  while (state?.lag !== 0 && monotonicMs() < untilMs) {
    await sleep(20, signal)
    signal.throwIfAborted()
    state = await read()
  }
  const head = state?.head ?? 0
  const found = `${String(head)} in the log, ${String(state?.lag ?? "?")} not delivered`
  await telling.check(
    head === expectedCount && state?.lag === 0,
    `${String(expectedCount)} matches in the log, all of them delivered`,
    found,
  )
  return head
}

async function showLinks(client: ApiClient, app: AppCredentials, telling: Telling): Promise<void> {
  const body = await client.request<{ data: { links: readonly Readonly<Record<string, unknown>>[] } }>(
    "GET",
    "/2/tweets/search/webhooks",
  )
  for (const line of visibleLines(JSON.stringify(body, undefined, 2)).split("\n")) await telling.show(line)
  const [link] = body.data.links
  const isOurs =
    body.data.links.length === 1 &&
    link?.["application_id"] === app.application_id &&
    link["business_user_id"] === app.business_user_id &&
    link["instance_id"] === app.instance_id
  await telling.check(isOurs, "one link, and it is this app's")
}

interface PostsPage {
  readonly data?: readonly { readonly id: string }[]
  readonly meta: PageMeta
}

/** Forward to the end and back; answers how many pages there are. */
async function pageThere(client: ApiClient, sample: Sample, telling: Telling): Promise<number> {
  const { id: userId, postIds } = sample.mostActive
  const path = `/2/users/${userId}/tweets`
  const query = { max_results: String(pageSize) }
  const forward: PostsPage[] = []
  for await (const page of pages<PostsPage>(client, path, query)) forward.push(page)
  await telling.show(`forward  ${sizesOf(forward)}`)

  const back: PostsPage[] = []
  for (
    let token = forward.at(-1)?.meta.previous_token;
    token !== undefined && back.length < forward.length;
  ) {
    const page = await client.request<PostsPage>("GET", path, {
      query: { ...query, pagination_token: token },
    })
    back.push(page)
    token = page.meta.previous_token
  }
  await telling.show(`back     ${sizesOf(back)}`)

  const found = forward.flatMap((page) => (page.data ?? []).map(({ id }) => id))
  const isWhole =
    JSON.stringify(found) === JSON.stringify(postIds) && found.every((id, at) => isAfter(found[at - 1], id))
  await telling.check(
    isWhole,
    `all ${String(postIds.length)} posts, newest first`,
    `${String(found.length)} posts`,
  )
  const there = forward.slice(0, -1).map(({ data }) => data)
  const andBack = back.toReversed().map(({ data }) => data)
  await telling.check(JSON.stringify(there) === JSON.stringify(andBack), "the way back shows the same pages")
  return forward.length
}

function isAfter(newer: string | undefined, older: string): boolean {
  return newer === undefined || newestFirst(newer, older) < 0
}

function sizesOf(list: readonly PostsPage[]): string {
  return list.map(({ data = [] }) => String(data.length)).join(" · ")
}

/** Reads the last minutes down a stream connection; answers how many posts came. */
async function streamAgain(
  client: ApiClient,
  expected: Expected,
  telling: Telling,
  { arrivalMsMax, signal }: Patience,
): Promise<number> {
  const tooLong = AbortSignal.timeout(arrivalMsMax)
  const quiet = new AbortController()
  const ids = new Set<string>()
  const wrong = new Set<string>()
  const query = { backfill_minutes: "5" }
  for await (const line of streamLines(client, query, AbortSignal.any([signal, tooLong, quiet.signal]))) {
    if (line === "") continue
    const record = JSON.parse(line) as StreamRecord
    const id = record.data?.id ?? "?"
    ids.add(id)
    if (!isAsExpected(record, expected)) wrong.add(id)
    // Everything is here: wait a moment for what should not come.
    if (ids.size === expected.size) void sleep(surplusMs).then(() => quiet.abort())
  }
  await checkSame(
    [...ids],
    expected,
    `${String(expected.size)} posts streamed, the same that were delivered`,
    telling,
  )
  await telling.check(wrong.size === 0, "each names its rules", listed(wrong))
  return ids.size
}

function listed(ids: Iterable<string>): string {
  const all = [...ids]
  return all.length === 0 ? "none" : `${all.slice(0, 5).join(", ")}${all.length > 5 ? ", …" : ""}`
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10
}
