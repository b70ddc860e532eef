/**
 * Runs sample posts through a server, and checks the result.
 *
 *     rules ─► webhook, challenged and linked ─► posts sent ─► deliveries
 *                                                           ─► links, a user's pages, the stream again
 *
 * The expected matches are computed here, without the server, by evaluating each rule on each post. Deliveries and the
 * stream come from the index and the match log. All three must agree.
 */
import { createClient, type Client } from "@sluice/client"
import { nodeHandler, receiver } from "@sluice/client/receiver"
import type { AppCredentials } from "@sluice/server"
import { startLocalEndpoint } from "../process/local-endpoint.ts"
import type { Terminal } from "../terminal/terminal.ts"
import { checkDeliveries, collectDeliveries, linkWebhook } from "./deliveries.ts"
import { createDemoReporter, type DemoReporter } from "./demo-reporter.ts"
import { addRules, rules } from "./expected-matches.ts"
import { quantile } from "./latency.ts"
import { checkLinkState, checkPages, checkStream, pageSize, showLinks } from "./read-back.ts"
import type { Sample, SamplePost } from "./sample.ts"
import type { Waiting } from "./waiting.ts"

/** The results of the demo, in numbers. */
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

/** Posts of one request: few, so that they arrive as in a stream. */
const postsPerRequest = 10

/** The server, app and sample of the demo. */
export interface DemoOptions extends Waiting {
  /** A server with an empty store. */
  readonly url: string
  readonly app: AppCredentials
  readonly sample: Sample
  readonly terminal: Pick<Terminal, "print" | "style" | "columns">
}

/** Runs the demo. Throws when a check fails, and on `signal`. */
export async function runDemo({ url, app, sample, terminal, ...waiting }: DemoOptions): Promise<DemoSummary> {
  const client = createClient({ url, token: app.bearer_token })
  const reporter = createDemoReporter(terminal)
  await reporter.step(`Start a server with an empty store: ${url}`)
  await reporter.show(`app ${app.application_id} with its bearer token`)

  await reporter.step("Add rules")
  const expected = await addRules(client, sample, reporter, terminal)

  await reporter.step("Register a webhook and link it to the stream")
  const deliveries = collectDeliveries(reporter, terminal)
  let challenges = 0
  const refusals: string[] = []
  const receive = receiver({
    consumerSecret: app.consumer_secret,
    onDelivery: deliveries.take,
    onChallenge: () => void (challenges += 1),
    onRefusal: (reason) => refusals.push(reason),
  })
  await using endpoint = await startLocalEndpoint(nodeHandler(receive), "/webhook")
  await linkWebhook(client, endpoint.url, reporter)
  await reporter.check(challenges > 0, "the endpoint was challenged")

  await reporter.step(`Send ${String(sample.posts.length)} posts and receive the deliveries`)
  const sentAtMs = await sendPosts(client, sample.posts, reporter)
  await deliveries.arrived(expected.size, waiting)
  const delivered = await checkDeliveries(deliveries.records, expected, refusals, reporter)
  const head = await checkLinkState(client, expected.size, reporter, waiting)

  await reporter.step("GET /2/tweets/search/webhooks")
  await showLinks(client, app, reporter)

  const { id, username } = sample.mostActive
  await reporter.step(`GET /2/users/${id}/tweets?max_results=${String(pageSize)}: the posts of @${username}`)
  const pages = await checkPages(client, sample, reporter)

  await reporter.step("GET /2/tweets/search/stream?backfill_minutes=5")
  const streamed = await checkStream(client, expected, reporter, waiting)
  reporter.conclude()

  const latencies = [...delivered].map(([postId, atMs]) => atMs - (sentAtMs.get(postId) ?? atMs))
  return {
    posts: sample.posts.length,
    rules: rules.length,
    matches: head,
    deliveries: delivered.size,
    streamed,
    pages,
    latency_p50_ms: rounded(quantile(latencies, 0.5)),
    latency_p99_ms: rounded(quantile(latencies, 0.99)),
  }
}

/** Sends the posts. Returns when each was sent, by its id. */
async function sendPosts(
  client: Client,
  posts: readonly SamplePost[],
  reporter: DemoReporter,
): Promise<ReadonlyMap<string, number>> {
  const sentAtMs = new Map<string, number>()
  let accepted = 0
  for (let from = 0; from < posts.length; from += postsPerRequest) {
    const some = posts.slice(from, from + postsPerRequest)
    const nowMs = performance.now()
    for (const { id } of some) sentAtMs.set(id, nowMs)
    const body = `${some.map(({ line }) => line).join("\n")}\n`
    accepted += (await client.request("POST", "posts", { body })).accepted
  }
  await reporter.check(accepted === posts.length, `${String(posts.length)} posts accepted`, String(accepted))
  return sentAtMs
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10
}
